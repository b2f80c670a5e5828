"""The paper's statistic, eq. (7): minus the mean distance to the K nearest neighbors."""

from dataclasses import dataclass

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import available_neighbors, of_neighbor_distances, row_means


@dataclass(frozen=True)
class MeanNeighborDistance(SampledStatistic):
    """``G(x) = -(1/K) sum_i D_(i)(x)``, eq. (7), with ``D_(i)`` the i-th nearest distance.

    If there are fewer than ``n_neighbors`` other points, all of them are used.

    >>> import numpy as np
    >>> statistic = MeanNeighborDistance(n_neighbors=2)
    >>> statistic(np.array([[0.0], [1.0], [3.0]]))
    array([-2. , -1.5, -2.5])
    >>> statistic(np.array([[10.0]]), among=np.array([[0.0], [1.0], [3.0]]))
    array([-8.])
    """

    n_neighbors: int = 10
    n_jobs: int | None = None
    random_state: int | None = 0

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        n_neighbors = min(self.n_neighbors, available_neighbors(points, among))
        return -of_neighbor_distances(row_means, points, n_neighbors, among, self.n_jobs)
