"""Mass estimation: the model of massAD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankad._rounding import Rounding
from rankad._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MeanMass:
    """Mean mass of a row over some columns of some subsamples."""

    columns: list[MassOfColumn]

    @property
    def rounding(self) -> Rounding:
        """That of a sum of masses, which are not negative."""
        return Rounding.in_precision(np.float64)

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Mean mass of each row."""
        total = np.zeros(len(rows))
        for mass in self.columns:  # in the same order for any batch, so that equal rows tie
            total += mass(rows)
        return total / len(self.columns)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Mean mass of each row that it was estimated from."""
        return self(rows)

    def watches(self, columns: IntArray, row: FloatArray) -> bool:
        """False: another value has no mass, but only in the subsamples of its own column."""
        return False


@dataclass(frozen=True, eq=False)
class MassOfColumn:
    """Mass as a step function of one column: ``masses[k]`` between borders k and k + 1, else 0."""

    column: int
    borders: FloatArray
    masses: FloatArray

    @classmethod
    def from_values(cls, values: FloatArray, column: int, depth: int) -> MassOfColumn:
        """Estimate it from a subsample. Borders lie halfway between neighboring values."""
        distinct, counts = np.unique(values, return_counts=True)
        middles = distinct[:-1] + 0.5 * np.diff(distinct)
        if distinct.size == 1:
            borders = np.repeat(distinct, 2)
        else:
            # The outer borders are as far outside as the first inner borders are inside.
            first = distinct[0] - (middles[0] - distinct[0])
            last = distinct[-1] + (distinct[-1] - middles[-1])
            borders = np.concatenate([[first], middles, [last]])
        return cls(column, borders, masses_at_depth(distinct, counts, depth))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Mass of each row."""
        values = rows[:, self.column]
        cell = np.searchsorted(self.borders, values, side="right") - 1
        cell = np.where(values == self.borders[-1], len(self.masses) - 1, cell)
        is_inside = (values >= self.borders[0]) & (values <= self.borders[-1])
        return np.where(is_inside, self.masses[np.clip(cell, 0, len(self.masses) - 1)], 0.0)


def masses_at_depth(values: FloatArray, counts: IntArray, depth: int) -> FloatArray:
    """Mass of depth h of each of the sorted distinct values.

    A split falls between neighboring values with probability proportional to their distance. The
    mass of depth 1 is the expected number of points on the value's own side of the split. The mass
    of depth h is the expected mass of depth h - 1 on that side.

    >>> masses_at_depth(np.array([0.0, 1.0, 3.0]), np.array([1, 1, 2]), depth=1)
    array([1.66666667, 2.33333333, 2.33333333])
    """
    if depth == 0 or values.size == 1:
        return np.full(values.size, float(counts.sum()))
    probabilities = np.diff(values) / (values[-1] - values[0])
    below = np.cumsum(counts)[:-1]
    if depth == 1:
        on_left = np.cumsum((probabilities * below)[::-1])[::-1]
        on_right = np.cumsum(probabilities * (counts.sum() - below))
        return np.asarray(np.append(on_left, 0.0) + np.insert(on_right, 0, 0.0))
    masses = np.zeros(values.size)
    for split, probability in enumerate(probabilities, start=1):
        masses[:split] += probability * masses_at_depth(values[:split], counts[:split], depth - 1)
        masses[split:] += probability * masses_at_depth(values[split:], counts[split:], depth - 1)
    return masses
