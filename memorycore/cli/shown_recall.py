"""What a recall answers, as a person reads it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from memorycore import messages
from memorycore.cli.layout import FILES, columns, facts_line, inside, pairs, value_of, with_command

if TYPE_CHECKING:
    from memorycore.answers import Found, Recalled
    from memorycore.cli.shell import Shell


def recalled(shell: "Shell", answer: "Recalled") -> None:
    places = {item["id"]: number for number, item in enumerate(answer["results"], 1)}
    for item in answer["results"]:
        found(shell, places[item["id"]], item, places)
    if not answer["results"]:
        shell.out.print(shell.word("say.nothing_found"))
    if note := answer.get("note"):
        shell.out.print(with_command(shell, note))
    for memory_id in answer.get("in_bin", []):
        shell.out.print(shell.word("say.in_bin", id=memory_id))
    for part in answer.get("degraded", []):
        what = shell.word(f"degraded.{part}") if messages.has(f"degraded.{part}", "en") else part
        shell.out.print(shell.word("say.degraded", what=what), style="yellow")
    if "took_ms" in answer:
        took = f"{answer['took_ms']:.0f}"
        model = f"{answer.get('model_ms', 0):.0f}"
        shell.out.print(shell.word("say.took", count=len(answer["results"]), ms=took, model_ms=model), style="dim")


def question(shell: "Shell", query: str) -> None:
    shell.out.print(Text(f"? {query}", style="bold"))


def found(shell: "Shell", number: int, item: "Found", places: Mapping[str, int] | None = None) -> None:
    """One result: its text, then what there is to know of it; ``places``: the numbers of the others, by id."""
    shell.out.print(columns((f"{number:>2}.", Text(item["content"])), padding=1))
    tier = shell.word(f"tier.{item['tier']}")
    file = FILES.get(item.get("target", ""), "") if item["tier"] == "hot" else ""
    date = (item.get("occurred_at") or item.get("created_at") or "")[:10]
    facts = [tier, file, date, *_standing(shell, item, places or {}), item.get("author", ""), *item.get("tags", [])]
    facts_line(shell, [*facts, f"{item['score']:.2f}", shell.word("say.weak") if item.get("weak") else ""], item["id"])
    parts = {
        _explained(shell, name): f"{value:.3f}" if isinstance(value, float) else value_of(value)
        for name, value in item.get("why", {}).items()
    }
    if parts:
        shell.out.print(inside(Text(pairs(parts), style="dim"), by=4))


def _standing(shell: "Shell", item: "Found", places: Mapping[str, int]) -> list[str]:
    """How it stands to time, to others and to trust."""
    until = item.get("valid_until", "")[:10]
    told = [shell.word("found.from", date=item["valid_from"][:10])] if "valid_from" in item else []
    if "state" in item:
        told.append(shell.word("found.superseded", date=until))
    elif until:
        told.append(shell.word("found.until", date=until))
    others = [str(places[other]) for other in item.get("disputed_with", []) if other in places]
    if others:
        told.append(shell.word("found.disputed", others=", ".join(others)))
    if same := item.get("same"):
        told.append(shell.word("found.same", count=len(same)))
    if item["id"].startswith("remote:"):
        told.append(shell.word("found.foreign"))
    if item.get("cut"):
        told.append(shell.word("found.cut"))
    if item.get("untrusted"):
        told.append(shell.word("found.untrusted"))
    if item.get("restored"):
        told.append(shell.word("found.restored"))
    if item.get("revived"):
        told.append(shell.word("found.revived"))
    return told


def _explained(shell: "Shell", name: str) -> str:
    code = f"explain.{name}"
    return shell.word(code) if messages.has(code, shell.language) else name
