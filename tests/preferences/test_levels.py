import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.preferences import quantized_levels, ranks, tail_levels

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


@given(statistics, st.sampled_from([0.05, 0.1, 0.5]))
def test_the_tail_matches_the_definition(statistic, share):
    assert_array_equal(tail_levels(statistic, share), oracles.tail_levels(statistic, share))


@pytest.mark.parametrize(("n", "n_in_tail"), [(1, 1), (2, 1), (9, 1), (10, 1), (11, 2), (600, 60)])
def test_the_tail_is_a_tenth_and_never_empty(n, n_in_tail, rng):
    assert (tail_levels(rng.permutation(n)) == 1).sum() == n_in_tail


@pytest.mark.parametrize("n", [3, 9, 30, 99, 600])
def test_distinct_statistics_fill_levels_equally(n, rng):
    assert_array_equal(np.bincount(quantized_levels(rng.permutation(n), 3))[1:], [n // 3] * 3)


def test_ranks_share_the_larger_value_among_ties():
    assert_allclose(ranks(np.array([1.0, 1.0, 0.0, 2.0])), [0.75, 0.75, 0.25, 1.0])
