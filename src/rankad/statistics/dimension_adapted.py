"""Neighbor density for data whose local dimension differs from place to place."""

from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import (
    available_neighbors,
    neighbor_distances,
    of_neighbor_distances,
    row_means,
)


@dataclass(frozen=True)
class DimensionAdaptedDistance(SampledStatistic):
    """``G(x) = -d(x) log(D_(K)(x) / u)``, with d the local dimension of the data.

    The dimension is that of Levina and Bickel (2004),
    ``d(x) = [1/(K-1) sum_{j<K} log(D_(K) / D_(j))]^-1``, kept between 1 and the number of columns.
    The reason: a density by neighbors falls as the distance to the power of the *local* dimension.
    The unit u is the geometric mean of D_(K) over the training points. Without it, the order of
    places of different dimension would depend on the unit of the columns. Zero distances (copies)
    count as half the smallest positive distance among the training points.

    >>> line = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0]])
    >>> DimensionAdaptedDistance(n_neighbors=2)(line).round(3)
    array([-0.104,  1.242, -0.104, -0.955])
    """

    n_neighbors: int = 10
    n_jobs: int | None = None
    random_state: int | None = 0

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        pool = points if among is None else among
        n_among_pool = min(self.n_neighbors, available_neighbors(pool))
        among_pool: FloatArray = np.empty((len(pool), 0))
        if n_among_pool > 0:
            among_pool = neighbor_distances(pool, n_among_pool, None, self.n_jobs)
        positive = among_pool[among_pool > 0.0]
        floor = 0.5 * positive.min() if positive.size else 1.0
        unit = np.log(np.maximum(among_pool[:, -1], floor)).mean() if among_pool.size else 0.0

        def values(distances: FloatArray) -> FloatArray:
            logs = np.log(np.maximum(distances, floor))
            with np.errstate(divide="ignore"):
                # Equal distances, or a single one, give an infinite dimension, which is clipped.
                dimension = 1.0 / row_means(logs[:, -1:] - logs[:, :-1])
            return np.asarray(-np.clip(dimension, 1.0, points.shape[1]) * (logs[:, -1] - unit))

        if among is None:
            return values(among_pool)
        n_neighbors = min(self.n_neighbors, available_neighbors(points, among))
        return of_neighbor_distances(values, points, n_neighbors, among, self.n_jobs)
