"""Whether a text reports something finished: on which day, whether that holds, and whether anything in it lasts."""

import re
from dataclasses import dataclass

from memorycore.domain.cues import Hit, Reading

Span = tuple[int, int]

STATUS_MAX_WIDTH = 90
_LATIN = frozenset({"en", "fr", "de", "es"})
_BEFORE_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Each field holds the words that show it, empty when nothing does.

    ``dated`` a stated day, week or moment · ``finished`` completion that is neither negated nor a mere condition ·
    ``pending`` something unfinished or planned · ``kept_for`` what makes a finished line worth keeping (reason, place,
    value) · ``status`` the completion when the whole text is a short finished line with nothing worth keeping.
    """

    dated: str = ""
    finished: str = ""
    pending: str = ""
    kept_for: str = ""
    status: str = ""

    @property
    def recorded(self) -> bool:
        """A completed record of a stated day."""
        return bool(self.dated and self.finished and not self.pending)


def find_completion(reading: Reading) -> Completion:
    """Look for what is finished, pending and dated in a text."""
    days = reading.of("date", "day")
    dated = days[0].word if days else ""
    done = [hit for hit in reading.of("completed", "chore", "ended") if _holds(reading, hit, dated=bool(dated))]
    finished = done[0].word if done else (_past_event(reading) if dated and not reading.has("future") else "")
    over = reading.of("completed", "fine")
    waiting = [hit for hit in reading.of("pending") if not any(o.start <= hit.start and hit.end <= o.end for o in over)]
    pending = waiting[0].word if waiting else ""
    kept_for = _kept_for(reading, done) if done else ""
    plain = bool(done or reading.has("fine")) and not (dated or pending or kept_for or reading.has("future"))
    status = (done or reading.of("fine"))[0].word if plain and _only_status(reading, done) else ""
    return Completion(dated=dated, finished=finished, pending=pending, kept_for=kept_for, status=status)


def _holds(reading: Reading, hit: Hit, *, dated: bool) -> bool:
    """Neither negated nor a condition ("once it is fixed", "已关闭的工单"), and no mere name of an ending."""
    if reading.language in _LATIN:
        return _holds_in_words(reading, hit)
    before = reading.text[max(0, hit.start - 8) : hit.start]
    if _NEGATED.search(before) or _CONDITION_FOLLOWS.match(reading.text, hit.end):
        return False
    return hit.cue != "ended" or dated or _ends_clause(reading, hit) or _ALREADY.search(before) is not None


_NEGATED = re.compile(r"(?:没有?|未|尚未|并未|别|不|不能)$|(?:没|未|没有|尚未|还没)[^,。;]{0,4}$")
_ALREADY = re.compile(r"(?:已经?|刚|都|全部?|均)[^,。;]{0,3}$")
_CONDITION_FOLLOWS = re.compile(
    r"[^,。;]{0,3}?(?:的(?!$)|后(?!台|端)|之后|以后|时(?!间|区)|前(?!端)|てから|たら|すると|하면|한 후|후에|하고 나서)"
)


def _ends_clause(reading: Reading, hit: Hit) -> bool:
    end = reading.clause_of(hit)[1]
    return not reading.text[hit.end : end].strip(" .。!,;:了啦")


def _holds_in_words(reading: Reading, hit: Hit) -> bool:
    span = reading.clause_of(hit)
    before = [token.word for token in reading.tokens if span[0] <= token.start < hit.start]
    negations = {negation.word for negation in reading.within(span, "negation")}
    if negations.intersection(before[-_BEFORE_WORDS:]) and hit.word.split()[0] not in negations:
        return False
    return not any(
        hit.start > when.start and when.first and when.word in _IF for when in reading.within(span, "condition")
    )


_IF = frozenset(
    {
        "if",
        "once",
        "when",
        "whenever",
        "after",
        "before",
        "until",
        "unless",
        "as soon as",
        "where",
        "every time",
        "each time",
        "si",
        "quand",
        "dès que",
        "wenn",
        "sobald",
        "falls",
        "cuando",
        "una vez",
    }
)
_ED = re.compile(r"[a-z]{2,}ed")
_ASPECT = re.compile(r"[\u4e00-\u9fff](?:了|过)(?!解|程|敏|滤|期|去)")


def _past_event(reading: Reading) -> str:
    """In a dated text any event in the past makes it a record."""
    if reading.language == "en":
        past = {hit.word for hit in reading.of("past_verb")}
        return next((token.word for token in reading.tokens if token.word in past or _ED.fullmatch(token.word)), "")
    if reading.language == "zh":
        match = _ASPECT.search(reading.text)
        return match.group() if match else ""
    past_hits = reading.of("past_verb")
    return past_hits[0].word if past_hits else ""


_LASTING = re.compile(
    r"https?://|(?<!\w)[~/][\w.-]+/|\w\.(?:py|md|txt|json|ya?ml|toml|csv|conf|sql|pdf)\b|(?<!\w)v\d+(?:\.\d+)|\d+\.\d+\.\d+|\b[a-z]+-[a-z]+-\d\b"
)
_NUMBER = re.compile(r"\d[\d.,:]*\d|\d|[一二三四五六七八九十百千万两]+(?=[个台条间只名位元块斤公百千万年月天周折张])")
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_SHIPPED_TO = re.compile(r"\s*(?:the )?(?:prod|production|staging|main|master|live|生产|线上|主干|主分支)\b")


def _kept_for(reading: Reading, done: list[Hit]) -> str:
    """A reason, a place or a value makes a finished line worth keeping."""
    lasting = _LASTING.search(reading.text)
    if lasting:
        return lasting.group()
    reasons = reading.of("reason")
    return reasons[0].word if reasons else _place(reading, done) or _value(reading)


def _place(reading: Reading, done: list[Hit]) -> str:
    """Where something went. In words with blanks only after a verb of moving: "fixed the typo in the header" is none."""
    places = reading.of("place")
    if reading.language not in _LATIN:
        return next((hit.word for hit in places if not _SHIPPED_TO.match(reading.text, hit.end)), "")
    starts = {hit.start for hit in done}
    moves = [hit for hit in reading.of("move") if hit.first or hit.start in starts]
    for place in places:
        if any(0 < place.start - hit.end < 30 for hit in moves) and not _SHIPPED_TO.match(reading.text, place.end):  # noqa: PLR2004 a few words
            return place.word
    return ""


def _value(reading: Reading) -> str:
    """A number that is neither the time of day nor the number of a ticket."""
    tickets = [hit.end for hit in reading.of("ticket")]
    for match in _NUMBER.finditer(reading.text):
        number = match.group()
        before = reading.text[max(0, match.start() - 1) : match.start()]
        if _CLOCK.fullmatch(number) or number == "0" or before in {"#", "-"} or before.isascii() and before.isalpha():
            continue
        if not any(0 <= match.start() - end <= 2 for end in tickets):  # noqa: PLR2004 a blank and a sign
            return number
    return ""


def _only_status(reading: Reading, done: list[Hit]) -> bool:
    width = sum(1 if char.isascii() else 2 for char in reading.text.strip())
    if width > STATUS_MAX_WIDTH or reading.has("relation"):
        return False
    if reading.language not in _LATIN and any(hit.first for hit in reading.of("user")):
        return False
    return all(_status_clause(reading, span, done) for span in reading.clauses)


_TAIL = frozenset(
    "now again up off out successfully finally already too ok fine and everywhere cleanly on time as planned to in production prod staging main master live for good properly completely fully the "
    "de nouveau à maintenant enfin bien avec succès wieder jetzt nun erfolgreich de nuevo otra vez ya con éxito y et und".split()
)


def _status_clause(reading: Reading, span: Span, done: list[Hit]) -> bool:
    if reading.within(span, "fine"):
        return True
    inside = [hit for hit in done if span[0] <= hit.start < span[1]]
    if not inside:
        return _CLOCK.fullmatch(reading.text[span[0] : span[1]].strip(" :-")) is not None
    if reading.language not in _LATIN or any(hit.cue == "chore" and hit.first for hit in inside):
        return True
    end = max(hit.end for hit in inside)
    rest = [token.word for token in reading.tokens if end <= token.start < span[1] and token.word[0].isalnum()]
    opening = reading.text[span[0] : span[1]].split()[:1]
    return all(word in _TAIL for word in rest) or (bool(opening) and opening[0] in {"i", "we", "i've", "we've"})
