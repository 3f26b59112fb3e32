"""The gates in a row, and what is done about what they find."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from memorycore.domain import gates
from memorycore.domain.cut import beginning
from memorycore.domain.gates import Finding, instructions, noise, personal, secrets
from memorycore.domain.memory import Draft
from memorycore.domain.routing import Reason
from memorycore.domain.text import entry_hash
from memorycore.options import GateOptions
from memorycore.store import queries

LONGEST_LOGGED = 1_000
GateAction = Literal["masked", "redacted", "kept", "refused", "quarantined", "untrusted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateNote:
    """What one gate found and what was done. ``spans`` are the exact substrings; they never leave a dry run."""

    gate: Literal["secret", "pii", "injection", "noise", "quota", "duplicate"]
    action: GateAction
    rules: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A draft behind the gates: its text is clean. ``refused``: why nothing of it may be kept."""

    draft: Draft
    notes: tuple[GateNote, ...] = ()
    reasons: tuple[Reason, ...] = ()
    refused: str = ""
    untrusted: bool = False
    quarantined: bool = False


def clean(text: str, options: GateOptions) -> str:
    """A text without secrets, and without personal data where they are not wanted: for tags, names and addresses."""
    found = secrets.find(text)
    if options.pii != "off":
        found = (*found, *personal.find(text))
    return gates.mask(text, found) if found else text


def clean_name(name: str, options: GateOptions) -> str:
    """As ``clean``, for what tells one thing from another: two names that are masked stay two."""
    masked = clean(name, options) if name else ""
    return masked if masked == name else f"{masked} {sha256(name.encode()).hexdigest()[:12]}"


def as_logged(question: str) -> str:
    """What the query log keeps of a question: its beginning, never a secret, never personal data, whatever is set."""
    head = question[: queries.LONGEST_READ].strip()
    found = (*secrets.find(head), *personal.find(head))
    # Masked before it is cut: half of a value may not be recognised.
    end = max([LONGEST_LOGGED, *(finding.end for finding in found if finding.start < LONGEST_LOGGED)])
    masked = gates.mask(head[: end + 1], [finding for finding in found if finding.start <= end])
    return beginning(masked, LONGEST_LOGGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A text that stands in a hot file by somebody's hand, as the store may keep it: nothing is done to the file.

    ``file_hash`` is set where ``content`` is masked, so that the row still knows its entry.
    """

    content: str
    flags: tuple[str, ...] = ()
    file_hash: str = ""

    @property
    def untrusted(self) -> bool:
        return "untrusted" in self.flags


def as_kept(text: str, options: GateOptions) -> Shown:
    """What the store keeps of an entry that a person or a host wrote."""
    keys = secrets.find(text)
    persons = personal.find(text) if options.pii != "off" else ()
    order = instructions.find(text)
    named = (("masked", keys or persons), ("secret", keys), ("pii", persons), ("untrusted", order))
    hidden = (*keys, *persons)
    return Shown(
        content=gates.mask(text, hidden) if hidden else text,
        flags=tuple(flag for flag, found in named if found),
        file_hash=entry_hash(text) if hidden else "",
    )


def admit(draft: Draft, options: GateOptions) -> Passed:
    """Take a draft through the gates; nothing that they hold back stands in what comes out."""
    text = draft.content
    notes: list[GateNote] = []
    reasons: list[Reason] = []
    if (nothing := noise.find(text)) is not None:
        notes.append(GateNote(gate="noise", action="refused", rules=(nothing.rule,)))
        return Passed(draft=_without(draft, ""), notes=tuple(notes), refused="noise")
    keys = secrets.find(text)
    persons = personal.find(text)
    order = instructions.find(text, source=draft.source is not None)
    refused = ""
    if keys:
        refused = "secret_refused" if options.secrets == "refuse" else ""
        notes.append(_note("secret", "refused" if refused else "masked", text, keys))
        if not refused:
            reasons.append(Reason(code="secret_masked", facts=(("count", len(keys)),)))
    if persons:
        action: dict[str, GateAction] = {"off": "kept", "redact": "redacted", "block": "refused"}
        notes.append(_note("pii", action[options.pii], text, persons))
        if options.pii == "block":
            refused = refused or "pii_refused"
        elif options.pii == "redact":
            reasons.append(Reason(code="pii_redacted", facts=(("count", len(persons)),)))
    if order is not None:
        held: GateAction = "quarantined" if order.targets_agent else "untrusted"
        notes.append(GateNote(gate="injection", action=held, rules=(order.rule,)))
        reasons.append(Reason(code="injection_quarantined" if order.targets_agent else "untrusted"))
    hidden = (*keys, *(persons if options.pii == "redact" else ()))
    content = "" if refused else gates.mask(text, hidden) if hidden else text
    return Passed(
        draft=_without(draft, content, options),
        notes=tuple(notes),
        reasons=tuple(reasons),
        refused=refused,
        untrusted=order is not None,
        quarantined=order is not None and order.targets_agent,
    )


def _note(gate: Literal["secret", "pii"], action: GateAction, text: str, found: tuple[Finding, ...]) -> GateNote:
    return GateNote(
        gate=gate,
        action=action,
        rules=tuple(dict.fromkeys(finding.rule for finding in found)),
        spans=tuple(text[finding.start : finding.end] for finding in found),
    )


def _without(draft: Draft, content: str, options: GateOptions | None = None) -> Draft:
    """The draft with its text masked, and so everything else that is free text."""
    rules = options or GateOptions()
    source = draft.source
    return replace(
        draft,
        content=content or "…",  # of a text that is refused nothing is kept
        tags=tuple(clean(tag, rules) for tag in draft.tags),
        author=clean(draft.author, rules) if draft.author else "",
        session_id=clean_name(draft.session_id, rules),
        ref=clean_name(draft.ref, rules),
        source=source
        and replace(
            source,
            uri=clean(source.uri, rules),
            locator=clean(source.locator, rules),
            sha256=clean(source.sha256, rules),
        ),
    )
