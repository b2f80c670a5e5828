"""The README: its first lines run, and so does every call of its table."""

import copy
import doctest
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

FIRST_LINES = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]

#: The first cell of each row of the table of calls.
CALLS = re.findall(r"^\| `([^`]+)` \|", README.partition("| call |")[2].partition("\n\n")[0], re.M)


@pytest.fixture(scope="module")
def names():
    """What the examples of the README define: the detector, and rows."""
    defined = {}
    for example in doctest.DocTestParser().get_examples(README):
        exec(compile(example.source, "README.md", "single"), defined)
    return defined


def test_the_first_lines_run(names):
    found = {"X_nominal": names["X_nominal"], "X": names["X"]}
    exec(FIRST_LINES, found)
    assert set(found["labels"]) <= {-1, 1}


def test_the_table_has_calls_and_nothing_else():
    table = README.partition("| call |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(CALLS) == len(table) > 10


@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_the_table_runs(names, call):
    assert eval(call, names | {"det": copy.deepcopy(names["det"])}) is not None
