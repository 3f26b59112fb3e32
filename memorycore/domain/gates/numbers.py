"""Numbers that belong to a person: cards, accounts, identity papers, telephones.

A check digit, the way a number is written and the nearest word that announces one decide together.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from memorycore.domain.gates.disguise import BLOT, Span
from memorycore.domain.gates.identity import iban_holds, is_valid, luhn
from memorycore.domain.gates.labels import Label

_REACH = 60
_BEHIND = 20
_ACCOUNT_REACH = 30
_BREAK = re.compile(r"[。！？;；]|[.!?]\s+(?=[A-Z\u4e00-\u9fff])|\n\s*\n")
_IS_A = re.compile(
    r"\s*(?:is|was|=|是|为|は|est|ist|es|\()?\s*(?:an?|the|our|my|une?|eine?|一个|个)?\s*", re.IGNORECASE
)
_OTHER_NUMBER = re.compile(r"\d{3}")
_CARD = re.compile(
    r"(?<![\w.+-])(?<![A-Z]{2}\d\d )(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|3[47]\d{2}([ -]?)\d{6}\2\d{5}"
    r"|3[068]\d{2}([ -]?)\d{6}\3\d{4}|\d{6}([ -])\d{7,13}|\d{13,19})(?![\w-]|\.\d)",
    re.ASCII,
)
# Prefix and length together, by brand: Visa, Mastercard and Mir, American Express, Diners, JCB, Discover and UnionPay,
# Maestro, Troy.
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|2(?:2[2-9]\d|[3-6]\d\d|7[01]\d|720)|220[0-4])\d{12}|3[47]\d{13}"
    r"|3(?:[689]\d|0[0-5])\d{11}|35\d{14}(?:\d{3})?|(?:6[0245-9]|8[12])\d{14,17}|5[0678]\d{11,17}|9792\d{12}"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,31}", re.ASCII)
_ACCOUNT = re.compile(r"(?<![\w.])\d(?:[ -]?\d){6,20}(?!\w|\.\d)", re.ASCII)
_DOCUMENT = re.compile(
    r"(?<![\w-])(?=(?:[A-Z-]{0,5}\d){5}|[A-Z]{1,3}-?\d{4}|[A-Z]\d{3}[A-Z]\d{4})[A-Z0-9]{1,20}(?:-[A-Z0-9]{2,10}){0,3}(?![\w-])"
    r"|(?<![\w-])\d{2,3}(?: \d{3}){2}(?![\w-])",
    re.ASCII,
)
# Dates, periods, addresses of machines, decimals; and numbers that ring at a company: 400, 800, 0800.
_NO_NUMBER = re.compile(
    r"(?:19|20)\d{2}[-/. ]?(?:0?[1-9]|1[0-2])[-/. ]?(?:0?[1-9]|[12]\d|3[01])(?:\D.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d{2}|\d{1,3}(?:\.\d{1,3}){3}|\d+\.\d+|(?:19|20)\d{2} ?[-/] ?(?:19|20)\d{2}"
    r"|(?:400|800)[ -]?\d{3,4}[ -]?\d{3,4}|1?[ .-]?\(?8(?:00|33|44|55|66|77|88)\)?[ .-]\d{3}[ .-]\d{4}|0800[ -]?[\d -]+"
)
_LOCAL = re.compile(r"\d{3}[-. ]\d{4}|\d{3}[-. ]\d{3}[-. ]\d{3,4}")
_PHONE_DIGITS = range(7, 16)
_ACCOUNT_DIGITS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How one kind of number is written. ``sure``: needs no label; ``labels``: parts of words that announce it."""

    rule: str
    pattern: re.Pattern[str]
    check: str = "own:always"
    sure: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A plain text with the labels in it, in order."""

    text: str
    labels: list[Label]
    ends: list[int]

    def announces(self, start: int, end: int) -> Label | None:
        """The word that says what a number is: the nearest before it in the sentence, else one right behind it.

        A word such as "order" takes only the number that follows it, not the next one.
        """
        for place in range(bisect_right(self.ends, start) - 1, -1, -1):
            label = self.labels[place]
            between = self.text[label.end : start]
            if len(between) > _REACH or _BREAK.search(between):
                break
            if label.kind == "against" and _OTHER_NUMBER.search(between):
                continue
            # "ISBN number": the word before says which number.
            first = self.labels[place - 1] if place and label.kind == "calling" else label
            return first if 0 <= label.start - first.end <= 1 else label
        for label in self.labels[bisect_left(self.ends, end) :]:
            if label.start > end + _BEHIND:
                break
            between = self.text[end : label.start + 1]
            if label.start < end or _BREAK.search(between):
                continue
            # "138… is an order", but not "138…, who packs the orders".
            if label.kind != "against" or _IS_A.fullmatch(between[:-1]):
                return label
        return None

    def against(self, span: Span) -> bool:
        label = self.announces(*span)
        return bool(label) and label.kind == "against"


def ibans(page: Page, lengths: dict[str, int]) -> Iterator[tuple[str, Span]]:
    for match in _IBAN.finditer(page.text):
        length = lengths.get(match.group()[:2].upper())
        places = [place for place in range(*match.span()) if page.text[place] not in " -"][:length]
        signs = "".join(page.text[place] for place in places).upper()
        if length == len(signs) and iban_holds(signs):
            yield "iban", (match.start(), places[-1] + 1)


def cards(page: Page) -> Iterator[tuple[str, Span]]:
    for match in _CARD.finditer(page.text):
        digits = re.sub(r"\D", "", match.group())
        if _ISSUED.fullmatch(digits) and luhn(digits) and not page.against(match.span()):
            yield "card", match.span()


def identities(page: Page, shapes: tuple[Shape, ...], any_identity: frozenset[str]) -> Iterator[tuple[str, Span]]:
    """Numbers of identity papers: of a sure shape anywhere, of the others where a fitting word announces them."""
    said = {label.word for label in page.labels if label.kind == "identity"}
    for shape in shapes:
        fitting = {word for word in said if word in any_identity or any(part in word for part in shape.labels)}
        if not (shape.sure or fitting):
            continue
        for match in shape.pattern.finditer(page.text):
            label = page.announces(*match.span())
            announced = label is not None and label.word in fitting
            sure = shape.sure and (label is None or label.kind != "against")
            if (sure or announced) and len(set(match.group())) > 1 and is_valid(shape.check, match.group()):
                yield shape.rule, match.span()


def documents(page: Page) -> Iterator[tuple[str, Span]]:
    """Passports and licences: whatever looks like a number behind the word."""
    for label in page.labels:
        if label.kind != "document":
            continue
        number = _DOCUMENT.search(page.text, label.end, label.end + _REACH)
        between = page.text[label.end : number.start()] if number else BLOT
        if number and BLOT not in between and not _BREAK.search(between) and not _NO_NUMBER.fullmatch(number.group()):
            yield "document", number.span()


def accounts(page: Page) -> Iterator[tuple[str, Span]]:
    for label in page.labels:
        if label.kind != "account":
            continue
        number = _ACCOUNT.search(page.text, label.end, label.end + _ACCOUNT_REACH)
        if number and not _NO_NUMBER.fullmatch(number.group()) and _count(number.group()) >= _ACCOUNT_DIGITS:
            yield "account", number.span()


def phones(page: Page, shapes: tuple[Shape, ...]) -> Iterator[tuple[str, Span]]:
    """Telephone numbers: as one country writes them, or any that a word announces."""
    for shape in shapes:
        if not (shape.sure or page.labels):
            continue
        for match in shape.pattern.finditer(page.text):
            number = match.group().rstrip(" (")
            if _count(number) not in _PHONE_DIGITS or _NO_NUMBER.fullmatch(number.strip("()")):
                continue
            label = page.announces(*match.span())
            kind = label.kind if label else ""
            written = shape.sure or number[0] in "+0(" or bool(_LOCAL.fullmatch(number))
            if kind == "phone" or (kind == "calling" and written) or (shape.sure and kind != "against"):
                yield "phone", (match.start(), match.start() + len(number))


def _count(number: str) -> int:
    return sum(char.isdigit() for char in number)
