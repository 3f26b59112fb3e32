"""Our places in Hermes' config.yaml: no key comes twice, no comment goes, and no file takes long."""

import time

import pytest

from memorycore.errors import InvalidInput
from memorycore.hosts import hermes_config, hermes_enabled
from memorycore.hosts.hermes_config import Place

FILE = "config.yaml"


def with_provider(text: str, name: str | None) -> str:
    return hermes_config.changed(text.encode(), Place(section="memory", key="provider", value=name), path=FILE).decode()


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("memory: {note: don't ask, provider: mem0}", "memory: {note: don't ask, provider: ours}"),
        ("memory: {note: don't ask}  # {mine}", "memory: {note: don't ask, provider: ours}  # {mine}"),
        ("memory: {provider: mem0, list: ['a]', {b: '}'}]}", "memory: {provider: ours, list: ['a]', {b: '}'}]}"),
        ('memory: { provider:  "mem0" , n: a#b }', 'memory: { provider:  "ours" , n: a#b }'),
        ("memory: {provider: }", "memory: {provider: ours}"),
        ("memory: {}  # {mine}\nx: 1", "memory:  # {mine}\n  provider: ours\nx: 1"),
        ("memory:\n  provider: # none yet", "memory:\n  provider: ours # none yet"),
        ("memory:\n  provider: a#b # mine", "memory:\n  provider: ours # mine"),
        ("memory:\n  provider: 'a # b'   # mine", "memory:\n  provider: 'ours'   # mine"),
    ],
)
def test_a_name_is_put_where_one_stands_as_it_is_written_there(text: str, there: str) -> None:
    assert with_provider(text, "ours") == there


@pytest.mark.parametrize("name", ["mem0", "off", "it's", "a: b", "a, b", "a}", "12", "null", "a # b", "小明", "", '"'])
@pytest.mark.parametrize("text", ["memory: {n: 1}", "memory: {n: don't, provider: x}", "memory:\n  provider: x # mine"])
def test_every_name_is_read_as_it_was_meant(text: str, name: str) -> None:
    there = with_provider(text, name)
    assert hermes_config.read(there.encode(), path=FILE)["memory"]["provider"] == name
    assert there.count("provider") == 1
    assert f"provider: {name}" in there or name not in {"mem0", "it's", "小明"}


@pytest.mark.parametrize("text", ["memory:\n  provider: a\n  provider: b\n", "memory: {provider: a, provider: b}\n"])
def test_a_file_that_names_one_of_our_places_twice_is_left_alone(text: str) -> None:
    with pytest.raises(InvalidInput):
        with_provider(text, "ours")


@pytest.mark.parametrize("key", ["? provider ", '"pro\\u0076ider"', "&p provider"])
def test_a_key_that_is_written_in_an_unusual_way_does_not_come_twice(key: str) -> None:
    there = with_provider(f"x: 1  # mine\nmemory: {{n: 1, {key}: mem0}}\n", "ours")
    assert "mem0" not in there
    assert there.count("ours") == 1
    assert "x: 1  # mine" in there


def test_a_key_that_somebody_has_twice_elsewhere_is_theirs() -> None:
    text = "x: {a: 1, a: 2}\nmemory: {provider: mem0}  # mine\n"
    assert with_provider(text, "ours") == text.replace("mem0", "ours")


def test_a_key_that_overrides_one_taken_over_from_elsewhere_is_none_twice() -> None:
    text = "a: &a {b: 1}\nc: {<<: *a, b: 2}\nd: [*a, *a]\nmemory: {provider: mem0}\n"
    assert with_provider(text, "ours") == text.replace("mem0", "ours")


@pytest.mark.parametrize("gap", ["\n", "# an example\n\n", "  \n", "  # a: b\n"])
def test_a_file_with_many_blank_lines_takes_no_longer_than_another(gap: str) -> None:
    text = f"timezone: UTC\n{gap * 60}memory:\n    provider: x\n".encode()
    started = time.process_time()
    assert hermes_config.writer_like(text.decode()).map_indent == 4
    assert hermes_enabled.names(hermes_enabled.put(text, "ours", path=FILE), path=FILE) == ["ours"]
    assert time.process_time() - started < 1
