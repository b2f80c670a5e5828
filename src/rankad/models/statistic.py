"""A statistic as a score: the model of the nearest-neighbor detectors."""

from dataclasses import dataclass
from typing import Any

from rankad._scaling import scaled
from rankad._typing import FloatArray
from rankad.statistics import Statistic


@dataclass(frozen=True, eq=False)
class StatisticAmong:
    """A statistic of rows among the scaled training points."""

    scaler: Any
    points: FloatArray
    statistic: Statistic

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Statistic of each row. It uses its own threads for the neighbor search."""
        return self.statistic(scaled(self.scaler, rows), self.points)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Statistic of each point among the others."""
        return self.statistic(self.points)
