"""Words that memories and settings share, in a module that imports nothing: what must start at once reads settings."""

from typing import Literal, get_args

Target = Literal["memory", "user"]
TARGETS: tuple[Target, ...] = get_args(Target)
TRASH_DAYS = 30
