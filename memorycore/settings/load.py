"""Reading settings: which names are set where, who wins, and what follows from the rest."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import Field
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from memorycore.domain.terms import TARGETS
from memorycore.errors import SettingsError
from memorycore.hosts import hermes
from memorycore.messages import language
from memorycore.settings.declared import (
    CONFIG_VARIABLE,
    NOT_YET,
    OF_THE_GROUP,
    OF_THE_PLUGIN,
    ONLY_TOGETHER,
    OUR_PREFIX,
    TEST_PREFIXES,
    Origin,
    Settings,
    declared_settings,
    text,
    variables,
)
from memorycore.settings.unfit import UnfitError

DEFAULT_NAMESPACE = "default"


def load_settings(
    env: Mapping[str, str], file: Path | None = None, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read everything that sets a value. Touches no directory but to look which ones exist.

    Args:
        env: The environment; an empty value counts as not set.
        file: Instead of ``MEMORYCORE_CONFIG`` or ``~/.memorycore/config.toml``.
        overrides: Values by key, from arguments; they win.

    Raises:
        SettingsError: An unknown name, an impossible value, a file that cannot be read, a secret in an open file.
    """
    present = {name: value for name, value in env.items() if value}
    path, in_file = _read_file(present, file)
    return _settings(present, path, in_file, overrides or {})


def readable_settings(env: Mapping[str, str]) -> tuple[Settings, list[SettingsError]]:
    """The settings without those that cannot be used, and what is wrong with these."""
    present = {name: value for name, value in env.items() if value}
    mistakes = list[SettingsError]()
    path, in_file = config_path(present), dict[str, object]()
    try:
        path, in_file = _read_file(present, None)
    except SettingsError as error:
        mistakes.append(error)
    while True:
        try:
            return _settings(present, path, in_file, {}), mistakes
        except SettingsError as error:
            mistakes.append(error)
            _leave_out(str(error.facts.get("key")), present, in_file)


def _leave_out(key: str, present: dict[str, str], in_file: dict[str, object]) -> None:
    if key in present or key in in_file:
        present.pop(key, None)
        in_file.pop(key, None)
        return
    for name, target in variables().items():  # then it is the path of a file that holds a secret
        if target.endswith("_file"):
            present.pop(name, None)
            in_file.pop(target, None)


def _settings(
    present: Mapping[str, str], path: Path, in_file: Mapping[str, object], overrides: Mapping[str, object]
) -> Settings:
    _refuse_unknown(present, in_file)
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    home = user_home(present)
    alone = _set_alone(present, in_file)
    for declared in declared_settings():
        found = None if declared.name in alone else _find(declared, present, in_file, path, overrides)
        if found is None:
            continue
        raw, origin = found
        values[declared.name] = _read(declared, raw, origin, home)
        origins[declared.name] = origin
    _resolve(values, origins, present)
    without_effect = tuple(
        name
        for name in (*OF_THE_PLUGIN, *NOT_YET)
        if (name in NOT_YET and name in present) or name.removeprefix(OUR_PREFIX).lower() in in_file
    )
    without_effect += tuple(alone.values())
    return Settings(**values, config_file=path if in_file else None, origins=origins, without_effect=without_effect)


def _set_alone(env: Mapping[str, str], in_file: Mapping[str, object]) -> dict[str, str]:
    """Key and variable of each setting of the group that is set while the group is not complete."""
    found: dict[str, str] = {}
    for declared in declared_settings():
        if declared.name in OF_THE_GROUP:
            names = [*declared.metadata["variables"], declared.name]
            names += [f"{names[0]}_FILE", f"{declared.name}_file"] if declared.metadata["secret"] else []
            if any(str(env.get(name, in_file.get(name, ""))).strip() for name in names):
                found[declared.name] = names[0]
    return {} if found.keys() >= set(ONLY_TOGETHER) else found


def config_path(env: Mapping[str, str]) -> Path:
    """Where the config file is, or would be."""
    named = env.get(CONFIG_VARIABLE, "")
    home = user_home(env)
    return absolute(named, home) if named else home / ".memorycore" / "config.toml"


def _read_file(env: Mapping[str, str], file: Path | None) -> tuple[Path, dict[str, object]]:
    path = file or config_path(env)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if file is not None or CONFIG_VARIABLE in env:
            raise SettingsError(key=CONFIG_VARIABLE, why="no_file", value=str(path)) from None
        return path, {}
    except OSError as error:
        raise SettingsError(key=str(path), why="unreadable_config", detail=error.strerror) from error
    import tomllib  # most have no such file

    try:
        return path, tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(key=str(path), why="unparsable_config", detail=str(error)) from error


def _refuse_unknown(env: Mapping[str, str], in_file: Mapping[str, object]) -> None:
    read = variables()
    known_variables = [*read, CONFIG_VARIABLE, *OF_THE_PLUGIN, *NOT_YET]
    for name in env:
        if name.startswith(OUR_PREFIX) and not name.startswith(TEST_PREFIXES) and name not in known_variables:
            raise SettingsError(key=name, why="unknown", nearest=_nearest(name, known_variables))
    known_keys = [
        *(declared.name for declared in declared_settings()),
        *(key for key in read.values() if key.endswith("_file")),
    ]
    known_keys += [name.removeprefix(OUR_PREFIX).lower() for name in (*OF_THE_PLUGIN, *NOT_YET)]
    for key in in_file:
        if key not in known_keys:
            raise SettingsError(key=key, why="unknown", nearest=_nearest(key, known_keys))


