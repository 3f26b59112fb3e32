"""Standing arrangements told like facts: "the ferry is booked by noon of the day before", "用户喝茶不放糖".

No word of duty stands in them. What tells them from facts is of four kinds, each of which weighs something: the
subject is a kind of things, or the sentence opens with an occasion; something is done or handled, in the present and
by nobody in particular; the way of doing it is limited, timed or ordered. One kind alone proves nothing. Parties that
act for themselves, figures, causes and certain times make a fact of any of it. The patterns are the vocabulary's.
"""

import re

from memorycore.domain.cues import Hit, Reading, Span
from memorycore.domain.mood import Subject, in_certain_place, is_plural

_ENOUGH = 1.0
_OCCASION = 0.6
_GENERAL = 0.5
_MATTER = 0.4  # a mass, or a thing of the work: "flour", "the roster"
_CERTAIN = 0.2
_DONE = 0.4
_HARDLY = 0.1
_SOME = 0.3  # a verb of no list
_DEFAULT = 0.6  # what a roster, a template or a data set does with its content
_ACTS = ("done", "default", "moves", "some")
_MODIFIERS = {"limit": 0.4, "deadline": 0.4, "order": 0.3, "bar": 0.2, "way": 0.2}
_MOST_OF_MODIFIERS = 0.6
_SUBJECT_WORDS = 4
_NOUN_WORDS = 3
_FACTS = ("party", "figure")
_TOPIC = " : "
_TOPIC_CHARS = 48
_NO_SUBJECT = frozenset({",", ":", "that", "which", "who"})
_OVER = ("past_verb", "completed", "chore")
_UNFIT = ("date", "history", "failure")
_CLAUSES = re.compile("[,，、：:]")
_MOST_CLAUSES = 2
_QUOTED = re.compile(r'"[^"\n]*"|《[^》\n]*》')


def arrangement(reading: Reading, span: Span, subject: Subject) -> Hit | None:
    """The words that show that a sentence tells how things are always done; None when it does not."""
    if span != reading.sentences[0] or subject in {"user", "relation", "other"}:
        return None
    if reading.within((occasion_end(reading, span), span[1]), "attribution") or reading.within(span, *_UNFIT):
        return None
    if not reading.in_words and reading.within(span, "question"):
        return None
    said = _said(reading, span)
    pattern = reading.lexicon.pattern
    if pattern("one_time").search(_main(reading, said)) or tells_fact(reading, span):
        return None
    sure = pattern("plain_order").search(said) or pattern("regular").search(said)
    if sure:
        return Hit("standing", sure.group(), span[0], span[0] + 1, first=True)
    weigh = _weigh_words if reading.in_words else _weigh_pieces
    weight, word = weigh(reading, said)
    return Hit("standing", word, span[0], span[0] + 1, first=True) if word and weight >= _ENOUGH else None


def tells_of_work(reading: Reading, span: Span, before: int) -> bool:
    """Whether the words before a place are about a thing of the work: "the style sheet allows"."""
    return bool(reading.lexicon.pattern("work").search(reading.text[span[0] : before].strip()))


def occasion_end(reading: Reading, span: Span) -> int:
    """Where the opening of a sentence ends that names an occasion: "for the jubilee book,"; its start without one."""
    sentence = reading.text[span[0] : span[1]]
    comma = sentence.find(",")
    return span[0] + comma if comma > 0 and reading.lexicon.pattern("occasion").match(sentence) else span[0]


def _main(reading: Reading, said: str) -> str:
    """What is said after the opening that names an occasion."""
    return said.partition(",")[2] or said if reading.lexicon.pattern("occasion").match(said) else said


def tells_fact(reading: Reading, span: Span) -> str:
    """The words for a party that acts for itself, or for a figure, empty when a sentence has neither."""
    said = _said(reading, span)
    if reading.in_words and (_TOPIC in said[:_TOPIC_CHARS] or occasion_end(reading, span) > span[0]):
        return ""  # "whenever the alarm rings, the caretaker notes the time"
    return next((found.group() for name in _FACTS if (found := reading.lexicon.pattern(name).search(said))), "")


def wish(reading: Reading, span: Span) -> bool:
    """Whether what is wanted is wanted each time, and in a certain way: "wants menus without prices"."""
    said = _said(reading, span)
    pattern = reading.lexicon.pattern
    found = None if pattern("want_once").search(said) else pattern("want_kind").search(said)
    if found is None:
        return False
    wanted = said[found.end() :] if reading.in_words else said  # Japanese and Korean say it last
    return any(pattern(name).search(wanted) for name in ("habit_how", *_MODIFIERS))


def habit(reading: Reading, span: Span) -> Hit | None:
    """What the user does again and again, and how: "user reads drafts on paper"."""
    if reading.within(span, "date", "history", "future"):
        return None
    said = _said(reading, span)
    pattern = reading.lexicon.pattern
    found = pattern("habit").search(said)
    if found is None or pattern("figure").search(said) or pattern("one_time").search(said):
        return None
    how = said[found.end() :] if reading.in_words else said
    if not any(pattern(name).search(how) for name in ("habit_how", *_MODIFIERS)):
        return None
    return Hit("leaning", found.group().strip(), span[0], span[0] + 1, first=True)


def _said(reading: Reading, span: Span) -> str:
    """A sentence without what it quotes; in Latin script its words and signs with one blank between them."""
    if reading.in_words:
        return " ".join(token.word for token in reading.tokens_in(span))
    return _QUOTED.sub("", reading.text[span[0] : span[1]]).strip(" .。;；!")


