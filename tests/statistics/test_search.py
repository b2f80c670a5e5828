"""Plans of searches, and statistics among a random sample where rows are very many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad import RankAD
from rankad.statistics import (
    STATISTICS,
    HalvedNeighborDistance,
    KthNeighborDistance,
    MeanNeighborDistance,
    NeighborSearch,
    named_statistic,
    planned_search,
)
from rankad.statistics.among_sample import sampled_rows
from rankad.statistics.search import planned_all_pairs


@pytest.mark.parametrize(
    ("n_rows", "n_features", "method", "n_reference"),
    [
        (2, 1, "brute force", 2),
        (1_000, 2, "k-d tree", 1_000),
        (2_000, 10, "brute force", 2_000),
        (20_000, 36, "brute force", 20_000),
        (1_000_000, 3, "k-d tree", 1_000_000),
        (1_000_000, 6, "brute force", 10_000),
        (5_000_000, 3, "k-d tree", 10_000),
        (750_000, 10, "brute force", 10_000),
        (10_000, 5_000, "brute force", 10_000),
    ],
)
def test_the_plan_goes_by_rows_and_columns(n_rows, n_features, method, n_reference):
    assert planned_search(n_rows, n_features) == NeighborSearch(method, n_rows, n_reference)


@pytest.mark.parametrize("n_features", [1, 4, 10, 1_555])
def test_with_more_rows_a_plan_never_turns_back(n_features):
    plans = [
        planned_search(n, n_features) for n in np.unique(np.geomspace(2, 1e7, 500).astype(int))
    ]
    among_all = [plan.among_all for plan in plans]
    assert among_all == sorted(among_all, reverse=True)
    assert all(plan.n_reference == 10_000 for plan in plans if not plan.among_all)


def test_plans_say_what_they_are():
    assert str(planned_search(500, 2)) == "k-d tree among all 500 rows"
    assert str(planned_all_pairs(30_000)) == (
        "brute force among 10000 of 30000 rows, drawn at random"
    )


def test_halvings_are_planned_as_that_many_searches_of_halves():
    halved = named_statistic("halved_knn", n_neighbors=5)
    assert halved.planned_search(1_500, 3) == NeighborSearch("brute force", 1_500, 1_500)
    assert halved.planned_search(100_000, 10).n_reference == 10_000
    once = HalvedNeighborDistance(n_halvings=0)
    assert once.planned_search(1_500, 3) == planned_search(1_500, 3)


def test_copies_do_not_change_the_method(rng, monkeypatch):
    points = np.repeat(rng.normal(size=(40, 2)), 10, axis=0)
    assert planned_search(400, 2).method == "k-d tree"
    monkeypatch.delattr("rankad.statistics.search.BruteForce")
    assert_array_equal(MeanNeighborDistance(5)(points), 0.0)


@pytest.fixture
def small_samples(monkeypatch):
    """Plans that sample 60 rows where there are more."""
    monkeypatch.setattr("rankad.statistics.search.REFERENCE_ROWS", 60)
    for limit in ("_MOST_TREE_COST", "_MOST_BRUTE_FORCE_COST", "_MOST_ROWS_FOR_ALL_PAIRS"):
        monkeypatch.setattr(f"rankad.statistics.search.{limit}", 60)


def among_sample(points, random_state):
    """Distances to the 5 nearest rows of the sample, one point after the other."""
    sample = sampled_rows(NeighborSearch("brute force", len(points), 60), random_state)
    return np.array(
        [
            oracles.neighbor_distances(point[None], 5, points[sample[sample != i]])[0]
            for i, point in enumerate(points)
        ]
    )


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("n_features", [1, 2, 8])
@pytest.mark.parametrize("n_distinct", [20, 300])
def test_values_among_a_sample_match_the_oracle(n_features, n_distinct, rng):
    points = rng.normal(size=(n_distinct, n_features))[rng.integers(0, n_distinct, size=300)]
    distances = among_sample(points, random_state=4)
    mean = MeanNeighborDistance(5, random_state=4)
    assert_allclose(mean(points), -distances.mean(axis=1))
    assert_allclose(KthNeighborDistance(5, random_state=4)(points), -distances[:, -1])


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_every_statistic_is_sampled_alike(name, rng):
    points = rng.normal(size=(200, 3))
    statistic = named_statistic(name, n_neighbors=5, random_state=1)
    search = statistic.planned_search(*points.shape)
    assert search.n_reference == 60
    sample = sampled_rows(search, 1)
    values = statistic(points)
    assert_array_equal(values[sample], statistic(points[sample]))
    others = np.setdiff1d(np.arange(200), sample)
    assert_array_equal(values[others], statistic(points[others], points[sample]))
    assert_array_equal(values[others], statistic(points[others], points))


@pytest.mark.usefixtures("small_samples")
def test_the_sample_is_drawn_by_the_random_state(rng):
    points = rng.normal(size=(200, 3))
    first, again, other = (MeanNeighborDistance(5, random_state=s)(points) for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.usefixtures("small_samples")
def test_a_detector_among_a_sample_is_reproducible_and_says_so(rng):
    rows = rng.normal(size=(200, 3))
    first, again = (RankAD(random_state=5).fit(rows) for _ in range(2))
    assert first.neighbor_search_ == NeighborSearch("brute force", 150, 60)
    assert_array_equal(first.score_samples(rows), again.score_samples(rows))


def test_a_detector_tells_its_search(rng):
    rows = rng.normal(size=(400, 2))
    assert RankAD().fit(rows).neighbor_search_ == planned_search(300, 2)
    instance = RankAD(statistic=MeanNeighborDistance(5)).fit(rows)
    assert instance.neighbor_search_ == planned_search(300, 2)
    assert RankAD(statistic=lambda points: -np.abs(points[:, 0])).fit(rows).neighbor_search_ is None
