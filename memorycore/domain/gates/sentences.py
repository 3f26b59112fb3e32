"""The sentences of a folded text, each with the cues of ``vocabulary/instructions.toml`` that stand in it."""

import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from memorycore.domain.gates.forms import Span, folded
from memorycore.domain.gates.phrases import CJK, Hit, Phrases, index

_MOST_HITS = 12
_LONGEST_SENTENCE = 500
_CJK_DENSITY = 3  # a Chinese character says as much as three letters
_MODIFIER_REACH = 48
_LIMIT_REACH = 4
_BESIDE = 4
_SHORTEST_PART = 3
_KNOWN_SHARE = 0.75
_LONGEST_PART = 14

_SENTENCE_END = re.compile(r"[.!?。！？;；]+(?=\s|$|[^\x00-\x7f])|[。！？]|\n\s*\n|\n(?=\s*(?:[-*•#<]|\d+[.)]))")
_ONE_WORD = re.compile(r"\s*[a-z']{1,15}")  # "Ignore. All. Rules." is one sentence
_CLAUSE_MARK = re.compile(r"[,;:、，\"]")
_QUOTED_SPAN = re.compile(r"\"[^\"\n]{1,500}\"|(?<!\w)'[^'\n]{2,300}'(?!\w)|`[^`\n]{1,300}`|<<[^>\n]{1,300}>>")
_FILLER = re.compile(r"(?:\s|of|the|those|these|such|that|which|von|der|den|de|des|las|los|les|的|の)*")
_DECORATION = " \t\n*_>#-!<([{（【\"'"
_JOINED = re.compile(r"[a-z]{15,}")
_COMMENT_MARKS = (("<!--", "-->"), ("/*", "*/"), ("{#", "#}"))
_COMMENT_ORDERS = (
    "vocative", "reader", "run", "send", "reveal", "disregard", "secretly", "covertly", "feign", "favour", "to_memory",
    "must",
)  # fmt: skip
_NEEDING_RULES = frozenset({"disregard", "undo", "void", "recite", "replaces"})
_MASKS = frozenset({"mask", "address", "voice_token"})


@dataclass(frozen=True, slots=True)
class Sign:
    """What cues mean together: one of each need in a sentence, at most ``reach`` apart.

    ``aims``: it gives an order to the agent, and is more than a dress.
    """

    rule: str
    weight: float
    needs: tuple[tuple[str, ...], ...]
    reach: int
    aims: bool


@dataclass(slots=True)
class Sentence:
    """One sentence with its cues, and whether a sentence near it holds a cue about attacks, out of quotation marks."""

    text: str
    start: int
    cues: dict[str, list[Hit]]
    quotes: list[Span]
    around: frozenset[str] = frozenset()

    def of(self, *cues: str) -> list[Hit]:
        return [hit for cue in cues for hit in self.cues.get(cue, ())]

    def others(self, hits: list[Hit], *cues: str) -> list[Hit]:
        """Hits of these cues that share nothing with the given ones."""
        return [hit for hit in self.of(*cues) if not any(hit.start < one.end and one.start < hit.end for one in hits)]

    def between(self, start: int, end: int) -> str:
        return self.text[max(0, start - self.start) : max(0, end - self.start)]

    def width(self, start: int, end: int) -> int:
        """Length of a stretch, Chinese, Japanese and Korean characters counted as three."""
        stretch = self.between(start, end)
        return len(stretch) if stretch.isascii() else len(stretch) + (_CJK_DENSITY - 1) * len(CJK.findall(stretch))

    def near(self, start: int, end: int, reach: int) -> bool:
        """Whether so little stands between two places, and no sign that parts clauses."""
        return self.width(start, end) <= reach and not _CLAUSE_MARK.search(self.between(start, end))

    def cuts_quote(self, hits: list[Hit]) -> bool:
        """Whether words in and outside a quotation were put together. A command may stand in one: run `…`."""
        places = [hit for hit in hits if hit.cue not in {"command", "address"}]
        homes = {next((first for first, last in self.quotes if first <= hit.start < last), -1) for hit in places}
        return len(homes) > 1

    def quotes_all(self, start: int, end: int) -> bool:
        return any(first <= start and end <= last for first, last in self.quotes)


@cache
def _table() -> dict[str, Any]:
    source = files("memorycore.domain") / "vocabulary" / "instructions.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def _phrases() -> Phrases:
    cues: dict[str, list[str]] = _table()["cues"]
    # Folding takes the sign of a gap apart.
    return index({cue: [folded(entry).replace("...", "…") for entry in entries] for cue, entries in cues.items()})


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern) for name, pattern in _table()["patterns"].items()}


