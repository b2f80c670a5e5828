from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from rankad.explanations import search
from rankad.explanations.nominal_rows import MAX_KEPT_ROWS, NominalRows
from rankad.explanations.search import Search, Units


def score(rows):
    """Minus the distance to the line on which all columns are equal, and to its middle."""
    rows = np.asarray(rows)
    middle = rows.mean(axis=1)
    return -np.abs(rows - middle[:, None]).sum(axis=1) - 0.1 * np.abs(middle)


@pytest.fixture
def pool(rng):
    return NominalRows.from_rows(rng.normal(size=(9, 1)) + 0.1 * rng.normal(size=(9, 5)))


@pytest.fixture
def rows(rng):
    near = rng.normal(size=(40, 1)) + 0.1 * rng.normal(size=(40, 5))
    return near + 6.0 * rng.normal(size=(40, 5)) * (rng.random(size=(40, 5)) < 0.5)


def fewest_by_hand(row, pool, threshold):
    """Smallest number of columns whose change suffices, and the best score with so many."""
    donors = pool.rows[score(pool.rows) >= threshold]
    for size in range(1, 4):
        best = -np.inf
        for columns in combinations(range(len(row)), size):
            after = np.tile(row, (len(donors), 1))
            after[:, columns] = donors[:, columns]
            best = max(best, score(after).max())
        if best >= threshold:
            return size, best
    return 0, score(row[None])[0]


THRESHOLD = -1.2


def explained(pool, rows, max_features=3, threshold=THRESHOLD):
    thresholds = np.full(len(rows), threshold)
    return Search(score, pool, max_features)(rows, thresholds, score(rows) < thresholds)


def test_the_fewest_columns_are_found(pool, rows):
    found = explained(pool, rows)
    alone = found.rows[~found.in_groups] != rows[~found.in_groups]
    is_alarm = score(rows) < THRESHOLD
    by_hand = [
        fewest_by_hand(row, pool, THRESHOLD)[0] if is_alarm[i] else 0 for i, row in enumerate(rows)
    ]
    assert set(by_hand) == {0, 1, 2, 3}
    assert_array_equal(alone.sum(axis=1), np.array(by_hand)[~found.in_groups])
    assert not np.array(by_hand)[found.in_groups].any()


def test_of_the_changes_of_one_column_the_best_is_taken(pool, rows):
    found, n_compared = explained(pool, rows), 0
    for i in np.flatnonzero((found.rows != rows).sum(axis=1) == 1):
        assert_allclose(score(found.rows[[i]])[0], fewest_by_hand(rows[i], pool, THRESHOLD)[1])
        n_compared += 1
    assert n_compared > 3


def test_rows_that_are_not_wanted_stay(pool, rows):
    found = Search(score, pool, 3)(rows, np.full(40, THRESHOLD), np.zeros(40, dtype=bool))
    assert_array_equal(found.rows, rows)
    assert not found.in_groups.any()


def test_every_row_has_its_own_threshold(pool, rows):
    thresholds = np.where(np.arange(40) % 2, -1.2, -2.5)
    found = Search(score, pool, 3)(rows, thresholds, score(rows) < thresholds)
    for of_threshold in (-1.2, -2.5):
        at = np.flatnonzero(thresholds == of_threshold)
        expected = explained(pool, rows[at], threshold=of_threshold)
        assert_array_equal(found.rows[at], expected.rows)


def test_the_nearest_row_is_a_nominal_one(pool, rows):
    for threshold in (THRESHOLD, -0.2):
        donors = pool.rows[score(pool.rows) >= threshold]
        assert 0 < len(donors) <= len(pool.rows)
        distances = cdist(rows / pool.scale, donors / pool.scale)
        found = explained(pool, rows, threshold=threshold)
        assert_array_equal(found.nearest, donors[distances.argmin(axis=1)])
    assert len(pool.rows[score(pool.rows) >= -0.2]) < len(pool.rows)


def test_nominal_rows_that_all_alarm_are_refused(pool, rows):
    with pytest.raises(ValueError, match=r"all 9 nominal rows alarm themselves\. Give other nom"):
        explained(pool, rows, threshold=1.0)
    nothing = np.zeros(len(rows), dtype=bool)
    found = Search(score, pool, 3)(rows, np.full(len(rows), 1.0), nothing)
    distances = cdist(rows / pool.scale, pool.rows / pool.scale)
    assert_array_equal(found.nearest, pool.rows[distances.argmin(axis=1)])


def test_not_all_groups_change(rng):
    common = rng.normal(size=(50, 2))[:, [0, 0, 0, 0, 1, 1, 1, 1]]
    pool = NominalRows.from_rows(common + 0.01 * rng.normal(size=common.shape))
    far = np.full((1, 8), 50.0)
    limit, is_wanted = np.array([-3.0]), np.ones(1, dtype=bool)
    found = Search(lambda rows: -np.abs(rows).max(axis=1), pool, 3)(far, limit, is_wanted)
    assert_array_equal(found.rows, far)
    half = np.repeat([[50.0, 0.0]], 4, axis=1).reshape(1, 8)
    half[0, :4], half[0, 4:] = 50.0, 0.0
    found = Search(lambda rows: -np.abs(rows).max(axis=1), pool, 3)(half, limit, is_wanted)
    assert_array_equal(found.rows != half, [[True] * 4 + [False] * 4])
    assert found.in_groups[0]


