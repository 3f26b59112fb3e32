"""Moving into a Hermes home and out of it leaves nothing behind and loses no text."""

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from memorycore.errors import Conflict
from memorycore.hosts import hermes_home
from memorycore.hosts.clients import Entry
from memorycore.hot.atomic import locked
from tests.command_line import CommandLine

CONFIG = """# Hermes of 小明
model:
  default: fake   # the model

memory:
  # limits
  memory_char_limit: 2200
  provider: ""   # none yet

# servers
mcp_servers:
    files:
        command: npx   # stays
        args:
        - -y
        - files
# the end
"""
RULES = [f"Always run check {word} before a release of the {word} service." for word in (
    "alpha", "bravo", "cedar", "delta", "ember", "frost", "grove", "heron", "inlet", "jaded", "knoll", "lunar",
)]  # fmt: skip


def a_home(mc: CommandLine, config: str | None = CONFIG, at: str = ".hermes") -> Path:
    home = mc.home / at
    (home / "memories").mkdir(parents=True)
    if config is not None:
        (home / "config.yaml").write_bytes(config.encode())
    write(home, RULES[:2])
    return home


def write(home: Path, entries: list[str]) -> None:
    (home / "memories" / "MEMORY.md").write_bytes("\n§\n".join(entries).encode())


def everything(home: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(home).as_posix(): path.read_bytes() if path.is_file() else None for path in home.rglob("*")
    }  # fmt: skip


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        None,
        "",
        "memory: {provider: honcho, memory_char_limit: 3000}\nmcp_servers: {files: {command: npx}}\n",
        "memory:\nmcp_servers: {}\n",
        "memory: {}\nmcp_servers: {files: {command: 'a, b', args: [x, y]},  }  # mine",
        "\ufeffmodel: x\r\nmemory:\r\n  provider: 'mem0'\r\n",
    ],
    ids=["commented", "none", "empty", "flow", "hollow", "braces", "crlf"],
)
def test_in_and_out_at_once_leaves_every_byte_as_it_was(mc: CommandLine, config: str | None) -> None:
    home = a_home(mc, config)
    before = everything(home)
    assert mc("hermes", "install").code == 0
    whole = yaml.safe_load((home / "config.yaml").read_text(encoding="utf-8-sig"))
    assert whole["memory"]["provider"] == "memorycore-prefetch"
    ours = whole["mcp_servers"]["memorycore"]
    assert (ours["command"], ours["tools"]) == (sys.executable, {"resources": False, "prompts": False})
    assert ours["env"]["HERMES_HOME"] == str(home)
    assert mc("hermes", "uninstall").code == 0
    assert everything(home) == before


def test_a_section_in_one_line_changes_in_that_line_only(mc: CommandLine) -> None:
    theirs = "model:   # mine\n    default: fake      # far off\nlist: [ a,  b ]\n"
    home = a_home(mc, theirs + "memory: { provider: 'my, honcho', user_char_limit:  900 }  # short\n")
    told = mc("hermes", "install").out
    config = home / "config.yaml"
    ours = theirs + "memory: { provider: 'memorycore-prefetch', user_char_limit:  900 }  # short\n\nmcp_servers:\n"
    assert config.read_text(encoding="utf-8").startswith(ours)
    assert "Until now Hermes used the provider my, honcho" in told
    assert "Until now" not in mc("hermes", "install", "--gate").out
    config.write_text(config.read_text(encoding="utf-8") + "new: 1\n", encoding="utf-8")
    mc("hermes", "uninstall")
    back = theirs + "memory: { provider: 'my, honcho', user_char_limit:  900 }  # short\n"
    assert config.read_text(encoding="utf-8") == back + "new: 1\n"


@pytest.mark.parametrize(
    "section",
    [
        "memory: {note: don't ask, provider: mem0}",
        "memory: {provider: mem0}  # set by {me}",
        "memory: {note: \"a }, b\", provider: 'it''s, mine' }  # '}'",
        'memory: {"provider":"mem0","note":"say \\", no"}',
        "memory:\n  provider: mem0#2  # mine",
        "memory:\n  provider: 'off'  # mine",
    ],
    ids=["apostrophe", "brace in a comment", "braces in quotes", "json", "hash in a word", "a word for no"],
)
def test_a_section_is_itself_again_when_the_file_changed_meanwhile(mc: CommandLine, section: str) -> None:
    home = a_home(mc, f"model: x   # first\n{section}\n")
    config = home / "config.yaml"
    mc("hermes", "install")
    assert config.read_text(encoding="utf-8").count("provider") == 1
    assert yaml.safe_load(config.read_text(encoding="utf-8"))["memory"]["provider"] == "memorycore-prefetch"
    config.write_text(config.read_text(encoding="utf-8") + "new: 1\n", encoding="utf-8")
    mc("hermes", "uninstall")
    assert config.read_text(encoding="utf-8") == f"model: x   # first\n{section}\nnew: 1\n"


