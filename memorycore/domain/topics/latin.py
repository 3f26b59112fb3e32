"""Topic words of languages that put blanks between words: what stands where a noun stands."""

from collections.abc import Iterator, Sequence

from memorycore.domain.lexicon import Language, lexicon
from memorycore.domain.topics.units import (
    LIKELY,
    NAMED,
    NOUN,
    POSSIBLE,
    Known,
    Unit,
    Word,
    known,
    looks_named,
    may_name,
)

_LATIN_ONLY = frozenset({"latin", "clitic", "sign"})


def words(found: Sequence[Unit], language: Language) -> Iterator[Word]:
    """Topic words with their ranks, in the order of the text."""
    keys = {unit.key for unit in found if unit.kind == "latin"}
    if not keys & (known(language).closed | known(language).determiners | known(language).prepositions) and not (
        lexicon(language).votes(keys)
    ):
        yield from _only_identifiers(found, known(language))
    elif language == "en":
        yield from _english(found, known(language))
    elif language == "de":
        yield from _german(found, known(language))
    else:
        yield from _romance(found, known(language))


def _only_identifiers(found: Sequence[Unit], own: Known) -> Iterator[Word]:
    """Of a text that we cannot read: an unknown word may be an order."""
    for unit in found:
        if unit.kind == "latin" and looks_named(unit.text) and may_name(unit, own) and unit.text.isascii():
            yield _word(unit, NAMED)


def _word(unit: Unit, rank: int) -> Word:
    return Word(unit.text, unit.start, unit.end, rank)


def _english(found: Sequence[Unit], own: Known) -> Iterator[Word]:
    """Nouns are expected behind articles, prepositions and verbs, and of words in a row the last one is the noun.

    A bare word that opens a clause or follows "never", "to", "please" or "and" may be an order.
    """
    expected = False  # a noun may come
    placed = chained = False  # right behind an article or preposition; right behind a word that is taken
    for place, unit in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else None
        if unit.kind == "sign":
            expected = placed = chained = False
            continue
        if unit.opens:
            expected = placed = chained = False
        if unit.key in own.determiners or unit.key in own.prepositions:
            expected, placed, chained = True, True, False
        elif unit.key in own.lists["before_either"]:
            expected = placed = _leads_to_noun(found, place + 1, own)
            chained = False
        elif unit.kind != "latin" or unit.key in own.closed:
            expected = placed = chained = False
        else:
            rank = _english_rank(unit, following, own, expected=expected, noun_before=placed or chained)
            chained = rank is not None and may_name(unit, own)
            if rank is not None and chained:
                yield _word(unit, rank)
            expected, placed = not (unit.opens and rank is not None), False


def _english_rank(unit: Unit, following: Unit | None, own: Known, *, expected: bool, noun_before: bool) -> int | None:
    """How good a topic a content word is, None for what may be a verb, an adverb or a participle."""
    key, noun, verb = unit.key, own.is_noun(unit.key), own.is_verb(unit.key)
    named = looks_named(unit.text) or (unit.text[0].isupper() and not unit.opens)
    if key.endswith(("ly", "ed", "n't")) or (key.endswith("ing") and not noun):
        return NAMED if looks_named(unit.text) else None
    if verb:
        return _rank_of_verb(unit, following, own, expected=expected, noun_before=noun_before)
    if named:
        return NAMED
    last = _ends_noun(following, own)
    if noun or expected:
        return NOUN if last else LIKELY if noun else POSSIBLE
    subject = unit.opens and following is not None and (following.key in _BE or key.endswith("s"))
    return LIKELY if subject and not key.endswith("ss") and key not in own.either else None


def _rank_of_verb(unit: Unit, following: Unit | None, own: Known, *, expected: bool, noun_before: bool) -> int | None:
    """A known verb is a noun behind an article, a preposition or a noun, and in the plural with "are" behind it."""
    last = _ends_noun(following, own)
    if unit.key.endswith("s") and unit.opens and following is not None and following.key in _BE:
        return NOUN  # "Sketches are signed"
    if noun_before and last and not (following is not None and following.key in own.determiners):  # "keeps its"
        return NOUN
    plural = expected and unit.key.endswith("s")  # "run tests"
    return POSSIBLE if (noun_before or plural) and unit.key.removesuffix("s") in own.either else None


_BE = frozenset({"is", "are", "was", "were", "must", "should", "may", "can", "has", "have", "will", "shall"})


def _leads_to_noun(found: Sequence[Unit], place: int, own: Known) -> bool:
    """Whether the word at a place is a lone noun, as in "to main without", and no verb with an object."""
    if place >= len(found) or found[place].kind != "latin" or own.is_verb(found[place].key):
        return False
    following = found[place + 1] if place + 1 < len(found) else None
    return _ends_noun(following, own) and not (following is not None and following.key in own.determiners)


def _ends_noun(following: Unit | None, own: Known) -> bool:
    """Whether nothing more of a compound comes: a small word, a sign or the end."""
    return (
        following is None
        or following.kind == "sign"
        or following.opens
        or following.key in own.closed
        or following.key in own.prepositions
        or following.key in own.determiners
    )


def _german(found: Sequence[Unit], own: Known) -> Iterator[Word]:
    """Nouns are written with a capital; at the beginning of a sentence so is everything."""
    endings = own.lists["endings"]
    for unit in found:
        if unit.kind != "latin" or not may_name(unit, own):
            continue
        if looks_named(unit.text) and not own.is_verb(unit.key):
            yield _word(unit, NAMED)
        elif unit.text[0].isupper() and not unit.begins and (not unit.opens or not own.is_verb(unit.key)):
            yield _word(unit, NOUN)
        elif (
            unit.text[0].isupper()
            and (own.is_noun(unit.key) or unit.key.endswith(endings))
            and not own.is_verb(unit.key)
        ):
            yield _word(unit, LIKELY)


def _romance(found: Sequence[Unit], own: Known) -> Iterator[Word]:
    """Nouns stand behind articles and prepositions; an infinitive behind a preposition is a verb."""
    article = preposition = False
    for unit in found:
        if unit.key in own.determiners:
            article, preposition = True, False
            continue
        if unit.key in own.prepositions:
            article, preposition = False, True
            continue
        if unit.kind == "latin" and may_name(unit, own):
            rank = _romance_rank(unit, own, article=article, preposition=preposition)
            if rank is not None:
                yield _word(unit, rank)
        waits = unit.kind == "latin" and unit.key in own.denied and unit.key not in own.closed  # "le nouveau serveur"
        article, preposition = article and waits, preposition and waits


def _romance_rank(unit: Unit, own: Known, *, article: bool, preposition: bool) -> int | None:
    key, verb = unit.key, own.is_verb(unit.key)
    if looks_named(unit.text) and not verb:
        return NAMED
    if unit.text[0].isupper() and not unit.opens and not verb:
        return NAMED
    if key in own.nouns and (article or preposition or not verb) and not unit.opens:
        return NOUN
    if article and not unit.opens and key.removesuffix("s") in own.nouns:
        return NOUN  # "les factures", though "facture" is a verb as well
    if verb or not (article or preposition):
        return None
    return None if preposition and key.endswith(own.lists["infinitives"]) else LIKELY
