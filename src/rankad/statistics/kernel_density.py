"""The density, estimated by Gaussian kernels that leave each point out of its own density."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from rankad._typing import FloatArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import (
    available_neighbors,
    distinct_rows,
    neighbor_distances,
    row_sample,
)
from rankad.statistics.search import (
    NeighborSearch,
    in_chunks,
    neighbors_among,
    planned_all_pairs,
)

#: Number of rows that the bandwidth is chosen on, and of rows in one chunk of distances.
_MAX_ROWS_FOR_BANDWIDTH = 1000
_CHUNK_ROWS = 500

#: Bandwidths to choose from, in units of the mean distance to the K nearest neighbors.
_RELATIVE_BANDWIDTHS = 2.0 ** np.arange(-2.0, 5.25, 0.5)


@dataclass(frozen=True)
class KernelDensity(SampledStatistic):
    """Logarithm of ``sum_j exp(-|x - x_j|^2 / h^2)`` over the other points, up to a constant.

    The sum is computed in logarithms, because sums of kernels underflow far out and would tie. By
    default the bandwidth h is chosen from fifteen values, 1/4 to 32 times the mean distance to the
    K nearest neighbors. It is the value that makes the training points most likely, each left out
    of its own density.

    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> KernelDensity(bandwidth=1.0)(points).round(4)
    array([-0.9997, -0.9514, -3.9933])
    """

    n_neighbors: int = 10
    bandwidth: float | None = None
    n_jobs: int | None = None
    random_state: int | None = 0

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not self.bandwidth > 0.0:
            raise ValueError(f"bandwidth must be positive; got {self.bandwidth}.")

    def planned_search(self, n_rows: int, n_features: int) -> NeighborSearch:
        """Plan of the search, with fewer rows than other statistics: all distances are computed."""
        return planned_all_pairs(n_rows, self.n_neighbors)

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        pool = points if among is None else among
        bandwidth = self.bandwidth
        if bandwidth is None:
            bandwidth = self._most_likely_bandwidth(pool)
        leave_out = among is None
        return _log_kernel_sums(points, pool, bandwidth, self.n_jobs, leave_out=leave_out)

    def _most_likely_bandwidth(self, pool: FloatArray) -> float:
        rows = row_sample(pool, _MAX_ROWS_FOR_BANDWIDTH)
        n_neighbors = neighbors_among(len(rows), len(pool), self.n_neighbors)
        scale = self._mean_neighbor_distance(rows, n_neighbors)
        if scale == 0.0:  # every row has K copies, so take the distances between distinct rows
            scale = self._mean_neighbor_distance(distinct_rows(rows).rows, n_neighbors)
        if scale == 0.0:
            return 1.0  # a single distinct row: any bandwidth gives the same order
        bandwidths = scale * _RELATIVE_BANDWIDTHS
        likelihoods = [
            _log_kernel_sums(rows, rows, h, self.n_jobs, leave_out=True).mean()
            - rows.shape[1] * np.log(h)
            for h in bandwidths
        ]
        return float(bandwidths[np.argmax(likelihoods)])

    def _mean_neighbor_distance(self, rows: FloatArray, n_neighbors: int) -> float:
        n_neighbors = min(n_neighbors, available_neighbors(rows))
        if n_neighbors == 0:
            return 0.0
        return float(neighbor_distances(rows, n_neighbors, None, self.n_jobs).mean())


def _log_kernel_sums(
    points: FloatArray,
    pool: FloatArray,
    bandwidth: float,
    n_jobs: int | None,
    *,
    leave_out: bool,
) -> FloatArray:
    """Logarithm of the kernel sum at each point; with ``leave_out``, without its own kernel."""

    def sums(chunk: slice) -> FloatArray:
        exponents = -((cdist(points[chunk], pool) / bandwidth) ** 2)
        if leave_out:
            np.einsum("ii->i", exponents[:, chunk])[:] = -np.inf
        return np.asarray(logsumexp(exponents, axis=1))

    return np.concatenate(in_chunks(sums, len(points), n_jobs, _CHUNK_ROWS))
