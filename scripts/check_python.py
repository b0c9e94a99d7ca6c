#!/usr/bin/python3
"""The Python library for agents runs on Python 3.9 with the standard library alone, has a type on
every parameter and result, and keeps to 100 columns. `make sdk-test` also asks mypy and ruff."""

import ast
import sys

from gate import files_in, run

COLUMNS_MAX = 100
OLDEST = (3, 9)
# Libraries that an integration with the same name may import.
INTEGRATED = {"litellm": {"litellm"}, "langchain": {"langchain_core"}}


def import_problems(tree, stem):
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in INTEGRATED.get(stem, ()):
                yield node.lineno, f"imports {top}: the library has no dependencies"


def type_problems(tree):
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if node.returns is None:
            yield node.lineno, f"{node.name} returns no type"
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        for parameter in filter(None, every):
            if parameter.annotation is None and parameter.arg not in ("self", "cls"):
                yield parameter.lineno, f"{node.name}: '{parameter.arg}' has no type"


def line_problems(text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS_MAX or line != line.rstrip() or "\t" in line:
            yield number, f"more than {COLUMNS_MAX} columns, a tab, or a space at the end"


def problems_of(path):
    text = path.read_text()
    try:
        tree = ast.parse(text, feature_version=OLDEST)
    except SyntaxError as error:
        return [(error.lineno or 1, f"not Python {'.'.join(map(str, OLDEST))}: {error.msg}")]
    return [*import_problems(tree, path.stem), *type_problems(tree), *line_problems(text)]


def gate(root):
    files = files_in(root, ["sdk/python/muster"], {".py"})
    problems = [] if files else ["sdk/python/muster: no files to look at"]
    for path in files:
        problems += [f"{path.relative_to(root)}:{line}: {what}" for line, what in problems_of(path)]
    return problems, f"{len(files)} files"


if __name__ == "__main__":
    run("python", gate)
