import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.exceptions import NoPairsError
from rankad.preferences import count_pairs, quantized_levels, ranks, require_pairs

statistics = st.lists(st.integers(-5, 5) | st.floats(-1e9, 1e9), min_size=1, max_size=40).map(
    lambda values: np.array(values, dtype=float)
)


@given(statistics, st.integers(2, 12))
def test_levels_match_the_definition(statistic, n_levels):
    assert_array_equal(quantized_levels(statistic, n_levels), oracles.levels(statistic, n_levels))


@given(statistics, st.integers(2, 12))
def test_equal_statistics_share_a_level_and_higher_ones_are_never_lower(statistic, n_levels):
    levels = quantized_levels(statistic, n_levels)
    order = np.argsort(statistic, kind="stable")
    assert (np.diff(levels[order]) >= 0).all()
    assert (np.diff(levels[order])[np.diff(statistic[order]) == 0] == 0).all()


@pytest.mark.parametrize("n", [3, 9, 30, 99, 600])
def test_distinct_statistics_fill_levels_equally(n, rng):
    assert_array_equal(np.bincount(quantized_levels(rng.permutation(n), 3))[1:], [n // 3] * 3)


def test_ranks_share_the_larger_value_among_ties():
    assert_allclose(ranks(np.array([1.0, 1.0, 0.0, 2.0])), [0.75, 0.75, 0.25, 1.0])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30).map(np.array))
def test_pairs_are_counted(levels):
    assert count_pairs(levels) == len(oracles.pairs(levels))


def test_no_pairs_says_that_all_statistics_are_equal():
    statistic = np.zeros(7)
    with pytest.raises(NoPairsError, match=r"7 training points: the statistic is 0 for every one"):
        require_pairs(statistic, quantized_levels(statistic, 3))


def test_no_pairs_says_that_ties_filled_one_level():
    statistic = np.array([0.0] + [1.0] * 1 + [2.0] * 0)
    with pytest.raises(NoPairsError, match=r"2 distinct statistics all fall into one level"):
        require_pairs(statistic, np.array([2, 2]))