def _modifiers(reading: Reading, said: str) -> float:
    """How much the limits, times, orders and ways in a sentence weigh together; a second limit counts half."""
    found = [weight for name, weight in _MODIFIERS.items() if reading.lexicon.pattern(name).search(said)]
    limits = len(reading.lexicon.pattern("limit").findall(said))
    return min(_MOST_OF_MODIFIERS, sum(found) + (_MODIFIERS["limit"] / 2 if limits > 1 else 0))


def _weigh_words(reading: Reading, said: str) -> tuple[float, str]:
    """How much a sentence in Latin script weighs, and the words of what is done in it."""
    pattern = reading.lexicon.pattern
    modifiers = _modifiers(reading, said)
    topic = pattern("topic").match(said)
    if topic and modifiers >= _MODIFIERS["limit"]:
        return _OCCASION + modifiers, topic.group()
    occasion = pattern("occasion").match(said)
    names = _ACTS[:-1] if occasion else _ACTS
    acts = [(name, found) for name in names if (found := pattern(name).search(said))]
    if not acts and occasion and (limit := pattern("limit").search(said)):
        acts = [("limit", limit)]
    weighed = [(_weigh_act(reading, said, name, found, occasion=bool(occasion)), found.group()) for name, found in acts]
    weight, word = max(weighed, key=lambda one: one[0], default=(0.0, ""))
    return (weight + modifiers, word) if weight else (0.0, "")


def _weigh_act(reading: Reading, said: str, name: str, found: re.Match[str], *, occasion: bool) -> float:
    """What a verb weighs together with its subject."""
    opening = said[: found.start()].strip()
    if occasion:
        return _OCCASION + _DONE
    subject = _generality(reading, opening, found.group())
    if name == "some":
        return subject + _SOME if subject == _GENERAL and _is_verb(reading, opening, found.group()) else 0.0
    ours = subject == _GENERAL or (subject == _MATTER and reading.lexicon.pattern("work").search(opening))
    if name == "default" and ours:
        return subject + _DEFAULT
    return subject + (_HARDLY if subject <= _CERTAIN and name != "done" else _DONE) if subject else 0.0


def _is_verb(reading: Reading, opening: str, word: str) -> bool:
    """Whether a word of no list may be the verb of what stands before it: "dew heaters go", not "docs built"."""
    lists = reading.lexicon.list
    words = opening.split()
    no_verbs = lists("no_verb") | lists("object_start") | {hit.word for hit in reading.of(*_OVER)}
    if word in no_verbs or any(not one.replace("-", "").isalpha() for one in words):
        return False
    return reading.language != "en" or (len(words) <= _NOUN_WORDS and lists("habit").isdisjoint(words))


def _weigh_pieces(reading: Reading, said: str) -> tuple[float, str]:
    """The same for scripts without blanks, whose sentences are looked at clause by clause."""
    pattern = reading.lexicon.pattern
    step = pattern("threshold").search(said)
    if step:
        return _ENOUGH, step.group()
    modifiers = _modifiers(reading, said)
    topic = pattern("topic").match(said)
    if topic and modifiers >= _MODIFIERS["limit"]:
        return _OCCASION + modifiers, topic.group()
    clauses = [clause for clause in _CLAUSES.split(said) if clause.strip()]
    handled = [found for clause in clauses if (found := pattern("handled").search(clause))]
    if not handled:
        return 0.0, ""
    subject = _MATTER if pattern("work").match(said) else _CERTAIN
    if pattern("occasion").match(said):
        subject = _OCCASION
    named = pattern("handled"), pattern("measured")
    plain = sum(not any(one.search(clause) for one in named) for clause in clauses)
    acts = len(handled) + (plain if subject < _OCCASION and reading.language == "zh" else 0)
    return subject + _DONE * min(acts, _MOST_CLAUSES) + modifiers, handled[0].group()


def _generality(reading: Reading, opening: str, act: str) -> float:
    """How far the words before a verb name a kind of things: "letters to the board", "flour", "the roster"."""
    pattern = reading.lexicon.pattern
    words = opening.split()
    if not words or not _NO_SUBJECT.isdisjoint(words):
        return 0.0
    if pattern("kind").match(opening):
        return _GENERAL
    if words[0] in reading.lexicon.list("no_kind") or not words[0][0].isalpha():
        return _MATTER if pattern("work").search(opening) else _CERTAIN
    if reading.language != "en":
        return _GENERAL if pattern("bare").search(act) else 0.0
    return _bare(reading, opening, act)


def _bare(reading: Reading, opening: str, act: str) -> float:
    """The same for an English subject without article: "dew heaters", "raw footage", but not "Jonas"."""
    words = opening.split()
    certain = in_certain_place(reading, opening)
    plural = any(is_plural(word) or word in reading.lexicon.list("plurals") for word in words[:_SUBJECT_WORDS])
    if plural:
        agrees = act.startswith("are ") or not act.split(maxsplit=1)[0].endswith("s")
        return (_CERTAIN if certain else _GENERAL) if agrees else 0.0
    over = reading.of("completed", "fine")  # "done with the list"
    if certain or (over[:1] and over[0].start == reading.tokens[0].start) or _has_name(reading, opening):
        return 0.0
    return _MATTER if act.startswith("is ") or len(words) > 1 else 0.0


def _has_name(reading: Reading, opening: str) -> bool:
    return any(name.start < len(opening) for name in reading.names)
