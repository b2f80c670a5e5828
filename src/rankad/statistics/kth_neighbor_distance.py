"""K-LPE's statistic: minus the distance to the K-th nearest neighbor."""

from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray
from rankad.statistics.neighbors import available_neighbors, neighbor_distances


@dataclass(frozen=True)
class KthNeighborDistance:
    """``G(x) = -D_(K)(x)``, the statistic of K-LPE (Zhao and Saligrama, 2009).

    >>> KthNeighborDistance(n_neighbors=2)(np.array([[0.0], [1.0], [3.0]]))
    array([-3., -2., -3.])
    """

    n_neighbors: int = 10
    n_jobs: int | None = None

    def __call__(self, points: FloatArray, reference: FloatArray | None = None) -> FloatArray:
        """Statistic of each point among the others, or among the rows of ``reference``."""
        n_neighbors = min(self.n_neighbors, available_neighbors(points, reference))
        return np.asarray(-neighbor_distances(points, n_neighbors, reference, self.n_jobs)[:, -1])
