"""The gate for personal data: e-mail, telephone, payment cards, bank accounts, identity papers.

A number says little by itself: "order" or "快递单号" before it take it for themselves, "phone" or "手机" give it away.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memorycore.domain.gates import Finding, vocabulary
from memorycore.domain.gates.disguise import Span, undisguise
from memorycore.domain.gates.labels import ends_word, find_labels, lower
from memorycore.domain.gates.numbers import Page, Shape, accounts, cards, documents, ibans, identities, phones

_AT = r"(?:@|\s?[\[(](?:at|AT)[\])]\s?)"
_DOT = r"(?:\.|\s?[\[(](?:dot|DOT)[\])]\s?)"
_MAIL = re.compile(
    rf"(?<![A-Za-z0-9_.+%/\u00c0-\u024f-])[A-Za-z0-9\u00c0-\u024f](?:[\w.+%'\u00c0-\u024f-]{{0,62}}[\w+\u00c0-\u024f-])?{_AT}"
    rf"(?:[\w\u00a1-\u024f-]{{1,62}}{_DOT}){{1,6}}(?:[A-Za-z\u00a1-\u024f]{{2,24}}|xn--[a-z0-9]{{2,24}})(?![\w@-])",
    re.ASCII,
)
# ``host:path`` behind an address is a file on a machine.
_REMOTE_PATH = re.compile(r":[\w~.-]*/")
_BLANK_OR_QUOTE = re.compile(r"[\s\"'<>]")
_LOOK_BACK = 80
_NUMBER = re.compile(r"\d\D?\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vocabulary:
    words: tuple[tuple[str, str], ...]
    phones: tuple[Shape, ...]
    identities: tuple[Shape, ...]
    any_identity: frozenset[str]
    iban_lengths: dict[str, int]
    reserved: tuple[str, ...]
    no_domains: frozenset[str]
    logins: re.Pattern[str]


@cache
def _vocabulary() -> _Vocabulary:
    listed = vocabulary("personal")
    reserved: list[str] = listed["mail"]["reserved"]
    return _Vocabulary(
        words=tuple((word, kind) for kind, entries in listed["labels"].items() for word in entries),
        phones=tuple(
            Shape(
                rule="phone",
                pattern=re.compile(rf"(?<![\w.,+/-])(?:{shape['pattern']})(?![\w-]|[.,/]\d)", re.ASCII),
                sure=shape["sure"],
            )
            for shape in listed["phone"]
        ),
        identities=tuple(
            Shape(
                rule=shape["rule"],
                pattern=re.compile(rf"(?<![\w.-])(?:{shape['pattern']})(?![\w-]|\.\d)", re.ASCII | re.IGNORECASE),
                check=shape["check"],
                sure=shape.get("sure", False),
                labels=tuple(shape.get("labels", ())),
            )
            for shape in listed["identity"]
        ),
        any_identity=frozenset(listed["any_identity"]["words"]),
        iban_lengths=listed["iban"]["lengths"],
        reserved=(*reserved, *(f".{end}" for end in reserved)),
        no_domains=frozenset(listed["mail"]["no_domains"]),
        logins=re.compile(rf"(?<![\w-])(?:{'|'.join(listed['mail']['logins'])})\b[^\n]*$", re.IGNORECASE),
    )


def find(text: str) -> tuple[Finding, ...]:
    """All personal data in a text, in order and without overlaps. Linear in the length of the text. Never raises."""
    plain = undisguise(text)
    found: list[tuple[str, Span]] = []
    if "@" in plain.text or "(at)" in plain.text.lower() or "[at]" in plain.text.lower():
        found.extend(("email", span) for span in _mails(plain.text))
    if _NUMBER.search(plain.text):
        found_labels = find_labels(plain.text, lower(plain.text), _vocabulary().words)
        labels = [label for label in found_labels if ends_word(plain.text, label) and not label.glued]
        found.extend(_numbers(Page(text=plain.text, labels=labels, ends=[label.end for label in labels])))
    kept: list[Finding] = []
    for rule, span in sorted(found, key=lambda item: (item[1][0], -item[1][1])):
        start, end = plain.given_span(*span)
        if not kept or start >= kept[-1].end:
            kept.append(Finding(gate="pii", rule=rule, start=start, end=end))
    return tuple(kept)


def _mails(text: str) -> Iterator[Span]:
    known = _vocabulary()
    for match in _MAIL.finditer(text):
        host = re.split(_AT, match.group(), maxsplit=1)[1]
        host = re.sub(_DOT, ".", host).lower()
        reserved = host in known.reserved or host.endswith(tuple(end for end in known.reserved if end[0] == "."))
        if reserved or host.rpartition(".")[2] in known.no_domains:
            continue
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        in_address = "://" in _BLANK_OR_QUOTE.split(before)[-1]
        if not (in_address or known.logins.search(before) or _REMOTE_PATH.match(text, match.end())):
            yield match.span()


def _numbers(page: Page) -> Iterator[tuple[str, Span]]:
    """The most telling kinds first: of two that overlap the earlier one counts."""
    known = _vocabulary()
    taken: list[Span] = []
    for source in (
        ibans(page, known.iban_lengths),
        cards(page),
        identities(page, known.identities, known.any_identity),
        documents(page),
        accounts(page),
        phones(page, known.phones),
    ):
        for rule, span in source:
            if not any(span[0] < end and span[1] > start for start, end in taken):
                taken.append(span)
                yield rule, span
