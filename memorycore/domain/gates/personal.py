"""The gate for personal data: e-mail, telephone, payment cards, bank accounts, identity papers.

A number says little by itself. A check digit, the way it is written and the nearest word that announces a number decide
together; a word such as "order" or "快递单号" takes the number behind it for itself.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memorycore.domain.gates import Finding
from memorycore.domain.gates.disguise import Span, undisguise
from memorycore.domain.gates.identity import iban_holds, is_valid, luhn
from memorycore.domain.gates.labels import Label, find_labels, lower

_MAIL = re.compile(
    r"(?<![A-Za-z0-9_.+%/-])[A-Za-z0-9](?:[\w.+%'-]{0,62}[\w+-])?(?:@|\s?[\[(](?:at|AT)[\])]\s?)"
    r"(?:[\w-]{1,62}(?:\.|\s?[\[(](?:dot|DOT)[\])]\s?)){1,6}[A-Za-z\u00a1-\u024f]{2,24}(?![\w@-])"
)
_CARD = re.compile(
    r"(?<![\w.+-])(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|3[47]\d{2}([ -]?)\d{6}\2\d{5}|3[068]\d{2}([ -]?)\d{6}\3\d{4}|\d{6}([ -])\d{7,13}|\d{13,19})(?![\w-]|\.\d)"
)
_ISSUERS = re.compile(r"4|5[0-8]|2(?:2[2-9]|[3-6]\d|7[01]|720)|220[0-4]|3[4-9]|30|6[0245-9]|8[12]|9792")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,31}")
_NO_PHONE = re.compile(
    r"(?:19|20)\d{2}[-/. ]?(?:0?[1-9]|1[0-2])[-/. ]?(?:0?[1-9]|[12]\d|3[01])(?:\D.*)?|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d{2}|\d{1,3}(?:\.\d{1,3}){3}|\d+\.\d+|(?:19|20)\d{2} ?[-/] ?(?:19|20)\d{2}"
    r"|(?:400|800)[ -]?\d{3,4}[ -]?\d{3,4}|1?[ .-]?\(?8(?:00|33|44|55|66|77|88)\)?[ .-]\d{3}[ .-]\d{4}|0800[ -]?[\d -]+"
)
_DOCUMENT = re.compile(
    r"(?<![\w-])(?=(?:[A-Z-]{0,5}\d){5}|[A-Z]{1,3}-?\d{4})[A-Z0-9]{1,20}(?:-[A-Z0-9]{2,10}){0,3}(?![\w-])"
)
_ACCOUNT = re.compile(r"(?<![\w.])\d(?:[ -]?\d){6,20}(?![\w]|\.\d)")
_BREAK = re.compile(r"[。！？;；]|[.!?]\s+(?=[A-Z\u4e00-\u9fff])|\n\s*\n")
_ANY_NUMBER = re.compile(r"\d\D?\d")
_DIGITS_BETWEEN = re.compile(r"\d{3}")
_REACH = 60
_PHONE_DIGITS = (7, 15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How one kind of number is written. ``sure``: stands without a label; ``labels``: parts of words that announce it."""

    rule: str
    pattern: re.Pattern[str]
    check: str = "own:always"
    sure: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    words: tuple[tuple[str, str], ...]
    phones: tuple[Shape, ...]
    identities: tuple[Shape, ...]
    iban_lengths: dict[str, int]
    reserved: tuple[str, ...]
    no_domains: frozenset[str]
    logins: tuple[str, ...]


