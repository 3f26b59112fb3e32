"""Help flows to the width of the terminal, whatever line breaks the catalogue has, and is never cut."""

import pytest
from rich.cells import cell_len

from memorycore.cli.help_page import paragraphs
from memorycore.cli.layout import wrapped
from tests.command_line import CommandLine

EXAMPLES = ["  memorycore overflow --dry-run", "  memorycore overflow --target user"]


def test_paragraphs_lose_their_line_breaks_and_examples_keep_them() -> None:
    source = "\nOne sentence\nover two lines.\n\n  an example\n  another one\nThe end\nof it.\n"
    assert paragraphs(source) == [
        "One sentence over two lines.", "", "  an example", "  another one", "The end of it.",
    ]  # fmt: skip


def test_no_space_comes_between_chinese_letters_of_two_lines() -> None:
    assert paragraphs("什么都不会丢；\n结果会说明。\n加 --dir\n也行。") == ["什么都不会丢；结果会说明。加 --dir 也行。"]


def test_a_chinese_line_is_full_and_none_begins_with_its_punctuation() -> None:
    lines = wrapped("让系统在您每次登录时启动守护进程：systemd、launchd 或任务计划程序，只对您的用户有效。", 20)
    assert all(cell_len(line) <= 20 for line in lines)
    assert not any(line[0] in "，。、：；" for line in lines)
    assert "".join(lines).replace(" ", "") == (
        "让系统在您每次登录时启动守护进程：systemd、launchd或任务计划程序，只对您的用户有效。"
    )


def test_a_command_in_backticks_stays_on_one_line() -> None:
    assert "`memorycore daemon start`." in wrapped("In the background: `memorycore daemon start`. Never two.", 30)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [80, 120])
def test_help_fills_the_terminal_and_cuts_nothing(mc: CommandLine, width: int, language: str) -> None:
    for command in ("daemon", "maintain", "overflow", "backup"):
        shown = mc(command, "--help", COLUMNS=str(width), MEMORYCORE_LANG=language).out.splitlines()
        assert "…" not in "".join(shown)
        assert all(cell_len(line) <= width for line in shown)
    first = mc("overflow", "--help", COLUMNS=str(width), MEMORYCORE_LANG=language).out.splitlines()
    assert set(EXAMPLES) <= set(first)
    assert cell_len(first[3]) > width - 16, "a paragraph is broken where the catalogue is"
