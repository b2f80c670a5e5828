"""aK-LPE's statistic: neighbor distances around the K-th, averaged over random halves."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import check_random_state

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import available_neighbors, of_neighbor_distances, row_means
from rankad.statistics.search import NeighborSearch, planned_search, search_method


@dataclass(frozen=True)
class HalvedNeighborDistance(SampledStatistic):
    """Minus the mean of K distances around the K-th, over halvings (Qian and Saligrama, 2012).

    ``G(x) = -(1/K) sum_{i = K - floor((K-1)/2)}^{K + floor(K/2)} D_(i)(x)``: neighbors 6 to 15 for
    K = 10. Each of ``n_halvings`` halvings splits the points in two at random, and measures the
    points of each half among the other half. The results are averaged. A new point is measured
    among one random half of ``among`` in each halving. ``n_halvings=0`` measures once, among all
    other points. ``nearest=True`` takes the neighbors 1 to K, as eq. (7) does.

    If there are fewer neighbors, the farthest one takes the place of each missing one. With
    ``nearest=True``, the missing ones are left out.

    >>> points = np.arange(6.0)[:, None]
    >>> HalvedNeighborDistance(n_neighbors=2, n_halvings=0)(points)  # neighbors 2 and 3
    array([-2.5, -1.5, -1.5, -1.5, -1.5, -2.5])
    """

    n_neighbors: int = 10
    n_halvings: int = 10
    n_jobs: int | None = None
    random_state: int | None = 0
    nearest: bool = False

    def __post_init__(self) -> None:
        if self.n_halvings < 0:
            raise ValueError(f"n_halvings must not be negative; got {self.n_halvings}.")

    def planned_search(self, n_rows: int, n_features: int) -> NeighborSearch:
        """How neighbors are searched for, in halves of the rows and once for each halving."""
        n_searches = max(self.n_halvings, 1)
        search = planned_search(n_rows, n_features, n_searches, self.n_neighbors)
        if self.n_halvings == 0:
            return search
        return replace(search, method=search_method(search.n_searched // 2, n_features))

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        if self.n_halvings == 0:
            return self._once(points, among)
        rng = check_random_state(self.random_state)
        total = np.zeros(len(points))
        pool = points if among is None else among
        for _ in range(self.n_halvings):
            order = rng.permutation(len(pool))
            first, second = order[: (len(pool) + 1) // 2], order[(len(pool) + 1) // 2 :]
            if among is not None:
                total += self._once(points, among[first])
            else:
                total[first] += self._once(points[first], points[second])
                total[second] += self._once(points[second], points[first])
        return np.asarray(total / self.n_halvings)

    def _once(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        K, n_available = self.n_neighbors, available_neighbors(points, among)
        if self.nearest:
            columns = np.arange(min(K, n_available))
        else:
            wanted = np.arange(K - (K - 1) // 2, K + K // 2 + 1)
            columns = np.minimum(wanted, n_available) - 1

        def mean_of_columns(nearest: FloatArray) -> FloatArray:
            return row_means(nearest[:, columns])

        n_neighbors = int(columns[-1]) + 1
        return -of_neighbor_distances(mean_of_columns, points, n_neighbors, among, self.n_jobs)
