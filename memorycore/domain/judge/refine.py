"""Whether what a new text adds leaves the old statement as it was."""

from memorycore.domain.assertion import CONTENT, Assertion, Term
from memorycore.domain.judge.alignment import Run
from memorycore.domain.judge.case import Case, differing
from memorycore.domain.judge.relations import words_of
from memorycore.domain.judge.verdict import Evidence

_BEFORE_ANOTHER_VERB = frozenset({
    "plan", "want", "stop", "forbid", "avoid", "believe", "say", "ask", "fail", "reject", "cancel", "need", "learn",
    "tell", "help", "allow", "end", "start",
})  # fmt: skip
_OPENINGS = ",;:.(-["
_POSSESSIVES = ("的", "'s", "'", "の", "의")


def misfit(run: Run, case: Case) -> Evidence | None:
    """Why an addition is more than detail: another thing is spoken of, or the statement is no longer made."""
    code = _misfit(run, case)
    return differing(code, run, case) if code else None


def _misfit(run: Run, case: Case) -> str:
    first = run.new[0]
    text = case.new.text
    lead = text[: first.token.start].rstrip()
    opens = lead.endswith(tuple(_OPENINGS))
    if not opens and run.before is not None and lead.endswith(_POSSESSIVES) and _follows_content(run, case):
        return "subject"
    if _takes_a_word_away(run, case):
        return "small_words"
    if opens:
        return ""
    if _unit_lost(run, case):
        return "unit"
    if _touches_changed_word(run, case):
        return "value"
    if any(term.kind == "verb" and term.key in _BEFORE_ANOTHER_VERB for term in run.new) and _before_shared_verb(run):
        return "action"
    if run.in_subject and not _free(run) and not _is_apposition(run):
        return "subject"
    compound = case.new.language in {"en", "de", "fr", "es"} and _touches_content(run, case)
    if first.kind == "verb" and (first.token.past or first.token.gerund):
        return ""  # a participle behind its noun: "named Bruno"
    if compound and not _is_time(first) and first.kind in {"noun", "word", "verb", "name"} and not run.in_subject:
        return "object"
    return ""


def _takes_a_word_away(run: Run, case: Case) -> bool:
    """The old text had a small word of weight where the new one has the addition: "is on", "is off"."""
    after = run.after.token.start if run.after else len(case.new.text)
    before = run.before.token.end if run.before else 0
    kept = {word for word, _ in _small_between(case.new, before, after)}
    olds = {term.key: term.token for term in case.old.terms}
    left = olds[run.before.key].end if run.before and run.before.key in olds else 0
    right = olds[run.after.key].start if run.after and run.after.key in olds else len(case.old.text)
    inflected = case.old.language in {"ja", "ko"}
    return any(
        word not in kept and not (kind == "func" and inflected) for word, kind in _small_between(case.old, left, right)
    )


def _small_between(assertion: Assertion, start: int, end: int) -> list[tuple[str, str]]:
    """Words other than content between two places, articles left out, each with its kind."""
    return [
        (assertion.text[token.start : token.end].casefold(), token.kind)
        for token in assertion.tokens
        if start <= token.start < end and token.kind not in CONTENT | {"punct"} and token.key != "article"
    ]


def _is_time(term: Term) -> bool:
    return term.key in words_of("occasion", "words")


def _is_apposition(run: Run) -> bool:
    """``her niece Clara``: a name behind what it names."""
    return (
        run.before is not None
        and run.before.kind in {"noun", "word"}
        and all(term.kind in {"name", "name?"} for term in run.new)
    )


def _unit_lost(run: Run, case: Case) -> bool:
    """The addition stands where the old text had the unit of a number."""
    pair = next((pair for pair in case.diff.shared if pair[1] is run.before), None)
    return pair is not None and bool(pair[0].token.dimension) and not pair[1].token.dimension


def _touches_changed_word(run: Run, case: Case) -> bool:
    """In a script without blanks, what stands right beside a synonym may belong to it: 管理, 管鑫."""
    if case.new.language not in {"zh", "ja", "ko"}:
        return False
    start, end = run.new[0].token.start, run.new[-1].token.end
    return any(
        old.text.casefold() != new.text.casefold() and start in {new.token.end} | {new.token.start - (end - start)}
        for old, new in case.diff.shared
        if new is run.before or new is run.after
    )


def _free(run: Run) -> bool:
    return all(term.kind in {"date", "time", "num"} or term.key in {"daily", "weekly", "monthly"} for term in run.new)


def _before_shared_verb(run: Run) -> bool:
    return run.after is not None and run.after.kind in {"verb", "word", "char"}


def _follows_content(run: Run, case: Case) -> bool:
    """The possessive belongs to a word that both texts have."""
    return (
        run.before is not None
        and run.before.kind in CONTENT
        and any(run.before.key == old.key for old in case.old.content)
    )


def _touches_content(run: Run, case: Case) -> bool:
    """Nothing stands between the addition and a shared word in front of it."""
    if run.before is None or run.before.kind not in CONTENT:
        return False
    between = case.new.text[run.before.token.end : run.new[0].token.start]
    return not between.strip()