def test_installing_says_what_changes_and_a_second_time_that_nothing_does(mc: CommandLine) -> None:
    home = a_home(mc)
    before = everything(home)
    trial = mc("hermes", "install", "--dry-run")
    assert '-  provider: ""   # none yet\n+  provider: memorycore-prefetch   # none yet' in trial.out
    assert everything(home) == before
    done = mc("hermes", "install", "--json").answer
    assert Path(done["backup"]).read_bytes() == CONFIG.encode()
    lines = (home / "config.yaml").read_text(encoding="utf-8").splitlines()
    assert [line for line in CONFIG.splitlines() if line not in lines] == ['  provider: ""   # none yet']
    then = everything(home)
    assert mc("hermes", "install", "--json").answer["status"] == "nothing_to_change"
    assert "nothing to change" in mc("hermes", "install").out
    assert everything(home) == then


def test_the_plugin_is_told_which_interpreter_and_which_home(mc: CommandLine) -> None:
    home = a_home(mc)
    mc("hermes", "install", MEMORY_DIR=str(mc.home / "elsewhere"), MEMORYCORE_EMBED_KEY="sk-secret")
    folder = home / "plugins" / "memorycore-prefetch"
    runtime = json.loads((folder / "runtime.json").read_text(encoding="utf-8"))
    assert runtime["python"] == sys.executable
    assert runtime["env"]["HERMES_HOME"] == str(home)
    assert not {"MEMORY_DIR", "MEMORYCORE_EMBED_KEY"} & set(runtime["env"])
    assert "MemoryProvider" in (folder / "__init__.py").read_text(encoding="utf-8")[:8192]


def test_what_others_wrote_into_the_config_meanwhile_stays(mc: CommandLine) -> None:
    home = a_home(mc)
    mc("hermes", "install")
    config = home / "config.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "# mine\nnew: true\n", encoding="utf-8")
    mc("hermes", "uninstall")
    assert (
        config.read_text(encoding="utf-8")
        == CONFIG.replace('provider: ""   # none', "provider: X   # none").replace("  provider: X   # none yet\n", "")
        + "# mine\nnew: true\n"
    )


def test_another_provider_that_was_chosen_meanwhile_stays(mc: CommandLine) -> None:
    home = a_home(mc)
    mc("hermes", "install")
    config = home / "config.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("memorycore-prefetch", "mem0"), encoding="utf-8")
    mc("hermes", "uninstall")
    whole = yaml.safe_load(config.read_text(encoding="utf-8"))
    assert whole["memory"]["provider"] == "mem0"
    assert set(whole["mcp_servers"]) == {"files"}


def test_a_word_that_yaml_takes_for_no_stays_a_word_in_any_style(mc: CommandLine) -> None:
    home = a_home(mc, "mcp_servers: {files: {command: npx}}  # in one line\n")
    assert mc("hermes", "install", MEMORYCORE_DAEMON="off").code == 0
    text = (home / "config.yaml").read_text(encoding="utf-8")
    servers = yaml.safe_load(text)["mcp_servers"]
    assert servers["memorycore"]["env"]["MEMORYCORE_DAEMON"] == "off"
    assert servers["files"] == {"command": "npx"}
    assert "# in one line" in text


def test_a_profile_has_a_home_of_its_own(mc: CommandLine) -> None:
    root = a_home(mc)
    profile = a_home(mc, "", ".hermes/profiles/work")
    assert mc("hermes", "install", "--profile", "work", "--dry-run", "--json").answer["home"] == str(profile)
    (root / "active_profile").write_text("work\n", encoding="utf-8")
    assert mc("hermes", "install", "--dry-run", "--json").answer["home"] == str(profile)
    assert mc("hermes", "install", "--profile", "default", "--dry-run", "--json").answer["home"] == str(root)
    refused = mc("hermes", "install", "--profile", "none", "--json")
    assert (refused.code, refused.answer["code"]) == (5, "not_available")


