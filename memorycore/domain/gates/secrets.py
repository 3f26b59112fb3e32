"""The gate for secrets: keys in vendors' formats, private keys, passwords in addresses, and whatever a label announces.

Nothing here compares texts with a model or calls anybody. The lists are data in ``domain/vocabulary``.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from memorycore.domain.gates import Finding, vocabulary
from memorycore.domain.gates.addresses import find_in_addresses
from memorycore.domain.gates.disguise import Plain, Span, line_spans, undisguise, unwrap
from memorycore.domain.gates.labelled import find_labelled
from memorycore.domain.gates.private_keys import find_private_keys
from memorycore.domain.gates.values import is_placeholder, machine_made

# Found without anything that ties it to a label: its edges are a guess, those of any other finding are better.
_LOOSE = "random_value"
# A format starts at the edge of a word, or behind an escaped line end: "token\nghp_…" in JSON.
# What may belong to a key behind the part that its vendor's format covers.
_TAIL = re.compile(r"[\w.~+/=-]+")
_CUT_SHORT = re.compile(r"\.{2,}|…|\*{2,}|•{2,}")
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How the keys of one vendor look. ``hints``: one is in every text that holds such a key; ``near``: likewise."""

    rule: str
    hints: tuple[str, ...]
    pattern: str
    near: tuple[str, ...] = ()


@cache
def formats() -> tuple[Format, ...]:
    """The vendors' formats of ``vocabulary/secrets.toml``."""
    return tuple(
        Format(rule=rule, hints=tuple(entry["hints"]), pattern=entry["pattern"], near=tuple(entry.get("near", ())))
        for rule, entry in vocabulary("secrets")["formats"].items()
    )


@cache
def _hints() -> tuple[tuple[str, Format], ...]:
    return tuple((hint, form) for form in formats() for hint in form.hints)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(f"{_EDGE}(?:{pattern})", re.ASCII)


def find(text: str) -> tuple[Finding, ...]:
    """Every secret in a text, in order and without overlaps; a value over several lines gives one finding a line.

    Linear in the length of the text. Never raises.
    """
    plain = undisguise(text)
    found: list[tuple[str, Span]] = list(_formatted(plain))
    if "KEY" in plain.text or "Private-Lines" in plain.text:
        found.extend(("private_key", span) for span in _given(plain, find_private_keys(plain.text)))
    found.extend((rule, span) for rule, where in find_in_addresses(plain.text) for span in _given(plain, [where]))
    found.extend(
        (rule, span) for rule, where in find_labelled(plain, near_key=bool(found)) for span in _given(plain, [where])
    )
    return tuple(Finding(gate="secret", rule=rule, start=start, end=end) for rule, (start, end) in _merged(text, found))


def _given(plain: Plain, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        yield plain.given_span(start, end)


def _formatted(plain: Plain) -> Iterator[tuple[str, Span]]:
    for rule, span in _matches(plain.text):
        yield rule, plain.given_span(*span)
    joined = unwrap(plain)
    if joined is None:
        return
    for rule, (start, end) in _matches(joined.text):
        spans = line_spans(joined, start, end)
        if len(spans) > 1 and machine_made(joined.text[start:end]) and all(b - a >= 4 for a, b in spans):  # noqa: PLR2004 - a shorter rest is a word
            yield from ((rule, span) for span in spans)


def _matches(text: str) -> Iterator[tuple[str, Span]]:
    near = text.lower()
    hinted = dict.fromkeys(form for hint, form in _hints() if hint in text)
    for form in hinted:
        if form.near and not any(word in near for word in form.near):
            continue
        for match in _compiled(form.pattern).finditer(text):
            group = 1 if match.re.groups else 0
            value = match.group(group).rstrip(".")
            if not (is_placeholder(match.group(group)) or _CUT_SHORT.match(text, match.end(group))):
                yield form.rule, (match.start(group), match.start(group) + len(value))


def _merged(text: str, found: list[tuple[str, Span]]) -> list[tuple[str, Span]]:
    """One finding for what overlaps, named by the first that saw it, as wide as all of it.

    Only the guess of a label does not widen a key that has ended, as in "password=KEY@host".
    """
    labels = vocabulary("secret_labels")["labels"]
    merged: list[tuple[str, Span]] = []
    for rule, (start, end) in sorted(found, key=lambda item: item[1][0]):
        if not merged or start >= merged[-1][1][1]:
            merged.append((rule, (start, end)))
            continue
        name, (first, stop) = merged[-1]
        if name == _LOOSE:
            merged[-1] = (rule, (start, end))
        elif rule != _LOOSE and end > stop and (rule not in labels or _TAIL.fullmatch(text, stop, end)):
            merged[-1] = (name, (first, end))
    return merged
