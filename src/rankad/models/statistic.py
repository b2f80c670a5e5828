"""A statistic as a score: the model of the nearest-neighbor detectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from rankad._rounding import Rounding
from rankad._scaling import rounding_of_rows, scaled, takes_others_far
from rankad._typing import FloatArray, IntArray
from rankad.statistics import Statistic

#: Number of points that measure how much the statistic changes if rows are rounded.
_N_PROBES: Final = 100


@dataclass(frozen=True, eq=False)
class StatisticAmong:
    """A statistic of rows among the scaled training points."""

    scaler: Any
    points: FloatArray
    statistic: Statistic
    rounding: Rounding

    @classmethod
    def from_rows(cls, scaler: Any, rows: FloatArray, statistic: Statistic) -> Self:
        """The statistic among rows that a fitted scaler transforms."""
        points = scaled(scaler, rows)
        row_rounding = rounding_of_rows(scaler, rows)
        return cls(scaler, points, statistic, _rounding(statistic, points, row_rounding))

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Statistic of each row. It uses its own threads for the neighbor search."""
        return self.statistic(scaled(self.scaler, rows), self.points)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Statistic of each point among the others."""
        return self.statistic(self.points)

    def watches(self, columns: IntArray, row: FloatArray) -> bool:
        """Whether other values in columns with a single value are far from all points."""
        return takes_others_far(self.scaler, columns, row)


def _rounding(statistic: Statistic, points: FloatArray, row_rounding: float) -> Rounding:
    """Rounding of the statistic, for points that are themselves rounded.

    Distances are sums of squared differences, so their rounding is relative. But rounded copies of
    a point are at a small distance instead of 0. What that does to the statistic is measured.
    """
    rounding = Rounding.in_precision(np.float64)
    if row_rounding == 0.0:
        return rounding
    probes = points[:: -(-len(points) // _N_PROBES)]
    signs = np.random.RandomState(0).choice([-1.0, 1.0], size=probes.shape)
    moved = probes + row_rounding * signs
    scores, moved_scores = (statistic(rows, points) for rows in (probes, moved))
    return Rounding.measured(scores, moved_scores, rounding.relative)