def test_a_config_that_cannot_be_understood_is_left_alone(mc: CommandLine) -> None:
    home = a_home(mc, "memory: [\n")
    before = everything(home)
    assert mc("hermes", "install", "--json").answer["code"] == "invalid_input"
    assert everything(home) == before


def test_a_link_to_a_source_tree_is_not_written_through(mc: CommandLine) -> None:
    home = a_home(mc)
    (mc.home / "tree").mkdir()
    (home / "plugins").mkdir()
    (home / "plugins" / "memorycore-prefetch").symlink_to(mc.home / "tree")
    assert mc("hermes", "install", "--json").answer["code"] == "invalid_input"
    assert list((mc.home / "tree").iterdir()) == []


def test_a_provider_that_was_named_by_hand_before_goes_too(mc: CommandLine) -> None:
    home = a_home(mc, "memory:\n  provider: memorycore-prefetch\nnew: true\n")
    mc("hermes", "install")
    mc("hermes", "uninstall")
    assert yaml.safe_load((home / "config.yaml").read_text(encoding="utf-8")) == {"memory": None, "new": True}


@pytest.mark.parametrize("more", ["", "# mine\n"])
def test_the_plugin_of_a_predecessor_comes_back_with_its_entries(mc: CommandLine, more: str) -> None:
    server = 'mcp_servers:\n  memorycore: {command: /old/python, args: ["-m", "memorycore.server"]}\n'
    home = a_home(mc, f"memory:\n  provider: memorycore-prefetch\n{server}")
    folder = home / "plugins" / "memorycore-prefetch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("class MemoryCorePrefetchProvider: ...\n", encoding="utf-8")
    (folder / "baseline.json").write_text("{}", encoding="utf-8")
    before, config = everything(home), home / "config.yaml"
    mc("hermes", "install")
    assert "MemoryCorePrefetchProvider" not in (folder / "__init__.py").read_text(encoding="utf-8")
    config.write_text(config.read_text(encoding="utf-8") + more, encoding="utf-8")
    mc("hermes", "install")
    mc("hermes", "uninstall")
    then = everything(home)
    assert {name for name in before if then.get(name) != before[name]} <= {"config.yaml"}
    assert yaml.safe_load(config.read_bytes()) == yaml.safe_load(before["config.yaml"] or b"")
    assert more or then == before


def test_an_installation_that_was_killed_forgets_no_plugin_of_a_predecessor(mc: CommandLine) -> None:
    home = a_home(mc, "memory:\n  provider: memorycore-prefetch\n")
    folder = plugin_of(home)
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("class MemoryCorePrefetchProvider: ...\n", encoding="utf-8")
    before = everything(home)
    mc("hermes", "install")
    for name in ("installed.json", "runtime.json"):  # the last that it writes, before config.yaml
        (folder / name).unlink()
    (folder / ".memorycore-1-ab.tmp").write_bytes(b"half")
    (home / "config.yaml").write_bytes(before["config.yaml"] or b"")
    for copy in home.glob("config.yaml.before-*"):
        copy.unlink()
    mc("hermes", "install")
    mc("hermes", "uninstall")
    assert everything(home) == before


def test_the_sidecar_of_a_predecessor_gets_its_bytes_back(mc: CommandLine) -> None:
    home = a_home(mc)
    sidecar = home / "memories" / "MEMORY.meta.json"
    old = json.dumps({"0" * 64: {"type": "rule", "written_at": "2026-01-01T00:00:00Z"}}).encode()
    sidecar.write_bytes(old)
    mc("hermes", "install")
    mc("status")
    assert sidecar.read_bytes() != old
    mc("hermes", "uninstall")
    assert sidecar.read_bytes() == old


def test_leaving_a_home_that_nobody_moved_into_speaks_of_no_data(mc: CommandLine) -> None:
    home = a_home(mc)
    before = everything(home)
    told = mc("hermes", "uninstall").out
    assert "nothing to change" in told
    assert "The data stays" not in told
    assert everything(home) == before


def test_a_sidecar_of_ours_from_before_the_installation_goes_too_and_the_predecessors_is_kept(mc: CommandLine) -> None:
    home = a_home(mc)
    sidecar = home / "memories" / "MEMORY.meta.json"
    old = json.dumps({"0" * 64: {"type": "rule", "written_at": "2026-01-01T00:00:00Z"}}).encode()
    sidecar.write_bytes(old)
    mc("status")
    mc("hermes", "install")
    mc("hermes", "uninstall")
    assert list((home / "memories").glob("*.meta.json")) == []
    assert old in [path.read_bytes() for path in mc.home.rglob("MEMORY.meta.json.*")]


