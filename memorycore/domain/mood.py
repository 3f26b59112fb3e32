"""Whether a sentence commands, states a rule for all of a kind, or merely describes; and who it is about."""

from bisect import bisect_left
from dataclasses import replace
from typing import Literal

from memorycore.domain.cues import Hit, Reading, Span

Subject = Literal["user", "assistant", "relation", "other", "none"]

_TOPIC_CHARS = 8
_LEAD_WIDTH = 14
_TOPIC_WORDS = 7
_OPENING_WORDS = 3
_SHORTEST_PLURAL = 3  # "gas", "bus"
_BEFORE_VERB = " \n\t-*•>#()[]"
_CLOSING_MARKS = " .。!,;:了啦"


def subject_of(reading: Reading, span: Span) -> Subject:
    """Who a sentence is about: the user, the assistant, somebody close to the user, another thing of theirs, nobody."""
    if reading.within(span, "attribute"):
        return "user"
    said = reading.within(span, "identity")  # "有两个孩子" tells of the user
    people = [
        hit
        for hit in reading.within(span, "relation", "associate")
        if not any(one.start < hit.start < one.end for one in said)
    ]
    owners = [hit for hit in reading.within(span, "my") if leads(reading, span, hit)]
    if any(0 <= person.start - owner.end <= _TOPIC_CHARS for owner in owners for person in people):
        return "relation"
    users = [hit for hit in reading.within(span, "user") if leads(reading, span, hit)]
    if any(user.end == person.start for user in users for person in people):  # "我姐姐"
        return "relation"
    if users or owners:
        owned = not users or reading.text[users[0].end :].lstrip().startswith(("'s", "的"))
        return "other" if owned and not reading.within(span, "like") else "user"
    if people and people[0].first and leads(reading, span, people[0]):
        return "relation"
    return "assistant" if any(leads(reading, span, hit) for hit in reading.within(span, "assistant")) else "none"


def with_user_named(reading: Reading) -> Reading:
    """A text of the user's own file may call them by name: "Ingrid wants short answers"."""
    found = reading.lexicon.pattern("named_user").match(reading.text)
    if found is None or found["name"] in reading.lexicon.known or reading.within(reading.sentences[0], "user"):
        return reading
    name = Hit("user", found["name"], *found.span("name"), first=True)
    owner = Hit("my", found["name"], *found.span("name"), first=True)
    return replace(reading, hits=reading.hits | {"user": [name, *reading.of("user")], "my": [owner, *reading.of("my")]})


def leads(reading: Reading, span: Span, hit: Hit) -> bool:
    """Whether nothing but a short opening, such as a date, stands before."""
    before = reading.text[span[0] : hit.start].strip()
    return sum(1 if char.isascii() else 2 for char in before) <= _LEAD_WIDTH


def commands_in(reading: Reading, span: Span) -> list[tuple[Hit, bool]]:
    """Verbs of command, each with whether it opens the sentence or follows its condition."""
    verbs = [hit for hit in reading.within(span, "imperative") if hit.first and _is_command(reading, hit)]
    conditional = _opens_with_condition(reading, span)
    return [(hit, conditional or _opens(reading, span, hit)) for hit in verbs or _unlisted_verbs(reading, span)]


def _opens(reading: Reading, span: Span, hit: Hit) -> bool:
    before = reading.text[span[0] : hit.start].strip()
    if not before or before[-1] in ":;-" or reading.clause_of(hit)[0] == span[0]:
        return True
    return reading.word_before(hit) in reading.lexicon.list("therefore")


def _opens_with_condition(reading: Reading, span: Span) -> bool:
    return any(when.first and reading.clause_of(when)[0] == span[0] for when in reading.within(span, "condition"))


def _is_command(reading: Reading, hit: Hit) -> bool:
    """A verb that opens a clause is a command, unless it is a noun there: "Report of", "Test passed", "备份完成"."""
    span = reading.clause_of(hit)
    after = reading.word_after(hit)
    done = reading.within(span, "completed", "fine")
    if after in reading.lexicon.list("no_object") or any(over.start <= hit.start for over in done):
        return False
    if after[:1].isdigit() and reading.within(span, "past_verb", "completed", "ticket"):
        return False
    if reading.in_words:
        numbered = after[:1].isdigit()  # "tape 40 is missing"
        maybe_noun = numbered or hit.word in reading.lexicon.list("noun_verb")
        if maybe_noun and _has_finite_verb(reading, (hit.end, span[1])):
            return False
        return bool(reading.within(span, "condition")) or not _ends_with(reading, span, done)
    if reading.within(span, "must", "prohibit", "refrain", "ought"):
        return True
    return not reading.within(span, "particular") and not _ends_with(reading, span, done)


def _has_finite_verb(reading: Reading, span: Span) -> bool:
    words = [token.word for token in reading.tokens_in(span)]
    finite = next((place for place, word in enumerate(words) if word in reading.lexicon.list("finite")), 0)
    return finite > 0 and reading.lexicon.list("subordinate").isdisjoint(words[:finite])


