import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from memorycore.answers import StoreStatus
from memorycore.cli.app import command_line
from memorycore.metrics import DECLARED
from memorycore.server.tending import TOOLSETS
from memorycore.settings import variables
from memorycore.web.api import STATUS
from tests.docs.pages import READMES, ROOT, name_of, pages
from tests.docs.reference import command_names, error_codes, renewed

BY_LANGUAGE = {"en": ROOT / "docs", "zh": ROOT / "docs" / "zh"}


def page(language: str, name: str) -> str:
    return (BY_LANGUAGE[language] / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", pages(), ids=name_of)
def test_the_tables_say_what_the_code_says(path: Path) -> None:
    """``python -m tests.docs.reference`` writes them anew."""
    assert path.read_text(encoding="utf-8") == renewed(path)


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_every_command_stands_in_the_reference(language: str) -> None:
    text = page(language, "commands.md")
    assert [name for name in command_names(command_line("en")) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_every_setting_stands_in_the_reference(language: str) -> None:
    text = page(language, "configuration.md")
    assert [name for name in variables() if f"`{name.removesuffix('_FILE')}`" not in text] == []
    assert [key for key in variables().values() if f"`{key.removesuffix('_file')}`" not in text] == []


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_every_tool_and_parameter_stands_in_the_reference(language: str) -> None:
    text = page(language, "tools.md")
    missing = [name for name in tool_words() if f"`{name}`" not in text]
    assert missing == []


def tool_words() -> Iterator[str]:
    for tool in TOOLSETS["full"]:
        yield tool.name
        yield from tool.ask.model_fields


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_every_error_code_and_status_stands_in_the_reference(language: str) -> None:
    text = page(language, "errors.md")
    codes = [*error_codes(), *get_args(StoreStatus)]
    assert [code for code in codes if f"`{code}`" not in text] == []


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_every_metric_and_status_code_stands_in_the_reference(language: str) -> None:
    text = page(language, "daemon-api.md")
    assert [name for name in DECLARED if f"`{name}`" not in text] == []
    assert [status for status in STATUS.values() if f"{status}" not in text] == []


def test_both_languages_have_the_same_pages() -> None:
    english, chinese = ({path.name for path in folder.glob("*.md")} for folder in BY_LANGUAGE.values())
    assert english - chinese == {"architecture.md"}  # for those who change the code
    assert chinese - english == set()


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_the_first_screen_of_a_readme_is_forty_lines(readme: Path) -> None:
    """Up to the first heading after the title."""
    before, _, _ = readme.read_text(encoding="utf-8").partition("\n## ")
    assert len(before.splitlines()) <= 40


def test_the_readmes_are_in_step() -> None:
    english, chinese = (readme.read_text(encoding="utf-8") for readme in READMES)
    for mark in ("\n## ", "\n```bash", "\n```", "<!-- run by .ci/run -->"):
        assert english.count(mark) == chinese.count(mark), mark


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    reasons = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = [re.split(r"[<>=;\s]", wanted)[0] for wanted in project["dependencies"]]
    assert [name for name in names if f"`{name}`" not in reasons] == []
