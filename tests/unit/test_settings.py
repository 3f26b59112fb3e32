"""Where values come from, who wins, and what a mistake answers."""

from pathlib import Path

import pytest

from memorycore.errors import NotAvailable, SettingsError
from memorycore.settings import Settings, config_path, load_settings, variables


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home of 小明"
    folder.mkdir()
    return folder


def load(home: Path, **env: str) -> Settings:
    return load_settings({"HOME": str(home), **env})


def write_config(home: Path, content: str) -> Path:
    path = home / ".memorycore" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_without_hermes_everything_lives_below_our_own_folder(home: Path) -> None:
    settings = load(home)
    assert settings.hot_dir == home / ".memorycore" / "memories"
    assert settings.data_dir == home / ".memorycore" / "data"
    assert (settings.namespace, settings.hermes_home) == ("default", None)
    assert not list(home.iterdir()), "reading settings makes no folder"


def test_the_files_of_hermes_are_used_where_it_lives(home: Path) -> None:
    (home / ".hermes").mkdir()
    settings = load(home)
    assert settings.hot_dir == home / ".hermes" / "memories"
    assert settings.hermes_home == home / ".hermes"
    assert settings.namespace == "default"


def test_hermes_home_and_memory_dir_win_in_that_order(home: Path, tmp_path: Path) -> None:
    (home / ".hermes").mkdir()
    profile = tmp_path / "profile"
    assert load(home, HERMES_HOME=str(profile)).hot_dir == profile / "memories"
    assert load(home, HERMES_HOME=str(profile), MEMORY_DIR="~/notes").hot_dir == home / "notes"


