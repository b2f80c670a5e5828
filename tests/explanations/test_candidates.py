from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.explanations.candidates import (
    N_CANDIDATES,
    Candidates,
    first_candidates,
    second_candidates,
    sums_of_others,
)


def rests_of(squares, candidates):
    return np.array(
        [
            squares[donor][~is_taken].sum()
            for donor, is_taken in zip(candidates.donors, candidates.are_taken, strict=True)
        ]
    )


def all_rests(squares, size):
    """The rest of every nominal row and every set of so many units."""
    n_units = squares.shape[1]
    return np.array(
        [
            [row[list(others)].sum() for others in combinations(range(n_units), n_units - size)]
            for row in squares
        ]
    )


@pytest.mark.parametrize("n_rows", [1, 7, 60])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_first_candidates_are_those_with_the_smallest_rests(rng, n_rows, size):
    squares = rng.exponential(size=(n_rows, 6))
    found = first_candidates(squares, size)
    assert_array_equal(found.are_taken.sum(axis=1), size)
    rests = all_rests(squares, size)
    if size == 1:  # the nearest rows of each unit
        expected = np.sort(np.sort(rests, axis=0)[: N_CANDIDATES // 6].ravel())
    else:  # the best set of each row
        expected = np.sort(rests.min(axis=1))[:N_CANDIDATES]
    assert_allclose(rests_of(squares, found), expected)


def test_there_are_not_too_many_candidates(rng):
    squares = rng.exponential(size=(500, 40))
    for size in (1, 2, 40):
        assert len(first_candidates(squares, size).donors) == N_CANDIDATES


@pytest.mark.parametrize("n_units", [5, 60, 200])
def test_every_unit_has_its_candidates(n_units, rng):
    squares = rng.exponential(size=(500, n_units)) * np.geomspace(1.0, 1e6, n_units)
    found = first_candidates(squares, 1)
    assert_array_equal(found.are_taken.sum(axis=0), N_CANDIDATES // n_units)


def test_if_all_units_change_the_first_rows_are_taken(rng):
    found = first_candidates(rng.exponential(size=(5, 2)), 2)
    assert_array_equal(found.donors, np.arange(5))
    assert found.are_taken.all()


def test_the_second_candidates_are_the_nearest_rows_for_the_best_sets(rng):
    squares = rng.exponential(size=(60, 5))
    are_taken = np.eye(5, dtype=bool)[[0, 1, 1, 3]]
    first = Candidates(np.array([4, 5, 6, 7]), are_taken)
    found = second_candidates(squares, first, scores=np.array([1.0, 3.0, 2.0, 9.0]))
    assert_array_equal(found.are_taken, np.repeat(np.eye(5, dtype=bool)[[3, 1, 0]], 10, axis=0))
    for unit, donors in zip([3, 1, 0], np.split(found.donors, 3), strict=True):
        rests = np.delete(squares, unit, axis=1).sum(axis=1)
        assert_array_equal(donors, np.argsort(rests)[:10])


def test_sums_of_others_are_sums(rng):
    terms = rng.exponential(size=(7, 5))
    expected = [[np.delete(row, i).sum() for i in range(5)] for row in terms]
    assert_allclose(sums_of_others(terms), expected)
    assert_array_equal(sums_of_others(terms[:, :1]), np.zeros((7, 1)))
