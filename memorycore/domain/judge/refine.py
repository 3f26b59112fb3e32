"""Whether what a new text adds leaves the old statement as it was."""

from memorycore.domain.assertion import CONTENT, Assertion, Term
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case, differing
from memorycore.domain.judge.relations import are_opposite, words_of
from memorycore.domain.judge.verdict import Evidence

_BEFORE_ANOTHER_VERB = frozenset({
    "plan", "want", "stop", "forbid", "avoid", "believe", "say", "ask", "fail", "reject", "cancel", "need", "learn",
    "tell", "help", "allow", "end", "start", "try",
})  # fmt: skip
_OPENINGS = (",", ";", ":", ".", "(", "-", "[")
_POSSESSIVES = ("的", "'s", "'", "の", "의")
_THINGS = frozenset({"noun", "word", "char", "name", "name?"})
_PLACE_ENDINGS = frozenset("区县镇乡室楼层号院馆店厅侧边面角道街路巷村园门口站局校场")
_LONG_PLACE = 3
_BESIDE = ("旁边", "附近", "对面", "隔壁", "门口", "边上")
"""The street's post office, beside it: a place told more closely."""
_WITHOUT_BLANKS = frozenset({"zh", "ja", "ko"})


def misfit(run: Run, case: Case) -> Evidence | None:
    """Why an addition is more than detail: another thing is spoken of, or the statement is no longer made."""
    code = _of_another(run, case) or _counted_otherwise(run, case) or _lost_word(run, case)
    if not code and not _lead(run, case).endswith(_OPENINGS):
        code = _inside(run, case)
    return differing(code, run, case) if code else None


def _lead(run: Run, case: Case) -> str:
    """The new text up to an addition."""
    return case.new.text[: run.new[0].token.start].rstrip()


def _of_another(run: Run, case: Case) -> str:
    """A possessive or a hyphen makes another word of a shared one: "the user's mother", "mother-in-law"."""
    if run.before is None or not _is_shared(run.before, case):
        return ""
    if case.new.text[run.before.token.end : run.before.token.end + 1] == "-":
        return "object"
    closer = case.new.text.startswith(_BESIDE, run.new[-1].token.end)
    return "subject" if _lead(run, case).endswith(_POSSESSIVES) and not closer else ""


def _counted_otherwise(run: Run, case: Case) -> str:
    """A number in the place of an article: "a third", "two thirds"."""
    if run.new[-1].kind != "num" or run.after is None or not _touch(run.new[-1], run.after, case):
        return ""
    after = next((old for old, new in case.diff.shared if new is run.after), None)
    before = [token for token in case.old.tokens if after is not None and token.end <= after.token.start][-1:]
    return "number" if before and before[0].key == "article" else ""


def _inside(run: Run, case: Case) -> str:
    """Why an addition within the old statement changes it."""
    if _unit_lost(run, case):
        return "unit"
    if _touches_changed_word(run, case):
        return "value"
    if _before_shared_verb(run) and any(term.key in _BEFORE_ANOTHER_VERB for term in run.new):
        return "action"
    if run.in_subject and not _free(run) and not _is_apposition(run):
        return "subject"
    return "" if run.in_subject else _joined(run, case)


def _joined(run: Run, case: Case) -> str:
    """An addition that forms one word with a shared one: "blood bank", 副经理, 电影音乐."""
    first, last = run.new[0], run.new[-1]
    acting = first.token.past or first.token.gerund or first.text.endswith("ing")
    participle = first.kind in {"verb", "word"} and acting  # "named Bruno", "facing south"
    if participle or _is_time(first):
        return ""
    behind = run.before is not None and run.before.kind in CONTENT and _touch(run.before, first, case)
    in_front = run.after is not None and run.after.kind in _THINGS and _touch(last, run.after, case)
    if case.new.language not in _WITHOUT_BLANKS:
        names_more = behind and first.kind in _THINGS | {"verb"}
        return "object" if names_more or (in_front and last.kind in {"noun", "word", "name"}) else ""
    if in_front and last.kind in _THINGS and first.kind != "num":
        return "object"
    part = run.before is not None and (run.before.kind in _THINGS or len(run.before.text) == 1)
    ends = behind and part and first.kind in _THINGS
    return "object" if ends and not _is_closer_place(run, case) else ""


