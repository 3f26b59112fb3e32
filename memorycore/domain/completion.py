"""Whether a text reports something finished: on which day, whether that holds, and whether anything in it lasts."""

import re
from dataclasses import dataclass

from memorycore.domain.cues import Hit, Reading, Span
from memorycore.domain.mood import describes_defect

STATUS_MAX_WIDTH = 90
_NEGATION_REACH_WORDS = 3
_BEFORE_CHARS = 8
_PLACE_NEAR_CHARS = 30
_NAME_MAX_CHARS = 16
_TICKET_NEAR_CHARS = 2

_LASTING = re.compile(
    r"https?://|(?<!\w)[~/][\w.-]+/|\w\.(?:py|md|txt|json|ya?ml|toml|csv|conf|sql|pdf)\b"
    r"|(?<!\w)v\d+(?:\.\d+)|\d+\.\d+\.\d+|\b[a-z]+-[a-z]+-\d\b"
)
_NUMBER = re.compile(
    r"(?<![a-z])\d(?:[\d.,:]*\d)?|[一二三四五六七八九十百千万两]+(?=[个台条间只名位元块斤公百千万年月天周折张])"
)
_PARTICIPLE = re.compile(r"[a-z]{3,}ed")
_TICKED = re.compile(r"^\s*[-*+]\s*\[[x✓✔]\]", re.MULTILINE)
_ERROR = re.compile(r"error|erreur|fehler|错误|报错|エラー|오류")
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_SHIPPED_TO = re.compile(
    r"\s*(?:the )?(?:prod|production|staging|main|master|live"
    r"|生产|线上|主干|主分支|测试环境|预发|测试服|开发环境|正式环境)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Each field holds the words that show it, empty when nothing does.

    ``dated`` a stated day, week or moment · ``finished`` completion that is neither negated nor a mere condition ·
    ``pending`` something unfinished · ``kept_for`` what makes a finished line worth keeping (reason, place, value) ·
    ``status`` the completion when the whole text is a short finished line with nothing worth keeping · ``marks`` how
    many words of completion hold.
    """

    dated: str = ""
    finished: str = ""
    pending: str = ""
    kept_for: str = ""
    status: str = ""
    marks: int = 0

    @property
    def recorded(self) -> bool:
        """A completed record of a stated day."""
        return bool(self.dated and self.finished and not self.pending)


def find_completion(reading: Reading) -> Completion:
    """Look for what is finished, pending and dated in a text."""
    days = reading.of("date", "day")
    done = [hit for hit in reading.of("completed", "chore", "ended") if _holds(reading, hit, dated=bool(days))]
    done = _ticked(reading) or done or _closing_participles(reading)
    if done:
        days = days or reading.of("weekday")
    dated = days[0].word if days else ""
    pending = _pending(reading)
    kept_for = _kept_for(reading, done) if done else ""
    stale = not (dated or pending or kept_for or reading.has("future", "failure")) and _only_status(reading, done)
    return Completion(
        dated=dated,
        finished=done[0].word if done else _past_event(reading) if dated else "",
        pending=pending,
        kept_for=kept_for,
        status=(done or reading.of("fine"))[0].word if stale else "",
        marks=len({(hit.start, hit.end) for hit in done}),
    )


def _closing_participles(reading: Reading) -> list[Hit]:
    """Completion by a verb that no list holds: "Map tiles refreshed.", "The gutter has been cleaned"."""
    unfit = reading.lexicon.list("no_completion_after")
    found: list[Hit] = []
    for span in reading.clauses if unfit else ():
        words = [token for token in reading.tokens_in(span) if token.word[0].isalnum()]
        if len(words) > 1 and _PARTICIPLE.fullmatch(words[-1].word) and words[-2].word not in unfit:
            found.append(Hit("completed", words[-1].word, words[-1].start, words[-1].end, first=False))
    return [hit for hit in found if _holds(reading, hit, dated=False)]


def _ticked(reading: Reading) -> list[Hit]:
    """A list whose boxes are all ticked is a list of finished chores."""
    boxes = list(_TICKED.finditer(reading.text))
    lines = [line for line in reading.text.splitlines() if line.strip()]
    if not boxes or len(boxes) < len(lines):
        return []
    return [Hit("chore", box.group().strip(), box.start(), box.end(), first=True) for box in boxes]


def _holds(reading: Reading, hit: Hit, *, dated: bool) -> bool:
    """Whether a word of completion is neither negated nor a condition ("once it is fixed", "已关闭的工单")."""
    if reading.in_words:
        return _holds_in_words(reading, hit)
    lexicon = reading.lexicon
    before = reading.text[max(0, hit.start - _BEFORE_CHARS) : hit.start]
    if (
        lexicon.pattern("negated_before").search(before)
        or lexicon.pattern("condition_before").search(reading.text, reading.clause_of(hit)[0], hit.start)
        or lexicon.pattern("condition_after").match(reading.text, hit.end)
    ):
        return False
    return hit.cue != "ended" or _surely_ended(reading, hit, before, dated=dated)


def _surely_ended(reading: Reading, hit: Hit, before: str, *, dated: bool) -> bool:
    """A bare verb of ending is over beside 已 or 了, or on a stated day; in "签订日" it is a mere name."""
    if reading.lexicon.pattern("name_after").match(reading.text, hit.end):
        return False
    if reading.text.startswith("了", hit.end) or reading.lexicon.pattern("already_before").search(before):
        return True
    return dated and not reading.within(reading.clause_of(hit), "future")


def _holds_in_words(reading: Reading, hit: Hit) -> bool:
    span = reading.clause_of(hit)
    before = [token.word for token in reading.tokens_in((span[0], hit.start))]
    negations = {negation.word for negation in reading.within(span, "negation")}
    if negations.intersection(before[-_NEGATION_REACH_WORDS:]) and hit.word.split()[0] not in negations:
        return False
    conditions = reading.within((span[0], hit.start), "condition")
    return not any(when.first and when.word in reading.lexicon.list("if") for when in conditions)


def _past_event(reading: Reading) -> str:
    """In a dated text any event in the past makes a record, unless the text looks ahead."""
    if reading.has("future"):
        return ""
    told = reading.lexicon.pattern("past").search(reading.text)
    verbs = reading.of("past_verb")
    return told.group() if told else verbs[0].word if verbs else ""


def _pending(reading: Reading) -> str:
    over = reading.of("completed", "fine")
    for hit in reading.of("pending"):
        held = any(other.start <= hit.start and hit.end <= other.end for other in over)
        if not held and not describes_defect(reading, hit):
            return hit.word
    return ""


def _kept_for(reading: Reading, done: list[Hit]) -> str:
    """A reason, a place or a value makes a finished line worth keeping."""
    lasting = _LASTING.search(reading.text)
    if lasting:
        return lasting.group()
    reasons = reading.of("reason")
    return reasons[0].word if reasons else _place(reading, done) or _value(reading)


def _place(reading: Reading, done: list[Hit]) -> str:
    """Where something went; in Latin scripts only after a verb of moving: "fixed the typo in the header" is none."""
    places = [hit for hit in reading.of("place") if not _SHIPPED_TO.match(reading.text, hit.end)]
    if reading.in_words:
        starts = {hit.start for hit in done}
        moves = [hit for hit in reading.of("move") if hit.first or hit.start in starts]
        places = [hit for hit in places if any(0 < hit.start - move.end < _PLACE_NEAR_CHARS for move in moves)]
    elif not places:
        follows = reading.lexicon.pattern("place_after")
        went = [hit for hit in done if follows.match(reading.text, hit.end)]
        places = [hit for hit in went if not _SHIPPED_TO.match(reading.text, hit.end + 1)]
    return places[0].word if places else ""


def _value(reading: Reading) -> str:
    """A number that is neither the time of day nor the number of a ticket."""
    tickets = [hit.end for hit in reading.of("ticket")]
    for match in _NUMBER.finditer(reading.text):
        start = match.start()
        plain = _CLOCK.fullmatch(match.group()) or match.group() == "0"
        if plain or reading.text[max(0, start - 1) : start] in {"#", "-"} or _names_error(reading.text, match):
            continue
        if not any(0 <= start - end <= _TICKET_NEAR_CHARS for end in tickets):
            return match.group()
    return ""


def _names_error(text: str, number: re.Match[str]) -> bool:
    """Whether a number is that of an error: "the 500 error", "Fehler 404"."""
    before, after = text[max(0, number.start() - 9) : number.start()], text[number.end() : number.end() + 7]
    return bool(_ERROR.search(before.rstrip()[-8:]) or _ERROR.match(after.lstrip(" -")))


def _only_status(reading: Reading, done: list[Hit]) -> bool:
    """Whether every clause of a short text says no more than that something is over or well."""
    width = sum(1 if char.isascii() else 2 for char in reading.text.strip())
    if not (done or reading.has("fine")) or width > STATUS_MAX_WIDTH or _may_last(reading):
        return False
    if not reading.in_words and any(hit.first for hit in reading.of("user")):
        return False
    if "surely" in reading.lexicon.patterns and not reading.lexicon.pattern("surely").search(reading.text):
        return False
    return all(_own_chore(reading, span, done) and _status_clause(reading, span, done) for span in reading.clauses)


def _may_last(reading: Reading) -> bool:
    """Somebody else, a thing of daily life or a state that lasts: a wrong "stale" loses it, a wrong "cold" nothing."""
    if reading.has("relation", "associate", "other_person", "attribution"):
        return True
    ends_work = reading.lexicon.list("ends_work") if reading.has("work_item") else frozenset[str]()
    if any(hit.word not in ends_work for hit in reading.of("lasting")):
        return True
    work = {hit.word for hit in reading.of("session", "work_item", "completed", "chore", "fine")}
    if any(name.word not in work for name in reading.names):
        return True
    bound = {hit.word for hit in reading.of("completed", "chore")} & reading.lexicon.list("only_of_work")
    return bool(bound) and not reading.has("work_item")


def _own_chore(reading: Reading, span: Span, done: list[Hit]) -> bool:
    """Whether a clause names a thing of a working session, or nothing at all beside its completion ("Done.")."""
    if reading.within(span, "session", "work_item"):
        return True
    said = [hit for hit in [*done, *reading.of("fine", "ended")] if span[0] <= hit.start < span[1]]
    if not reading.in_words:
        chars = [
            char
            for place, char in enumerate(reading.text[span[0] : span[1]], span[0])
            if char.isalnum() and not any(hit.start <= place < hit.end for hit in said)
        ]
        return not reading.lexicon.pattern("light").sub("", "".join(chars)).strip("0123456789")
    light = reading.lexicon.list("tail") | reading.lexicon.list("light")
    return all(
        token.word in light
        or not token.word[0].isalnum()
        or _CLOCK.fullmatch(token.word)
        or any(hit.start <= token.start < hit.end for hit in said)
        for token in reading.tokens_in(span)
    )


def _ends_clause(reading: Reading, span: Span, hit: Hit) -> bool:
    return not reading.text[hit.end : span[1]].strip(" .。!,;:了啦")


def _opens_chore(reading: Reading, span: Span, hit: Hit) -> bool:
    """A clause such as "重启了 worker": what was done comes first, and after it a Latin name only."""
    rest = reading.text[hit.end : span[1]].strip(" .。!,;:")
    return hit.first and rest.isascii() and len(rest) <= _NAME_MAX_CHARS


def _status_clause(reading: Reading, span: Span, done: list[Hit]) -> bool:
    """Whether a clause says no more than that something is over, or what time it is."""
    if reading.within(span, "fine") or _CLOCK.fullmatch(reading.text[span[0] : span[1]].strip(" :-,")):
        return True
    inside = [hit for hit in done if span[0] <= hit.start < span[1]]
    if not reading.in_words:
        ends = [hit for hit in [*inside, *reading.within(span, "ended")] if _ends_clause(reading, span, hit)]
        return bool(ends) or any(hit.word.startswith("已") or _opens_chore(reading, span, hit) for hit in inside)
    if not inside or reading.within(span, "practice"):  # "Done means deployed"
        return False
    if any(hit.cue == "chore" and hit.first for hit in inside):
        return True
    words = [token for token in reading.tokens_in(span) if token.word[0].isalnum()]
    last = max(hit.end for hit in inside)
    rest = {token.word for token in words if token.start >= last}
    if rest & reading.lexicon.list("beside_work") and reading.within((last, span[1]), "session", "work_item"):
        return True  # "Broken link fixed in the docs"
    return rest <= reading.lexicon.list("tail") or words[0].word in reading.lexicon.list("we")
