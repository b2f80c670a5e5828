"""Plans of searches, and statistics among a random sample of very many rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

import oracles
from rankad import RankAD
from rankad.statistics import (
    STATISTICS,
    GeodesicNeighborDistance,
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
    ("n_rows", "n_features", "method", "n_searched"),
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
def test_the_plan_goes_by_rows_and_columns(n_rows, n_features, method, n_searched):
    assert planned_search(n_rows, n_features) == NeighborSearch(method, n_rows, n_searched)


def default_neighbors(n_rows, n_features):
    return max(5, round(n_rows ** (4 / (n_features + 4))))


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_neighbors", "method", "n_searched", "n_sought"),
    [
        (1_500, 1, 347, "k-d tree", 1_500, 347),
        (20_000, 2, 737, "k-d tree", 20_000, 737),
        (50_000, 2, 1_357, "k-d tree", 14_739, 400),
        (750_000, 1, 50_124, "k-d tree", 749, 50),
        (750_000, 2, 8_255, "k-d tree", 4_543, 50),
        (750_000, 3, 2_277, "k-d tree", 16_470, 50),
        (1_000_000, 3, 30, "k-d tree", 1_000_000, 30),
        (750_000, 5, 408, "k-d tree", 76_593, 42),
        (125_000, 7, 71, "brute force", 114_285, 65),
        (1_300_000, 6, 279, "brute force", 11_538, 5),
        (750_000, 10, 48, "brute force", 10_000, 5),
        (750_000, 10, 3, "brute force", 10_000, 3),
    ],
)
def test_many_neighbors_are_sought_in_proportion_to_the_rows_searched(
    n_rows, n_features, n_neighbors, method, n_searched, n_sought
):
    plan = planned_search(n_rows, n_features, n_neighbors=n_neighbors)
    assert plan == NeighborSearch(method, n_rows, n_searched, n_neighbors)
    assert plan.n_sought == n_sought


@given(
    n_rows=st.integers(2, 10_000_000),
    n_features=st.integers(1, 12),
    n_neighbors=st.integers(1, 100_000),
    n_searches=st.integers(1, 20),
)
def test_plans_keep_to_their_bounds(n_rows, n_features, n_neighbors, n_searches):
    plan = planned_search(n_rows, n_features, n_searches, n_neighbors)
    assert min(50, n_rows) <= plan.n_searched <= n_rows
    assert min(n_neighbors, 5) <= plan.n_sought <= n_neighbors
    assert plan.among_all or plan.n_searched >= min(10_000, n_rows * 50 // n_neighbors)
    assert plan.n_sought * n_searches * n_rows <= max(2.1e7, 51 * n_searches * n_rows)
    if plan.method == "brute force" and n_rows > 10_000 and plan.n_searched > 10_000:
        assert n_searches * n_rows * plan.n_searched * (n_features + 14) <= 3e11


@pytest.mark.parametrize("n_features", [1, 2, 4, 7, 10])
def test_with_more_rows_and_neighbors_a_plan_never_turns_back(n_features):
    sizes = np.unique(np.geomspace(10, 1e7, 500).astype(int))
    plans = [
        planned_search(n, n_features, n_neighbors=default_neighbors(n, n_features)) for n in sizes
    ]
    among_all = [plan.among_all for plan in plans]
    assert among_all == sorted(among_all, reverse=True)


@pytest.mark.parametrize("n_features", [1, 4, 10, 1_555])
def test_with_more_rows_a_plan_never_turns_back(n_features):
    plans = [
        planned_search(n, n_features) for n in np.unique(np.geomspace(2, 1e7, 500).astype(int))
    ]
    among_all = [plan.among_all for plan in plans]
    assert among_all == sorted(among_all, reverse=True)
    assert all(plan.n_searched == 10_000 for plan in plans if not plan.among_all)


def test_plans_say_what_they_are():
    assert str(planned_search(500, 2)) == "k-d tree among all 500 rows"
    assert str(planned_all_pairs(30_000, n_neighbors=5)) == (
        "brute force among 10000 of 30000 rows, drawn at random"
    )
    assert str(planned_search(750_000, 2, n_neighbors=8_255)) == (
        "k-d tree among 4543 of 750000 rows, drawn at random, 50 neighbors standing for 8255"
    )


def test_more_neighbors_than_rows_are_all_there_are(rng):
    points = rng.normal(size=(30, 2))
    assert planned_search(30, 2, n_neighbors=10**9).among_all
    assert_array_equal(MeanNeighborDistance(10**9)(points), MeanNeighborDistance(29)(points))


def test_all_pairs_are_planned_with_many_neighbors_too():
    assert planned_all_pairs(20_000, 737).among_all
    assert planned_all_pairs(20_000, 2_000).n_sought == 1_000
    assert planned_all_pairs(750_000, 8_255).n_searched == 4_543


def test_geodesic_neighbors_are_fewer_the_more_edges_lead_to_them():
    short = named_statistic("geodesic_knn", n_neighbors=131).planned_search(1_500, 2)
    assert short.among_all
    long = named_statistic("geodesic_knn", n_neighbors=737).planned_search(20_000, 2)
    assert long.n_sought == 50


def test_edges_are_fewer_in_proportion_to_neighbors():
    statistic = GeodesicNeighborDistance(100, n_graph_neighbors=30)
    assert statistic._with_neighbors(50).n_graph_neighbors == 15
    assert statistic._with_neighbors(5).n_graph_neighbors == 2
    assert GeodesicNeighborDistance(100, 1)._with_neighbors(5).n_graph_neighbors == 1


def test_halvings_are_planned_as_that_many_searches_of_halves():
    halved = named_statistic("halved_knn", n_neighbors=5)
    assert halved.planned_search(1_500, 3) == NeighborSearch("brute force", 1_500, 1_500, 5)
    assert halved.planned_search(100_000, 10).n_searched == 10_000
    once = HalvedNeighborDistance(n_halvings=0)
    assert once.planned_search(1_500, 3) == planned_search(1_500, 3)


def test_copies_do_not_change_the_method(rng, monkeypatch):
    points = np.repeat(rng.normal(size=(40, 2)), 10, axis=0)
    assert planned_search(400, 2).method == "k-d tree"
    monkeypatch.delattr("rankad.statistics.search.BruteForce")
    assert_array_equal(MeanNeighborDistance(5)(points), 0.0)


@pytest.fixture
def small_samples(monkeypatch):
    """Plans that sample 60 rows if there are more."""
    monkeypatch.setattr("rankad.statistics.search.SAMPLE_ROWS", 60)
    for limit in ("_MAX_TREE_COST", "_MAX_BRUTE_FORCE_COST", "_MAX_ROWS_FOR_ALL_PAIRS"):
        monkeypatch.setattr(f"rankad.statistics.search.{limit}", 60)


def among_sample(points, random_state, n_neighbors):
    """Distances to the nearest rows of the sample, one point after the other."""
    sample = sampled_rows(NeighborSearch("brute force", len(points), 60), random_state)
    return np.array(
        [
            oracles.neighbor_distances(point[None], n_neighbors, points[sample[sample != i]])[0]
            for i, point in enumerate(points)
        ]
    )


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("n_features", [1, 2, 8])
@pytest.mark.parametrize("n_distinct", [20, 300])
@pytest.mark.parametrize(("n_neighbors", "n_sought"), [(3, 3), (5, 5), (10, 5), (40, 8), (250, 50)])
def test_values_among_a_sample_match_the_oracle(n_features, n_distinct, n_neighbors, n_sought, rng):
    points = rng.normal(size=(n_distinct, n_features))[rng.integers(0, n_distinct, size=300)]
    distances = among_sample(points, 4, n_sought)
    mean = MeanNeighborDistance(n_neighbors, random_state=4)
    assert_allclose(mean(points), -distances.mean(axis=1))
    assert_allclose(KthNeighborDistance(n_neighbors, random_state=4)(points), -distances[:, -1])


SAMPLED = sorted(STATISTICS.keys() - {"bagged_knn"})


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize(("n_neighbors", "n_sought"), [(5, 5), (40, 12)])
@pytest.mark.parametrize("name", SAMPLED)
def test_every_statistic_is_sampled_alike(name, n_neighbors, n_sought, rng):
    points = rng.normal(size=(200, 3))
    statistic = named_statistic(name, n_neighbors=n_neighbors, random_state=1)
    search = statistic.planned_search(*points.shape)
    assert (search.n_searched, search.n_sought) == (60, n_sought)
    sample = sampled_rows(search, 1)
    values = statistic(points)
    of_fewer = named_statistic(name, n_neighbors=n_sought, random_state=1)
    assert_array_equal(values[sample], of_fewer(points[sample]))
    others = np.setdiff1d(np.arange(200), sample)
    assert_array_equal(values[others], of_fewer(points[others], points[sample]))
    assert_array_equal(values[others], statistic(points[others], points))


@pytest.mark.parametrize("name", ["mean_knn", "kth_knn", "halved_knn", "geodesic_knn"])
def test_fewer_of_fewer_rows_measure_the_same_distances(name, rng, monkeypatch):
    points = rng.normal(size=(3_000, 2))
    statistic = named_statistic(name, n_neighbors=300, random_state=0)
    among_all = statistic._values(points, None)
    monkeypatch.setattr("rankad.statistics.search._MAX_NEIGHBORS", 0)
    search = statistic.planned_search(3_000, 2)
    assert (search.n_searched, search.n_sought) == (500, 50)
    values = statistic(points)
    assert values.mean() == pytest.approx(among_all.mean(), rel=0.03)
    assert spearmanr(values, among_all).statistic > 0.97


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
    assert first.neighbor_search_.n_searched == 60
    assert_array_equal(first.score_samples(rows), again.score_samples(rows))


def test_a_detector_tells_its_search(rng):
    rows = rng.normal(size=(400, 2))
    by_name, instance = RankAD(n_neighbors=7), RankAD(statistic=MeanNeighborDistance(7))
    for detector in (by_name, instance):
        search = detector.fit(rows).neighbor_search_
        assert search == planned_search(search.n_rows, 2, n_neighbors=7)
    own = RankAD(statistic=lambda points: -np.abs(points[:, 0])).fit(rows)
    # The plan is that of the mean neighbor distance, which the rule for sigma uses.
    search = own.neighbor_search_
    assert search == planned_search(search.n_rows, 2, n_neighbors=own.n_neighbors_)
