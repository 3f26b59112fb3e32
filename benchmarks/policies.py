"""Other ways to choose which rules stand in a file of the same size: what the product's choice is compared with.

Every policy gets the texts of rules alone, each in its file, in the order of the life, and asks nobody what is a rule.
A text costs its code points and the delimiter before it; a file holds what fits into its rule budget. A rule that is
needed and not there is a miss, and is loaded back, as a perfect recall would do it. That is more than the product gets:
it has to tell rules from facts, keeps pointers in the same budget, and brings back only what a question clearly means.

* ``clairvoyant`` knows all that comes: it evicts what is needed latest for the room that it takes (days until the next
  need times cost), and may decide that what comes in is just that.
* ``lru`` evicts what was needed or written least recently, ``fifo`` what came in first.
* ``none`` never evicts: what does not fit into the whole file, not only the budget, is refused, as a host does it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from benchmarks.life import RULE, Step
from memorycore.domain.memory import Target
from memorycore.hot.document import DELIMITER


@dataclass(slots=True, kw_only=True)
class Item:
    """A rule in a file. ``came`` and ``used`` count steps of the life."""

    key: str
    cost: int
    came: int
    used: int


Victim = Callable[[Iterable[Item], float], Item]
Files = Mapping[Target, dict[str, Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One rule that a question needed, and whether it stood in the file at that moment."""

    day: float
    key: str
    hot: bool


def compare(life: Sequence[Step], budgets: Mapping[Target, int], limits: Mapping[Target, int]) -> dict[str, list[Need]]:
    """Every need of a rule, in order, under each policy. Sizes are code points."""
    return {
        "clairvoyant": simulate(life, budgets, latest_for_its_room(life)),
        "lru": simulate(life, budgets, lambda items, _: min(items, key=lambda item: item.used)),
        "fifo": simulate(life, budgets, lambda items, _: min(items, key=lambda item: item.came)),
        "none": simulate(life, limits, None),
    }


def latest_for_its_room(life: Sequence[Step]) -> Victim:
    """Who is to go when all needs are known. Of those that are never needed again, the largest."""
    needed: dict[str, list[float]] = defaultdict(list)
    for step in life:
        for key in step.needs:
            needed[key].append(step.day)

    def worth_least(items: Iterable[Item], day: float) -> Item:
        def rank(item: Item) -> tuple[float, int]:
            days = needed[item.key]
            place = bisect_right(days, day)
            return ((days[place] - day) * item.cost if place < len(days) else inf), item.cost

        return max(items, key=rank)

    return worth_least


def simulate(life: Sequence[Step], room: Mapping[Target, int], victim: Victim | None) -> list[Need]:
    """Replay a life; ``victim`` None: nothing is ever evicted."""
    files: Files = {target: {} for target in room}
    known: dict[str, tuple[Target, int]] = {}
    needs: list[Need] = []
    for number, step in enumerate(life):
        if step.op == "query":
            for key in step.needs:
                if key.startswith(RULE) and key in known:
                    target, cost = known[key]
                    needs.append(Need(day=step.day, key=key, hot=key in files[target]))
                    if key in files[target] or victim:
                        _put(files, target, Item(key=key, cost=cost, came=number, used=number))
                        _fit(files[target], room[target], victim, step.day)
        elif step.is_rule and step.op == "host_remove":
            target, _ = known.pop(step.key)
            files[target].pop(step.key, None)
        elif step.is_rule:
            known[step.key] = step.target, len(step.content) + len(DELIMITER)
            _put(files, step.target, Item(key=step.key, cost=known[step.key][1], came=number, used=number))
            _fit(files[step.target], room[step.target], victim, step.day, refused=step.key)
    return needs


def _put(files: Files, target: Target, item: Item) -> None:
    """Use an item that is there, with its new cost, or add it."""
    if (there := files[target].get(item.key)) is not None:
        there.cost, there.used = item.cost, item.used
    else:
        files[target][item.key] = item


def _fit(held: dict[str, Item], room: int, victim: Victim | None, day: float, *, refused: str = "") -> None:
    while sum(item.cost for item in held.values()) - len(DELIMITER) > room:
        del held[victim(held.values(), day).key if victim else refused]