@cache
def vocabulary() -> Vocabulary:
    listed = tomllib.loads((files("memorycore.domain.vocabulary") / "personal.toml").read_text(encoding="utf-8"))
    return Vocabulary(
        words=tuple((word, kind) for kind, entries in listed["labels"].items() for word in entries),
        phones=tuple(
            Shape(rule="phone", pattern=re.compile(rf"(?<![\w.,+(/-])(?:{shape['pattern']})(?![\w-]|[.,/]\d)", re.ASCII), sure=shape["sure"])
            for shape in listed["phone"]
        ),
        identities=tuple(
            Shape(
                rule=shape["rule"], pattern=re.compile(rf"(?<![\w.-])(?:{shape['pattern']})(?![\w-]|\.\d)", re.ASCII),
                check=shape["check"], sure=shape.get("sure", False), labels=tuple(shape.get("labels", ())),
            )
            for shape in listed["identity"]
        ),
        iban_lengths=listed["iban"]["lengths"],
        reserved=tuple(listed["mail"]["reserved"]),
        no_domains=frozenset(listed["mail"]["no_domains"]),
        logins=tuple(listed["mail"]["logins"]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A plain text with the labels in it, in order."""

    text: str
    lowered: str
    labels: list[Label]

    def announces(self, start: int, end: int) -> Label | None:
        """The word that says what the number at a place is: the nearest before it in the sentence, else one right behind."""
        for label in reversed(self.labels):
            if label.end > start:
                continue
            between = self.text[label.end : start]
            if len(between) > _REACH or _BREAK.search(between):
                break
            if not (label.kind == "against" and _DIGITS_BETWEEN.search(between)):
                return label
        for label in self.labels:
            if end <= label.start <= end + 20 and not _BREAK.search(self.text[end : label.start]):
                return label if label.kind != "against" else None
        return None


def find(text: str) -> tuple[Finding, ...]:
    """All personal data in a text, in order and without overlaps. Linear in the length of the text. Never raises."""
    plain = undisguise(text)
    found: list[tuple[str, Span]] = []
    if "@" in plain.text or "at" in plain.text.lower():
        found.extend(("email", span) for span in _mails(plain.text))
    if _ANY_NUMBER.search(plain.text):
        lowered = lower(plain.text)
        page = Page(text=plain.text, lowered=lowered, labels=find_labels(plain.text, lowered, vocabulary().words))
        found.extend(_numbers(page))
    kept: list[Finding] = []
    for rule, span in sorted(found, key=lambda item: (item[1][0], -item[1][1])):
        start, end = plain.given_span(*span)
        if kept and start < kept[-1].end:
            continue
        kept.append(Finding(gate="pii", rule=rule, start=start, end=end))
    return tuple(kept)


def _mails(text: str) -> Iterator[Span]:
    known = vocabulary()
    for match in _MAIL.finditer(text):
        address = re.sub(
            r"\s?[\[(](?:at)[\])]\s?",
            "@",
            re.sub(r"\s?[\[(](?:dot)[\])]\s?", ".", match.group(), flags=re.IGNORECASE),
            flags=re.IGNORECASE,
        ).lower()
        host = address.rpartition("@")[2]
        if (
            host.endswith(tuple(f".{end}" for end in known.reserved))
            or host in known.reserved
            or host.rpartition(".")[2] in known.no_domains
        ):
            continue
        before = text[max(0, match.start() - 80) : match.start()].lower()
        if "://" in re.split(r"[\s\"'<>]", before)[-1]:
            continue
        line = before.rpartition("\n")[2]
        if (
            any(re.search(rf"(?<![\w-]){login}\b", line) for login in known.logins)
            or re.match(r":[\w~/.-]*/", text[match.end() : match.end() + 30])
            or re.match(r":[\w-]+/", text[match.end() : match.end() + 60])
        ):
            continue
        yield match.span()


def _numbers(page: Page) -> Iterator[tuple[str, Span]]:
    """The most telling kinds first: of two that overlap the earlier one counts."""
    taken: list[Span] = []
    for source in (_ibans, _cards, _identities, _documents, _accounts, _phones):
        for rule, span in source(page):
            if not any(span[0] < end and span[1] > start for start, end in taken):
                taken.append(span)
                yield rule, span


def _ibans(page: Page) -> Iterator[tuple[str, Span]]:
    lengths = vocabulary().iban_lengths
    for match in _IBAN.finditer(page.text):
        length = lengths.get(match.group()[:2].upper())
        if not length:
            continue
        places = [place for place in range(match.start(), match.end()) if page.text[place] not in " -"][:length]
        signs = "".join(page.text[place] for place in places).upper()
        if len(signs) == length and signs.isascii() and signs.isalnum() and iban_holds(signs):
            yield "iban", (match.start(), places[-1] + 1)


def _cards(page: Page) -> Iterator[tuple[str, Span]]:
    for match in _CARD.finditer(page.text):
        digits = re.sub(r"\D", "", match.group())
        if not (13 <= len(digits) <= 19 and _ISSUERS.match(digits) and luhn(digits)) or len(set(digits)) == 1:  # noqa: PLR2004 - lengths of card numbers
            continue
        label = page.announces(match.start(), match.end())
        if label is None or label.kind != "against":
            yield "card", match.span()


def _identities(page: Page) -> Iterator[tuple[str, Span]]:
    for shape in vocabulary().identities:
        for match in shape.pattern.finditer(page.text):
            label = page.announces(match.start(), match.end())
            if label and label.kind == "against":
                continue
            announced = (
                bool(label)
                and label.kind == "identity"
                and (any(part in label.word for part in shape.labels) or label.word in _ANY_IDENTITY)
            )
            if (shape.sure or announced) and is_valid(shape.check, match.group()):
                yield shape.rule, match.span()


_ANY_IDENTITY = frozenset(
    {
        "id number",
        "id no",
        "id card",
        "identity number",
        "identity card",
        "national id",
        "national identity number",
        "personal id",
        "identification number",
        "citizen id",
        "tax id",
        "tax number",
        "证件号",
        "证件号码",
        "身份证",
        "身份证号",
        "身份证号码",
    }
)


def _documents(page: Page) -> Iterator[tuple[str, Span]]:
    for label in page.labels:
        if label.kind != "document":
            continue
        number = _DOCUMENT.search(page.text, label.end, label.end + _REACH)
        if (
            number
            and not _BREAK.search(page.text[label.end : number.start()])
            and "\ufffc" not in page.text[label.end : number.start()]
            and not _NO_PHONE.fullmatch(number.group())
        ):
            yield "document", number.span()


def _accounts(page: Page) -> Iterator[tuple[str, Span]]:
    for label in page.labels:
        if label.kind != "account":
            continue
        number = _ACCOUNT.search(page.text, label.end, label.end + 30)
        if number and not _NO_PHONE.fullmatch(number.group()) and len(re.findall(r"\d", number.group())) >= 7:  # noqa: PLR2004 - shorter ones are amounts
            yield "account", number.span()


def _phones(page: Page) -> Iterator[tuple[str, Span]]:
    for shape in vocabulary().phones:
        for match in shape.pattern.finditer(page.text):
            number = match.group().rstrip(" (")
            count = sum(char.isdigit() for char in number)
            if not _PHONE_DIGITS[0] <= count <= _PHONE_DIGITS[1] or _NO_PHONE.fullmatch(number):
                continue
            label = page.announces(match.start(), match.end())
            kind = label.kind if label else ""
            written = shape.sure or bool(re.match(r"[+0(]", number)) or not number.isdigit()
            if kind == "phone" or (kind == "calling" and written) or (shape.sure and kind != "against"):
                yield "phone", (match.start(), match.start() + len(number))
