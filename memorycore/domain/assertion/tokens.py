"""Cut a text into typed tokens: amounts, dates, times, codes, names, known concepts, small words, the rest."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memorycore.domain.assertion import patterns
from memorycore.domain.assertion.amounts import (
    NUMERAL,
    Amount,
    Unit,
    chinese,
    chinese_decimal,
    decimals,
    measure,
    numerals,
    unit_lengths,
    units,
)
from memorycore.domain.assertion.languages import language_of
from memorycore.domain.assertion.moments import moment_at, month_beginnings
from memorycore.domain.assertion.words import (
    CJK,
    LATIN,
    Begun,
    Entry,
    Known,
    alone,
    begun,
    lemma,
    positive,
    table,
    words,
)
from memorycore.domain.text import level


class Token(NamedTuple):
    """One token. ``start`` and ``end`` are places in the levelled text; ``key`` is equal for equal meanings."""

    kind: str
    key: str
    start: int
    end: int
    dimension: str = ""
    past: bool = False
    gerund: bool = False
    third: bool = False
    """It ends in -s, as an English verb behind its subject does."""


_BEHIND_A_WORD = frozenset({"", " ", ",", ";", "!", "?", ")"})
"""A word with one of these behind it is no code, path or address."""


def _folded(text: str) -> str:
    """Folded character by character, so that places stay the same."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(one if len(one := character.casefold()) == 1 else character for character in text)


