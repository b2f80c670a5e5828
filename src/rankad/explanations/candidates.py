"""Candidates for a change: a nominal row, and the units of columns to take from it.

A change is promising if the row, after the change, is close to the nominal row. The changed columns
are then equal, so the distance in the other columns decides: the *rest*. For one nominal row, the
best change of k units is that of the k units with the largest differences. So the best candidates
of k units come from a partial sort of each nominal row's differences, not from all sets of units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankad._typing import BoolArray, FloatArray, IntArray

#: Candidates of a row in one round, at most.
N_CANDIDATES = 200

#: The second round: for so many of the best sets of units, so many nominal rows.
_N_SETS = 10
_N_ROWS_FOR_SET = 10


class Candidates(NamedTuple):
    """Which nominal row each candidate takes values from, and in which units."""

    donors: IntArray
    are_taken: BoolArray


def first_candidates(squares: FloatArray, size: int) -> Candidates:
    """The most promising changes of ``size`` units, by the squared differences in each unit.

    If all units change, the other columns say nothing, and the first nominal rows are taken.

    >>> squares = np.array([[9.0, 0.0, 1.0], [0.0, 0.5, 8.0]])
    >>> first_candidates(squares, size=1)[0][:2]  # the rests are .5 and 1
    array([1, 0])
    """
    n_units = squares.shape[1]
    if size == n_units:
        n_donors = min(len(squares), N_CANDIDATES)
        return Candidates(np.arange(n_donors), np.ones((n_donors, n_units), dtype=bool))
    if size == 1:
        rests = sums_of_others(squares)
        # Every unit has its candidates: the nearest rows without a guilty unit need not be nearest.
        nearest = _smallest(rests, max(1, N_CANDIDATES // n_units))
        donors = nearest.ravel()
        units = np.broadcast_to(np.arange(n_units), nearest.shape).ravel()
        best = _in_order(rests[donors, units], N_CANDIDATES)
        return Candidates(donors[best], _one_hot(units[best, None], n_units))
    n_others = n_units - size
    order = np.argpartition(squares, n_others - 1, axis=1)
    rests = np.take_along_axis(squares, order[:, :n_others], axis=1).sum(axis=1)
    donors = _in_order(rests, N_CANDIDATES)
    return Candidates(donors, _one_hot(order[donors, n_others:], n_units))


def second_candidates(squares: FloatArray, first: Candidates, scores: FloatArray) -> Candidates:
    """For the sets of units that scored best: the nominal rows that are nearest in the rest."""
    sets: dict[bytes, BoolArray] = {}
    for best in np.argsort(-scores, kind="stable"):
        sets.setdefault(first.are_taken[best].tobytes(), first.are_taken[best])
        if len(sets) == _N_SETS:
            break
    nearest = [
        _in_order(squares[:, ~is_taken].sum(axis=1), _N_ROWS_FOR_SET) for is_taken in sets.values()
    ]
    n_each = len(nearest[0])
    are_taken = np.repeat(np.array(list(sets.values())), n_each, axis=0)
    return Candidates(np.concatenate(nearest), are_taken)


def sums_of_others(terms: FloatArray) -> FloatArray:
    """For each column, the sum of all other columns.

    It is not the sum of all columns minus one: that difference loses all digits if one is huge.

    >>> sums_of_others(np.array([[1.0, 1e20, 5.0]]))
    array([[1.e+20, 6.e+00, 1.e+20]])
    """
    sums = np.zeros_like(terms)
    np.cumsum(terms[:, :-1], axis=1, out=sums[:, 1:])
    sums[:, :-1] += np.cumsum(terms[:, :0:-1], axis=1)[:, ::-1]
    return sums


def _smallest(values: FloatArray, n: int) -> IntArray:
    """Rows of the n smallest values of each column, in any order; all if there are fewer."""
    if len(values) <= n:
        return np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    return np.argpartition(values, n - 1, axis=0)[:n]


def _in_order(values: FloatArray, n: int) -> IntArray:
    """Positions of the n smallest values, smallest first; all if there are fewer."""
    if len(values) > n:
        nearest = np.argpartition(values, n - 1)[:n]
        return np.asarray(nearest[np.argsort(values[nearest], kind="stable")])
    return np.argsort(values, kind="stable")


def _one_hot(units: IntArray, n_units: int) -> BoolArray:
    """Sets of units as masks."""
    masks = np.zeros((len(units), n_units), dtype=bool)
    np.put_along_axis(masks, units, True, axis=1)
    return masks
