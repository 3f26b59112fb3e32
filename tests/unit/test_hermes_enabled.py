"""The list of plugins in Hermes' config.yaml: our name comes and goes, and every other byte stays."""

import pytest

from memorycore.errors import InvalidInput
from memorycore.hosts import hermes_enabled

NAME = "memorycore-gate"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "memory:\n  provider: x\n",
        "plugins:\n  enabled:\n    - a # keep\n    - b\n\n# of the next\nx: 1\n",
        "plugins:\n  enabled:\n  - a\n  disabled: []\n",
        "plugins:\n  enabled: [a, b] # keep\nq: 2\n",
        "plugins:\n  enabled: []\n",
        "plugins:\n  disabled:\n    - q\n",
        "plugins:\r\n  enabled:\r\n    - a\r\n",
        "plugins: {enabled: [a]}\nz: 1 # keep\n",
        "a:\n    b: 'c'   # keep\nplugins: {disabled: [ x ], enabled: [ 'a' ]}  # keep\n",
        "a:\n    b: 'c'   # keep\nplugins: {enabled: []}  # keep\n",
        "plugins:\nz: 1\n",
        "\ufeffplugins:\n  enabled:\n    - 小明\n",
    ],
)
def test_a_name_comes_and_goes_and_nothing_else_changes(text: str) -> None:
    data = text.encode()
    was = hermes_enabled.before(data, NAME, path="config.yaml")
    there = hermes_enabled.put(data, NAME, path="config.yaml")
    assert hermes_enabled.names(there, path="config.yaml")[-1] == NAME
    assert hermes_enabled.put(there, NAME, path="config.yaml") == there
    assert hermes_enabled.take(there, NAME, was, path="config.yaml") == data


def test_a_name_that_somebody_had_put_there_stays() -> None:
    data = f"plugins:\n  enabled:\n    - {NAME}\n".encode()
    was = hermes_enabled.before(data, NAME, path="config.yaml")
    assert hermes_enabled.put(data, NAME, path="config.yaml") == data
    assert hermes_enabled.take(data, NAME, was, path="config.yaml") == data


def test_a_file_that_cannot_be_understood_is_refused() -> None:
    with pytest.raises(InvalidInput):
        hermes_enabled.put(b"plugins: [a", NAME, path="config.yaml")