def _unlisted_verbs(reading: Reading, span: Span) -> list[Hit]:
    """Commands whose verb no list holds: an unmarked word with an object that opens a sentence or its main clause."""
    openers = reading.lexicon.list("object_start")
    conditional = _opens_with_condition(reading, span)
    found: list[Hit] = []
    for clause in reading.clauses if openers else ():
        if not (clause[0] == span[0] or (conditional and span[0] < clause[0] < span[1])):
            continue  # before anything is looked at: a long text has very many clauses
        first = bisect_left(reading.tokens, clause[0], key=lambda token: token.start)
        words = [token for token in reading.tokens[first : first + 2] if token.start < clause[1]]
        opens = len(words) > 1 and not reading.text[clause[0] : words[0].start].strip(_BEFORE_VERB)  # no quotation
        if opens and words[1].word in openers and _may_be_verb(reading, clause, words[0].word):
            found.append(Hit("imperative", words[0].word, words[0].start, words[0].end, first=True))
    return found


def _may_be_verb(reading: Reading, clause: Span, word: str) -> bool:
    known = reading.within(
        clause, "past_verb", "chore", "completed", "day", "question", "standing", "user", "relation", "attribution"
    )
    if any(hit.first for hit in known) or not word.isalpha():
        return False
    return word not in reading.lexicon.list("no_verb") and not word.endswith(("ed", "ing", "s", "ly"))


def _ends_with(reading: Reading, span: Span, done: list[Hit]) -> bool:
    return any(not reading.text[over.end : span[1]].strip(_CLOSING_MARKS) for over in done)


def describes_defect(reading: Reading, hit: Hit) -> bool:
    """Whether a cue belongs to the description of a defect that is gone: "账号禁止登录的问题处理好了"."""
    clause = reading.clause_of(hit)
    defects = [defect for defect in reading.within(clause, "symptom") if defect.start >= hit.end]
    return bool(defects) and any(
        over.start > defects[-1].start for over in reading.within(clause, "completed", "ended")
    )


def tells_habit(reading: Reading, span: Span, hit: Hit) -> bool:
    """Whether "always" tells a habit ("Lena always brings cake") and gives no rule ("cakes are always cut")."""
    if hit.first or hit.word not in reading.lexicon.list("habit") or reading.within(span, "standing"):
        return False
    return reading.word_after(hit).endswith("s") and reading.word_after(hit) not in {"is", "has", "as"}


def is_general(reading: Reading, span: Span, signs: list[Hit]) -> bool:
    """Whether a sentence speaks of a kind of thing, not of one thing: "Film reels are labelled", "开支要附收据"."""
    if not signs or any(_is_certain(reading, span, hit, signs) for hit in reading.within(span, "particular")):
        return False
    if not reading.in_words:
        near = [hit for hit in reading.within(span, "relation") if leads(reading, span, hit)]
        return not near and not reading.within(span, "org", "other_person")
    if _names_topic(reading, span):
        return True
    finite = reading.lexicon.list("finite")
    told = any(not hit.first and reading.word_before(hit) not in finite for hit in reading.within(span, "past_verb"))
    return not told and _has_general_subject(reading, span, min(signs, key=lambda hit: hit.start))


def names_other_thing(reading: Reading, hit: Hit) -> bool:
    """Whether it is part of another name ("in French grades"), or "you" is anybody ("before you enter")."""
    if hit.word in {"you", "your"}:
        return reading.word_before(hit) in reading.lexicon.list("subordinating")
    follows = reading.lexicon.list("after_language")
    if not follows or not hit.word.startswith("in "):
        return False
    after = reading.word_after(hit)
    return after.isalpha() and after not in follows


def _is_certain(reading: Reading, span: Span, hit: Hit, signs: list[Hit]) -> bool:
    """A 了 before the duty belongs to its condition: "改了哪个文件要说出来"."""
    if hit.word != "了" or reading.within(span, "day", "date"):
        return True
    return not any(sign.cue in {"must", "prohibit", "ought"} and sign.start > hit.end for sign in signs)


def _names_topic(reading: Reading, span: Span) -> bool:
    """Whether a sentence has the form "Running plan: at most four sessions a week"."""
    topic, colon, _ = reading.text[span[0] : span[1]].partition(": ")
    if not colon or topic[:1].isdigit():
        return False
    rest = (span[0] + len(topic) + len(colon), span[1])
    return bool(reading.tokens_in(rest)) and not _has_finite_verb(reading, rest) and len(topic.split()) <= _TOPIC_WORDS


def _has_general_subject(reading: Reading, span: Span, verb: Hit) -> bool:
    lists = reading.lexicon.list
    opening = [token.word for token in reading.tokens_in((span[0], verb.start))]
    while opening and opening[0] in lists("openers"):
        opening = opening[_OPENING_WORDS:]
    if not lists("general").isdisjoint(opening):
        return True
    if reading.language != "en" or not opening or opening[0] in lists("particular"):
        return False
    if in_certain_place(reading, " ".join(opening)):
        return False
    singular = verb.cue == "practice" and verb.word.split()[0].endswith("s")
    return not singular and any(is_plural(word) or word in lists("plurals") for word in opening[:_OPENING_WORDS])


def in_certain_place(reading: Reading, opening: str) -> bool:
    """Whether the words that open a text name a place or time of their own: "posters from the thirties"."""
    lists = reading.lexicon.list
    places = [name for name in reading.names if name.start < len(opening)]
    return bool(reading.lexicon.pattern("somewhere").search(opening)) or any(
        reading.word_before(Hit("name", *name, first=False)) in lists("where") for name in places
    )


def is_plural(word: str) -> bool:
    """Whether an English word looks like a plural."""
    return len(word) > _SHORTEST_PLURAL and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))
