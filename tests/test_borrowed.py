"""The private names of other libraries are in one module, and they exist."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import rankad
from rankad import _borrowed

SOURCE = Path(rankad.__file__).parent
LIBRARIES = ("joblib", "llvmlite", "numba", "numpy", "scipy", "sklearn", "threadpoolctl")


def imported_names(path):
    """``(module, name)`` of everything that a file imports from other libraries."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node.module, alias.name) for alias in node.names)


def is_private(module, name):
    """Whether a library may remove a name without notice."""
    parts = [*module.split("."), name]
    return parts[0] in LIBRARIES and (
        any(part.startswith("_") for part in parts) or module.startswith("numba.core")
    )


BORROWED = sorted(set(imported_names(Path(_borrowed.__file__))))


@pytest.mark.parametrize(("module", "name"), BORROWED)
def test_a_borrowed_name_is_still_there(module, name):
    assert hasattr(import_module(module), name), f"{module}.{name} is gone: mend rankad._borrowed"


def test_private_names_are_borrowed_in_one_place():
    elsewhere = {
        (path.relative_to(SOURCE).as_posix(), module, name)
        for path in SOURCE.rglob("*.py")
        if path.name != "_borrowed.py"
        for module, name in imported_names(path)
        if is_private(module, name)
    }
    assert elsewhere == set()
    assert all(is_private(module, name) for module, name in BORROWED)
