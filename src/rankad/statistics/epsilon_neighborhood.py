"""epsilon-LPE's statistic: the number of neighbors within a radius."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from rankad._typing import FloatArray, IntArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import available_neighbors, of_neighbor_distances, row_sample
from rankad.statistics.search import NeighborSearch, in_chunks, planned_all_pairs

#: Number of rows that the radius is chosen on, and of rows in one chunk of distances.
_MAX_ROWS_FOR_RADIUS = 2000
_CHUNK_ROWS = 500


@dataclass(frozen=True)
class EpsilonNeighborhood(SampledStatistic):
    """``G(x) = #{neighbors within radius}``, ties broken by the K-th neighbor distance.

    By default the radius is chosen so that the training points have ``n_neighbors`` neighbors in
    the mean. Many counts are equal. Among equal counts the point with the nearer K-th neighbor is
    more nominal. For this, a fraction in [0, 1) that grows with that distance is subtracted.

    >>> points = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> EpsilonNeighborhood(n_neighbors=1, radius=1.5)(points).round(2)
    array([ 0.6 ,  1.6 ,  0.6 , -0.82])
    """

    n_neighbors: int = 10
    radius: float | None = None
    n_jobs: int | None = None
    random_state: int | None = 0

    def __post_init__(self) -> None:
        if self.radius is not None and not self.radius >= 0.0:
            raise ValueError(f"radius must not be negative; got {self.radius}.")

    def planned_search(self, n_rows: int, n_features: int) -> NeighborSearch:
        """Plan of the search, with fewer rows than other statistics: all distances are computed."""
        return planned_all_pairs(n_rows, self.n_neighbors)

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        pool = points if among is None else among
        radius = _typical_radius(pool, self.n_neighbors) if self.radius is None else self.radius
        counts = _counts_within(points, pool, radius, self.n_jobs) - (among is None)
        n_neighbors = min(self.n_neighbors, available_neighbors(points, among))
        kth = of_neighbor_distances(
            lambda nearest: nearest[:, -1], points, n_neighbors, among, self.n_jobs
        )
        return np.asarray(counts - kth / (kth + (radius or 1.0)))


def _counts_within(
    points: FloatArray, pool: FloatArray, radius: float, n_jobs: int | None
) -> IntArray:
    """Number of rows of ``pool`` within the radius of each point."""

    def counts(chunk: slice) -> IntArray:
        return np.asarray((cdist(points[chunk], pool) <= radius).sum(axis=1))

    return np.concatenate(in_chunks(counts, len(points), n_jobs, _CHUNK_ROWS))


def _typical_radius(pool: FloatArray, n_neighbors: int) -> float:
    """Radius within which the rows of ``pool`` have ``n_neighbors`` others in the mean."""
    rows = row_sample(pool, _MAX_ROWS_FOR_RADIUS)
    distances = cdist(rows, pool).ravel()
    n_rows = len(rows)
    # The n_rows smallest distances are those of the rows to themselves. The radius is halfway
    # between two distances, so that rounding cannot move a distance across it.
    last_within = min(n_rows * (1 + n_neighbors), len(distances)) - 1
    next_beyond = min(last_within + 1, len(distances) - 1)
    distances.partition([last_within, next_beyond])
    return float(0.5 * (distances[last_within] + distances[next_beyond]))
