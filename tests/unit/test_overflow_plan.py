"""Who leaves a hot file, in which order and as what, at any pressure."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memorycore.domain.pointer import is_fold, is_pointer, pointer
from memorycore.govern.overflow.forecast import forecast
from memorycore.govern.overflow.ladder import Entry, pressure_of, signals, weight_of
from memorycore.govern.overflow.plan import Plan, plan, plan_return
from memorycore.hot.document import size
from memorycore.options import BudgetOptions
from tests.entries import MARKS, NOW, entry, gone, ground, rule


def test_a_file_below_its_marks_is_left_alone() -> None:
    entries = [rule(number, days=400) for number in range(5)]
    assert plan(entries, ground()) == Plan(before=512, after=512)


def test_the_lightest_rules_leave_as_pointers_until_the_budget_holds() -> None:
    light = rule(1, days=60, weight=0.2)
    entries = [rule(2), light, *(rule(number) for number in range(3, 9))]
    planned = plan(entries, ground())
    assert gone(planned)[0] == light.text
    assert all(move.how == "stub" and is_pointer(move.pointer) for move in planned.moves)
    assert size(planned.texts_after(entries)) == planned.after
    assert len(planned.moves) == 1, "8 rules hold 824; without one, and its pointer apart, that is below the soft mark"


def test_without_pressure_only_some_rules_leave_in_one_run() -> None:
    entries = [rule(number, days=60) for number in range(20)]
    planned = plan(entries, ground(marks=replace(MARKS, hard=5000), limit=5000))
    assert len(planned.moves) == 3
    assert not planned.aim_reached


def test_a_new_rule_stays_a_week_unless_there_is_no_other_way() -> None:
    old, new = rule(1, days=31, weight=50), [rule(number, days=2) for number in range(2, 9)]
    assert gone(plan([*new, old], ground(needed=100))) == [old.text]
    pressed = plan(new, ground(needed=300))
    assert pressed.fits
    assert {move.reason for move in pressed.moves} == {"room"}


def test_protection_multiplies_a_weight_and_exempts_nobody() -> None:
    protected = [rule(number, protected=("red_line",)) for number in range(9)]
    assert plan(protected, ground()).moves
    mixed = [rule(1, weight=2.9), *protected[:8]]
    assert gone(plan(mixed, ground(needed=100)))[0] == mixed[0].text


def test_what_is_in_use_stays_until_the_room_is_needed() -> None:
    entries = [rule(number, days=20) for number in range(8)]
    assert plan(entries, ground()).moves == (), "824 of 1000: above the soft mark, below the hard one"
    assert len(plan(entries, ground(needed=103)).moves) == 1


def test_pinned_entries_stay_as_far_as_pins_may_hold_the_file() -> None:
    pinned = [rule(number, pinned=True, days=300) for number in range(9)]
    planned = plan(pinned, ground(needed=200))
    assert not set(gone(planned)) & {pinned[0].text, pinned[1].text}, "250 of 1000 are for pins: the oldest two"
    assert planned.moves


def test_what_the_store_has_only_masked_never_leaves() -> None:
    hidden = [rule(number, days=300, file_hash="0" * 64) for number in range(9)]
    planned = plan(hidden, ground(needed=200))
    assert (planned.moves, planned.fits) == ((), False)


def test_states_past_their_week_leave_towards_the_aim_the_oldest_first() -> None:
    states = [entry(f"State {number} ".ljust(100, "s"), days=10 + number, kind="state") for number in range(8)]
    planned = plan(states, ground())
    assert gone(planned) == [states[7].text, states[6].text]
    assert {(move.how, move.reason) for move in planned.moves} == {("cold", "state_expired")}
    assert planned.aim_reached


def test_a_status_line_and_what_the_cold_tier_has_leave_first() -> None:
    done = replace(entry("Restarted the router ".ljust(100, "s"), days=1, kind="state"), stale=True)
    twin = replace(entry("The office is in Lyon ".ljust(100, "s"), days=1, kind="state"), twin="m0")
    planned = plan([twin, done, *(rule(number, days=1) for number in range(6))], ground())
    assert [(move.how, move.reason) for move in planned.moves] == [("bin", "stale"), ("bin", "same")]


def test_first_contact_moves_nothing_for_a_week() -> None:
    found = [entry(f"Found {number} ".ljust(100, "f"), days=1, kind="state", origin="legacy") for number in range(9)]
    assert plan(found, ground()).moves == ()
    pressed = plan([*found[:-1], rule(1, days=1, origin="legacy")], ground(needed=103))
    assert len(pressed.moves) == 2, "hard pressure takes no more than it needs, and states before rules"
    assert all(move.entry.type == "state" for move in pressed.moves)


def test_a_running_session_keeps_its_entries_but_not_the_room_that_a_write_needs() -> None:
    states = [entry(f"State {number} ".ljust(100, "s"), days=10, kind="state") for number in range(8)]
    quiet = plan(states, ground(in_session=True))
    assert quiet.moves == ()
    assert len(quiet.deferred) == 2
    pressed = plan(states, ground(in_session=True, needed=103))
    assert len(pressed.moves) == 1, "just what is needed"


def test_what_a_host_wrote_of_things_done_leaves_with_its_session_whatever_room_there_is() -> None:
    record = replace(entry("2026-02-03: moved the archive to Lyon", days=1, kind="state"), passing=True)
    line = replace(entry("Restarted the router", days=1, kind="state"), passing=True, stale=True)
    entries = [record, line, entry("The office is in Lyon", days=1, kind="state"), rule(1)]
    held = plan(entries, ground(in_session=True))
    assert (held.moves, [move.entry for move in held.deferred]) == ((), [record, line])
    moves = plan(entries, ground()).moves
    assert [(move.entry, move.how, move.reason) for move in moves] == [
        (record, "cold", "session_over"), (line, "bin", "stale"),
    ]  # fmt: skip


def test_what_would_leave_in_vain_stays() -> None:
    entries = [rule(1, pinned=True), rule(2, pinned=True), rule(3)]
    planned = plan(entries, ground(needed=800))
    assert (planned.moves, planned.fits) == ((), False)


def test_pointers_keep_to_their_share_and_the_oldest_fold_into_one_line() -> None:
    entries: list[Entry] = [rule(number, days=1) for number in range(3)]
    for number in range(10):
        text = f"Rule about topic{number} invoices for customer{number} of the branch"
        made = pointer(text, taken=[one.text for one in entries])
        one = entry(text, days=20 + number)
        assert one.standing is not None
        stands = replace(one.standing, retired_at=NOW - timedelta(days=2 + number), pointer=made)
        entries.append(replace(one, text=made, type="stub", standing=stands))
    planned = plan(entries, ground())
    after = planned.texts_after(entries)
    assert sum(len(text) + 3 for text in after if is_pointer(text) or is_fold(text)) <= 150
    assert sum(map(is_fold, after)) == 1
    kept = [text for text in after if is_pointer(text)]
    assert kept == [one.text for one in entries if one.type == "stub"][: len(kept)], "the newest pointers stay"
    assert {move.reason for move in planned.moves} == {"pointer_folded"}


def test_switched_off_no_rule_leaves_and_the_file_may_be_full() -> None:
    entries = [rule(number, days=400) for number in range(9)]
    off = ground(budget=BudgetOptions(enabled=False))
    assert plan(entries, off).moves == ()
    assert not plan(entries, replace(off, needed=103)).fits
    assert plan(entries, replace(off, needed=60)).fits


def test_without_a_log_of_questions_no_rule_leaves_for_its_weight() -> None:
    entries = [rule(number, days=400) for number in range(8)]
    assert plan(entries, ground(log_on=False)).moves == ()
    assert plan(entries, ground(log_on=False, needed=103)).fits


def test_each_signal_looks_at_one_thing_only() -> None:
    budget = BudgetOptions()

    def told(one: Entry, *, log_on: bool = True) -> frozenset[str]:
        return signals(one, NOW, budget, log_on=log_on)

    assert told(rule(1, days=29)) == frozenset()
    assert told(rule(1, days=31)) == {"dormant"}
    assert told(rule(1, days=31), log_on=False) == frozenset()
    assert told(rule(1, days=46)) == {"dormant", "idle"}
    assert told(entry("x" * 201, days=31)) == {"dormant", "compressible"}
    assert told(replace(rule(1, days=1), completed=True)) == {"completed"}
    assert told(replace(rule(1, days=31), twin="m0")) == {"dormant", "redundant"}
    assert told(replace(rule(1, days=29), twin="m0")) == frozenset()
    assert told(replace(rule(1, days=90, protected=("red_line",)), completed=True, twin="m0")) == {"idle"}
    assert told(entry("a state", days=90, kind="state")) == frozenset()


@pytest.mark.parametrize(("chars", "pressure"), [(800, "none"), (801, "soft"), (900, "soft"), (901, "hard")])
def test_pressure_follows_the_marks(chars: int, pressure: str) -> None:
    assert pressure_of(chars, MARKS) == pressure


def test_a_weight_halves_every_half_life_and_a_clock_set_back_changes_nothing() -> None:
    one = rule(1, days=60, weight=4)
    assert weight_of(one, NOW, BudgetOptions()) == pytest.approx(1.0)
    assert weight_of(one, NOW - timedelta(days=900), BudgetOptions()) == pytest.approx(4.0)


def test_a_rule_comes_back_into_room_or_for_a_lighter_one_and_else_stays() -> None:
    retired = rule(0, days=90).memory
    assert retired is not None
    light, heavy = rule(1, weight=0.3), [rule(number, weight=9) for number in range(2, 10)]
    assert plan_return(heavy[:3], [(retired, 1.0)], ground()).coming == (retired,)
    swapped = plan_return([light, *heavy[:7]], [(retired, 1.0)], ground())
    assert swapped.coming == (retired,)
    assert [move.entry.text for move in swapped.moves] == [light.text]
    assert plan_return(heavy, [(retired, 1.0)], ground()).coming == ()
    assert plan_return([light, *heavy[:7]], [(retired, 0.1)], ground()).coming == ()


def test_the_forecast_is_what_daily_runs_then_do() -> None:
    entries = [rule(number, days=3 * number) for number in range(1, 9)]
    coming = forecast(entries, ground())
    first = min(coming.values(), key=lambda one: one.at)
    assert first.at == NOW + timedelta(days=7), "the oldest is 24 days old, and dormant from 30 on"
    then = plan(entries, ground(now=first.at))
    assert gone(then) == [text for text, one in coming.items() if one.at == first.at]
    assert plan(entries, ground(now=first.at - timedelta(days=1))).moves == ()


def test_a_file_twice_as_full_as_it_may_be_keeps_pointers_to_the_heaviest_that_leave() -> None:
    entries = [rule(number, days=40, weight=number) for number in range(1, 19)]
    planned = plan(entries, ground())
    pointers = [move.pointer for move in planned.moves if move.pointer]
    assert len(pointers) >= 3
    assert sum(len(text) + 3 for text in pointers) <= 150, "their share of 1000"
    assert planned.after <= 900
    whole = max(move.entry.standing.weight for move in planned.moves if move.how == "cold" and move.entry.standing)
    assert whole <= min(move.entry.standing.weight for move in planned.moves if move.pointer and move.entry.standing)
    (slim,) = [move for move in plan(entries[:8], ground(needed=170)).moves if not move.pointer]
    assert slim.how == "cold", "a pointer pushes no rule out of a file that we filled"


def test_a_finished_status_line_goes_to_the_bin_at_first_contact_too() -> None:
    done = replace(entry("Restarted the router ".ljust(100, "s"), days=1, kind="state", origin="legacy"), stale=True)
    found = [rule(number, days=1, origin="legacy") for number in range(8)]
    moves = plan([*found, done], ground(needed=60)).moves
    assert [(move.how, move.reason) for move in moves] == [("bin", "stale")]


def test_what_was_undone_is_planned_around_until_it_may_leave_again() -> None:
    light = replace(rule(1, days=40, weight=0.1), undone_until=NOW + timedelta(days=20))
    entries = [light, *(rule(number, days=20) for number in range(2, 9))]
    planned = plan(entries, ground(needed=103))
    assert planned.fits
    assert light.text not in gone(planned)
    assert gone(plan(entries, ground(needed=103, now=NOW + timedelta(days=21))))[0] == light.text


def test_what_sinks_and_what_makes_room_for_a_rule_that_comes_back_have_reasons_of_their_own() -> None:
    sinking = [rule(number, days=40) for number in range(8)]
    assert {move.reason for move in plan(sinking, ground()).moves} == {"evicted"}
    back = rule(20).memory
    assert back is not None
    full = [rule(number, weight=0.5) for number in range(8)]
    assert {move.reason for move in plan_return(full, [(back, 3.0)], ground()).moves} == {"yielded"}


def test_pointers_of_parallel_rules_name_what_tells_them_apart() -> None:
    names = ("invoices", "holidays", "licences", "cellars", "bicycles", "gardens", "kettles", "lanterns", "pianos")
    texts = [f"Run the tests of the module for the {name} in the branch before every release." for name in names]
    planned = plan([entry(text.ljust(100, "."), days=60, weight=0.1) for text in texts], ground(needed=103))
    told = {move.pointer: name for move in planned.moves for name in names if name in move.entry.text if move.pointer}
    assert len(told) >= 1
    assert all(name in pointer for pointer, name in told.items())


def test_states_and_old_pointers_make_room_for_a_rule_that_comes_back_before_any_rule() -> None:
    state = entry("The fair is in hall 4 ".ljust(60, "s"), days=9, kind="state")
    (stub,) = [entry("Rule about the invoices of the branch in Ghent", days=20)]
    assert stub.standing is not None
    made = pointer(stub.text)
    stands = replace(stub.standing, retired_at=NOW - timedelta(days=3), pointer=made)
    pointing = replace(stub, text=made, type="stub", standing=stands)
    rules = [rule(number, weight=0.2) for number in range(7)]
    back = rule(20).memory
    assert back is not None
    planned = plan_return([state, pointing, *rules], [(back, 1.0)], ground(marks=replace(MARKS, hard=830)))
    assert planned.coming == (back,)
    assert [(move.entry.text, move.how) for move in planned.moves] == [(state.text, "cold"), (made, "cold")]


def test_a_fact_that_is_there_by_use_makes_room_for_rules_and_pushes_none_out() -> None:
    asked, other = (
        replace(entry(text.ljust(100, "."), days=1, weight=9, kind="state"), by_use=True)
        for text in ("The kiln is serviced by Ada", "The kiln burns at 1,240 degrees")
    )
    light, heavy = rule(1, weight=0.3), [rule(number, weight=9) for number in range(2, 9)]
    rule_back, fact_back = rule(0, days=90).memory, other.memory
    assert rule_back is not None
    assert fact_back is not None
    swapped = plan_return([light, asked, *heavy[:6]], [(rule_back, 1.0)], ground())
    assert swapped.coming == (rule_back,)
    assert [move.entry.text for move in swapped.moves] == [asked.text], "new or heavy, it is a fact"
    assert plan_return([light, *heavy], [(fact_back, 50.0)], ground()).coming == ()
    assert plan_return([asked, *heavy], [(fact_back, 50.0)], ground()).coming == (fact_back,)
    used = rule(10, weight=0.9, days=10)
    assert gone(plan([used, asked, *heavy[:6]], ground(needed=100)))[0] == asked.text
