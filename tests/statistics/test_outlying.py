import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankad.statistics import BaggedNeighborDistance
from rankad.statistics.outlying import outlying


def by_definition(points, random_state):
    """More than four robust standard deviations and log(4) / d above the median logarithm."""
    logs = np.log(-BaggedNeighborDistance(random_state=random_state)(points))
    of_all = np.median(np.abs(logs - np.median(logs)))
    of_upper_half = np.median(np.sort(logs)[len(logs) // 2 :]) - np.median(logs)
    cutoff = max(4 * 1.4826 * max(of_all, of_upper_half), np.log(4) / points.shape[1])
    return logs > np.median(logs) + cutoff


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_rule_of_the_docstring(seed):
    points = np.random.default_rng(seed).standard_t(2, size=(300, 3))
    assert_array_equal(outlying(points, random_state=seed), by_definition(points, seed))


def test_a_clump_far_away_is_outlying_and_a_large_group_is_not(rng):
    nominal = rng.normal(size=(400, 2))
    for n_away, share in ((8, 1.0), (200, 0.0)):
        away = 20.0 + 0.1 * rng.normal(size=(n_away, 2))
        found = outlying(np.concatenate([nominal, away]))
        assert found[400:].mean() == share
        assert found[:400].mean() < 0.03


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_edges_of_a_uniform_law_are_not_outlying(d, rng):
    assert not any(outlying(rng.uniform(size=(2_000, d)), random_state=s).any() for s in range(5))


def test_few_rows_of_a_normal_law_are_outlying(rng):
    shares = [outlying(rng.normal(size=(500, d)), random_state=d).mean() for d in (1, 2, 5, 20)]
    assert max(shares) < 0.03


def test_the_unit_of_the_columns_does_not_matter(rng):
    points = rng.standard_t(2, size=(200, 2))
    assert_array_equal(outlying(points), outlying(1024.0 * points))


def test_where_most_rows_are_copies_none_is_outlying(rng):
    points = np.concatenate([np.zeros((300, 2)), rng.normal(size=(100, 2))])
    assert not outlying(points).any()
    assert not outlying(np.ones((50, 3))).any()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_a_handful_of_rows_has_no_outlying_ones(n, rng):
    assert_array_equal(outlying(rng.normal(size=(n, 2))), np.zeros(n, dtype=bool))
