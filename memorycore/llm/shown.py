"""What a model outside gets to see of texts: no secret, no personal data, nothing that gives it orders."""

import unicodedata

from memorycore.domain.gates import MARKER, Finding, instructions, mask, personal, secrets

MOST_CHARS = 4_000


def shown(old: str, new: str) -> tuple[str, str] | None:
    """The two texts as they may be sent, or None where the pair must not be sent.

    Not sent is a text that gives orders to an agent, or one too long for a statement: cutting it could hide the
    difference. Nor is a pair that differs in what is masked, or in which something was masked before it was stored:
    behind equal masks two numbers would look like one.
    """
    old, new = _visible(old), _visible(new)
    if any(_is_kept(text) for text in (old, new)):
        return None
    hidden_in_old, hidden_in_new = _hidden(old), _hidden(new)
    if _texts(old, hidden_in_old) != _texts(new, hidden_in_new):
        return None
    return mask(old, hidden_in_old), mask(new, hidden_in_new)


def shown_alone(text: str) -> bool:
    """Whether a text may be sent as it is: it gives no orders, and there is nothing in it to be masked."""
    return _visible(text) == text and not _is_kept(text) and not _hidden(text)


def _is_kept(text: str) -> bool:
    # As wary of orders as with a text from a document: a false alarm costs an opinion, a miss may cost a memory.
    return len(text) > MOST_CHARS or bool(MARKER.search(text)) or instructions.find(text, source=True) is not None


def _hidden(text: str) -> tuple[Finding, ...]:
    return (*secrets.find(text), *personal.find(text))


def _texts(text: str, findings: tuple[Finding, ...]) -> list[str]:
    return sorted(text[found.start : found.end] for found in findings)


def _visible(text: str) -> str:
    """Without characters that no reader sees and a model reads all the same."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf")
