"""BP-KNNG's statistic: minus the sum of powers of some of the K nearest distances."""

from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import available_neighbors, neighbor_distances, row_means


@dataclass(frozen=True)
class SummedNeighborDistance(SampledStatistic):
    """``G(x) = -sum_{l = k-s+1}^{k} D_(l)(x)^gamma``, BP-KNNG's statistic.

    >>> SummedNeighborDistance(2, n_summed=2, power=2.0)(np.array([[0.0], [1.0], [3.0]]))
    array([-10.,  -5., -13.])
    """

    n_neighbors: int = 10
    n_summed: int = 10
    power: float = 1.0
    n_jobs: int | None = None
    random_state: int | None = 0

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        n_neighbors = min(self.n_neighbors, available_neighbors(points, among))
        distances = neighbor_distances(points, n_neighbors, among, self.n_jobs)
        with np.errstate(over="ignore"):
            powers = distances[:, -self.n_summed :] ** self.power
        return np.asarray(-row_means(powers) * powers.shape[1])
