"""Topic words of Chinese, Japanese and Korean.

Chinese is cut into words, with their parts of speech, by jieba's dictionary (``rjieba``). In Japanese the script tells:
runs of kanji and of katakana are nouns unless kana behind them make a verb of them. In Korean particles tell.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from memorycore.domain.lexicon import Language
from memorycore.domain.text import fold
from memorycore.domain.topics.units import LIKELY, NOUN, POSSIBLE, Known, Unit, Word, known, latin_words

_SHORTEST = 2
_LONGEST = 10
_SYLLABLES = 0xAC00
_FINALS = 28


def words(text: str, found: Sequence[Unit], language: Language) -> Iterator[Word]:
    """Topic words with their ranks; Latin ones first."""
    own = known(language)
    yield from latin_words(list(found))
    if language == "zh":
        yield from _chinese(text, own)
    elif language == "ja":
        yield from _japanese(found, own)
    else:
        yield from _korean(found, own)


def _may_name(key: str, own: Known) -> bool:
    return (
        _SHORTEST <= len(key) <= _LONGEST
        and key not in own.denied
        and not any(piece in key for piece in own.lists["pieces"])
    )


@cache
def _narrow(character: str) -> str:
    """Traditional as simplified, one character for one, so that places stay."""
    folded = fold(character)
    return folded if len(folded) == 1 else character


def _chinese(text: str, own: Known) -> Iterator[Word]:
    import rjieba

    place = 0
    for piece, kind in rjieba.tag("".join(map(_narrow, text))):
        start, place = place, place + len(piece)
        if not all("\u3400" <= character <= "\u9fff" for character in piece) or not _may_name(piece, own):
            continue
        if piece in own.nouns and piece not in own.verbs:
            yield Word(text[start:place], start, place, NOUN)
        elif piece.startswith(own.lists["starts"]):
            continue
        elif kind in own.lists["nouns"] and piece not in own.verbs:
            yield Word(text[start:place], start, place, LIKELY)
        elif kind in own.lists["nouns"] or kind in own.lists["half"]:
            yield Word(text[start:place], start, place, POSSIBLE)


def _japanese(found: Sequence[Unit], own: Known) -> Iterator[Word]:
    for place, unit in enumerate(found):
        if unit.kind not in {"han", "katakana"} or not _may_name(unit.key, own):
            continue
        following = found[place + 1] if place + 1 < len(found) else None
        adjoins = following is not None and following.start == unit.end
        if (
            following is not None
            and adjoins
            and following.kind == "hiragana"
            and not _is_after_noun(following.key, own)
        ):
            continue
        compound = following is not None and adjoins and following.kind in {"han", "katakana"}
        yield Word(unit.text, unit.start, unit.end, POSSIBLE if compound else NOUN if unit.key in own.nouns else LIKELY)


def _is_after_noun(kana: str, own: Known) -> bool:
    """Whether kana begin with a particle: ``ブランチに`` and not ``確認し``."""
    return kana.startswith(own.lists["after"])


def _korean(found: Sequence[Unit], own: Known) -> Iterator[Word]:
    for unit in found:
        if unit.kind != "hangul" or unit.key in own.denied or unit.key.endswith(own.lists["verbal"]):
            continue
        noun, marked = _without_particle(unit.text, own)
        if not _may_name(noun, own) or noun.endswith(("하", "되", "시", "있")):
            continue
        if noun in own.nouns and not noun.endswith(("을", "를")):
            yield Word(noun, unit.start, unit.start + len(noun), NOUN)
        elif marked:
            yield Word(noun, unit.start, unit.start + len(noun), LIKELY)
        elif noun not in own.verbs and not noun.endswith(own.lists["endings"]):
            yield Word(noun, unit.start, unit.start + len(noun), POSSIBLE)


def _without_particle(word: str, own: Known) -> tuple[str, bool]:
    """A Korean noun without its particle, and whether it had one.

    A particle that may as well be the end of a noun is left on: ``고양이`` is a cat.
    """
    if word in own.nouns and not word.endswith(("을", "를")):
        return word, True
    for names, closed in (("particles", None), ("after_consonant", True), ("after_vowel", False)):
        for particle in own.lists[names]:
            noun = word.removesuffix(particle)
            if noun != word and len(noun) >= _SHORTEST and closed in {None, _has_final(noun[-1])}:
                return noun, True
    return word, False


def _has_final(syllable: str) -> bool:
    return (ord(syllable) - _SYLLABLES) % _FINALS > 0