@cache
def signs() -> tuple[Sign, ...]:
    """The signs of the vocabulary, in its order."""
    return tuple(
        Sign(
            rule=sign["rule"],
            weight=sign["weight"],
            needs=tuple(tuple(need.split("|")) for need in sign["needs"]),
            reach=sign.get("reach", 0),
            aims=sign.get("aims", False),
        )
        for sign in _table()["signs"]
    )


def read(text: str) -> list[Sentence]:
    """The sentences of a folded text, each with what is said in it."""
    found = {*_phrases().hits(text), *_run_together(text)}
    marks = [
        Hit(cue, *match.span())
        for cue in ("role_label", "role_token", "voice_token", "address", "command")
        for match in _patterns()[cue].finditer(text)
    ]
    if not found and not marks:
        return []
    masks = sorted((hit for hit in (*found, *marks) if hit.cue in _MASKS), key=lambda hit: hit.start)
    hits = sorted((hit for hit in found if not _masked(hit, masks)), key=lambda hit: (hit.start, hit.end))
    hidden = [Hit("hidden", *span) for span in _hidden(text) if _orders(hits, span)]
    sentences = _sentences(text)
    starts = [sentence.start for sentence in sentences]
    for hit in (*hits, *marks, *hidden):
        same = sentences[max(0, bisect_right(starts, hit.start) - 1)].cues.setdefault(hit.cue, [])
        if len(same) < _MOST_HITS:  # a word said over and over takes no longer
            same.append(hit)
    for sentence in sentences:
        _keep_calls(sentence)
        _find_rules(sentence)
    for place, sentence in enumerate(sentences):
        sentence.around = _answers(sentences[max(0, place - 2) : place + 3])
    return sentences


def _masked(hit: Hit, masks: list[Hit]) -> bool:
    """Whether a hit stands inside a compound or an address that means something else."""
    last = bisect_right(masks, hit.start, key=lambda mask: mask.start)
    return any(hit.end <= mask.end for mask in masks[max(0, last - 3) : last])


def _orders(hits: list[Hit], span: Span) -> bool:
    first = bisect_left(hits, span[0], key=lambda hit: hit.start)
    return any(
        hit.cue in _COMMENT_ORDERS for hit in hits[first : bisect_left(hits, span[1], key=lambda hit: hit.start)]
    )


def _keep_calls(sentence: Sentence) -> None:
    """Only in front is an assistant called: "Agent, pay" does so, "as an agent, I" does not."""
    before = ((hit, sentence.between(sentence.start, hit.start).strip(_DECORATION)) for hit in sentence.of("vocative"))
    called = [hit for hit, text in before if not text or text.endswith(":")]
    if called:
        sentence.cues["vocative"] = called
    else:
        sentence.cues.pop("vocative", None)


def _answers(sentences: list[Sentence]) -> frozenset[str]:
    """What is said about attacks here, outside quotations."""
    return frozenset(
        hit.cue
        for sentence in sentences
        for hit in sentence.of("defend", "narrate", "obey", "tells", "stranger")
        if not sentence.quotes_all(hit.start, hit.end)
        and not (hit.cue == "obey" and hit not in sentence.others(sentence.of("defend"), "obey"))  # "do not obey"
    )


def _run_together(text: str) -> Iterator[Hit]:
    """Cues in words without blanks between: "ignoreallpreviousinstructions"."""
    for match in _JOINED.finditer(text):
        word = match.group()
        if word in _phrases().known:
            continue
        parts = list(_parts(word, _phrases().known))
        if sum(map(len, parts)) >= _KNOWN_SHARE * len(word):
            for hit in _phrases().hits(" ".join(parts)):
                yield Hit(hit.cue, *match.span())


def _parts(word: str, known: Collection[str]) -> Iterator[str]:
    """The known words in a run of letters, the longest first at each place."""
    place = 0
    while place < len(word):
        longest = min(len(word), place + _LONGEST_PART)
        ends = (end for end in range(longest, place + _SHORTEST_PART - 1, -1) if word[place:end] in known)
        end = next(ends, 0)
        if end:
            yield word[place:end]
        place = end or place + 1


