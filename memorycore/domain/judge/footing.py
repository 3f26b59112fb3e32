"""Whether two assertions stand on one footing: enough in common that what differs is one side of one thing."""

from memorycore.domain.assertion import Assertion
from memorycore.domain.judge.case import Case
from memorycore.domain.judge.relations import are_one_relative, are_two_things, words_of
from memorycore.domain.judge.verdict import Evidence, Verdict, evidence, verdict

_MOST_APART = 4
_MOSTLY_SHARED = 0.6
_ALL_BUT_A_WORD = 0.8
_STORY = 6
_LEAST = 0.28
_FEW = 3
_ASIDE = frozenset({"limited", "past"})
_ONE_VALUE = frozenset({"number", "unit", "date", "time", "code", "timezone", "frequency"})
_TOLD = ("了", "过", "感到", "感觉", "觉得", "た。", "았", "었", "했")
"""What tells in scripts without tenses that something happened."""
_OPEN_SLOTS = frozenset({"value", "name", "object", "many", "action", "polarity", "event"})


def has_little_in_common(case: Case) -> bool:
    """So few words are shared that no alignment would find enough: it is spared."""
    old, new = case.old, case.new
    longest = max(len(old.content), len(new.content))
    if old.language != new.language or longest < _FEW or new.cues.keys() & _ASIDE or old.past or new.past:
        return False
    common = [term.key for term in new.content if term.key in old.keys]
    if not set(common) - {"user"}:
        return not new.cues
    said = len(old.content) + len(new.content)
    return len(common) * 2 / said < _LEAST and longest > _MOST_APART + len(common)


def says_nothing(case: Case) -> bool:
    """Small words and signs only: nothing that could be said again or otherwise."""
    return not case.old.content or not case.new.content


def other_of_a_kind(case: Case) -> Evidence | None:
    """Two words that another language joins: 舅舅 and 伯伯 are two uncles, and 桌子 a desk or a table."""
    kin = words_of("kin", "words")
    for old, new in case.diff.shared:
        if old.text == new.text:
            continue
        one, other = old.text.casefold(), new.text.casefold()
        if (old.key in kin and not are_one_relative(one, other)) or are_two_things(one, other):
            return evidence("subject", old.text, new.text)
    return None


def left_out(case: Case) -> Evidence | None:
    """Whom or what the old text speaks of, when the new one has a subject and does not name it: the user's brother."""
    content = [term for term in case.old.content if term.key != "user"]
    named = [term for term in content if term.subject]
    if not named or len(named) == len(content) or not any(term.subject for term in case.new.content):
        return None
    missing = [term for term in named if term.key in words_of("kin", "words") and term.key not in case.new.keys]
    if not missing and any(term.key in case.new.keys for term in content):
        return None
    return evidence("subject", (missing or named)[0].text)


def on_one_footing(case: Case) -> bool:
    """All of the old text is in the new one, or little beside what both say.

    Statements of one slot differ in a word or two. Where each says five things that the other does not, the words that
    they share are chance: the same person, "very happy", "of the project".
    """
    shared = len(case.diff.shared)
    old, new = len(case.old.content) - shared, len(case.new.content) - shared
    return not old or not new or max(old, new) <= _MOST_APART or case.overlap >= _MOSTLY_SHARED


def two_episodes(case: Case, found: Verdict) -> Verdict | None:
    """Two things that happened to one person are no two values of a slot, unless a date or figure alone differs."""
    if found.relation not in {"disputes", "supersedes"}:
        return None
    pair = (case.old, case.new)
    stories = all(one.past and len(one.content) >= _STORY for one in pair) and case.overlap < _ALL_BUT_A_WORD
    if not stories and not all(map(_is_episode, pair)):
        return None
    codes = {sign.code for sign in found.evidence}
    if codes & _ONE_VALUE or not codes & _OPEN_SLOTS:
        return None
    return verdict("different", *found.evidence, undecided=True)


def _is_episode(assertion: Assertion) -> bool:
    """Somebody did or felt something once."""
    episodes = words_of("episode", "verbs")
    told = any(sign in assertion.text for sign in _TOLD)
    return any(term.key in episodes and (told or term.token.past) for term in assertion.content)
