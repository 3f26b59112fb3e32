import ast

import pytest

from tests.arch.source import PACKAGE, ROOT, functions_of, name_of, python_files

MOST_LINES = 500
MOST_STATEMENTS = 40


@pytest.mark.parametrize("folder", ["memorycore", "tests", "benchmarks", "examples"])
def test_no_module_is_longer_than_five_hundred_lines(folder: str) -> None:
    lines = {name_of(path): len(path.read_bytes().splitlines()) for path in python_files(ROOT / folder)}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_function_has_more_than_forty_statements() -> None:
    long = {
        f"{name_of(path)}:{function.lineno} {function.name}": count
        for path in python_files(PACKAGE)
        for function in functions_of(path)
        if (count := statements(function)) > MOST_STATEMENTS
    }
    assert long == {}


def statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Statements at every depth, those of functions inside included, without the docstring."""
    documented = ast.get_docstring(function, clean=False) is not None
    inside = sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1
    return inside - documented


def test_the_counter_counts_nested_statements_and_no_docstring() -> None:
    tree = ast.parse('def f():\n    """doc"""\n    if a:\n        b()\n        c()\n    def g():\n        return 1\n')
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert statements(function) == 5
