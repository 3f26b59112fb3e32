"""Check digits of identity numbers: python-stdnum where it knows them, and the few that it does not know.

Test numbers count as real ones, so nothing here asks whether a place, an office or a person exists.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import cast

_MONTHS, _DAYS = 12, 31
_TAXPAYER_GROUPS = frozenset({*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)})
_HETU_SIGNS = "0123456789ABCDEFHJKLMNPRSTUVWXY"


def is_valid(check: str, number: str) -> bool:
    """Whether a number passes a check of ``vocabulary/personal.toml``."""
    return _check(check)(number.upper())


@cache
def _check(name: str) -> Callable[[str], bool]:
    if name.startswith("own:"):
        return _OWN[name.removeprefix("own:")]
    return cast("Callable[[str], bool]", import_module(f"stdnum.{name}").is_valid)


def _digits(number: str) -> list[int]:
    return [int(char) for char in number if char.isdigit()]


def _weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def iso7064_11_2(number: str) -> bool:
    """ISO 7064 mod 11-2, as on Chinese identity cards (GB 11643)."""
    total = 0
    signs = re.sub(r"[ -]", "", number).upper()
    for char in signs[:-1]:
        total = (total + int(char)) * 2 % 11
    return (total + (10 if signs[-1] == "X" else int(signs[-1]))) % 11 == 1


def hong_kong(number: str) -> bool:
    signs = re.sub(r"[^A-Z0-9]", "", number.upper())
    padded = signs.rjust(9)
    total = sum(
        (36 if char == " " else int(char, 36)) * weight for char, weight in zip(padded, range(9, 0, -1), strict=True)
    )
    return total % 11 == 0


def taiwan(number: str) -> bool:
    letter = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0].upper()) + 10
    return (_weighted([letter // 10, letter % 10, *_digits(number[1:])], (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1))) % 10 == 0


def us_ssn(number: str) -> bool:
    """Areas 000 and 666, group 00 and serial 0000 are never given out; area 9xx is a taxpayer number (ITIN)."""
    digits = re.sub(r"\D", "", number)
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    if area[0] == "9":
        return int(group) in _TAXPAYER_GROUPS
    return area not in {"000", "666"} and group != "00" and serial != "0000"


def french_social_security(number: str) -> bool:
    """Key 97 − number mod 97; Corsica's 2A and 2B count as 19 and 18. The place need not exist."""
    signs = number.replace(" ", "").replace("2A", "19").replace("2B", "18")
    return signs.isdigit() and 97 - int(signs[:-2]) % 97 == int(signs[-2:])


def german_pension(number: str) -> bool:
    """Insurance number of the Deutsche Rentenversicherung (VKVV § 4)."""
    signs = number.replace(" ", "")
    letter = ord(signs[8]) - ord("A") + 1
    digits = [*_digits(signs[:8]), letter // 10, letter % 10, *_digits(signs[9:11])]
    total = sum(sum(divmod(d * w, 10)) for d, w in zip(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True))
    return total % 10 == int(signs[-1])


def luxembourg(number: str) -> bool:
    """Thirteen digits: the eleventh is followed by a Luhn and a Verhoeff digit, both over the first eleven."""
    from stdnum import luhn, verhoeff

    signs = number.replace(" ", "")
    return luhn.is_valid(signs[:12]) and verhoeff.is_valid(signs[:11] + signs[12])


def finnish(number: str) -> bool:
    """The sign is the remainder by 31; numbers from 900 on are given for tests and count too."""
    return _HETU_SIGNS[int(number[:6] + number[7:10]) % 31] == number[10]


def polish_card(number: str) -> bool:
    signs = number.replace(" ", "")
    values = [int(char, 36) for char in signs]
    return _weighted(values, (7, 3, 1, 9, 7, 3, 1, 7, 3)) % 10 == 0


def hungarian_taj(number: str) -> bool:
    digits = _digits(number)
    return _weighted(digits[:8], (3, 7, 3, 7, 3, 7, 3, 7)) % 10 == digits[8]


def hungarian_tax(number: str) -> bool:
    digits = _digits(number)
    return _weighted(digits[:9], tuple(range(1, 10))) % 11 == digits[9]


def hungarian_personal(number: str) -> bool:
    """Weighted upwards until 1996, downwards since."""
    digits = _digits(number)
    return digits[10] in {
        _weighted(digits[:10], tuple(range(1, 11))) % 11,
        _weighted(digits[:10], tuple(range(10, 0, -1))) % 11,
    }


def korean_birthday(number: str) -> bool:
    """Month and day in the first six digits; numbers given since October 2020 have no check digit."""
    digits = _digits(number)
    return 1 <= digits[2] * 10 + digits[3] <= _MONTHS and 1 <= digits[4] * 10 + digits[5] <= _DAYS


def british_insurance(number: str) -> bool:
    """Prefixes that are never given out; QQ stands in forms as an example and counts as a test number."""
    return number[:2].upper() not in {"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"}


def german_tax(number: str) -> bool:
    """ISO 7064 mod 11,10. Which digits may repeat is not asked: test numbers repeat what they like."""
    from stdnum.iso7064 import mod_11_10

    return mod_11_10.is_valid(number.replace(" ", ""))


def romanian(number: str) -> bool:
    """Weights 279146358279 by 11; a remainder of 10 is written 1."""
    digits = _digits(number)
    rest = _weighted(digits[:12], (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return digits[12] == (1 if rest == 10 else rest)  # noqa: PLR2004 - the remainder that has two digits


def latvian(number: str) -> bool:
    """Codes given since 2017 begin with 32 and have no check digit; the older ones hold a birthday."""
    from stdnum.lv import pvn

    return number.startswith("32") or pvn.is_valid(number)


def has_letters_and_digits(number: str) -> bool:
    return any(map(str.isalpha, number)) and any(map(str.isdigit, number))


def always(number: str) -> bool:
    """For numbers without a check digit: the pattern and the label are all there is."""
    return bool(number)


_OWN: dict[str, Callable[[str], bool]] = {
    check.__name__: check
    for check in (
        iso7064_11_2, hong_kong, taiwan, us_ssn, french_social_security, german_pension, luxembourg, finnish,
        polish_card, hungarian_taj, hungarian_tax, hungarian_personal, korean_birthday, british_insurance,
        german_tax, romanian, latvian, has_letters_and_digits, always,
    )
}  # fmt: skip


def luhn(digits: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812)."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        value = int(char) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value  # noqa: PLR2004 - the digits of the product
    return total % 10 == 0


def iban_holds(signs: str) -> bool:
    """Remainder 1 by 97 with the first four signs at the end and letters as 10…35 (ISO 13616)."""
    return int("".join(str(int(char, 36)) for char in signs[4:] + signs[:4])) % 97 == 1
