"""k-NN density for data whose dimension differs from place to place."""

from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import available_neighbors, neighbor_distances, row_means


@dataclass(frozen=True)
class DimensionAdaptedDistance(SampledStatistic):
    """``G(x) = -d(x) log(D_(K)(x) / u)``, with the local dimension d of Levina and Bickel (2004).

    ``d(x) = [1/(K-1) sum_{j<K} log(D_(K) / D_(j))]^-1``, kept between 1 and the number of columns:
    a k-NN density falls as the distance to the power of the dimension *the data have there*. The
    unit u is the geometric mean of D_(K) over the training points, without which the order of
    places of different dimension would depend on the unit of the columns. Zero distances (copies)
    count as half the smallest distance among the training points.

    >>> line = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0]])
    >>> DimensionAdaptedDistance(n_neighbors=2)(line).round(3)
    array([-0.104,  1.242, -0.104, -0.955])
    """

    n_neighbors: int = 10
    n_jobs: int | None = None
    random_state: int | None = 0

    def _values(self, points: FloatArray, reference: FloatArray | None) -> FloatArray:
        pool = points if reference is None else reference
        among_pool = self._distances(pool, None)
        positive = among_pool[among_pool > 0.0]
        floor = 0.5 * positive.min() if positive.size else 1.0
        unit = np.log(np.maximum(among_pool[:, -1], floor)).mean() if among_pool.size else 0.0
        distances = among_pool if reference is None else self._distances(points, reference)
        logs = np.log(np.maximum(distances, floor))
        with np.errstate(divide="ignore"):
            # Equal distances, or a single one, tell of no dimension but the highest.
            dimension = np.clip(1.0 / row_means(logs[:, -1:] - logs[:, :-1]), 1.0, points.shape[1])
        return np.asarray(-dimension * (logs[:, -1] - unit))

    def _distances(self, points: FloatArray, reference: FloatArray | None) -> FloatArray:
        n_neighbors = min(self.n_neighbors, available_neighbors(points, reference))
        if n_neighbors == 0:
            return np.empty((len(points), 0))
        return neighbor_distances(points, n_neighbors, reference, self.n_jobs)