class Scan:
    """One pass over a text. A class since every step needs the text, its vocabulary and what was found before."""

    def __init__(self, text: str) -> None:
        self.cased = level(text)
        self.text = _folded(self.cased)
        self.language = language_of(self.text)
        self.own = words(self.language)
        self.latin = self.own if self.language in LATIN else words("en")
        self.cjk = self.own if self.language in CJK else words("zh")
        self.latin_language = self.language if self.language in LATIN else "en"
        self.found: list[Token] = []
        self.cuts = dict(self._pattern_cues())
        self.cheapest: dict[int, tuple[int, Entry | None]] = {}
        self.words: dict[int, re.Match[str] | None] = {}

    def _pattern_cues(self) -> Iterator[tuple[int, tuple[int, str]]]:
        for name, pattern in self.own.patterns.items():
            for match in pattern.finditer(self.text):
                if match.end() > match.start():
                    yield match.start(), (match.end(), name)

    def tokens(self) -> list[Token]:
        place = 0
        while place < len(self.text):
            place = self._step(place)
        return self.found

    def _step(self, place: int) -> int:
        character = self.text[place]
        if character.isspace():
            return place + 1
        if self.cuts and place in self.cuts:
            end, name = self.cuts[place]
            self._add("cue", name.removesuffix("_cut"), place, end)
            if name not in {"end", "change", "perfect"}:  # what ends stays to be compared: "no longer eats fish"
                return end
        if character >= patterns.FIRST_CJK and patterns.IS_CJK.match(character):
            return self._cjk(place)
        if character.isdigit() or character in patterns.CURRENCY or (character == "-" and self._minus(place)):
            return self._digits(place)
        if character.isalpha() or character in "'~/\\.":
            return self._letters(place)
        return self._add("punct", character, place, place + 1)

    def _add(self, kind: str, key: str, start: int, end: int, *, dimension: str = "", past: bool = False) -> int:
        gerund = kind == "verb" and self.text.endswith("ing", start, end)
        third = kind == "word" and self.text.endswith("s", start, end)
        self.found.append(Token(kind, key, start, end, dimension, past, gerund, third))
        return end

    def _minus(self, place: int) -> bool:
        before = self.text[place - 1] if place else " "
        return before in " (:" and self.text[place + 1 : place + 2].isdigit()

    # Digits

    def _digits(self, place: int) -> int:
        if moment := moment_at(self.text, place):
            return self._add(moment.kind, moment.key, place, moment.end, dimension=moment.zone)
        currency = patterns.CURRENCY.get(self.text[place], "")
        start = place + 1 if currency or self.text[place] == "-" else place
        while start < len(self.text) and self.text[start] == " " and currency:
            start += 1
        number = (patterns.CONTINENTAL if self.language in {"fr", "de", "es"} else patterns.NUMBER).match(
            self.text, start
        )
        if number is None:
            return self._add("punct", self.text[place], place, place + 1)
        end, unit = self._unit_after(number.end())
        if unit is None and (solid := self._solid(start, number.end())):
            return solid
        return self._amount(place, number, (end, unit or (units()[currency] if currency else None)))

    def _amount(self, place: int, number: re.Match[str], unit: tuple[int, Unit | None]) -> int:
        digits = number[0].replace(" ", "").replace("'", "")
        if self.language in {"fr", "de", "es"}:
            digits = digits.replace(".", "").replace(",", ".")
        (end, found), text = unit, self.text
        if ordinal := patterns.ORDINAL.match(text, number.start()):
            return self._add("num", f"#{int(ordinal[1])}", place, ordinal.end())
        value = float(digits.replace(",", ""))
        after = number.end() + (text[number.end() : number.end() + 1] == " ")
        if (large := patterns.LARGE.get(text[after : after + 1])) and not text[place].isalpha():
            value *= large
            end, other = self._unit_after(after + 1)
            found = other or found
        elif text[number.end() : number.end() + 1] == "k" and found is None:
            (end, found), value = self._unit_after(number.end() + 1), value * 1000
        if text[place] == "-":
            value = -value
        if self._is_hour(place, number.end(), value, found):
            return self._hour(value, place, max(end, number.end()))
        if found is None and "." in digits and value >= 0:
            return self._add("num", f"#v{digits}", place, max(end, number.end()))  # a version: 4.2 is not 4.20
        return self._quantity(place, max(end, number.end()), measure(value, found))

    def _is_hour(self, place: int, end: int, value: float, unit: Unit | None) -> bool:
        """``at 9``: a bare number behind "at" is an hour."""
        if unit is not None or not self.text.endswith("at ", 0, place) or not value.is_integer() or not 0 < value <= 24:  # noqa: PLR2004 hours of a day
            return False
        return bool(patterns.AFTER_HOUR.match(self.text, end))

    def _hour(self, value: float, place: int, end: int) -> int:
        """``at seven in the evening`` is 19:00."""
        part = patterns.PART_OF_DAY.match(self.text, end)
        if part is not None and value <= 12:  # noqa: PLR2004 hours of half a day
            late = part[1] != "morning" and value != 12  # noqa: PLR2004 noon
            return self._add("time", f"@{(value + 12 * late) * 60:g}", place, part.end())
        return self._add("time", f"@{value * 60:g}", place, end)

    def _quantity(self, place: int, end: int, amount: Amount) -> int:
        self._add("num", amount.key, place, end, dimension=amount.dimension)
        if rate := patterns.RATE.match(self.text, end):
            return self._add("adjective", patterns.RATES[rate[1]], end, rate.end())
        return end

    def _unit_after(self, place: int) -> tuple[int, Unit | None]:
        """The end and the unit that follow a number, perhaps after a blank, a hyphen or 多."""
        start = place + (self.text[place : place + 1] in {" ", "-"} and place < len(self.text))
        for length in unit_lengths().get(self.text[start : start + 1], ()):
            name = self.text[start : start + length]
            unit = units().get(name)
            if unit is None or len(name) < length:
                continue
            following = self.text[start + length : start + length + 1]
            if name in {"g", "m", "t", "k"} and self.cased[start].isupper():
                unit = units()[f"{name}b"]  # 64G is a size, 64 g a weight
            if name[-1].isascii() and name[-1].isalpha() and (following.isalnum() and following.isascii()):
                continue
            if len(name) == 1 and name.isascii() and name.isalpha() and start > place and self.text[place] == "-":
                continue  # "A-1 b"
            return (start if name in table("units")["telling"] else start + length), unit
        return place, None

    def _solid(self, start: int, least: int) -> int:
        """A code, path or address at a place: something with letters and digits that must match to the character."""
        found = patterns.SOLID.match(self.text, start)
        if found is None or found.end() <= least:
            return 0
        word = found[0].rstrip("._-:")
        if word.isdigit() or re.fullmatch(r"\d+(?:-[a-z]+|k)", word) or patterns.ORDINAL.fullmatch(word):
            return 0
        if not (any(map(str.isdigit, word)) or any(sign in word for sign in "/\\@.:_")):
            return 0
        return self._add("code", word, start, start + len(word))

    # Letters

    def _letters(self, place: int) -> int:
        first = self.text[place]
        of_words = first in patterns.BEFORE_OF_WORDS and patterns.OF_WORDS.match(self.text, place)
        if (of_words or self.text[place : place + 3] in month_beginnings()) and (
            moment := moment_at(self.text, place, proper=self._is_proper(place))
        ):
            return self._add(moment.kind, moment.key, place, moment.end, dimension=moment.zone)
        word = self._word(place)
        plain = word is not None and self.text[word.end() : word.end() + 1] in _BEHIND_A_WORD
        if not plain and (solid := self._solid(place, place + 1)):
            return solid
        if word is None:
            return self._add("punct", self.text[place], place, place + 1)
        if self.language == "fr" and (clitic := patterns.FRENCH_CLITIC.match(self.text, place)):
            return self._add("func", clitic[0], place, clitic.end())
        if number := self._worded_number(place, word[0]):
            return number
        return self._known_words(place, word[0]) or self._unknown(place, word.end())

    def _is_proper(self, place: int) -> bool:
        """A capital within a sentence."""
        return self.cased[place].isupper() and bool(self.found) and self.found[-1].kind != "punct"

    def _word(self, place: int) -> re.Match[str] | None:
        """The word at a place; asked for again as one of those that follow others."""
        if place not in self.words:
            self.words[place] = patterns.WORD.match(self.text, place)
        return self.words[place]

    def _upcoming(self, place: int, count: int) -> list[tuple[str, int]]:
        """The next words with their ends, joined by blanks or hyphens only."""
        found: list[tuple[str, int]] = []
        at = place
        while len(found) < count and (word := self._word(at)):
            found.append((word[0], word.end()))
            at = word.end() + (self.text[word.end() : word.end() + 1] in {" ", "-"})
            if at == word.end() and self.text[at : at + 1] != "'":
                break
        return found

    def _known_words(self, place: int, first: str) -> int:
        start = begun(first, self.latin_language)
        comparative = first.endswith("er")
        if start.exact is None and start.stems is None and not comparative:
            return 0
        known = self._phrase(place, first, start) if start.longest > 1 or comparative else alone(place, first, start)
        if known is None:
            return 0
        if (
            known.length == 1
            and known.entry.kind in {"func", "prep", "soft", "conj"}
            and self._stands_for_a_thing(first, place, known.end)
        ):
            return self._add("name", first, place, known.end)
        return self._entry(known.entry, place, known.end, past=self._is_past(known.told, known.stem))

    def _phrase(self, place: int, first: str, start: Begun) -> Known | None:
        """The longest phrase that stands at a place, which may be one word."""
        following = self._upcoming(place, 2)[1:]
        second = following[0][0] if following else ""
        goes_on = second and (
            second == "than"
            or (start.exact and second in start.exact.second)
            or (start.stems and begun(second, self.latin_language).stem in start.stems.second)
        )
        if not goes_on:
            return alone(place, first, start)
        upcoming = self._upcoming(place, max(start.longest, 2))
        plain = tuple(word for word, _ in upcoming)
        stems = tuple(begun(word, self.latin_language).stem for word in plain)
        if second == "than":
            stems = (positive(first, stems[0], self.latin_language), *stems[1:])
        best: tuple[int, Entry] | None = None
        for index, given in ((self.latin.exact, plain), (self.latin.stems, stems)):
            phrases = index.get(given[0])
            found = phrases.longest(given) if phrases else None
            if found and (best is None or found[0] > best[0]):
                best = found
        if best is None:
            return None
        length, entry = best
        told = 0 if length > 1 and stems[0] == "be" else length - 1  # "is called" is no past
        return Known(entry, length, upcoming[length - 1][1], plain[told], stems[told])

    def _stands_for_a_thing(self, word: str, place: int, end: int) -> bool:
        """Whether a letter or preposition stands where a value does: "blood type A", "the pump is on"."""
        rest = self.text[end : end + 3]
        last = not rest.strip(" .,;!?:") or rest[0] in ".,;!?:"
        if len(word) == 1 and word.isascii():
            return self._is_proper(place) and word != "i"
        state = bool(self.found) and self.found[-1].kind == "be" and bool(patterns.PLACED.match(self.text, end))
        stands = last or state or self.text[end : end + 1] == "-"  # "is on", "is off in", "on-site"
        placed = self.latin_language == "en" and word in {"on", "off", "in", "out", "up", "down"}
        return (stands and placed) or (last and word in patterns.NEVER_LAST and bool(self.found))

    def _is_past(self, word: str, stem: str) -> bool:
        return self.latin_language == "en" and (
            (word.endswith("ed") and word != stem) or word in {"was", "were"} or self._irregular_past(word)
        )

    def _irregular_past(self, word: str) -> bool:
        return word in self.latin.irregular and word not in {"are", "am"} and not word.endswith(("s", "ing", "men"))

    def _entry(self, entry: Entry, start: int, end: int, *, past: bool = False) -> int:
        if entry.kind == "cue" and entry.key == "hedge" and self.text[end : end + 2].strip()[:1].isdigit():
            return self._add("quantifier", "about", start, end)
        if entry.kind in {"neg", "modal"} and entry.key in {"not", "mustnot"} and self._standing(start):
            ordering = self.text[start:end] in {"never", "do not", "don't"}
            if ordering and not self._opens_clause():
                return self._add("neg", "not", start, end)
            if ordering:
                return self._add("modal", "mustnot", start, end)
        return self._add(entry.kind, entry.key, start, end, past=past)

    def _standing(self, start: int) -> bool:
        return self.text[start].isascii()

    def _opens_clause(self) -> bool:
        return not self.found or self.found[-1].kind == "punct"

    def _unknown(self, place: int, end: int) -> int:
        word = self.text[place:end]
        if denied := self._with_negating_prefix(word, place, end):
            return denied
        stem = lemma(word, self.latin_language, self.latin.irregular)
        upper = self.cased[place].isupper()
        if upper and self._is_proper(place) and self.language != "de":
            return self._add("name", word, place, end)
        if upper and self.language != "de":
            return self._add("name?", word, place, end, dimension=stem)
        return self._add("word", stem, place, end, past=self._is_past(word, stem))

    def _with_negating_prefix(self, word: str, place: int, end: int) -> int:
        """``unencrypted`` is not encrypted, when the rest is a word we know."""
        for prefix in patterns.DENYING_PREFIXES:
            rest = word.removeprefix(prefix)
            if rest == word or len(rest) < 4 or self.latin_language != "en":  # noqa: PLR2004 "unit", "inch"
                continue
            stem = lemma(rest, "en", self.latin.irregular)
            exact, stems = self.latin.exact.get(rest), self.latin.stems.get(stem)
            if found := (exact and exact.longest((rest,))) or (stems and stems.longest((stem,))):
                self._add("neg", "not", place, place + len(prefix))
                return self._add(found[1].kind, found[1].key, place + len(prefix), end)
        return 0

    def _worded_number(self, place: int, first: str) -> int:
        values, multipliers = numerals(self.latin_language)
        if first not in values and first not in multipliers and first not in {"half", "a", "an"}:
            return 0
        if half := patterns.HALF.match(self.text, place):
            finish, unit = self._unit_after(half.end())
            return self._quantity(place, finish, measure(0.5, unit)) if unit else 0
        value, end = self._sum_of_words(place)
        if not end:
            return self._single_unit(place)
        if and_half := patterns.AND_A_HALF.match(self.text, end):
            value, end = value + 0.5, and_half.end()
        finish, unit = self._unit_after(end)
        if self._is_hour(place, end, value, unit):
            return self._hour(value, place, end)
        return self._quantity(place, finish, measure(value, unit))

    def _sum_of_words(self, place: int) -> tuple[float, int]:
        """Value and end of a number in words, end 0 when none stands here."""
        values, multipliers = numerals(self.latin_language)
        total, current, end = 0.0, 0.0, 0
        for word, finish in self._upcoming(place, 8):
            if word in values:
                current, end = current + values[word], finish
            elif word in multipliers:
                current, end = (current or 1) * multipliers[word], finish
                if multipliers[word] >= 1000:  # noqa: PLR2004 thousand ends a group
                    total, current = total + current, 0.0
            elif not (word == "and" and end):
                break
        return total + current, end

    def _single_unit(self, place: int) -> int:
        """``an hour`` is one hour."""
        found = patterns.ONE_UNIT.match(self.text, place)
        if found is None:
            return 0
        return self._quantity(place, found.end(), measure(1.5 if found[2] else 1.0, units()[found[1]]))

    # Scripts without blanks

    def _cjk(self, place: int) -> int:
        piece = self._piece(place)
        longest = len(piece[0]) if piece else 0
        if self.text[place] in patterns.BEFORE_FIGURES and (
            found := self._cjk_moment(place, longest)
            or self._cjk_share(place, longest)
            or self._cjk_number(place, longest)
        ):
            return found
        if piece:
            return self._entry(piece[1], place, place + longest)
        return self._add("char", self.text[place], place, place + 1)

    def _cjk_moment(self, place: int, longest: int) -> int:
        starts = NUMERAL.match(self.text, place) or patterns.PARTS.match(self.text, place)
        if not starts or patterns.DECIMAL.match(self.text, place):
            return 0
        moment = moment_at(self.text, place)
        if moment is None or (moment.end - place <= longest and moment.kind != "time"):
            return 0
        return self._add(moment.kind, moment.key, place, moment.end, dimension=moment.zone)

    def _cjk_share(self, place: int, longest: int) -> int:
        """A fraction, a percentage, a decimal or "once in": 四分之一, 百分之三点五, 三点五公斤, 一天两次."""
        if fraction := patterns.FRACTION.match(self.text, place):
            below, above = chinese(fraction[1]), chinese(fraction[2])
            if below and above:
                return self._quantity(place, fraction.end(), measure(100 * above / below, units()["%"]))
        if percent := patterns.PERCENT.match(self.text, place):
            value = float(percent[1]) if percent[1][0].isdigit() else chinese_decimal(percent[1])
            if value is not None:
                return self._quantity(place, percent.end(), measure(value, units()["%"]))
        if (decimal := patterns.DECIMAL.match(self.text, place)) and (value := chinese_decimal(decimal[0])) is not None:
            end, unit = self._unit_after(decimal.end())
            return self._quantity(place, end, measure(value, unit))
        rate = patterns.ONCE_IN.match(self.text, place)
        if rate and longest <= rate.end() - place:
            return self._add("adjective", patterns.ONCE[rate[1]], place, rate.end())
        return 0

    def _piece(self, place: int) -> tuple[str, Entry] | None:
        if place not in self.cheapest:
            self._segment(place)
        length, entry = self.cheapest[place]
        return None if entry is None else (self.text[place : place + length], entry)

    def _segment(self, place: int) -> None:
        """Cut a run into the fewest words, an unknown character counting as two: 不|过敏, not 不过|敏."""
        end = place
        while end < len(self.text) and end - place < patterns.RUN and patterns.IS_CJK.match(self.text[end]):
            end += 1
        cost: dict[int, float] = {end: 0.0}
        for at in range(end - 1, place - 1, -1):
            best: tuple[float, int, Entry | None] = (2 + cost[at + 1], 1, None)
            for piece, entry in self.cjk.pieces.get(self.text[at], ()):
                until = at + len(piece)
                if until <= end and self.text.startswith(piece, at) and not self._cut_short(piece, entry, at):
                    price = 1 + cost[until] + (0.1 if entry.kind == "word" else 0)
                    if price < best[0]:
                        best = (price, len(piece), entry)
            cost[at] = best[0]
            self.cheapest[at] = (best[1], best[2])

    def _cut_short(self, piece: str, entry: Entry, place: int) -> bool:
        """A Korean particle of one or two syllables stands at the end of a word, never at its beginning."""
        if self.language != "ko" or entry.kind not in patterns.PARTICLES or len(piece) > patterns.LONGEST_PARTICLE:
            return False
        following = self.text[place + len(piece) : place + len(piece) + 1]
        before = self.text[place - 1 : place] if place else " "
        return bool(patterns.IS_CJK.match(following)) or before == " "

    def _cjk_number(self, place: int, longest: int) -> int:
        text = self.text
        if text[place] == "半" and longest <= 1:
            end, unit = self._unit_after(place + 1)
            return self._quantity(place, end, measure(0.5, unit)) if unit else 0
        numeral = NUMERAL.match(text, place)
        if numeral is not None and text.startswith("个半", numeral.end()) and (value := chinese(numeral[0])):
            end, unit = self._unit_after(numeral.end() + 2)
            return self._quantity(place, end, measure(value + 0.5, unit)) if unit else 0
        if numeral is None or (text[place - 1 : place] != "第" and longest > len(numeral[0]) - (longest > 1)):
            return 0
        value = chinese(numeral[0])
        if value is None:
            return 0
        end, unit = self._unit_after(numeral.end())
        ordinal = place > 0 and text[place - 1] in "第号"
        several = len(numeral[0]) > 1 and any(step in numeral[0] for step in "十百千万亿")
        if unit is not None and (rest := patterns.TAIL.match(text, end)):
            value, end = value + decimals(rest[0]), rest.end()
        if unit is None and not ordinal and not several and not (len(numeral[0]) == 1 and self._ends(numeral.end())):
            return 0
        return self._quantity(place, end, measure(value, unit))

    def _ends(self, place: int) -> bool:
        return place >= len(self.text) or not self.text[place].isalnum()


def scan(text: str) -> tuple[list[Token], str, str]:
    """Tokens of a text, the levelled text they point into, and its language."""
    one = Scan(text)
    return one.tokens(), one.cased, one.language
