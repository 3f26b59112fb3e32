"""The file that tells where the daemon answers."""

import os
import stat
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from memorycore import endpoint
from memorycore.endpoint import Endpoint


def an_endpoint(data_dir: Path) -> Endpoint:
    return Endpoint(
        pid=4242,
        started="2026-11-30T12:00:00+00:00",
        version="1.0.0",
        url="http://127.0.0.1:4001",
        relay=("127.0.0.1", 4002),
        token="not-for-others",  # noqa: S106 opens nothing
        data_dir=str(data_dir),
        hot_dir=str(data_dir / "memories"),
        namespace="default",
        settings="abc",
    )


def test_what_was_written_is_read_again_and_only_the_owner_may_read_it(tmp_path: Path) -> None:
    written = an_endpoint(tmp_path)
    endpoint.write(written)
    assert endpoint.read(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == [endpoint.FILE]
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / endpoint.FILE).stat().st_mode) == 0o600


def test_the_token_does_not_stand_in_a_log(tmp_path: Path) -> None:
    assert "not-for-others" not in repr(an_endpoint(tmp_path))


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"{", b"[]", b"null", b'{"pid": 1}', b'{"relay": ["h", 1]}', b'{"relay": 3}'],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / endpoint.FILE).write_bytes(content)
    (tmp_path / endpoint.FILE).chmod(0o600)
    assert endpoint.read(tmp_path) is None


@pytest.mark.parametrize("wrong", [{"pid": "4"}, {"pid": True}, {"relay": ["h", "80"]}, {"token": 5}, {"url": None}])
def test_a_value_of_the_wrong_kind_is_as_good_as_none(tmp_path: Path, wrong: dict[str, object]) -> None:
    import json

    (tmp_path / endpoint.FILE).write_text(json.dumps(asdict(an_endpoint(tmp_path)) | wrong), encoding="utf-8")
    (tmp_path / endpoint.FILE).chmod(0o600)
    assert endpoint.read(tmp_path) is None


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o602])
def test_a_file_that_others_may_touch_is_not_believed(tmp_path: Path, mode: int) -> None:
    endpoint.write(an_endpoint(tmp_path))
    (tmp_path / endpoint.FILE).chmod(mode)
    assert endpoint.read(tmp_path) is None


def test_only_the_file_of_the_named_process_is_taken_away(tmp_path: Path) -> None:
    endpoint.write(an_endpoint(tmp_path))
    assert not endpoint.remove(tmp_path, 1)
    assert endpoint.read(tmp_path) is not None
    assert endpoint.remove(tmp_path, 4242)
    assert not endpoint.remove(tmp_path, 4242)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        endpoint.write(replace(an_endpoint(tmp_path), data_dir=str(tmp_path / "nowhere")))
    (tmp_path / endpoint.FILE).mkdir()
    with pytest.raises(OSError, match=endpoint.FILE):
        endpoint.write(an_endpoint(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [endpoint.FILE]
    assert endpoint.read(tmp_path) is None


def test_it_imports_nothing_but_the_standard_library() -> None:
    script = "import memorycore.endpoint, sys; print([n for n in sys.modules if n.startswith('memorycore.')])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True).stdout
    assert out.strip() == "['memorycore.endpoint']"
