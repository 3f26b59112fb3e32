import json
import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.pages import RUN_BY_CI, Block, blocks_of, name_of, pages

EVERY_PAGE = pages()
WITH_COMMANDS = [page for page in EVERY_PAGE if any(block.language == "bash" for block in blocks_of(page))]
READ_ONLY = {"text", "diff", "bash", "markdown"}
# What differs from run to run: ids, times, sizes, dates.
PASSING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}"), "ID"),
    (re.compile(r"\d+(\.\d+)? (ms|MB|毫秒)"), r"N \2"),
    (re.compile(r"\d+ (files|个文件)"), r"N \1"),
    (re.compile(r"\b20\d\d-\d\d-\d\d"), "DATE"),
    (re.compile(r"\b0\.\d\d\b"), "SCORE"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_every_command_of_a_page_works_as_it_is_printed(page: Path, env: dict[str, str], home: Path) -> None:
    """The blocks of one page run one after the other in one home, as a reader of its language would type them."""
    printed = ""
    env = env | {"MEMORYCORE_LANG": "zh" if "zh" in page.parts or "zh-CN" in page.name else "en"}
    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        if block.mark.startswith("file: "):
            (home / block.mark.removeprefix("file: ")).write_text(file_text(block), encoding="utf-8")
        elif block.mark.startswith("result: "):
            found = (home / block.mark.removeprefix("result: ")).read_text(encoding="utf-8")
            assert found == file_text(block), where
        elif block.mark == "output":
            assert without_passing(printed) == without_passing(block.text), where
        elif block.language == "bash" and block.mark != RUN_BY_CI:
            printed = run(block, env, home, where)


def file_text(block: Block) -> str:
    """What stands in the file: a diff shows the state after it, and memory files end without a line end."""
    if block.language == "diff":
        kept = [line[1:] for line in block.text.splitlines() if not line.startswith("-")]
        return "\n".join(kept)
    return block.text if block.language == "jsonl" else block.text.removesuffix("\n")


def run(block: Block, env: Mapping[str, str], home: Path, where: str) -> str:
    shell = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", block.text],
        cwd=home,
        env=dict(env),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=200,
    )
    assert shell.returncode == 0, f"{where}\n{shell.stdout}\n{shell.stderr}"
    return shell.stdout


def without_passing(text: str) -> str:
    for pattern, word in PASSING:
        text = pattern.sub(word, text)
    return text.strip()


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)
def test_every_other_block_can_be_read_by_its_program(page: Path) -> None:
    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        match block.language:
            case "json":
                assert json.loads(block.text), where
            case "jsonl":
                assert [json.loads(line) for line in block.text.splitlines()], where
            case "toml":
                assert tomllib.loads(block.text), where
            case language:
                assert language in READ_ONLY, f"{where}: nothing here runs {language}"


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    """A block without a language would be tested by nobody."""
    fences = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("```")]
    assert [line for line in fences[::2] if line == "```"] == []
    assert len(fences) == 2 * len(blocks_of(page))


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    inside = [link for link in links if not link.startswith(("http:", "https:", "mailto:"))]
    assert [link for link in inside if not (page.parent / link).exists()] == []
