"""The search for the fewest features whose change makes a row nominal.

It goes through one feature, two, three, and stops at the first number that suffices. Every change
takes all its values from one nominal row, so correlated columns change together. If no such change
is found, whole groups of strongly correlated columns change instead: one, two, three groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankad._progress import track
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.explanations.candidates import (
    N_CANDIDATES,
    Candidates,
    first_candidates,
    second_candidates,
)
from rankad.explanations.nominal_rows import NominalRows

#: Largest number of entries of the arrays for the rows that are searched together.
_CHUNK_ENTRIES = 2**22


class Units(NamedTuple):
    """Columns that change together. ``of_column`` numbers the unit of each column."""

    of_column: IntArray
    are_groups: bool

    def __len__(self) -> int:
        return int(self.of_column.max()) + 1

    def sums(self, squares: FloatArray) -> FloatArray:
        """Sum of the columns of each unit."""
        if not self.are_groups:
            return squares
        order = np.argsort(self.of_column, kind="stable")
        starts = np.searchsorted(self.of_column[order], np.arange(len(self)))
        return np.asarray(np.add.reduceat(squares[:, order], starts, axis=1))


@dataclass(frozen=True, eq=False)
class Found:
    """Rows after their change, whether groups of columns changed, and the nearest nominal rows.

    A row stays as it is if no change was found.
    """

    rows: FloatArray
    in_groups: BoolArray
    nearest: FloatArray


@dataclass(frozen=True, eq=False)
class Search:
    """The search. A change suffices if the changed row's score is at least the threshold.

    ``score`` takes rows, and ``pool`` has the nominal rows whose values are proposed.
    """

    score: Callable[[FloatArray], FloatArray]
    pool: NominalRows
    max_features: int

    def __call__(self, rows: FloatArray, thresholds: FloatArray, is_wanted: BoolArray) -> Found:
        """Change the wanted rows. All rows get their nearest nominal row."""
        found = Found(rows.copy(), np.zeros(len(rows), dtype=bool), np.empty_like(rows))
        pools = _Pools(self.pool.distinct, self.score(self.pool.distinct.rows))
        pools.require_nominal_rows(thresholds[is_wanted])
        n_chunk = max(1, _CHUNK_ENTRIES // (max(N_CANDIDATES, len(self.pool.rows)) * rows.shape[1]))
        chunks = [
            np.arange(start, min(start + n_chunk, len(rows)))
            for start in range(0, len(rows), n_chunk)
        ]
        for chunk in track(chunks, len(chunks), "explaining rows"):
            open_rows = [
                _OpenRow(i, rows[i], thresholds[i], pools.at(thresholds[i])) for i in chunk
            ]
            for row in open_rows:
                found.nearest[row.index] = row.pool.nearest(row.values)
            self._search([row for row in open_rows if is_wanted[row.index]], found)
        return found

    def _search(self, open_rows: list[_OpenRow], found: Found) -> None:
        """Find the changes of some rows, and write them into ``found``."""
        for units, size in self._stages():
            for row, change in self._stage(open_rows, units, size):
                found.rows[row.index] = row.changed(change, units)
                found.in_groups[row.index] = units.are_groups
                open_rows.remove(row)

    def _stages(self) -> Iterator[tuple[Units, int]]:
        """Units of columns, and how many of them may change: fewest first.

        Not all groups may change: that would be another row, and no reason.
        """
        n_columns = self.pool.rows.shape[1]
        columns = Units(np.arange(n_columns), are_groups=False)
        yield from ((columns, size + 1) for size in range(min(self.max_features, n_columns)))
        groups = Units(self.pool.units_by_correlation, are_groups=True)
        if len(groups) < n_columns:
            n_most = min(self.max_features, len(groups) - 1)
            yield from ((groups, size + 1) for size in range(n_most))

    def _stage(
        self, open_rows: list[_OpenRow], units: Units, size: int
    ) -> list[tuple[_OpenRow, _Change]]:
        """The rows for which so many units suffice, each with its best change."""
        squares = [units.sums(row.pool.squares(row.values)) for row in open_rows]
        candidates = [first_candidates(own, size) for own in squares]
        scores = self._scored(open_rows, candidates, units)
        if size > 1:
            left = [i for i, row in enumerate(open_rows) if scores[i].max() < row.threshold]
            second = [second_candidates(squares[i], candidates[i], scores[i]) for i in left]
            second_scores = self._scored([open_rows[i] for i in left], second, units)
            for i, own, of_own in zip(left, second, second_scores, strict=True):
                candidates[i], scores[i] = own, of_own
        return [
            (row, self._smallest(row, _Change.best(own, of_own), units))
            for row, own, of_own in zip(open_rows, candidates, scores, strict=True)
            if of_own.max() >= row.threshold
        ]

    def _scored(
        self, open_rows: list[_OpenRow], candidates: list[Candidates], units: Units
    ) -> list[FloatArray]:
        """Scores of the candidates of each row, all scored together."""
        if not open_rows:
            return []
        changed = [
            row.all_changed(own, units) for row, own in zip(open_rows, candidates, strict=True)
        ]
        ends = np.cumsum([len(own) for own in changed])
        return np.split(self.score(np.concatenate(changed)), ends[:-1])

    def _smallest(self, row: _OpenRow, change: _Change, units: Units) -> _Change:
        """The change without the units that it does not need."""
        while change.is_taken.sum() > 1:
            fewer = np.repeat(change.is_taken[None], change.is_taken.sum(), axis=0)
            fewer[np.arange(len(fewer)), np.flatnonzero(change.is_taken)] = False
            donors = np.full(len(fewer), change.donor)
            scores = self.score(row.all_changed(Candidates(donors, fewer), units))
            if scores.max() < row.threshold:
                break
            change = _Change(change.donor, fewer[scores.argmax()])
        return change


class _Change(NamedTuple):
    """The nominal row that gives the values, and the units that take them."""

    donor: int
    is_taken: BoolArray

    @classmethod
    def best(cls, candidates: Candidates, scores: FloatArray) -> _Change:
        """The candidate with the highest score."""
        best = scores.argmax()
        return cls(int(candidates.donors[best]), candidates.are_taken[best])


@dataclass(frozen=True, eq=False)
class _OpenRow:
    """A row for which no change is found yet."""

    index: int
    values: FloatArray
    threshold: float
    pool: NominalRows

    def all_changed(self, candidates: Candidates, units: Units) -> FloatArray:
        """The row after each of the candidate changes."""
        are_changed = candidates.are_taken[:, units.of_column]
        return np.where(are_changed, self.pool.rows[candidates.donors], self.values)

    def changed(self, change: _Change, units: Units) -> FloatArray:
        """The row after the change."""
        donor = self.pool.rows[change.donor]
        return np.where(change.is_taken[units.of_column], donor, self.values)


class _Pools:
    """The nominal rows that do not alarm themselves, for each threshold, most nominal first."""

    def __init__(self, pool: NominalRows, scores: FloatArray) -> None:
        order = np.argsort(-scores, kind="stable")
        self._pool, self._scores = pool.only(order), scores[order]
        self._by_threshold: dict[float, NominalRows] = {}

    def require_nominal_rows(self, thresholds: FloatArray) -> None:
        """Refuse nominal rows that all alarm themselves: their values make no row nominal."""
        if thresholds.size and self._scores[0] < thresholds.max():
            raise ValueError(
                f"explain proposes the values of nominal rows, but all {len(self._scores)} nominal "
                "rows alarm themselves. Give other nominal rows (rows=...), or a smaller alpha."
            )

    def at(self, threshold: float) -> NominalRows:
        """The rows that score at least the threshold, or all if none does."""
        if threshold not in self._by_threshold:
            is_nominal = self._scores >= threshold
            pool = self._pool.only(is_nominal) if is_nominal.any() else self._pool
            self._by_threshold[threshold] = pool
        return self._by_threshold[threshold]