def test_nothing_is_taken_away_while_a_memory_file_cannot_be_written(mc: CommandLine) -> None:
    home = a_home(mc, "memory:\n  memory_char_limit: 400\n")
    mc("hermes", "install")
    for text in RULES:
        mc("store", text, "--target", "memory")
    mc("overflow")
    before = everything(home)
    with locked(home / "memories" / "MEMORY.md"):
        assert mc("hermes", "uninstall", "--json", MEMORYCORE_LOCK_TIMEOUT_S="0.2").answer["code"] == "lock_timeout"
    now = everything(home)
    assert {name: now.get(name) for name in before} == before


def test_after_many_moves_every_rule_is_readable_without_us(mc: CommandLine) -> None:
    home = a_home(mc, "memory:\n  memory_char_limit: 800\n")
    mc("hermes", "install")
    told = list(RULES[:2])
    for turn in range(5):
        fresh = [f"Never merge module {turn}{number} without a second reader." for number in range(10)]
        told += fresh
        for text in fresh:
            assert mc("store", text, "--target", "memory").code == 0
        mc("overflow")
    hot = (home / "memories" / "MEMORY.md").read_text(encoding="utf-8")
    assert any(text not in hot for text in told)
    plan = mc("hermes", "uninstall", "--dry-run").out
    assert plan.startswith("A trial")
    assert "MEMORY.restored.md" in plan
    assert (home / "memories" / "MEMORY.md").read_text(encoding="utf-8") == hot
    assert mc("hermes", "uninstall").code == 0
    kept = {path.name: path.read_text(encoding="utf-8") for path in (home / "memories").glob("*.md")}
    assert [text for text in told if text not in "".join(kept.values())] == []
    assert len(kept["MEMORY.md"]) <= 800
    assert "[recall" not in kept["MEMORY.md"]
    left = [path.name for path in home.rglob("*") if "memorycore" in path.name or path.name.endswith(".meta.json")]
    assert left == []


def plugin_of(home: Path) -> Path:
    return home / "plugins" / "memorycore-prefetch"


def test_what_somebody_changed_in_the_plugin_is_kept_and_what_they_added_stays(mc: CommandLine) -> None:
    home = a_home(mc)
    mc("hermes", "install")
    folder = plugin_of(home)
    (folder / "worker.py").write_text("# mine\n", encoding="utf-8")
    (folder / "notes.md").write_text("mine", encoding="utf-8")
    record = json.loads((folder / "installed.json").read_text(encoding="utf-8"))
    old = folder / "of_an_earlier_version.py"
    old.write_text("", encoding="utf-8")
    record["files"][old.name] = hashlib.sha256(b"").hexdigest()
    (folder / "installed.json").write_text(json.dumps(record), encoding="utf-8")
    plan = mc("hermes", "install").out
    (kept,) = folder.glob("worker.py.changed-*")
    assert kept.read_text(encoding="utf-8") == "# mine\n"
    assert plan.index(kept.name) < plan.index("worker.py\n")  # kept before it is written over
    assert not old.exists()
    assert "# mine" not in (folder / "worker.py").read_text(encoding="utf-8")
    mc("hermes", "uninstall")
    assert {path.name for path in folder.iterdir()} == {"notes.md", kept.name}


def test_what_somebody_set_beside_our_entry_stays_when_it_is_brought_up_to_date(mc: CommandLine) -> None:
    home = a_home(mc, "mcp_servers:\n  memorycore:\n    url: http://x\n    timeout: 90\n    tools: {include: [a]}\n")
    mc("hermes", "install")
    ours = yaml.safe_load((home / "config.yaml").read_text(encoding="utf-8"))["mcp_servers"]["memorycore"]
    assert (ours["command"], ours["timeout"]) == (sys.executable, 90)
    assert ours["tools"] == {"resources": False, "prompts": False, "include": ["a"]}
    assert "url" not in ours


def test_what_an_installation_was_told_holds_when_it_is_repeated_from_another_shell(mc: CommandLine) -> None:
    home = a_home(mc)
    data = mc.home / "elsewhere"
    mc("hermes", "install", MEMORYCORE_DATA_DIR=str(data))
    assert mc("hermes", "install", "--json").answer["status"] == "nothing_to_change"
    assert str(data) in mc("hermes", "uninstall", "--dry-run").out
    mc("hermes", "install", MEMORYCORE_DATA_DIR="")
    runtime = json.loads((plugin_of(home) / "runtime.json").read_text(encoding="utf-8"))
    assert "MEMORYCORE_DATA_DIR" not in runtime["env"]


