"""The rows that train the ranker: a sample if there are very many, without outlying rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from rankad._progress import logger
from rankad._typing import FloatArray, IntArray
from rankad.statistics.outlying import outlying

#: Largest number of training rows for each center, and in any case at least this many. More rows
#: would change the weights of so few centers very little.
_ROWS_PER_CENTER = 250
_MIN_SAMPLE = 100_000


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """The scaled rows that train the ranker, among all rows.

    Parameters
    ----------
    all_points : array of shape (n_rows, n_features)
    positions : array of int
        Positions of the rows that train.
    n_outlying : int
        Number of rows that were left out as outlying.
    """

    all_points: FloatArray
    positions: IntArray
    n_outlying: int

    @cached_property
    def points(self) -> FloatArray:
        """The rows that train."""
        trains_all = len(self.positions) == len(self.all_points)
        return self.all_points if trains_all else self.all_points[self.positions]

    @classmethod
    def drawn(
        cls,
        points: FloatArray,
        *,
        max_centers: float,
        max_outlying_share: float,
        n_jobs: int | None,
        rng: np.random.RandomState,
    ) -> Self:
        """Draw a sample if there are too many rows, and leave out the outlying rows of it.

        With ``max_outlying_share=0`` no row is left out.
        """
        max_rows = max(_ROWS_PER_CENTER * min(max_centers, len(points)), _MIN_SAMPLE)
        positions = np.arange(len(points))
        if len(points) > max_rows:
            logger.info("training on %d of %d rows, drawn at random", max_rows, len(points))
            positions = np.sort(rng.choice(len(points), int(max_rows), replace=False))
        if max_outlying_share == 0.0:
            return cls(points, positions, 0)
        is_outlying = outlying(
            points[positions], n_jobs, rng.randint(2**31 - 1), max_share=max_outlying_share
        )
        n_outlying = int(is_outlying.sum())
        logger.info("left out %d of %d rows as outlying", n_outlying, len(positions))
        return cls(points, positions[~is_outlying], n_outlying)
