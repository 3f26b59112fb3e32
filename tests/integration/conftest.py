from pathlib import Path

import pytest

from tests.command_line import CommandLine


@pytest.fixture
def mc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """``memorycore``, run in an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    return CommandLine(home, monkeypatch, capsys)
