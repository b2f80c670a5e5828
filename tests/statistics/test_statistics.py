"""Every statistic against a slow oracle, and against a closed form where there is one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

import oracles
from rankad.statistics import (
    STATISTICS,
    DimensionAdaptedDistance,
    EpsilonNeighborhood,
    GeodesicNeighborDistance,
    HalvedNeighborDistance,
    KernelDensity,
    KthNeighborDistance,
    MeanNeighborDistance,
    named_statistic,
)

K = 6
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
        EpsilonNeighborhood(K, radius=0.7),
        lambda p, r: oracles.epsilon_neighborhood(p, K, 0.7, r),
    ),
    (KernelDensity(bandwidth=0.8), lambda p, r: oracles.kernel_density(p, 0.8, r)),
    (
        GeodesicNeighborDistance(K, n_graph_neighbors=3),
        lambda p, r: oracles.geodesic_neighbor_distance(p, K, 3, r),
    ),
    (DimensionAdaptedDistance(K), lambda p, r: oracles.dimension_adapted(p, K, r)),
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
@pytest.mark.parametrize("name_of_other", ["halved_knn"])
def test_equal_rows_get_equal_values(name, name_of_other, rng):
    if name == name_of_other:
        pytest.skip("random halves put equal rows among different others")
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


def test_the_local_dimension_is_found(rng):
    # Exactly D_j = (j / K)^(1/d): sum_j<K log(K / j) = log(K^(K-1) / (K-1)!).
    K, d = 10, 2
    radii = (np.arange(1, K + 1) / K) ** (1 / d)
    star = np.concatenate([np.zeros((1, 5)), np.eye(K, 5)[:, :5] * 0])
    star[1:, 0] = radii
    mean_log = np.log(K / np.arange(1, K)).mean() / d
    value = DimensionAdaptedDistance(K)(star[:1] * 1.0, star[1:] * 3.0)[0]
    assert value == pytest.approx(-(1 / mean_log) * np.log(3.0))


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError, match="nearest"):
        named_statistic("nearest")