def test_each_other_directory_is_a_namespace_of_its_own_even_through_a_link(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    one, same, other = (load(home, MEMORY_DIR=str(tmp_path / name)).namespace for name in ("a", "link", "b"))
    assert one == same != other
    assert one.startswith("dir-")
    assert load(home, MEMORY_DIR=str(tmp_path / "a"), MEMORYCORE_NAMESPACE="team").namespace == "team"


def test_the_predecessors_data_directory_counts_but_ours_wins(home: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert load(home, MNEMOSYNE_DATA_DIR=str(old)).data_dir == old
    assert load(home, MNEMOSYNE_DATA_DIR=str(old), MEMORYCORE_DATA_DIR=str(new)).data_dir == new


def test_environment_beats_file_beats_default_and_arguments_beat_all(home: Path) -> None:
    path = write_config(home, 'trash_days = 10\nembed_model = "none"\n')
    settings = load(home, MEMORYCORE_EMBED_MODEL="use")
    assert (settings.trash_days, settings.embed_model, settings.store_wait_ms) == (10, "use", 150)
    origins = {shown.key: (shown.origin.kind, shown.origin.detail) for shown in settings.describe()}
    assert origins["trash_days"] == ("file", str(path))
    assert origins["embed_model"] == ("environment", "MEMORYCORE_EMBED_MODEL")
    assert origins["store_wait_ms"] == ("default", "")
    assert load_settings({"HOME": str(home)}, overrides={"trash_days": 3}).trash_days == 3


def test_an_empty_variable_counts_as_not_set(home: Path) -> None:
    assert load(home, MEMORY_DIR="", MEMORYCORE_TRASH_DAYS="").trash_days == 30


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("MEMORYCORE_EMBED_ULR", "MEMORYCORE_EMBED_URL"), ("MEMORYCORE_DATADIR", "MEMORYCORE_DATA_DIR")],
)
def test_an_unknown_variable_names_its_nearest_neighbour(home: Path, name: str, nearest: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(home, **{name: "x"})
    assert caught.value.facts == {"key": name, "why": "unknown", "nearest": nearest}


def test_an_unknown_key_in_the_file_names_its_nearest_neighbour(home: Path) -> None:
    write_config(home, "trashdays = 3\n")
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert caught.value.facts["nearest"] == "trash_days"


def test_names_of_the_predecessor_that_nothing_reads_yet_do_no_harm(home: Path) -> None:
    write_config(home, 'index_topics = "a, b"\n')
    settings = load(home, LLM_API_KEY="k", MEMORYCORE_TRASH_PATH="/t")
    assert set(settings.without_effect) == {
        "LLM_API_KEY",
        "MEMORYCORE_TRASH_PATH",
        "MEMORYCORE_INDEX_TOPICS",
    }


def test_what_the_plugin_for_hermes_reads_is_no_mistake_in_the_environment(home: Path) -> None:
    assert load(home, MEMORYCORE_INDEX_TOPICS="a, b", MEMORYCORE_PREFETCH_IN_GROUPS="1").without_effect == ()
    write_config(home, "prefetch_in_groups = true\n")
    assert load(home).without_effect == ("MEMORYCORE_PREFETCH_IN_GROUPS",)


@pytest.mark.parametrize(
    "env",
    [
        {"LLM_API_KEY": "k"},
        {"LLM_API_KEY": "k", "LLM_MODEL": "m"},
        {"LLM_API_KEY": "k", "LLM_BASE_URL": "http://h/v1"},
        {"LLM_BASE_URL": " ", "LLM_MODEL": "m"},
        {"LLM_API_KEY_FILE": "/no/such/file"},
    ],
)
def test_a_language_model_that_another_program_was_given_is_none_of_ours(home: Path, env: dict[str, str]) -> None:
    settings = load(home, **env)
    llm = settings.core_options().llm
    assert not llm.active
    assert llm.key == ""
    assert set(settings.without_effect) == {name.removesuffix("_FILE") for name, value in env.items() if value.strip()}


def test_address_and_model_together_choose_the_language_model(home: Path, tmp_path: Path) -> None:
    private = tmp_path / "key"
    private.write_text("sk-from-file\n", encoding="utf-8")
    private.chmod(0o600)
    write_config(home, f"llm_url = ' http://h/v1 '\nllm_key_file = '{private}'\nllm_timeout_s = 5\n")
    settings = load(home, LLM_MODEL="m")
    llm = settings.core_options().llm
    assert (llm.active, llm.url, llm.model, llm.key, llm.timeout_s) == (True, "http://h/v1", "m", "sk-from-file", 5.0)
    assert settings.without_effect == ()
    assert "sk-" not in repr(settings) + repr(settings.describe()) + repr(settings.core_options())


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("MEMORYCORE_TRASH_DAYS", "soon", "not_a_number"),
        ("MEMORYCORE_TRASH_DAYS", "1.5", "not_whole"),
        ("MEMORYCORE_TRASH_DAYS", "0", "not_between"),
        ("MEMORYCORE_VECTOR_WEIGHT", "nan", "not_between"),
        ("MEMORYCORE_COLD_BACKEND", "cloud", "not_one_of"),
        ("MEMORYCORE_LANG", "fr", "not_one_of"),
        ("ACTIVITY_LOG_ENABLED", "maybe", "not_yes_or_no"),
    ],
)
def test_an_impossible_value_says_what_would_do(home: Path, name: str, value: str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(home, **{name: value})
    assert caught.value.facts["key"] == name
    assert caught.value.facts["why"] == why


def test_a_config_file_that_was_named_must_be_there(home: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no_file"):
        load(home, MEMORYCORE_CONFIG=str(tmp_path / "gone.toml"))
    assert config_path({"HOME": str(home), "MEMORYCORE_CONFIG": "~/c.toml"}) == home / "c.toml"


def test_a_broken_config_file_is_named(home: Path) -> None:
    path = write_config(home, "trash_days = \n")
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert caught.value.facts["key"] == str(path)


def test_a_secret_comes_from_the_environment_or_a_private_file_and_is_never_shown(home: Path, tmp_path: Path) -> None:
    private = tmp_path / "key"
    private.write_text("sk-from-file\n", encoding="utf-8")
    private.chmod(0o600)
    direct = load(home, MEMORYCORE_EMBED_KEY="sk-direct")
    by_file = load(home, MEMORYCORE_EMBED_KEY_FILE=str(private))
    assert (direct.embed_key, by_file.embed_key) == ("sk-direct", "sk-from-file")
    for settings in (direct, by_file):
        shown = next(shown for shown in settings.describe() if shown.key == "embed_key")
        assert shown.value is True
        assert "sk-" not in repr(settings) + repr(settings.describe()) + repr(settings.core_options())


def test_a_secret_that_others_can_read_is_refused(home: Path, tmp_path: Path) -> None:
    open_file = tmp_path / "key"
    open_file.write_text("sk", encoding="utf-8")
    open_file.chmod(0o644)
    with pytest.raises(SettingsError, match="readable_by_others"):
        load(home, MEMORYCORE_EMBED_KEY_FILE=str(open_file))
    write_config(home, 'embed_key = "t"\n').chmod(0o640)
    with pytest.raises(SettingsError, match="readable_by_others"):
        load(home)


@pytest.mark.parametrize(
    ("content", "memory", "user", "where"),
    [
        ("memory:\n  memory_char_limit: 3000\n  user_char_limit: '900'\n", 3000, 900, "hermes_config"),
        ("model: {default: x}\n", 2200, 1375, "hermes_default"),
        ("memory: {memory_char_limit: -5, user_char_limit: true}\n", 2200, 1375, "hermes_default"),
        ("memory: [\n", 2200, 1375, "hermes_unreadable"),
        ("just words\n", 2200, 1375, "hermes_unreadable"),
        ("", 2200, 1375, "hermes_default"),
    ],
)
def test_limits_are_those_of_the_hermes_home_around(
    home: Path, content: str, memory: int, user: int, where: str
) -> None:
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text(content, encoding="utf-8")
    limits = load(home).core_options().hot_limits
    assert (limits["memory"].chars, limits["user"].chars) == (memory, user)
    assert limits["memory"].where_from == where


def test_a_profile_is_a_home_of_its_own(home: Path) -> None:
    profile = home / ".hermes" / "profiles" / "work"
    (profile / "memories").mkdir(parents=True)
    (home / ".hermes" / "config.yaml").write_text("memory: {memory_char_limit: 9000}\n", encoding="utf-8")
    settings = load(home, MEMORY_DIR=str(profile / "memories"))
    assert (settings.hermes_home, settings.char_limit_memory) == (profile, 2200)


def test_a_setting_beats_hermes_and_says_so(home: Path) -> None:
    (home / ".hermes").mkdir()
    limits = load(home, MEMORYCORE_CHAR_LIMIT_MEMORY="4000").core_options().hot_limits
    assert (limits["memory"].chars, limits["memory"].where_from) == (4000, "setting")
    assert (limits["user"].chars, limits["user"].where_from) == (1375, "hermes_default")


def test_marks_follow_the_limit_and_settings(home: Path) -> None:
    marks = load(home).core_options().thresholds["memory"]
    assert (marks.soft, marks.hard, marks.aim, marks.rule_budget) == (3000, 4000, 2000, 3200)
    small = load(home, MEMORYCORE_CHAR_LIMIT_USER="1000").core_options().thresholds["user"]
    assert (small.soft, small.hard, small.aim, small.rule_budget) == (800, 900, 700, 750)
    given = load(home, MEMORYCORE_SOFT_THRESHOLD="0.3", MEMORYCORE_RULE_BUDGET_CHARS="1200").core_options()
    marks = given.thresholds["memory"]
    assert (marks.soft, marks.hard, marks.aim, marks.rule_budget) == (1500, 4000, 1500, 1200)
    lone_hard = load(home, MEMORYCORE_HARD_THRESHOLD="0.5").core_options().thresholds["memory"]
    assert (lone_hard.soft, lone_hard.hard, lone_hard.aim) == (2500, 2500, 2000)
    with pytest.raises(SettingsError, match="above_another"):
        load(home, MEMORYCORE_SOFT_THRESHOLD="0.9", MEMORYCORE_HARD_THRESHOLD="0.5").core_options()


@pytest.mark.parametrize(
    ("env", "model", "url"),
    [
        ({}, "auto", ""),
        ({"MEMORYCORE_EMBED_MODEL": "bge-m3"}, "bge-m3", "http://localhost:11434/v1"),
        ({"MEMORYCORE_EMBED_URL": "http://h/v1"}, "qwen3-embedding:0.6b", "http://h/v1"),
        ({"MEMORYCORE_EMBED_URL": "http://h/v1", "MEMORYCORE_EMBED_MODEL": "m"}, "m", "http://h/v1"),
        ({"MEMORYCORE_EMBED_URL": "http://h/v1", "MEMORYCORE_EMBED_MODEL": "none"}, "none", ""),
    ],
)
def test_which_model_is_meant(home: Path, env: dict[str, str], model: str, url: str) -> None:
    embed = load(home, **env).core_options().embed
    assert (embed.model, embed.url) == (model, url)


def test_a_backend_that_is_not_built_says_so(home: Path) -> None:
    with pytest.raises(NotAvailable, match="postgres"):
        load(home, MEMORYCORE_COLD_BACKEND="postgres").core_options()


def test_a_cold_store_elsewhere_needs_its_address(home: Path) -> None:
    with pytest.raises(SettingsError, match="no_address"):
        load(home, MEMORYCORE_COLD_BACKEND="remote", MNEMOSYNE_URL="somewhere").core_options()
    with pytest.raises(SettingsError, match="MNEMOSYNE_URL"):
        load(home, MEMORYCORE_COLD_BACKEND="remote").core_options()
    named = {"MEMORYCORE_COLD_BACKEND": "remote", "MNEMOSYNE_URL": "http://h/mcp", "MNEMOSYNE_TIMEOUT": "3"}
    remote = load(home, **named).core_options().remote
    assert remote is not None
    assert (remote.url, remote.timeout_s) == ("http://h/mcp", 3.0)
    assert load(home, MNEMOSYNE_URL="http://h/mcp").core_options().remote is None


def test_the_zone_of_a_date_is_the_named_one(home: Path) -> None:
    assert str(load(home, MEMORYCORE_TIMEZONE="Asia/Shanghai").core_options().timezone) == "Asia/Shanghai"
    with pytest.raises(SettingsError, match="no_time_zone"):
        load(home, MEMORYCORE_TIMEZONE="Moon/Base").core_options()


@pytest.mark.parametrize(
    ("env", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "MEMORYCORE_LANG": "en"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_language_is_the_named_one_or_the_locales(home: Path, env: dict[str, str], language: str) -> None:
    assert load(home, **env).language == language


def test_every_setting_has_one_key_and_a_variable() -> None:
    known = variables()
    assert len({key for key in known.values() if not key.endswith("_file")}) == len(Settings(hot_dir=Path()).describe())


def test_processes_that_would_do_the_same_have_one_fingerprint(home: Path, tmp_path: Path) -> None:
    alone = {"MEMORYCORE_TOOLSET": "full", "MEMORYCORE_LANG": "zh", "MEMORYCORE_HTTP_PORT": "0"}
    directories = {"MEMORYCORE_DATA_DIR": str(tmp_path), "MEMORYCORE_NAMESPACE": "team"}
    assert load(home).fingerprint() == load(home, **alone).fingerprint() == load(home, **directories).fingerprint()


@pytest.mark.parametrize(
    ("name", "value"),
    [("MEMORYCORE_TRASH_DAYS", "3"), ("MEMORYCORE_EMBED_KEY", "k1"), ("MEMORYCORE_TIMEZONE", "Asia/Shanghai")],
)
def test_a_setting_that_changes_what_is_done_changes_the_fingerprint(home: Path, name: str, value: str) -> None:
    found = load(home, MEMORYCORE_TIMEZONE="Europe/Berlin").fingerprint()
    changed = load(home, **({"MEMORYCORE_TIMEZONE": "Europe/Berlin"} | {name: value})).fingerprint()
    assert changed != found
    assert len(changed) == 64
