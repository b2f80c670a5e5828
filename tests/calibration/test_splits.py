"""Which rows are held out: runs of rows, whole groups, or as a splitter says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    PredefinedSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.utils import check_random_state

from rankad.calibration import TimeBlocks
from rankad.calibration.splits import drawn_units, first_split, run_starts

sizes = st.floats(0.01, 0.9) | st.integers(1, 150)


def split_of(splitter, n):
    return next(splitter.split(np.zeros((n, 1))))


@given(st.integers(2, 400), st.integers(1, 12), st.integers(0, 20), sizes)
def test_blocks_hold_out_runs_and_keep_the_gaps(n, n_blocks, gap, size):
    blocks = TimeBlocks(n_blocks=n_blocks, gap=gap, size=size)
    try:
        training, held_out = split_of(blocks, n)
    except ValueError as error:
        assume("rows to train on" not in str(error))
        raise
    n_held_out = size if isinstance(size, int) else int(np.ceil(size * n))
    assert len(held_out) == n_held_out
    n_runs = max(1, min(n_blocks, n_held_out // 10, (n - n_held_out) // 2))
    starts = run_starts(held_out)
    assert len(starts) == n_runs
    lengths = np.diff(np.append(starts, n_held_out))
    assert lengths.max() - lengths.min() <= 1
    assert held_out[-1] == n - 1  # the last rows of the file
    distance = np.abs(np.arange(n)[:, None] - held_out).min(axis=1)
    assert_array_equal(training, np.flatnonzero(distance > gap))


@given(st.integers(60, 400), st.integers(1, 6))
def test_the_runs_are_spread_evenly(n, n_blocks):
    _, held_out = split_of(TimeBlocks(n_blocks=n_blocks, gap=0, size=0.25), n)
    ends = held_out[np.append(run_starts(held_out)[1:] - 1, len(held_out) - 1)]
    assert_array_equal(ends + 1, np.round(np.linspace(0, n, len(ends) + 1))[1:])


def test_the_gap_by_rule_is_the_lag_of_unlike_rows_and_at_most_a_sixteenth(rng):
    walk = rng.normal(size=(4_000, 1)).cumsum(axis=0)
    noise = rng.normal(size=(4_000, 1))
    for rows, gap in ((walk, 25), (noise, 1)):  # stretches of 400 rows
        training, held_out = next(TimeBlocks().split(rows))
        same = next(TimeBlocks(gap=gap).split(rows))
        assert_array_equal(training, same[0])
        assert_array_equal(held_out, same[1])


def test_blocks_are_a_splitter_of_scikit_learn(rng):
    rows = rng.normal(size=(200, 2))
    forest = IsolationForest(n_estimators=5, random_state=0)
    blocks = TimeBlocks(n_blocks=3)
    assert blocks.get_n_splits(rows) == 1
    scores = cross_val_score(
        forest, rows, cv=blocks, scoring=lambda model, X, y=None: len(X) + model.n_features_in_
    )
    assert_array_equal(scores, [52.0])
    texts = np.array([["a"], ["b"]] * 50)  # a gap that is given needs no numbers
    assert len(next(TimeBlocks(gap=2).split(texts))[1]) == 25
    assert repr(TimeBlocks()) == "TimeBlocks(n_blocks=10, gap='auto', size=0.25)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_blocks": 0}, "n_blocks must be a number of at least 1; got 0"),
        ({"n_blocks": 2.5}, "n_blocks must be .* got 2.5"),
        ({"gap": -1}, "gap must be 'auto' or a number of at least 0; got -1"),
        ({"gap": "long"}, "gap must be .* got 'long'"),
        ({"size": 0}, "size must be a share of the rows or a number; got 0"),
        ({"size": 1.5}, r"size must be .* got 1\.5"),
        ({"size": "all"}, "size must be .* got 'all'"),
        ({"size": 100}, "leaves 0 of 100 rows to train on.*lower size or gap"),
        ({"size": 10**9}, "leaves 0 of 100 rows to train on"),
        ({"gap": 200}, "leaves 0 of 100 rows to train on"),
    ],
)
def test_blocks_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        split_of(replace(TimeBlocks(gap=0), **changes), 100)


def test_blocks_refuse_groups():
    with pytest.raises(ValueError, match=r"cuts groups apart.*GroupShuffleSplit"):
        next(TimeBlocks().split(np.zeros((100, 1)), None, np.arange(100)))


class Given:
    """A splitter of given splits."""

    def __init__(self, *splits):
        self.splits = splits

    def split(self, X, y=None, groups=None):
        return iter(self.splits)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ((), "gives no split of the rows"),
        ((([0, 1], [20]),), "held-out rows of .* are no indices of the 20 rows"),
        ((([-1, 1], [2]),), "training rows of .* are no indices"),
        ((([0.0, 1.0], [2]),), "training rows of .* are no indices"),
        (((np.arange(20) < 9, np.arange(20) > 9),), "are no indices"),
        ((([0], [1]),), "gives 1 training rows and 1 held-out rows, but at least 2 and 1"),
        ((([0, 0], [1]),), "gives 1 training rows"),
        ((([0, 1], np.empty(0, dtype=int)),), "and 0 held-out rows"),
        ((([0, 1, 2], [2, 3]),), "has rows on both sides. A held-out row must not train"),
    ],
)
def test_splits_that_cannot_be_are_refused(splits, message):
    with pytest.raises(ValueError, match=message):
        first_split(Given(*splits), np.zeros((20, 1)), None)


def test_the_first_split_of_a_splitter_counts():
    training, held_out = first_split(Given(([2, 0, 2], [1]), ([1], [0])), np.zeros((3, 1)), None)
    assert_array_equal(training, [0, 2])
    assert_array_equal(held_out, [1])
    training, held_out = first_split(TimeSeriesSplit(3, gap=2), np.zeros((40, 1)), None)
    assert_array_equal(training, range(8))
    assert_array_equal(held_out, range(10, 20))
    training, held_out = first_split(PredefinedSplit([-1, -1, 0, 0]), np.zeros((4, 1)), None)
    assert_array_equal(held_out, [2, 3])


def test_a_splitter_must_keep_groups_together(rng):
    groups = rng.integers(0, 12, size=60)
    for splitter in (GroupShuffleSplit(random_state=0), GroupKFold(3)):
        training, held_out = first_split(splitter, np.zeros((60, 1)), groups)
        assert not np.isin(groups[training], groups[held_out]).any()
    with pytest.raises(ValueError, match=r"cuts groups apart\. Use a splitter that keeps groups"):
        first_split(Given((range(30), range(30, 60))), np.zeros((60, 1)), groups)


@given(st.integers(1, 60), sizes, st.sampled_from(["rows", "groups"]))
def test_units_are_drawn_without_repetition_and_some_are_left(n, size, unit):
    n_drawn = size if isinstance(size, int) else int(np.ceil(size * n))
    if n - n_drawn < (2 if unit == "rows" else 1):
        is_hopeless = n < (4 if unit == "rows" else 2)
        advice = "Fit on at least" if is_hopeless else "lower calibration_size"
        with pytest.raises(ValueError, match=f"of {n} {unit} to train on.*{advice}"):
            drawn_units(n, size, check_random_state(0), unit)
        return
    drawn = drawn_units(n, size, check_random_state(0), unit)
    assert len(set(drawn)) == len(drawn) == n_drawn
    assert_array_equal(drawn, np.sort(drawn))
    assert set(drawn) <= set(range(n))
