"""Every statistic against a slow oracle, and against a closed form if there is one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

import oracles
from rankad.statistics import (
    STATISTICS,
    BaggedNeighborDistance,
    DimensionAdaptedDistance,
    EpsilonNeighborhood,
    GeodesicNeighborDistance,
    HalvedNeighborDistance,
    KernelDensity,
    KthNeighborDistance,
    MeanNeighborDistance,
    named_statistic,
)
from rankad.statistics.epsilon_neighborhood import _typical_radius

K = 6


def bagged_oracle(statistic):
    def values(points, reference):
        subsamples = statistic._subsamples(len(points if reference is None else reference))
        return oracles.bagged_neighbor_distance(points, subsamples, reference)

    return statistic, values


PAIRS = [
    (MeanNeighborDistance(K), lambda p, r: -oracles.neighbor_distances(p, K, r).mean(axis=1)),
    (KthNeighborDistance(K), lambda p, r: oracles.kth_neighbor_distance(p, K, r)),
    (
        HalvedNeighborDistance(K, n_halvings=0),
        lambda p, r: oracles.halved_neighbor_distance(p, K, 0, None, r),
    ),
    (
        HalvedNeighborDistance(K, n_halvings=3, random_state=7),
        lambda p, r: oracles.halved_neighbor_distance(p, K, 3, 7, r),
    ),
    (
        HalvedNeighborDistance(K, n_halvings=3, random_state=7, nearest=True),
        lambda p, r: oracles.halved_neighbor_distance(p, K, 3, 7, r, nearest=True),
    ),
    (
        EpsilonNeighborhood(K, radius=0.7),
        lambda p, r: oracles.epsilon_neighborhood(p, K, 0.7, r),
    ),
    (KernelDensity(bandwidth=0.8), lambda p, r: oracles.kernel_density(p, 0.8, r)),
    (
        GeodesicNeighborDistance(K, n_graph_neighbors=3),
        lambda p, r: oracles.geodesic_neighbor_distance(p, K, 3, r),
    ),
    (DimensionAdaptedDistance(K), lambda p, r: oracles.dimension_adapted(p, K, r)),
    bagged_oracle(BaggedNeighborDistance(n_subsamples=9, subsample_size=5, random_state=3)),
    bagged_oracle(BaggedNeighborDistance(n_subsamples=40, subsample_size=1)),
    bagged_oracle(BaggedNeighborDistance(n_subsamples=3, subsample_size=1_000)),
]
STATISTICS_AND_ORACLES = pytest.mark.parametrize(
    ("statistic", "oracle"), PAIRS, ids=lambda value: type(value).__name__
)
NAMES = pytest.mark.parametrize("name", sorted(STATISTICS))


@STATISTICS_AND_ORACLES
@pytest.mark.parametrize("n_features", [1, 3])
def test_values_among_the_others_match_the_oracle(statistic, oracle, n_features, rng):
    points = rng.normal(size=(60, n_features))
    assert_allclose(statistic(points), oracle(points, None), rtol=1e-10)


@STATISTICS_AND_ORACLES
def test_values_among_a_reference_match_the_oracle(statistic, oracle, rng):
    points, reference = rng.normal(size=(25, 2)), rng.normal(size=(70, 2))
    assert_allclose(statistic(points, reference), oracle(points, reference), rtol=1e-10)


@NAMES
def test_every_statistic_orders_dense_above_sparse(name, rng):
    points = np.concatenate([rng.normal(size=(150, 2)), 6 + 3 * rng.normal(size=(50, 2))])
    values = named_statistic(name, n_neighbors=10, random_state=0)(points)
    assert roc_auc_score(np.arange(200) < 150, values) > 0.85


@NAMES
def test_every_statistic_survives_duplicates_and_few_points(name):
    statistic = named_statistic(name, n_neighbors=10, random_state=0)
    rows = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]]), [40, 5, 1], axis=0)
    values = statistic(rows)
    assert np.isfinite(values).all()
    assert values[:40].min() > values[-1]
    assert np.isfinite(statistic(rows[[0, 40, 45]])).all()
    assert np.isfinite(statistic(np.ones((20, 2)))).all()


@NAMES
def test_equal_rows_get_equal_values(name, rng):
    if name in ("halved_knn", "bagged_knn"):
        pytest.skip("random halves and subsamples put equal rows among different others")
    points = rng.normal(size=(40, 2))[rng.integers(0, 40, size=120)]
    values = named_statistic(name, n_neighbors=5)(points)
    for row in np.unique(points, axis=0):
        assert np.ptp(values[(points == row).all(axis=1)]) == 0.0


@NAMES
def test_every_statistic_is_reproducible(name, rng):
    points = rng.normal(size=(50, 2))
    statistic = named_statistic(name, n_neighbors=5, random_state=3)
    assert_array_equal(statistic(points), statistic(points))


def test_an_evenly_spaced_line_has_closed_forms():
    line = np.arange(101.0)[:, None]
    middle = 50
    assert MeanNeighborDistance(10)(line)[middle] == -3.0  # 1, 1, 2, 2, ..., 5, 5
    assert KthNeighborDistance(10)(line)[middle] == -5.0
    assert HalvedNeighborDistance(10, n_halvings=0)(line)[middle] == pytest.approx(-5.5)
    nearest = HalvedNeighborDistance(10, n_halvings=0, nearest=True)
    assert_allclose(nearest(line), MeanNeighborDistance(10)(line))
    assert_allclose(nearest(line[:6]), MeanNeighborDistance(10)(line[:6]))
    assert EpsilonNeighborhood(10, radius=3.5)(line)[middle] == 6 - 5 / 8.5
    sums = 2 * np.exp(-(np.arange(1, 51.0) ** 2) / 4.0).sum()
    assert KernelDensity(bandwidth=2.0)(line)[middle] == pytest.approx(np.log(sums))
    along = GeodesicNeighborDistance(10, n_graph_neighbors=2)(line)
    assert_allclose(along, MeanNeighborDistance(10)(line))


def test_the_epsilon_radius_gives_the_wanted_mean_degree(rng):
    points = rng.normal(size=(300, 2))
    counts = np.ceil(EpsilonNeighborhood(10)(points))
    assert counts.mean() == pytest.approx(10.0, abs=0.01)


def test_the_bandwidth_makes_left_out_points_most_likely(rng):
    points = rng.normal(size=(400, 1))
    chosen = KernelDensity(10)._most_likely_bandwidth(points)

    def likelihood(h):
        return (KernelDensity(bandwidth=h)(points) - np.log(h)).mean()

    assert likelihood(chosen) >= max(likelihood(2 * chosen), likelihood(chosen / 2))
    truth = -0.5 * points[:, 0] ** 2
    assert np.corrcoef(KernelDensity(10)(points), truth)[0, 1] > 0.95


def test_distances_along_a_circle_are_arcs_not_chords():
    angles = np.linspace(0, 2 * np.pi, 61)[:60]
    circle = np.c_[np.cos(angles), np.sin(angles)]
    step = 2 * np.sin(np.pi / 60)
    along = GeodesicNeighborDistance(20, n_graph_neighbors=2)(circle)
    assert_allclose(along, -5.5 * step)  # 1, 1, 2, 2, ..., 10, 10 steps
    assert (MeanNeighborDistance(20)(circle) > along).all()


def test_a_graph_of_all_neighbors_gives_plain_distances(rng):
    points = rng.normal(size=(50, 2))
    full = GeodesicNeighborDistance(5, n_graph_neighbors=5)(points)
    assert_allclose(full, MeanNeighborDistance(5)(points))


def test_points_out_of_reach_count_as_farther_than_any(rng):
    points = np.concatenate([rng.normal(size=(60, 2)), 50 + rng.normal(size=(6, 2))])
    values = GeodesicNeighborDistance(10, n_graph_neighbors=4)(points)
    assert np.isfinite(values).all()
    assert values[60:].max() <= values[:60].min()


def test_the_local_dimension_is_found():
    # A star with D_j = (j / K)^(1/2) about its center: log(D_K / D_j) = log(K / j) / 2.
    K = 10
    star = np.zeros((K, 5))
    star[:, 0] = 3.0 * (np.arange(1, K + 1) / K) ** 0.5
    dimension = 2 / np.log(K / np.arange(1, K)).mean()
    among_star = -oracles.kth_neighbor_distance(star, K - 1)
    unit = np.exp(np.log(among_star).mean())
    value = DimensionAdaptedDistance(K)(np.zeros((1, 5)), star)[0]
    assert 1 < dimension < 5
    assert value == pytest.approx(-dimension * np.log(3.0 / unit))


@NAMES
def test_units_do_not_change_the_order(name, rng):
    cloud = np.concatenate([rng.normal(size=(100, 5)), np.outer(rng.normal(size=100), np.ones(5))])
    statistic = named_statistic(name, n_neighbors=10, random_state=0)
    small, large = statistic(0.01 * cloud), statistic(100.0 * cloud)
    assert spearmanr(small, large).statistic > 0.999


@NAMES
@pytest.mark.parametrize("n_features", [2, 15])
def test_a_new_point_has_the_same_value_alone_and_in_any_batch(name, n_features, rng):
    reference = rng.integers(0, 3, size=(80, n_features)).astype(float)
    batch = np.concatenate([reference[:30], 1e3 + reference[:5], rng.normal(size=(15, n_features))])
    statistic = named_statistic(name, n_neighbors=6, random_state=0)
    together = statistic(batch, reference)
    assert_array_equal(together, [statistic(row[None], reference)[0] for row in batch])


@NAMES
@pytest.mark.parametrize(("n_neighbors", "n"), [(1, 30), (1, 2), (10, 2), (10, 3)])
def test_every_statistic_works_with_few_neighbors(name, n_neighbors, n, rng):
    statistic = named_statistic(name, n_neighbors=n_neighbors, random_state=0)
    assert np.isfinite(statistic(rng.normal(size=(n, 2)))).all()
    assert np.isfinite(statistic(rng.normal(size=(4, 2)), rng.normal(size=(1, 2)))).all()


def test_unreachable_and_repeated_reference_points_are_counted(rng):
    near, far = rng.normal(size=(30, 2)), 100 + rng.normal(size=(4, 2))
    reference = np.concatenate([near, near[:10], far])
    statistic = GeodesicNeighborDistance(8, n_graph_neighbors=3)
    new = np.array([[0.0, 0.0], [100.0, 100.0]])
    values = statistic(new, reference)
    without_copies = statistic(new, np.concatenate([near, far]))
    assert values[0] > without_copies[0]
    assert values[1] < values[0]
    # Four rows can be reached, each within a few units. The other four count as out of reach.
    paths = -statistic(reference)
    assert -values[1] > 0.5 * 2 * paths.max() / 8


def test_a_random_sample_chooses_radius_and_bandwidth(rng, monkeypatch):
    monkeypatch.setattr("rankad.statistics.kernel_density._MAX_ROWS_FOR_BANDWIDTH", 200)
    monkeypatch.setattr("rankad.statistics.epsilon_neighborhood._MAX_ROWS_FOR_RADIUS", 200)
    tight, wide = 0.01 * rng.normal(size=(400, 2)), 5 + rng.normal(size=(400, 2))
    alternating = np.stack([tight, wide], axis=1).reshape(-1, 2)
    shuffled = rng.permutation(alternating)
    for choose in (
        KernelDensity(10)._most_likely_bandwidth,
        lambda rows: _typical_radius(rows, 10),
    ):
        assert 0.5 < choose(alternating) / choose(shuffled) < 2.0
    counts = np.ceil(EpsilonNeighborhood(10)(shuffled))
    assert counts.mean() == pytest.approx(10.0, rel=0.2)


def test_copies_do_not_hide_the_scale_of_the_bandwidth():
    rows = np.repeat(100.0 * np.arange(12.0)[:, None] ** 2, 20, axis=0)
    assert KernelDensity(10)._most_likely_bandwidth(rows) > 10.0


def test_ties_of_counts_stay_ties_of_counts_at_radius_zero():
    rows = np.repeat(np.array([[0.0, 0.0], [300.0, 300.0], [1.0, 0.0]]), [300, 4, 1], axis=0)
    values = EpsilonNeighborhood(10, radius=0.0)(rows)
    assert values[0] > values[300] > values[304]


@pytest.mark.parametrize("n", [2, 3, 4, 31, 32, 500])
def test_subsamples_are_distinct_rows_and_at_most_half_of_them(n):
    drawn = BaggedNeighborDistance(n_subsamples=50)._subsamples(n)
    assert drawn.shape == (50, min(16, n // 2))
    assert all(len({*rows}) == len(rows) for rows in drawn)
    assert drawn.min() >= 0
    assert drawn.max() < n
    assert_array_equal(drawn, BaggedNeighborDistance(n_subsamples=50)._subsamples(n))


def test_subsamples_are_drawn_by_the_random_state(rng):
    points = rng.normal(size=(100, 3))
    first, again, other = (BaggedNeighborDistance(random_state=s)(points) for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bagged_distances_go_chunk_by_chunk(n_jobs, rng, monkeypatch):
    points = rng.normal(size=(100, 4))
    together = BaggedNeighborDistance()(points)
    monkeypatch.setattr("rankad.statistics.search._CHUNK_QUERIES", 7)
    assert_array_equal(BaggedNeighborDistance(n_jobs=n_jobs)(points), together)


def test_copies_count_in_subsamples_and_the_row_itself_does_not():
    pairs = np.repeat(np.arange(4.0)[:, None], 2, axis=0)
    everything = BaggedNeighborDistance(n_subsamples=200, subsample_size=4)
    assert (everything(pairs) > -1.0).all()  # about every second subsample has a copy
    apart = 10.0 * np.arange(8.0)[:, None]
    assert (everything(apart) <= -10.0).all()


def test_a_row_alone_in_all_subsamples_is_measured_among_all():
    points = np.array([[0.0], [1.0], [5.0]])
    statistic = BaggedNeighborDistance(n_subsamples=1, subsample_size=1)
    drawn = statistic._subsamples(3).item()
    values = statistic(points)
    assert values[drawn] == -[1.0, 1.0, 4.0][drawn]
    assert_allclose(np.delete(values, drawn), -np.abs(np.delete(points, drawn) - points[drawn]))


def test_a_clump_of_anomalies_stays_anomalous_to_bagged_distances(rng):
    clump = 6.0 + 0.01 * rng.normal(size=(20, 5))
    points = np.concatenate([rng.normal(size=(980, 5)), clump])
    is_nominal = np.arange(1_000) < 980
    assert roc_auc_score(is_nominal, BaggedNeighborDistance()(points)) > 0.99
    assert roc_auc_score(is_nominal, MeanNeighborDistance(5)(points)) < 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BaggedNeighborDistance(n_subsamples=0), "n_subsamples must be at least 1"),
        (lambda: BaggedNeighborDistance(subsample_size=0), "subsample_size must be at least 1"),
        (lambda: HalvedNeighborDistance(n_halvings=-1), "n_halvings must not be negative"),
        (lambda: KernelDensity(bandwidth=0.0), "bandwidth must be positive"),
        (lambda: EpsilonNeighborhood(radius=-1.0), "radius must not be negative"),
        (lambda: GeodesicNeighborDistance(n_graph_neighbors=0), "graph_neighbors must be at least"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError, match="nearest"):
        named_statistic("nearest")