def _is_closer_place(run: Run, case: Case) -> bool:
    """杭州, then 杭州滨江区."""
    added = case.new.text[run.new[0].token.start : run.new[-1].token.end]
    return len(added) >= _LONG_PLACE and added[-1] in _PLACE_ENDINGS


def _touch(one: Term, other: Term, case: Case) -> bool:
    """Nothing but blanks stands between two terms, and in a script without blanks not even those."""
    between = case.new.text[one.token.end : other.token.start]
    return not between if case.new.language in _WITHOUT_BLANKS else not between.strip()


def _lost_word(run: Run, case: Case) -> str:
    """The old text had a small word of weight where the new one has the addition: "is on", "is off"."""
    after = run.after.token.start if run.after else len(case.new.text)
    before = run.before.token.end if run.before else 0
    kept = {word for word, _, _ in _small_between(case.new, before, after)}
    olds = {term.key: term.token for term in case.old.terms}
    left = olds[run.before.key].end if run.before and run.before.key in olds else 0
    right = olds[run.after.key].start if run.after and run.after.key in olds else len(case.old.text)
    inflected = case.old.language in {"ja", "ko"}
    lost = [
        key
        for word, kind, key in _small_between(case.old, left, right)
        if word not in kept and not (kind == "func" and inflected)
    ]
    if any(are_opposite(key, term.key) for key in lost for term in run.new) or _granted(lost, case):
        return "polarity"
    return "small_words" if lost else ""


def _granted(lost: list[str], case: Case) -> bool:
    """What is forbidden in the old text is ordered in the new one: never, then always."""
    return "mustnot" in lost and not case.new.negations and "mustnot" not in case.new.modals


def _small_between(assertion: Assertion, start: int, end: int) -> list[tuple[str, str, str]]:
    """Words other than content between two places, articles left out, each with its kind and key."""
    return [
        (assertion.text[token.start : token.end].casefold(), token.kind, token.key)
        for token in assertion.tokens
        if start <= token.start < end and token.kind not in CONTENT | {"punct"} and token.key != "article"
    ]


def _is_shared(term: Term, case: Case) -> bool:
    return term.kind in CONTENT and any(term.key == old.key for old in case.old.content)


def _is_time(term: Term) -> bool:
    return term.key in words_of("occasion", "words")


def _is_apposition(run: Run) -> bool:
    """``her niece Clara``: a name behind what it names."""
    named = run.before is not None and run.before.kind in {"noun", "word"}
    return named and all(term.kind in {"name", "name?"} for term in run.new)


def _unit_lost(run: Run, case: Case) -> bool:
    """The addition stands where the old text had the unit of a number."""
    pair = next((pair for pair in case.diff.shared if pair[1] is run.before), None)
    if pair is None or pair[1].kind != "num" or pair[1].token.dimension:
        return False
    counted = pair[0].text.rstrip()[-1:].isalpha() and not pair[1].text.rstrip()[-1:].isalpha()
    return bool(pair[0].token.dimension) or (counted and run.new[0].kind == "char")


def _touches_changed_word(run: Run, case: Case) -> bool:
    """In a script without blanks, what stands right beside a synonym may belong to it: 管理, 管鑫."""
    if case.new.language not in _WITHOUT_BLANKS:
        return False
    start, end = run.new[0].token.start, run.new[-1].token.end
    return any(
        old.text.casefold() != new.text.casefold() and start in {new.token.end} | {new.token.start - (end - start)}
        for old, new in case.diff.shared
        if new is run.before or new is run.after
    )


def _free(run: Run) -> bool:
    if len(run.new) > 1 and run.new[-1].kind == "contrast" and run.new[-1].key in {"before", "after"}:
        return True  # 午休后, 晚饭前
    return all(
        term.kind in {"date", "time", "num"} or term.key in {"daily", "weekly", "monthly"} or _is_time(term)
        for term in run.new
    )


def _before_shared_verb(run: Run) -> bool:
    return run.after is not None and run.after.kind in {"verb", "word", "char"}
