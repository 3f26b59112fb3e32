"""A negation that moves from what was said to what is added turns a statement round: never a refinement."""

import pytest

from memorycore.domain.judge import judge

MOVED = [
    ("We don't ship to Norway.", "We ship to Norway without customs fees."),
    ("The shop does not accept cheques.", "The shop accepts cheques from companies that do not have cards."),
    ("我们不向挪威发货。", "我们向挪威发货，不收关税。"),
    ("仓库不收玻璃。", "仓库收玻璃，不限重量。"),
    ("The gate is not locked at night.", "The gate is locked at night, but not on Sundays."),
    ("Der Laden liefert nicht nach Bern.", "Der Laden liefert nach Bern ohne Aufpreis."),
    ("Le musée n'est pas ouvert le lundi.", "Le musée est ouvert le lundi, sans guide."),
    ("El local no abre los domingos.", "El local abre los domingos sin reserva."),
    ("Never call customers.", "Call customers, never e-mail them."),
    ("不要联系客户。", "联系客户，不要发邮件。"),
    ("No dogs in the office.", "Dogs are welcome in the office, no leash needed."),
]


@pytest.mark.parametrize(("denied", "granted"), MOVED)
def test_a_negation_that_moves_into_the_addition_is_a_contradiction(denied: str, granted: str) -> None:
    assert judge(denied, granted).relation == "disputes"
    assert judge(granted, denied).relation not in {"same", "refines"}
