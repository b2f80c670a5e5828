"""Nominal rows whose values an explanation may propose, and how far a row is from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from rankad._constant_columns import constant_columns, tiny_scales
from rankad._typing import BoolArray, FloatArray, IntArray

#: Number of nominal rows that a detector keeps at most.
MAX_KEPT_ROWS = 2000

#: Columns are strongly correlated if every two of them have at least this correlation, up to sign.
STRONG_CORRELATION = 0.8

#: Differences are clipped where the sum of their squares is still finite.
_LARGEST_DIFFERENCE = 1e140

#: Scale of a column of so large values that their standard deviation overflows.
_LARGEST_SCALE = 1e300


@dataclass(frozen=True, eq=False)
class NominalRows:
    """Nominal rows, and for each column the unit of its differences.

    ``scale`` is the standard deviation of the column. In a constant column every other value is
    very far.
    """

    rows: FloatArray
    scale: FloatArray

    @classmethod
    def from_rows(cls, rows: FloatArray) -> Self:
        """Take all the rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # given rows can be of any size
            scale = np.nan_to_num(rows.std(axis=0), nan=_LARGEST_SCALE, posinf=_LARGEST_SCALE)
        constant = constant_columns(rows)
        scale[constant] = tiny_scales(rows[0, constant])
        return cls(rows, scale)

    @classmethod
    def drawn(cls, rows: FloatArray, rng: np.random.RandomState) -> Self:
        """Draw at most `MAX_KEPT_ROWS` of the rows."""
        if len(rows) > MAX_KEPT_ROWS:
            rows = rows[np.sort(rng.choice(len(rows), MAX_KEPT_ROWS, replace=False))]
        return cls.from_rows(rows)

    def only(self, which: BoolArray | IntArray) -> NominalRows:
        """Some of the rows, with the same scale."""
        return NominalRows(self.rows[which], self.scale)

    @cached_property
    def distinct(self) -> NominalRows:
        """Each distinct row once, with the same scale."""
        return self.only(np.unique(self.rows, axis=0, return_index=True)[1])

    def squares(self, row: FloatArray) -> FloatArray:
        """Squared differences of a row to all of them, in units of the scale."""
        with np.errstate(over="ignore"):
            differences = (self.rows - row) / self.scale
        limit = _LARGEST_DIFFERENCE
        return np.asarray(np.square(np.clip(differences, -limit, limit)))

    def nearest(self, row: FloatArray) -> FloatArray:
        """The nearest of them."""
        return np.asarray(self.rows[self.squares(row).sum(axis=1).argmin()])

    @cached_property
    def units_by_correlation(self) -> IntArray:
        """Number of the unit of each column. Strongly correlated columns are one unit."""
        n_columns = self.rows.shape[1]
        varies = self.rows.min(axis=0) < self.rows.max(axis=0)
        if len(self.rows) < 3 or np.count_nonzero(varies) < 2:
            return np.arange(n_columns)
        with np.errstate(over="ignore", invalid="ignore"):
            correlations = np.abs(np.corrcoef(self.rows[:, varies], rowvar=False))
        distances = 1.0 - np.nan_to_num(correlations, nan=0.0)
        distances = squareform(np.clip(distances, 0.0, 1.0), checks=False)
        trees = linkage(distances, "complete")
        units = np.arange(n_columns)
        units[varies] = n_columns + fcluster(trees, 1.0 - STRONG_CORRELATION, "distance")
        return np.asarray(np.unique(units, return_inverse=True)[1])

    @property
    def usual_values(self) -> FloatArray:
        """The 5% and the 95% quantile of each column: values that occur."""
        return np.quantile(self.rows, (0.05, 0.95), axis=0, method="nearest")
