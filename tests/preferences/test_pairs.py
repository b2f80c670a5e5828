import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from rankad.exceptions import NoPairsError
from rankad.options import Pairs
from rankad.preferences import (
    level_preferences,
    quantized_levels,
    rank_gap_preferences,
    ranks,
    require_pairs,
)

statistics = st.lists(st.integers(-5, 5) | st.floats(-1e9, 1e9), min_size=1, max_size=40).map(
    lambda values: np.array(values, dtype=float)
)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=60).map(np.array))
def test_level_pairs_are_those_of_different_levels(levels):
    expected = dict.fromkeys(oracles.pairs(levels), 1.0)
    assert oracles.pair_weights(level_preferences(levels)) == expected


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30).map(np.array))
def test_level_pairs_are_weighted_by_their_levels(levels):
    preferences = level_preferences(levels, weight=lambda a, b: (a - b) ** 2 - 1)
    expected = {
        (i, j): float((levels[i] - levels[j]) ** 2 - 1)
        for i, j in oracles.pairs(levels)
        if levels[i] - levels[j] > 1
    }
    assert oracles.pair_weights(preferences) == expected
    assert preferences.total_weight == sum(expected.values())


@given(statistics, st.integers(1, 39).map(lambda k: k / 40))
def test_rank_gap_pairs_are_those_of_sufficiently_different_ranks(statistic, gap):
    r = ranks(statistic)
    expected = {
        (i, j): 1.0 for i in range(len(r)) for j in range(len(r)) if r[i] - r[j] >= gap - 1e-9
    }
    assert oracles.pair_weights(rank_gap_preferences(statistic, gap)) == expected


@given(statistics)
def test_without_levels_every_distinct_rank_is_its_own(statistic):
    expected = dict.fromkeys(oracles.pairs(statistic), 1.0)
    assert oracles.pair_weights(Pairs(None)(statistic)) == expected


@pytest.mark.parametrize("pairs", [Pairs(None), Pairs(min_gap=0.1)])
def test_all_pairs_fit_into_blocks_of_n_log_n_members(pairs, rng):
    n = 4096
    preferences = pairs(rng.permutation(n).astype(float))
    n_pairs = n * (n - 1) / 2 if pairs.levels is None else (0.9 * n) ** 2 / 2
    assert preferences.total_weight == pytest.approx(n_pairs, rel=1e-3)
    assert preferences.upper.points.size <= n * np.log2(n)
    assert preferences.lower.points.size <= n * np.log2(n)


def test_all_points_are_preferred_to_the_tail(rng):
    assert Pairs("tail")(rng.permutation(200)).total_weight == 20 * 180


def test_weights_need_more_than_the_tail():
    with pytest.raises(ValueError, match="Set levels to a number"):
        Pairs("tail", weight=lambda a, b: 1.0).validate()


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(ValueError, match="levels 2 and 1 must be finite and not negative"):
        level_preferences(np.array([1, 2]), weight=lambda a, b: weight)


def test_no_pairs_says_that_all_statistics_are_equal():
    statistic = np.zeros(7)
    with pytest.raises(NoPairsError, match=r"7 training points: the statistic is 0 for every one"):
        require_pairs(statistic, level_preferences(quantized_levels(statistic, 3)))


def test_no_pairs_says_that_ties_filled_one_level():
    statistic = np.array([0.0, 0.0, 0.0, 1.0])
    with pytest.raises(NoPairsError, match=r"2 distinct statistics are too few or too close"):
        require_pairs(statistic, level_preferences(quantized_levels(statistic, 2)))


def test_weights_need_levels_and_few_of_them(rng):
    with pytest.raises(ValueError, match="min_gap makes pairs without levels"):
        Pairs(min_gap=0.2, weight=lambda a, b: 1.0).validate()
    pairs = Pairs(None, weight=lambda a, b: 1.0)
    with pytest.raises(ValueError, match="at most 100; got 150"):
        pairs(rng.normal(size=150))
