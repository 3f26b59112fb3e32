"""Hermes Agent as a neighbour: its home, and how much its two memory files may hold.

Only read, never written: Hermes owns its config.yaml.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from memorycore.domain.terms import DEFAULT_HOT_LIMIT, HotLimit, Target

LIMIT_KEYS: dict[Target, str] = {"memory": "memory_char_limit", "user": "user_char_limit"}
HERMES_LIMITS: dict[Target, int] = {"memory": 2200, "user": 1375}
CONFIG = "config.yaml"
MAX_CONFIG_BYTES = 1024 * 1024


def standard_home(home: Path, env: Mapping[str, str]) -> Path:
    """Where Hermes lives when nobody says otherwise; it need not exist."""
    local = env.get("LOCALAPPDATA", "")
    on_windows = Path(local) / "hermes" if local else None
    return on_windows if on_windows and on_windows.is_dir() else home / ".hermes"


def home_around(hot_dir: Path, known: tuple[Path, ...]) -> Path | None:
    """The Hermes home whose files these are; None when the directory has nothing to do with Hermes.

    Args:
        hot_dir: The directory with MEMORY.md and USER.md.
        known: Homes that were named (``HERMES_HOME``) or are standard. A profile below them is a home of its own.
    """
    owner = hot_dir.parent
    homes = {_real(path) for path in known if path.is_dir()}
    if hot_dir.name == "memories" and (
        _real(owner) in homes or (owner / CONFIG).is_file() or _real(owner.parent.parent) in homes
    ):
        return owner
    return next((folder for folder in hot_dir.parents if _real(folder) in homes), None)


def hot_limit(home: Path | None, target: Target) -> HotLimit:
    """How many code points Hermes allows in a file; our own default where there is no Hermes home.

    What Hermes could not read either counts as absent: it then assumes its own defaults, and so do we.
    """
    if home is None:
        return HotLimit(chars=DEFAULT_HOT_LIMIT, where_from="default")
    try:
        memory = read_memory_section(home / CONFIG)
    except (OSError, ValueError):
        return HotLimit(chars=HERMES_LIMITS[target], where_from="hermes_unreadable")
    value = memory.get(LIMIT_KEYS[target])
    if (
        isinstance(value, bool)
        or not isinstance(value, int | str)
        or not str(value).strip().isdecimal()
        or not int(value)
    ):
        return HotLimit(chars=HERMES_LIMITS[target], where_from="hermes_default")
    return HotLimit(chars=int(value), where_from="hermes_config")


def read_memory_section(config: Path) -> dict[str, object]:
    """The section ``memory`` of a config.yaml; empty when file or section is missing.

    Raises:
        OSError: The file is there and cannot be read.
        ValueError: It is no YAML mapping, not UTF-8, or larger than any config is.
    """
    try:
        with config.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return {}
    if len(content) > MAX_CONFIG_BYTES:
        raise ValueError(f"{config} is larger than {MAX_CONFIG_BYTES} bytes")
    import yaml

    try:
        whole: object = yaml.safe_load(content.decode("utf-8-sig"))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if whole is None:
        return {}
    if not isinstance(whole, dict):
        raise ValueError(f"{config} is no mapping")  # noqa: TRY004 one error for every file that is no config
    section = cast("dict[str, object]", whole).get("memory")
    return cast("dict[str, object]", section) if isinstance(section, dict) else {}


def _real(path: Path) -> Path:
    return path.resolve()