def test_two_homes_with_one_data_directory_are_told_of_it(mc: CommandLine) -> None:
    shared = {"MEMORYCORE_DATA_DIR": str(mc.home / "shared")}
    a_home(mc)
    a_home(mc, "", ".hermes/profiles/work")
    assert mc("hermes", "install", "--json", **shared).answer["checks"] == []
    checks = mc("hermes", "install", "--profile", "work", "--json", **shared).answer["checks"]
    assert [one["code"] for one in checks] == ["hermes_shared_data"]


def test_a_profile_gets_a_data_directory_of_its_own_unless_one_is_named(mc: CommandLine) -> None:
    a_home(mc)
    work = a_home(mc, "", ".hermes/profiles/work")
    mc("hermes", "install")
    installed = mc("hermes", "install", "--profile", "work", "--json").answer
    assert installed["checks"] == []
    runtime = json.loads((plugin_of(work) / "runtime.json").read_text(encoding="utf-8"))
    assert runtime["env"]["MEMORYCORE_DATA_DIR"] == str(mc.home / ".memorycore" / "profiles" / "work")
    again = mc("hermes", "install", "--profile", "work", "--json").answer
    assert again["status"] == "nothing_to_change"
    looked_at = mc("config", "show", "--json", HERMES_HOME=str(work)).answer
    assert str(mc.home / ".memorycore" / "profiles" / "work") in json.dumps(looked_at)


def test_nothing_is_written_beside_a_config_that_cannot_be_written(mc: CommandLine) -> None:
    home = a_home(mc)
    (home / "config.yaml").chmod(0o444)
    before = everything(home)
    assert mc("hermes", "install", "--json").answer["code"] == "unwritable"
    assert everything(home) == before


def test_an_installation_that_is_refused_half_way_leaves_every_byte_as_it_was(mc: CommandLine) -> None:
    resource = pytest.importorskip("resource", reason="limits the size of files")
    home = a_home(mc, CONFIG + "# " + "x" * 200_000 + "\n")
    (home / "plugins" / "another").mkdir(parents=True)
    before, most = everything(home), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most[1]))
    try:
        refused = mc("hermes", "install", "--gate", "--json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert (refused.code, refused.answer["code"]) == (6, "unwritable")
    assert everything(home) == before


def test_what_an_earlier_installation_had_stays_when_a_later_one_is_refused(mc: CommandLine) -> None:
    home = a_home(mc)
    mc("hermes", "install", "--gate")
    code = plugin_of(home) / "client.py"
    code.write_text("# mine\n", encoding="utf-8")
    before, config = everything(home), home / "config.yaml"
    entry = Entry(command="/opt/newer/python", args=("-m", "memorycore.server"), env={})
    planned = hermes_home.plan_install(home, hermes_home.source(), entry, version="2", now=datetime.now(UTC))
    config.write_text(CONFIG, encoding="utf-8")
    with pytest.raises(Conflict):
        hermes_home.install(planned)
    assert everything(home) == {**before, "config.yaml": CONFIG.encode()}


def test_the_provider_that_was_there_is_named_and_comes_back(mc: CommandLine) -> None:
    home = a_home(mc, "memory:\n  provider: honcho\n")
    assert "honcho" in mc("hermes", "install").out.partition("Hermes uses MemoryCore")[2]
    config = home / "config.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "new: true\n", encoding="utf-8")
    mc("hermes", "uninstall")
    assert yaml.safe_load(config.read_text(encoding="utf-8")) == {"memory": {"provider": "honcho"}, "new": True}


def test_each_home_and_profile_has_the_limits_of_its_own_config(mc: CommandLine) -> None:
    homes = {
        a_home(mc, "memory: {memory_char_limit: 3000, user_char_limit: 900}\n"): [3000, 900],
        a_home(mc, "memory:\n  memory_char_limit: 1000\n", ".hermes/profiles/work"): [1000, 1375],
        a_home(mc, None, ".hermes/profiles/play"): [2200, 1375],
    }
    for home, limits in homes.items():
        mc("hermes", "install", HERMES_HOME=str(home))
        hot = mc("status", "--json", HERMES_HOME=str(home)).answer["usage"]["hot"]
        assert [file["limit"] for file in hot] == limits
