"""K-LPE's statistic: minus the distance to the K-th nearest neighbor."""

from dataclasses import dataclass

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import available_neighbors, of_neighbor_distances


@dataclass(frozen=True)
class KthNeighborDistance(SampledStatistic):
    """``G(x) = -D_(K)(x)``, the statistic of K-LPE (Zhao and Saligrama, 2009).

    >>> import numpy as np
    >>> KthNeighborDistance(n_neighbors=2)(np.array([[0.0], [1.0], [3.0]]))
    array([-3., -2., -3.])
    """

    n_neighbors: int = 10
    n_jobs: int | None = None
    random_state: int | None = 0

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        n_neighbors = min(self.n_neighbors, available_neighbors(points, among))
        return -of_neighbor_distances(
            lambda nearest: nearest[:, -1], points, n_neighbors, among, self.n_jobs
        )
