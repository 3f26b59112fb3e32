"""A memory in a temporary folder, with a clock that tests set."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memorycore.core import MemoryCore
from memorycore.domain.memory import Draft
from memorycore.embed import EmbeddingService
from memorycore.options import CoreOptions, EmbedOptions
from memorycore.testing import HashingEmbedder

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(slots=True)
class Clock:
    """Time as the test says: ``clock()`` tells it, ``clock.forward(days=1)`` moves it."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


@dataclass(slots=True)
class Home:
    """One memory: its folders, its clock, and the core on them."""

    root: Path
    clock: Clock = field(default_factory=Clock)
    options: CoreOptions = field(init=False)

    def __post_init__(self) -> None:
        self.options = CoreOptions(
            hot_dir=self.root / "memories", data_dir=self.root / "data", embed=EmbedOptions(model="none")
        )

    @property
    def memory_file(self) -> Path:
        return self.options.hot_dir / "MEMORY.md"

    @property
    def user_file(self) -> Path:
        return self.options.hot_dir / "USER.md"

    @contextmanager
    def core(self, *, long_lived: bool = False, vectors: bool = False) -> Generator[MemoryCore]:
        """An open core; ``vectors``: with the hashing embedder, else by keywords only."""
        embedding = EmbeddingService.serving(HashingEmbedder()) if vectors else None
        core = MemoryCore(self.options, long_lived=long_lived, clock=self.clock, embedding=embedding)
        core.embedding.start()
        try:
            yield core
        finally:
            core.close()

    def write_memory_file(self, *entries: str) -> None:
        """As an editor or a host would, without asking anybody."""
        self.options.hot_dir.mkdir(parents=True, exist_ok=True)
        self.memory_file.write_bytes("\n§\n".join(entries).encode("utf-8"))

    def entries(self) -> list[str]:
        text = self.memory_file.read_bytes().decode("utf-8") if self.memory_file.exists() else ""
        return text.split("\n§\n") if text else []


def rule(number: int) -> Draft:
    """A text that belongs into the hot file, different for each number."""
    return Draft(content=f"Always run check number {number} before a release.", target="memory")


def fact(number: int) -> Draft:
    """A text that belongs into the cold tier, different for each number."""
    return Draft(content=f"The printer in room {number} was bought in Leeds.")
