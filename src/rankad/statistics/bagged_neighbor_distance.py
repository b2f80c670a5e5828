"""LeSiNN's statistic: the distance to the nearest of a few random rows, over many draws."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from rankad._compiled import compiled_or
from rankad._typing import FloatArray, IntArray
from rankad.statistics.neighbors import neighbor_distances
from rankad.statistics.search import chunk_size, in_chunks


@dataclass(frozen=True)
class BaggedNeighborDistance:
    """Minus the mean distance to the nearest row of a random subsample (Pang et al., 2015).

    ``G(x) = -(1/t) sum_{s=1}^{t} min_{y in S_s} |x - y|`` over t = ``n_subsamples`` subsamples of
    ``subsample_size`` rows, or of half of the rows if that is less. It works if anomalies are among
    the training rows. An anomaly in a cluster of anomalies has near neighbors among all rows, but
    few or none in a small subsample. The cost is linear in the number of rows.

    A row of a subsample is not its own neighbor, but its copies are its neighbors. A subsample of
    only the row itself is skipped. The subsamples depend only on ``random_state`` and on the number
    of rows. So training points and new points are measured among the same rows.

    >>> points = np.array([[0.0], [1.0], [2.0], [3.0], [20.0]])
    >>> BaggedNeighborDistance(n_subsamples=1000)(points).round(1)
    array([ -3.7,  -3. ,  -3.1,  -3.1, -18. ])
    """

    n_subsamples: int = 100
    subsample_size: int = 16
    n_jobs: int | None = None
    random_state: int | None = 0

    def __post_init__(self) -> None:
        for name in ("n_subsamples", "subsample_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}.")

    def __call__(self, points: FloatArray, among: FloatArray | None = None) -> FloatArray:
        """Statistic of each point among the others, or among the rows of ``among``."""
        pool = points if among is None else among
        drawn = self._subsamples(len(pool))
        # Columns first, so that the compiled loop measures all rows of a subsample together.
        subsamples = np.ascontiguousarray(pool[drawn].transpose(0, 2, 1), dtype=np.float64)
        points = np.ascontiguousarray(points, dtype=np.float64)

        def means(chunk: slice) -> FloatArray:
            first = chunk.start if among is None else len(pool)
            return _mean_nearest(points[chunk], subsamples, drawn, first)

        n_chunk = chunk_size(len(points), drawn.size, self.n_jobs)
        distances = np.concatenate(in_chunks(means, len(points), self.n_jobs, n_chunk))
        # This happens only if there are few subsamples of one row each.
        always_alone = np.isnan(distances)
        if always_alone.any():
            distances[always_alone] = neighbor_distances(points, 1)[always_alone, 0]
        return np.asarray(-distances)

    def _subsamples(self, n_rows: int) -> IntArray:
        """Indices of the rows of each subsample."""
        rng = check_random_state(self.random_state)
        size = max(1, min(self.subsample_size, n_rows // 2))
        draws = (
            sample_without_replacement(n_rows, size, random_state=rng)
            for _ in range(self.n_subsamples)
        )
        return np.array([*draws], dtype=np.int64)


def _plain_mean_nearest(
    points: FloatArray, subsamples: FloatArray, drawn: IntArray, first: int
) -> FloatArray:
    positions = first + np.arange(len(points))[:, None]
    totals, n_measured = np.zeros(len(points)), np.zeros(len(points))
    for columns, rows in zip(subsamples, drawn, strict=True):
        squares = np.zeros((len(points), len(rows)))
        for column, values in zip(points.T, columns, strict=True):
            squares += (column[:, None] - values) ** 2
        is_itself = rows == positions
        nearest = np.where(is_itself, np.inf, squares).min(axis=1)
        is_alone = is_itself.all(axis=1)
        totals += np.sqrt(np.where(is_alone, 0.0, nearest))
        n_measured += ~is_alone
    means = np.full(len(points), np.nan)
    np.divide(totals, n_measured, out=means, where=n_measured > 0)
    return means


@compiled_or(_plain_mean_nearest)
def _mean_nearest(
    points: FloatArray, subsamples: FloatArray, drawn: IntArray, first: int
) -> FloatArray:
    """Mean over the subsamples of the distance to the nearest row; NaN if there is no such row.

    The points are the rows ``first``, ``first + 1``, ... of the rows that were drawn from.
    Differences are always added in the same order, so a point's mean is the same in every batch.
    """
    n_subsamples, n_columns, size = subsamples.shape
    means = np.empty(points.shape[0])
    squares = np.empty(size)
    for i in range(points.shape[0]):
        total, n_measured = 0.0, 0
        for s in range(n_subsamples):
            squares[:] = 0.0
            for k in range(n_columns):
                for j in range(size):
                    squares[j] += (points[i, k] - subsamples[s, k, j]) ** 2
            nearest, is_alone = np.inf, True
            for j in range(size):
                if drawn[s, j] != first + i:
                    nearest, is_alone = min(nearest, squares[j]), False
            if not is_alone:
                total += np.sqrt(nearest)
                n_measured += 1
        means[i] = total / n_measured if n_measured > 0 else np.nan
    return means