@pytest.mark.parametrize("n_entries", [1, 500])
def test_blocks_of_any_size_give_the_same(pool, rows, n_entries, monkeypatch):
    in_one_block = explained(pool, rows)
    monkeypatch.setattr(search, "_CHUNK_ENTRIES", n_entries)
    in_blocks = explained(pool, rows)
    assert_array_equal(in_one_block.rows, in_blocks.rows)
    assert_array_equal(in_one_block.nearest, in_blocks.nearest)


def test_a_column_very_far_out_does_not_hide_the_others(pool):
    row = pool.rows[[0]].copy()
    row[0, 1], row[0, 3] = 1e300, row[0, 3] + 9.0
    found = explained(pool, row)
    assert_array_equal(np.flatnonzero(found.rows[0] != row[0]), [1, 3])


def test_units_add_their_columns(rng):
    squares = rng.exponential(size=(4, 5))
    units = Units(np.array([1, 0, 1, 2, 0]), are_groups=True)
    expected = [squares[:, [1, 4]].sum(axis=1), squares[:, [0, 2]].sum(axis=1), squares[:, 3]]
    assert_allclose(units.sums(squares), np.transpose(expected))
    assert len(units) == 3


def test_columns_are_one_group_if_every_two_are_strongly_correlated(rng):
    common = rng.normal(size=(3_000, 2))
    noise = rng.normal(size=(3_000, 6))
    rows = np.column_stack(
        [
            common[:, 0] + 0.3 * noise[:, 0],
            noise[:, 1],
            -common[:, 0] + 0.3 * noise[:, 2],
            np.full(3_000, 7.0),
            common[:, 1] + 0.3 * noise[:, 3],
            common[:, 0] + 2.0 * noise[:, 4],
            5.0 * common[:, 1] + 0.3 * noise[:, 5],
        ]
    )
    units = NominalRows.from_rows(rows).units_by_correlation
    assert units[0] == units[2]
    assert units[4] == units[6]
    assert len(set(units)) == 5
    assert set(units) == set(range(5))


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 3.0]] * 9])
def test_few_or_equal_rows_have_no_groups(rows):
    assert_array_equal(NominalRows.from_rows(np.array(rows)).units_by_correlation, [0, 1])


def test_rows_of_any_size_can_be_given(rng):
    rows = np.array([1.0, 1e308])[:, None, None] * rng.uniform(-1.0, 1.0, size=(30, 3))
    pool = NominalRows.from_rows(rows.reshape(-1, 3))
    assert_array_equal(np.sort(pool.units_by_correlation), [0, 1, 2])
    assert not np.isnan(pool.squares(np.array([0.0, -1e308, 5.0]))).any()


def test_at_most_so_many_rows_are_kept(rng):
    rows = rng.normal(size=(MAX_KEPT_ROWS + 500, 2))
    kept = NominalRows.drawn(rows, np.random.RandomState(0)).rows
    assert len(kept) == MAX_KEPT_ROWS
    assert set(map(tuple, kept)) <= set(map(tuple, rows))
    first_half = np.isin(rows[: len(rows) // 2, 0], kept[:, 0]).mean()
    assert 0.75 < first_half < 0.85  # drawn at random: 2,000 of 2,500
    assert len(NominalRows.from_rows(np.repeat(rows[:50], 3, axis=0)).distinct.rows) == 50


@pytest.mark.parametrize("value", [7.0, 0.0, -1e12])
def test_in_a_constant_column_every_other_value_is_far(value):
    pool = NominalRows.from_rows(np.column_stack([np.full(9, value), np.arange(9.0)]))
    assert_array_equal(pool.squares(np.array([value, 0.0]))[:, 0], np.zeros(9))
    other = value * 1.01 + 0.1
    assert (pool.squares(np.array([other, 0.0]))[:, 0] > 1e4).all()
    assert np.isfinite(pool.squares(np.array([1e308, -1e308]))).all()


def test_usual_values_occur(rng):
    rows = rng.integers(0, 2, size=(101, 3)).astype(float)
    rows[:, 0] = rng.permutation(101)
    usual = NominalRows.from_rows(rows).usual_values
    assert_array_equal(usual[:, 0], [5.0, 95.0])
    mostly_zero = np.concatenate([np.zeros((96, 1)), rng.uniform(50.0, 100.0, size=(4, 1))])
    assert_array_equal(NominalRows.from_rows(mostly_zero).usual_values, [[0.0], [0.0]])
    assert np.isin(usual[:, 1:], [0.0, 1.0]).all()
