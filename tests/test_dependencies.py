"""The oldest versions that the tests run with are the oldest that the package declares."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def with_nested(requirements):
    """Requirements, those of this package's extras in the place of ``rankad[extra]``."""
    for requirement in requirements:
        if extra := re.fullmatch(r"rankad\[(\w+)\]", requirement):
            yield from with_nested(PROJECT["optional-dependencies"][extra[1]])
        else:
            yield requirement


def test_the_oldest_versions_are_the_lower_bounds():
    requirements = with_nested([*PROJECT["dependencies"], "rankad[test]"])
    lower_bounds = {requirement.replace(">=", "==") for requirement in requirements}
    assert (ROOT / "oldest.txt").read_text().split() == sorted(lower_bounds)


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_every_requirement_has_a_lower_bound_and_no_upper_one(extra):
    for requirement in with_nested([*PROJECT["dependencies"], f"rankad[{extra}]"]):
        assert re.fullmatch(r"[\w-]+>=[\d.]+", requirement)
