"""Markdown pages of the project: their blocks of code, and what an HTML comment before a block says about it.

``<!-- run by .ci/run -->``    needs make or a package index; ``.ci/run`` runs it, in a fresh environment
``<!-- output -->``            what the shell block before it printed; compared, apart from ids, times and sizes
``<!-- file: NAME -->``        written to that file before the blocks after it run
``<!-- result: NAME -->``      what stands in that file after the blocks before it ran
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READMES = (ROOT / "README.md", ROOT / "README.zh-CN.md")
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
RUN_BY_CI = "run by .ci/run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block. ``line`` is that of its fence; ``mark`` is the comment before it, or empty."""

    language: str
    text: str
    mark: str
    line: int


def pages() -> list[Path]:
    return [*READMES, ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    content = page.read_text(encoding="utf-8")
    return [
        Block(
            language=found["language"],
            text=found["text"],
            mark=found["mark"] or "",
            line=content.count("\n", 0, found.start("text")),
        )
        for found in _BLOCK.finditer(content)
    ]
