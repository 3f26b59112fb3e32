"""Words that memories and settings share, in a module that imports nothing: what must start at once reads settings."""

from dataclasses import dataclass
from typing import Literal, get_args

Target = Literal["memory", "user"]
TARGETS: tuple[Target, ...] = get_args(Target)
TRASH_DAYS = 30
DEFAULT_HOT_LIMIT = 5000
DEFAULT_QUOTA = 1_000_000

Language = Literal["en", "zh"]
LimitFrom = Literal[
    "setting",  # MEMORYCORE_CHAR_LIMIT_MEMORY or _USER, from the environment or config.toml
    "hermes_config",  # named in the config.yaml of the Hermes home
    "hermes_default",  # a Hermes home whose config.yaml does not name it
    "hermes_unreadable",  # a config.yaml that cannot be read: what Hermes itself assumes then
    "default",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotLimit:
    """How many code points one hot file may hold, and who said so."""

    chars: int
    where_from: LimitFrom = "setting"