def _nearest(name: str, known: Iterable[str]) -> str:
    from rapidfuzz import distance, process

    best = process.extractOne(name, list(known), scorer=distance.DamerauLevenshtein.normalized_similarity)
    return str(best[0])


def _find(
    declared: Field[Any], env: Mapping[str, str], in_file: Mapping[str, object], path: Path, given: Mapping[str, object]
) -> tuple[object, Origin] | None:
    """The raw value of one setting from the strongest place that has one."""
    key: str = declared.name
    secret = bool(declared.metadata["secret"])
    if given.get(key) is not None:
        return given[key], Origin("argument")
    for variable in declared.metadata["variables"]:
        if variable in env:
            return env[variable], Origin("environment", variable)
        if secret and f"{variable}_FILE" in env:
            return _secret(env[f"{variable}_FILE"], user_home(env)), Origin("environment", f"{variable}_FILE")
    if secret and f"{key}_file" in in_file:
        return _secret(str(in_file[f"{key}_file"]), user_home(env)), Origin("file", str(path))
    if key not in in_file:
        return None
    if secret:
        _refuse_open(path, key)
    return in_file[key], Origin("file", str(path))


def _secret(name: str, home: Path) -> str:
    path = absolute(name, home)
    _refuse_open(path, str(path))
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(key=str(path), why="secret_unreadable") from error


def _refuse_open(path: Path, key: str) -> None:
    """A secret that other users of the machine can read is none (POSIX; Windows keeps homes apart by itself)."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SettingsError(key=key, why="unreadable_config", detail=error.strerror) from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(key=key, why="readable_by_others", value=f"{path} ({stat.S_IMODE(mode):04o})")


def _read(declared: Field[Any], raw: object, origin: Origin, home: Path) -> object:
    try:
        if declared.metadata["path"]:
            return raw if isinstance(raw, Path) else absolute(text(raw), home)
        return declared.metadata["read"](raw)
    except UnfitError as unfit:
        name = origin.detail if origin.kind == "environment" else declared.name
        shown = None if declared.metadata["secret"] else raw
        raise SettingsError(key=name, why=unfit.why, value=shown, **unfit.facts) from None


def _resolve(values: dict[str, Any], origins: dict[str, Origin], env: Mapping[str, str]) -> None:
    """Fill what follows from the rest: directories, Hermes home, namespace, limits, language."""
    home = user_home(env)
    standard, named = hermes.standard_home(home, env), cast("Path | None", values.get("hermes_home"))
    own = home / ".memorycore"
    if "hot_dir" not in values:
        where = named or (standard if standard.is_dir() else own)
        values["hot_dir"] = where / "memories"
        origins["hot_dir"] = Origin("derived", "HERMES_HOME") if named else Origin("default")
    if "data_dir" not in values:
        # Profiles of Hermes are used side by side, and a daemon works for one home at a time.
        is_profile = named is not None and named.parent.name == "profiles"
        values["data_dir"] = own / "profiles" / named.name if named is not None and is_profile else own / "data"
        if is_profile:
            origins["data_dir"] = Origin("derived", "HERMES_HOME")
    hot_dir: Path = values["hot_dir"]
    around = hermes.home_around(hot_dir, (named, standard) if named else (standard,))
    if named is None:
        values["hermes_home"] = around
        origins["hermes_home"] = _origin_of_what_follows(origins["hot_dir"]) if around else Origin("default")
    if "namespace" not in values:
        values["namespace"] = _namespace(hot_dir, (standard / "memories", own / "memories"))
        if values["namespace"] != DEFAULT_NAMESPACE:
            origins["namespace"] = _origin_of_what_follows(origins["hot_dir"])
    if "language" not in values:
        values["language"] = language(env)
        origins["language"] = Origin("derived", "locale")
    for target in TARGETS:
        key = f"char_limit_{target}"
        if key not in values:
            limit = hermes.hot_limit(around, target)
            values[key] = limit.chars
            origins[key] = Origin("hermes", limit.where_from) if around else Origin("default")


def _origin_of_what_follows(hot_dir: Origin) -> Origin:
    """The origin of what the folder of the memory files decides: the variable that chose the folder."""
    if hot_dir.kind == "default":
        return hot_dir
    return Origin("derived", hot_dir.detail if hot_dir.kind in {"environment", "derived"} else "hot_dir")


def _namespace(hot_dir: Path, default_homes: tuple[Path, ...]) -> str:
    """``default`` for the default home, else one per hot directory (by its real path, so links make no second one)."""
    real = hot_dir.resolve()
    if real in {path.resolve() for path in default_homes}:
        return DEFAULT_NAMESPACE
    return "dir-" + sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def user_home(env: Mapping[str, str]) -> Path:
    named = env.get("HOME") or env.get("USERPROFILE")
    return Path(named) if named else Path.home()


def absolute(name: str, home: Path) -> Path:
    """A path as somebody wrote it: ``~`` is the user's home, a relative one starts here; links are kept as they are."""
    path = home / name[2:] if name.startswith(("~/", "~\\")) else home if name == "~" else Path(name)
    return Path(os.path.abspath(path))  # noqa: PTH100 resolve() would follow links, and the lock lies beside the link
