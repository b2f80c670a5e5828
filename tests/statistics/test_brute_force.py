"""Brute force against the obvious loop: exact, in order, and the same in every batch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.statistics.brute_force import BruteForce, _Screen, _select


def normal(rng):
    return rng.normal(size=(400, 7))


def many_columns(rng):
    return rng.normal(size=(300, 150))


def one_column(rng):
    return rng.normal(size=(300, 1))


def duplicated(rng):
    return rng.normal(size=(60, 5))[rng.integers(0, 60, size=500)]


def grid(rng):
    return rng.integers(0, 3, size=(500, 6)).astype(float)


def tight_clusters_far_away(rng):
    centers = 1e6 * rng.normal(size=(4, 9))
    return centers[rng.integers(0, 4, size=600)] + 1e-4 * rng.normal(size=(600, 9))


def tight_cluster_and_outlier(rng):
    return np.concatenate([1e-7 * rng.normal(size=(500, 4)), np.full((1, 4), 1e9)])


def constant_columns(rng):
    rows = rng.normal(size=(300, 6))
    rows[:, [0, 3]] = 1e12
    return rows


def constant_rows(rng):
    return np.full((200, 3), 0.1)


def huge(rng):
    return 1e150 * rng.uniform(-1, 1, size=(300, 5))


def tiny(rng):
    return 1e-150 * rng.normal(size=(300, 5))


def huge_and_tiny(rng):
    return 10.0 ** rng.uniform(-150, 150, size=(400, 5))


CLOUDS = pytest.mark.parametrize(
    "cloud",
    [
        normal,
        many_columns,
        one_column,
        duplicated,
        grid,
        tight_clusters_far_away,
        tight_cluster_and_outlier,
        constant_columns,
        constant_rows,
        huge,
        tiny,
        huge_and_tiny,
    ],
    ids=lambda cloud: cloud.__name__,
)


@CLOUDS
@pytest.mark.parametrize("n_nearest", [1, 10, 40, 200])
def test_distances_match_the_obvious_loop(cloud, n_nearest, rng):
    rows = cloud(rng)
    indices, distances = BruteForce(rows, n_nearest)(rows)
    expected = oracles.nearest_rows(rows, rows, n_nearest)
    assert_allclose(distances, expected[1], rtol=1e-14)
    differences = rows[indices] - rows[:, None]
    assert_allclose(distances, np.sqrt((differences**2).sum(axis=2)), rtol=1e-14)


@pytest.mark.parametrize("n_nearest", [1, 10, 40, 200, 500])
def test_equal_distances_are_in_the_order_of_the_indices(n_nearest, rng):
    rows = grid(rng)  # whole numbers: sums of squares are exact in any order
    indices, distances = BruteForce(rows, n_nearest)(rows)
    expected = oracles.nearest_rows(rows, rows, n_nearest)
    assert_array_equal(distances, expected[1])
    assert_array_equal(indices, expected[0])


@pytest.mark.parametrize("n_nearest", [64, 65, 200])
@pytest.mark.parametrize("cloud", [grid, duplicated, normal], ids=lambda cloud: cloud.__name__)
def test_many_of_many_rows_are_screened_and_sorted(cloud, n_nearest, rng):
    rows = np.round(np.concatenate([cloud(rng) for _ in range(4)]))  # whole numbers, so they tie
    search = BruteForce(rows, n_nearest)
    assert search._coarse is not None
    queries = rows[rng.choice(len(rows), 50, replace=False)]
    expected = oracles.nearest_rows(rows, queries, n_nearest)
    for found, wanted in zip(search(queries), expected, strict=True):
        assert_array_equal(found, wanted)


@CLOUDS
def test_a_query_has_the_same_result_in_every_batch(cloud, rng):
    rows = cloud(rng)
    search = BruteForce(rows, 10)
    indices, distances = search(rows)
    for part in (slice(7, 8), slice(0, 33), slice(100, None)):
        part_indices, part_distances = search(rows[part])
        assert_array_equal(part_indices, indices[part])
        assert_array_equal(part_distances, distances[part])


@CLOUDS
@pytest.mark.parametrize("n_nearest", [10, 100])
def test_screens_leave_what_a_complete_sort_finds(cloud, n_nearest, rng):
    rows = np.concatenate([cloud(rng) for _ in range(1 + n_nearest // 25)])
    screened, complete = BruteForce(rows, n_nearest), BruteForce(rows, n_nearest)
    complete._coarse = None
    for found, expected in zip(screened(rows[:300]), complete(rows[:300]), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("n_nearest", [3, 70, 150])
@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e160])
def test_selection_is_a_stable_sort(n_nearest, scale, rng):
    candidates = np.sort(rng.choice(1_000, 400, replace=False))
    squares = scale * rng.integers(0, 150, size=400)
    found = np.zeros((2, n_nearest), dtype=np.int64), np.zeros((2, n_nearest))
    squares[rng.choice(400, 5)] = np.inf
    _select(candidates, squares, 1, *found)
    order = np.argsort(squares, kind="stable")[:n_nearest]
    assert_array_equal(found[0][1], candidates[order])
    assert_array_equal(found[1][1], squares[order])


def test_many_candidates_go_through_the_finer_screen(rng):
    rows = tight_clusters_far_away(rng)
    search = BruteForce(rows, 10)
    assert search._coarse is not None
    remaining = search._by_screen(
        *(search._coarse, search._max_candidates, rows, np.arange(len(rows))),
        *(np.zeros((len(rows), 10), dtype=np.int64), np.zeros((len(rows), 10))),
    )
    assert len(remaining) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@CLOUDS
def test_bounds_hold(cloud, dtype, rng):
    rows = cloud(rng)
    screen = _Screen.from_rows(rows, 10, dtype)
    coefficients, offsets = screen.coefficients(rows)
    lower = (coefficients @ screen.factors)[:, : len(rows)].astype(float)
    slack = screen.slack.ravel()[: len(rows)].astype(float)
    with np.errstate(under="ignore"):
        scaled = np.longdouble(screen.scale) * (rows.astype(np.longdouble) - screen.center)
        squares = ((scaled[:, None] - scaled) ** 2).sum(axis=2)
        own = (scaled**2).sum(axis=1)[:, None]
    half_offset = 0.5 * offsets.astype(float)[:, None]
    assert (lower - half_offset <= squares - own).all()
    assert (squares - own <= lower + slack + half_offset).all()


@pytest.mark.parametrize("magnitude", [1e20, 1e150, 1e300])
def test_queries_far_from_all_rows_find_them(magnitude, rng):
    rows = rng.normal(size=(300, 4))
    queries = magnitude * np.eye(4)
    with np.errstate(over="ignore"):
        indices, distances = BruteForce(rows, 5)(queries)
        expected = oracles.nearest_rows(rows, queries, 5)
    assert_allclose(distances, expected[1])
    assert all(len(set(row)) == 5 for row in indices)


def test_rows_whose_differences_overflow_are_at_infinity():
    rows = 1e307 * np.linspace(-17, 17, 100)[:, None]
    with np.errstate(over="ignore"):
        indices, distances = BruteForce(rows, 3)(rows)
    assert_array_equal(distances[:, 1:], np.inf)
    assert indices.min() >= 0


@pytest.mark.parametrize("n_nearest", [1, 3])
def test_few_rows_suffice(n_nearest, rng):
    rows = rng.normal(size=(3, 2))
    indices, distances = BruteForce(rows[:n_nearest], n_nearest)(rows)
    assert_array_equal(indices, oracles.nearest_rows(rows[:n_nearest], rows, n_nearest)[0])
    assert distances.shape == (3, n_nearest)


def test_no_queries_have_no_neighbors(rng):
    indices, distances = BruteForce(rng.normal(size=(200, 2)), 4)(np.empty((0, 2)))
    assert indices.shape == distances.shape == (0, 4)
