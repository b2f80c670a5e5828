"""The number of centers, and the choice of the centers."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from rankad._progress import logger
from rankad._typing import FloatArray
from rankad.kernels import kmeans_centers
from rankad.tuning.rules import n_varying_columns, rule_n_centers

#: Largest number of centers if all rows are centers. The ranker then needs the full kernel matrix,
#: 8 n^2 bytes, in a few copies.
MAX_KERNEL_ROWS = 20_000


@dataclass(frozen=True)
class CenterRule:
    """The parameter ``n_centers``: a number, "auto" by the rule, or None for all rows."""

    n_centers: int | Literal["auto"] | None

    def max_centers(self, points: FloatArray) -> float:
        """Largest number of centers for these points; infinite if all points may be centers."""
        if self.n_centers is None:
            return inf
        if self.n_centers == "auto":
            return rule_n_centers(n_varying_columns(points))
        return int(self.n_centers)

    def centers(self, points: FloatArray, rng: np.random.RandomState) -> FloatArray | None:
        """Centers for the points, or None if all points may be centers."""
        if len(points) <= self.max_centers(points):
            return None
        return self.chosen_centers(points, rng)

    def chosen_centers(self, points: FloatArray, rng: np.random.RandomState) -> FloatArray:
        """Centers for the points, by k-means."""
        n_centers = int(self.max_centers(points))
        logger.info("choosing %d centers for %d rows", n_centers, len(points))
        return kmeans_centers(points, n_centers, rng)

    def require_feasible(self, rows: FloatArray) -> None:
        """Raise if the kernel matrix of the rows would be too large."""
        n_rows = len(rows)
        n_centers = min(n_rows, self.max_centers(rows))
        if n_centers > MAX_KERNEL_ROWS:
            which = "all" if n_centers == n_rows else n_centers
            raise ValueError(
                f"n_centers={self.n_centers} needs a kernel matrix of {8e-9 * n_centers**2:.0f} GB "
                f"for {n_rows} training rows, {which} of them centers; the limit is "
                f"{MAX_KERNEL_ROWS} centers. Set n_centers to 'auto' or to a smaller number, or "
                "fit on a random sample of the rows."
            )
