"""k-NN density for data whose dimension differs from place to place."""

from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray
from rankad.statistics.neighbors import available_neighbors, neighbor_distances


@dataclass(frozen=True)
class DimensionAdaptedDistance:
    """``G(x) = -d(x) log D_(K)(x)``, with the local dimension d of Levina and Bickel (2004).

    ``d(x) = [1/(K-1) sum_{j<K} log(D_(K) / D_(j))]^-1``, kept between 1 and the number of columns:
    a k-NN density falls as the distance to the power of the dimension *the data have there*. Zero
    distances (copies) count as half the smallest distance there is.

    >>> line = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0]])
    >>> DimensionAdaptedDistance(n_neighbors=2)(line).round(3)
    array([-2.   , -1.386, -2.   , -3.584])
    """

    n_neighbors: int = 10
    n_jobs: int | None = None

    def __call__(self, points: FloatArray, reference: FloatArray | None = None) -> FloatArray:
        """Statistic of each point among the others, or among the rows of ``reference``."""
        n_neighbors = min(self.n_neighbors, available_neighbors(points, reference))
        distances = neighbor_distances(points, n_neighbors, reference, self.n_jobs)
        positive = distances[distances > 0.0]
        if positive.size == 0:
            return np.zeros(len(points))
        logs = np.log(np.maximum(distances, 0.5 * positive.min()))
        # A single neighbor tells nothing of the dimension; equal distances, that it is highest.
        mean_log_ratio = (logs[:, -1:] - logs[:, :-1]).mean(axis=1) if n_neighbors > 1 else 0.0
        with np.errstate(divide="ignore"):
            dimension = np.clip(1.0 / mean_log_ratio, 1.0, points.shape[1])
        return np.asarray(-dimension * logs[:, -1])
