from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.statistics import MeanNeighborDistance, neighbor_distances
from rankad.statistics.neighbors import (
    distinct_rows,
    of_neighbor_distances,
    repeat_sorted,
    row_means,
)

SEARCHES = pytest.mark.parametrize(
    ("n_features", "method"),
    [(1, "tree"), (3, "tree"), (3, "brute"), (25, "brute")],
)


def searching_by(method):
    return mock.patch("rankad.statistics.search._TREE_ROWS", {"tree": 0, "brute": np.inf}[method])


@SEARCHES
@pytest.mark.parametrize("n_neighbors", [1, 5, 69])
def test_distances_match_the_obvious_loop(n_features, method, n_neighbors, rng):
    points = rng.normal(size=(70, n_features))
    with searching_by(method):
        distances = neighbor_distances(points, n_neighbors)
    assert_allclose(distances, oracles.neighbor_distances(points, n_neighbors))


@SEARCHES
@pytest.mark.parametrize("n_searched", [1, 31, 300])
def test_distances_to_a_reference_match_the_obvious_loop(n_features, method, n_searched, rng):
    points = rng.normal(size=(20, n_features))
    reference = rng.normal(size=(n_searched, n_features))
    n_neighbors = min(5, n_searched)
    with searching_by(method):
        distances = neighbor_distances(points, n_neighbors, reference)
    assert_allclose(distances, oracles.neighbor_distances(points, n_neighbors, reference))


@SEARCHES
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 40), n_values=st.integers(1, 4))
def test_copies_are_neighbors_and_self_is_not(n_features, method, seed, n, n_values):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, n_values, size=(n, n_features)).astype(float)
    n_neighbors = int(rng.integers(1, n))
    with searching_by(method):
        distances = neighbor_distances(points, n_neighbors)
    assert_allclose(distances, oracles.neighbor_distances(points, n_neighbors), atol=1e-12)


@SEARCHES
@pytest.mark.parametrize("n_neighbors", [200, 349])
@pytest.mark.parametrize("n_distinct", [1, 40, 250, 350])
def test_many_neighbors_match_the_obvious_loop(n_features, method, n_neighbors, n_distinct, rng):
    distinct = rng.normal(size=(n_distinct, n_features))
    points = distinct[rng.permutation(np.arange(350) % n_distinct)]
    with searching_by(method):
        distances = neighbor_distances(points, n_neighbors)
        to_points = neighbor_distances(points[:30] + 0.1, n_neighbors, points)
    assert_allclose(distances, oracles.neighbor_distances(points, n_neighbors), atol=1e-14)
    expected = oracles.neighbor_distances(points[:30] + 0.1, n_neighbors, points)
    assert_allclose(to_points, expected)


@SEARCHES
def test_many_neighbors_tie(n_features, method, rng):
    points = rng.integers(0, 4, size=(300, n_features)).astype(float)
    with searching_by(method):
        distances = neighbor_distances(points, 200)
    assert_array_equal(distances, oracles.neighbor_distances(points, 200))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), most_copies=st.integers(1, 5))
def test_distances_are_repeated_as_often_as_rows_occur(seed, n, most_copies):
    rng = np.random.default_rng(seed)
    multiplicities = rng.integers(0, most_copies + 1, size=(7, n))
    multiplicities[:, -1] += most_copies
    distances = np.sort(rng.normal(size=(7, n)), axis=1)
    n_wanted = int(rng.integers(1, multiplicities.sum(axis=1).min() + 1))
    expected = [
        np.repeat(row, counts)[:n_wanted]
        for row, counts in zip(distances, multiplicities, strict=True)
    ]
    assert_array_equal(repeat_sorted(distances, multiplicities, n_wanted), expected)


@SEARCHES
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_functions_of_neighbor_distances_go_chunk_by_chunk(
    n_features, method, n_jobs, rng, monkeypatch
):
    points = rng.integers(0, 9, size=(50, n_features)).astype(float)
    with searching_by(method):
        expected = row_means(neighbor_distances(points, 40))
        monkeypatch.setattr("rankad.statistics.search._CHUNK_NEIGHBORS", 200)
        lengths = []

        def means(nearest):
            lengths.append(len(nearest))
            return row_means(nearest)

        assert_array_equal(of_neighbor_distances(means, points, 40, None, n_jobs), expected)
    assert max(lengths) <= 200 // min(41, len(np.unique(points, axis=0)))


@SEARCHES
def test_equal_rows_get_equal_statistics_to_the_last_bit(n_features, method, rng):
    points = rng.normal(size=(60, n_features))[rng.integers(0, 60, size=300)]
    with searching_by(method):
        values = MeanNeighborDistance(7)(points)
    distinct = distinct_rows(points)
    for group in range(len(distinct.rows)):
        assert np.ptp(values[distinct.inverse == group]) == 0.0


def test_a_row_repeated_thousands_of_times_has_distance_zero(rng):
    points = np.concatenate([np.zeros((3000, 6)), rng.normal(size=(7000, 6))])
    values = MeanNeighborDistance(10)(points)
    assert_array_equal(values[:3000], 0.0)
    assert (values[3000:] < 0.0).all()


def test_an_offset_far_from_the_origin_loses_no_neighbors(rng):
    points = rng.normal(size=(80, 20))
    assert_allclose(
        neighbor_distances(points + 1e6, 4), oracles.neighbor_distances(points, 4), rtol=1e-6
    )


def test_distinct_rows_restore_the_array(rng):
    points = rng.integers(0, 2, size=(50, 3)).astype(float)
    distinct = distinct_rows(points)
    assert_array_equal(distinct.rows[distinct.inverse], points)
    assert_array_equal(distinct.counts, np.bincount(distinct.inverse))
    assert len(np.unique(points, axis=0)) == len(distinct.rows)


@pytest.mark.parametrize("n_jobs", [None, 2])
@SEARCHES
def test_searches_go_chunk_by_chunk(n_features, method, n_jobs, rng, monkeypatch):
    points = rng.integers(0, 9, size=(50, n_features)).astype(float)
    with searching_by(method):
        whole = neighbor_distances(points, 4)
        monkeypatch.setattr("rankad.statistics.search._CHUNK_ENTRIES", 200)
        assert_array_equal(neighbor_distances(points, 4, n_jobs=n_jobs), whole)


@SEARCHES
def test_close_rows_far_apart_find_their_own_neighbors(n_features, method, rng):
    near = 1e-9 * rng.normal(size=(40, n_features))
    points = near + np.repeat([[0.0], [1.0]], 20, axis=0)
    with searching_by(method):
        distances = neighbor_distances(points, 3)
    assert_allclose(distances, oracles.neighbor_distances(points, 3))


@pytest.mark.parametrize("n_neighbors", [0, 5])
def test_too_many_neighbors_are_refused(n_neighbors):
    with pytest.raises(ValueError, match="between 1 and 4, the number of other points"):
        neighbor_distances(np.arange(5.0)[:, None], n_neighbors)


def test_the_mean_uses_all_others_where_there_are_too_few():
    values = MeanNeighborDistance(n_neighbors=10)(np.array([[0.0], [1.0], [3.0]]))
    assert_allclose(values, [-2.0, -1.5, -2.5])