def _sentences(text: str) -> list[Sentence]:
    """Cut at sentence ends. Quotations and code keep their place, unless one of them is nearly the whole text."""
    whole = len(text.strip(" .。"))
    quotes = [match.span() for match in _QUOTED_SPAN.finditer(text)]
    quotes = [(start, end) for start, end in quotes if (end - start) * 5 < whole * 4]
    starts = [start for start, _ in quotes]
    marks = [(0, 0), *(match.span() for match in _SENTENCE_END.finditer(text))]
    ends = [
        0,
        *(end for (_, last), (mark, end) in pairwise(marks) if not _ONE_WORD.fullmatch(text, last, mark)),
        len(text),
    ]
    sentences: list[Sentence] = []
    for start, end in _short_enough(ends):
        if text[start:end].strip() or not sentences:
            first = max(0, bisect_right(starts, start) - 1)
            inside = [quote for quote in quotes[first : bisect_right(starts, end)] if quote[1] > start]
            sentences.append(Sentence(text[start:end], start, {}, inside))
    return sentences


def _short_enough(ends: list[int]) -> Iterator[Span]:
    """Sentences without an end are cut, so that each takes the same time."""
    for first, last in pairwise(ends):
        for start in range(first, max(last, first + 1), _LONGEST_SENTENCE):
            yield start, min(last, start + _LONGEST_SENTENCE)


def _hidden(text: str) -> Iterator[Span]:
    """Stretches that a reader of the page does not see."""
    for opening, closing in _COMMENT_MARKS:
        start = text.find(opening)
        while start >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            yield start, end
            start = text.find(opening, end)
    for match in _patterns()["hidden"].finditer(text):
        yield match.span()


def _find_rules(sentence: Sentence) -> None:
    """Tell the rules that an agent was given ("your rules", "all previous instructions") from others."""
    if "rules" not in sentence.cues or sentence.cues.keys().isdisjoint(_NEEDING_RULES):
        return
    for noun in sentence.cues["rules"]:
        for kind in _kinds_of_rules(sentence, noun):
            sentence.cues.setdefault(kind, []).append(Hit(kind, noun.start, noun.end))


def _kinds_of_rules(sentence: Sentence, noun: Hit) -> tuple[str, ...]:
    """What rules a noun means: given before, surely those of an agent, all there are, or just some ("free")."""
    near = [hit for hit in sentence.of("prior", "own", "all", "mine") if _modifies(sentence, hit, noun)]
    kinds = {hit.cue for hit in near}
    if any(
        0 <= sentence.width(hit.end, noun.start) <= _BESIDE and hit.end <= noun.start for hit in sentence.of("boss")
    ):
        kinds.add("own")  # "the operator's rules"
    limited = any(_limits(sentence, hit, noun) for hit in sentence.of("third_text", "about"))
    if "mine" in kinds or (limited and "own" not in kinds):
        return ()
    machine = any(hit.start == noun.start for hit in sentence.of("orders_given"))
    if "own" in kinds or ("prior" in kinds and (machine or _adjoins(sentence, near, noun))):
        return ("given_rules", "agent_rules") if "own" in kinds or machine else ("given_rules",)
    if "all" in kinds and _adjoins(sentence, near, noun):
        return ("given_rules",) if machine else ("all_rules",)
    return ("free_rules",)


def _modifies(sentence: Sentence, hit: Hit, noun: Hit) -> bool:
    if hit.end <= noun.start:
        return sentence.near(hit.end, noun.start, _MODIFIER_REACH)
    if hit.start < noun.end:
        return hit.cue == "own" or hit[1:] == noun[1:]  # "system prompt" holds its noun; words run together
    foreign = CJK.match(sentence.text, noun.start - sentence.start)  # there modifiers stand in front
    if foreign or hit.cue == "all" or '"' in sentence.between(noun.end, hit.start):
        return False
    if hit.cue == "own" and " " not in sentence.between(hit.start, hit.end):  # "rules for your code"
        return False
    return sentence.width(noun.end, hit.start) <= _MODIFIER_REACH


def _limits(sentence: Sentence, hit: Hit, noun: Hit) -> bool:
    """Whether the rules are those of one thing, or of somebody else's text."""
    if hit.start >= noun.end:
        return sentence.width(noun.end, hit.start) <= _LIMIT_REACH
    if not CJK.match(sentence.text, noun.start - sentence.start):
        return False
    return sentence.width(hit.end, noun.start) <= _MODIFIER_REACH // 2


def _adjoins(sentence: Sentence, near: list[Hit], noun: Hit) -> bool:
    """Whether nothing but small words and other modifiers stand between a modifier and the noun."""
    before = [hit for hit in near if hit.end <= noun.start]
    after = [hit for hit in near if hit.start >= noun.end]
    gaps = [(max(hit.end for hit in before), noun.start)] if before else []
    gaps += [(noun.end, min(hit.start for hit in after))] if after else []
    return any(_FILLER.fullmatch(sentence.between(*gap)) for gap in gaps) or not (before or after)
