"""How a kind of things is done, said without a word of duty: "branch names start with the ticket number".

A sentence about one thing, one person or one time tells a fact. One about things that are made or handled again and
again, in the present and with a way of doing it, tells a convention.
"""

from memorycore.domain.cues import Hit, Reading, Span, Token
from memorycore.domain.mood import in_certain_place, is_plural, leads

_SUBJECT_WORDS = 4
_VERB_NEAR_WORDS = 6
_OPENING_WORDS = 8
_STEP_MAX_CHARS = 40


def kind_of_work(reading: Reading, span: Span) -> Hit | None:
    """The words for the kind of things whose handling the first sentence of a text describes; None when it does not."""
    if span != reading.sentences[0] or reading.within(span, "attribution", "pending", "future", "history", "failure"):
        return None
    if not reading.in_words:
        return _in_pieces(reading, span)
    tokens = _after_opening(reading, list(reading.tokens_in(span)))
    if not tokens:
        return None
    ours = _own_habit(reading, span, tokens)
    if ours is not None or tokens[0].word in reading.lexicon.list("each"):
        return ours or _each_of_kind(reading, span, tokens)
    if tokens[0].word in reading.lexicon.list("particular") or reading.within(span, "particular"):
        return None
    return _in_words(reading, span, tokens)


def _own_habit(reading: Reading, span: Span, tokens: list[Token]) -> Hit | None:
    """What we do under a condition: "we squash before merging"."""
    if not reading.within(span, "condition") or reading.within(span, "past_verb", "day"):
        return None
    return next((hit for hit in reading.within(span, "habitual") if hit.start == tokens[0].start), None)


def _in_words(reading: Reading, span: Span, tokens: list[Token]) -> Hit | None:
    verbs = {hit.start for hit in reading.within(span, "custom_verb")}
    if _is_habit_of_kind(reading, span, tokens, verbs):
        return Hit("practice", tokens[0].word, tokens[0].start, tokens[0].end, first=True)
    for hit in [*reading.within(span, "artefact"), *_done_ones(reading, span, tokens)]:
        place = next((at for at, token in enumerate(tokens) if token.start == hit.start), len(tokens))
        after = place + len(hit.word.split())
        near = [at for at in range(after, min(len(tokens), after + _VERB_NEAR_WORDS)) if _unbroken(tokens, after, at)]
        told = any(tokens[at].start in verbs or _takes_form(reading, tokens, at) for at in near)
        if after <= _SUBJECT_WORDS and told:
            return hit
    return None


def _is_habit_of_kind(reading: Reading, span: Span, tokens: list[Token], verbs: set[int]) -> bool:
    """Things in the plural and a verb in the present: "sketches are signed", "finished translations go to Mara"."""
    lists = reading.lexicon.list
    if reading.language != "en" or tokens[0].word in lists("no_verb") | lists("openers"):
        return False
    over = reading.within(span, "completed", "chore", "fine", "past_verb", "day")
    people = reading.within(span, "relation", "other_person", "org", "user", "associate", "question")
    timed = reading.lexicon.pattern("at_time").search(reading.text, *span)
    if people or timed or any(hit.start > tokens[0].start for hit in over):
        return False
    acts = verbs | {hit.start for hit in reading.within(span, "imperative") if hit.word not in lists("states")}
    for at, token in enumerate(tokens[1:_VERB_NEAR_WORDS], 1):
        noun = tokens[at - 1].word
        if not noun.replace("-", "").isalpha() or noun in lists("no_verb"):
            return False
        if in_certain_place(reading, " ".join(one.word for one in tokens[:at])):
            return False
        if is_plural(noun) or noun in lists("plurals"):
            skipped = at + (token.word in lists("between") and at + 1 < len(tokens))
            if tokens[skipped].start in acts or _takes_form(reading, tokens, at):
                return True
    return False


def _done_ones(reading: Reading, span: Span, tokens: list[Token]) -> list[Hit]:
    """What was done to them makes a kind of things: "resolved cases move to the archive"."""
    done = any(hit.start == tokens[0].start for hit in reading.within(span, "completed", "chore"))
    plural = next((token for token in tokens[1 : _SUBJECT_WORDS - 1] if is_plural(token.word)), None)
    return [Hit("artefact", plural.word, plural.start, plural.end, first=False)] if done and plural else []


def _each_of_kind(reading: Reading, span: Span, tokens: list[Token]) -> Hit | None:
    """Every one of a kind is dealt with in one way: "every parcel is photographed". "All tests are fixed" is none."""
    over = {hit.start for hit in reading.within(span, "completed", "chore", "ended", "fine", "past_verb")}
    for at, done in enumerate(tokens[1 : _OPENING_WORDS + 1]):
        if tokens[at].word in reading.lexicon.list("finite") and done.start not in over and done.word.endswith("ed"):
            return Hit("standing", tokens[0].word, tokens[0].start, tokens[0].end, first=True)
    return None


def _after_opening(reading: Reading, tokens: list[Token]) -> list[Token]:
    """Without an opening such as "for the climbing wall,"."""
    if tokens and tokens[0].word in reading.lexicon.list("openers"):
        comma = next((at for at, token in enumerate(tokens[:_OPENING_WORDS]) if token.word == ","), -1)
        return tokens[comma + 1 :]
    return tokens


def _unbroken(tokens: list[Token], first: int, last: int) -> bool:
    return all(token.word[0].isalnum() for token in tokens[first : last + 1])


def _takes_form(reading: Reading, tokens: list[Token], at: int) -> bool:
    """Whether "are" is followed by a form or a way of doing: "are upper case", "are always weighed"."""
    lists = reading.lexicon.list
    if tokens[at].word not in lists("copula"):
        return False
    rest = [token.word for token in tokens[at + 1 : at + 4]]
    while rest and rest[0] in lists("between"):
        rest = rest[1:]
    if not rest or rest[0] in lists("formats"):
        return bool(rest)
    return rest[0].endswith("ed") and bool(reading.lexicon.pattern("done").match(f"are {rest[0]} "))


def _in_pieces(reading: Reading, span: Span) -> Hit | None:
    """A thing of the work and a form for it, or a short sentence with a step that is done and tells of nobody."""
    made = [hit for hit in reading.within(span, "artefact", "each") if leads(reading, span, hit)]
    forms = reading.within(span, "custom_form")
    if forms and made:
        return made[0] if not _tells_of_one(reading, span, [*forms, *made]) else None
    if span[1] - span[0] > _STEP_MAX_CHARS or reading.lexicon.pattern("counted").search(reading.text, *span):
        return None
    stays = reading.lexicon.pattern("stays")
    steps = [hit for hit in reading.within(span, "procedure") if not stays.match(reading.text, hit.end)]
    return steps[0] if steps and not _tells_of_one(reading, span, made) else None


def _tells_of_one(reading: Reading, span: Span, allowed: list[Hit]) -> bool:
    """Whether something in a sentence is about one thing, time or person, outside the words that say how it is done."""
    people = reading.within(span, "org", "other_person", "user", "relation", "associate", "health", "want", "by_whom")
    told = reading.within(span, "particular", "past_verb", "day", "date", "question", "reason", "negation")
    over = reading.within(span, "completed", "fine")
    return any(not any(form.start <= hit.start < form.end for form in allowed) for hit in [*people, *told, *over])
