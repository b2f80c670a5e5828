"""Distances to nearest neighbors: a point is never its own neighbor, its copies are.

Copies are handled by searching among the distinct rows and counting each row as often as it occurs.
So equal rows get equal distances to the last bit, a row repeated thousands of times costs as much
as one, and "self" means one index, never "everything at distance zero".
"""

from dataclasses import dataclass

import joblib
import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from rankad._typing import FloatArray, IntArray

#: Up to this many columns a k-d tree prunes well; above, brute force is faster.
MAX_TREE_DIMENSION = 10

#: Entries of one block of coordinate differences: bounds the memory of the exact distances.
_BLOCK_ENTRIES = 2**23


@dataclass(frozen=True)
class DistinctRows:
    """The rows of an array, each once, ``counts`` times; ``rows[inverse]`` is the array."""

    rows: FloatArray
    inverse: IntArray
    counts: IntArray


def distinct_rows(points: FloatArray) -> DistinctRows:
    """Sort out repeated rows.

    >>> distinct = distinct_rows(np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 1.0]]))
    >>> distinct.rows, distinct.counts, distinct.inverse
    (array([[0., 5.],
           [2., 1.]]), array([1, 2]), array([1, 0, 1]))
    """
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    is_first = np.ones(len(points), dtype=bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.cumsum(is_first) - 1
    inverse = np.empty_like(order)
    inverse[order] = group
    return DistinctRows(ordered[is_first], inverse, np.bincount(group))


def neighbor_distances(
    points: FloatArray,
    n_neighbors: int,
    reference: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Distances from each point to its nearest others, ascending, shape ``(n, n_neighbors)``.

    Without ``reference`` the neighbors of a point are the other points, itself excluded by index;
    with it, they are the rows of ``reference``.

    >>> neighbor_distances(np.array([[0.0], [1.0], [1.0], [5.0]]), 2)
    array([[1., 1.],
           [0., 1.],
           [0., 1.],
           [4., 4.]])
    """
    among_themselves = reference is None
    pool = points if reference is None else reference
    n_available = len(pool) - among_themselves
    if not 1 <= n_neighbors <= n_available:
        raise ValueError(
            f"n_neighbors={n_neighbors} must lie between 1 and {n_available}, "
            f"the number of {'other' if among_themselves else 'reference'} points."
        )
    distinct = distinct_rows(pool)
    queries = distinct.rows if among_themselves else points
    n_candidates = min(n_neighbors + among_themselves, len(distinct.rows))
    candidates = _nearest(distinct.rows, queries, n_candidates, n_jobs)
    distances = _exact_distances(queries, distinct.rows, candidates)
    multiplicities = distinct.counts[candidates]
    if among_themselves:
        # The point's own row goes first with one copy fewer, wherever the search has put it.
        is_self = candidates == np.arange(len(queries))[:, None]
        distances = np.c_[np.zeros(len(queries)), np.where(is_self, np.inf, distances)]
        multiplicities = np.c_[distinct.counts - 1, np.where(is_self, 0, multiplicities)]
    nearest = _repeat_sorted(distances, multiplicities, n_neighbors)
    return nearest[distinct.inverse] if among_themselves else nearest


def _nearest(
    rows: FloatArray, queries: FloatArray, n_candidates: int, n_jobs: int | None
) -> IntArray:
    """Indices of the nearest rows of each query."""
    if rows.shape[1] <= MAX_TREE_DIMENSION:
        workers = joblib.effective_n_jobs(n_jobs)
        _, indices = cKDTree(rows).query(queries, k=[*range(1, n_candidates + 1)], workers=workers)
        return np.asarray(indices)
    # Brute force expands |x|^2 - 2xy + |y|^2; about the mean it cancels least.
    center = rows.mean(axis=0)
    search = NearestNeighbors(n_neighbors=n_candidates, algorithm="brute", n_jobs=n_jobs)
    search.fit(rows - center)
    return np.asarray(search.kneighbors(queries - center, return_distance=False))


def _exact_distances(queries: FloatArray, rows: FloatArray, candidates: IntArray) -> FloatArray:
    """Distances of each query to its candidate rows by plain differences, block by block."""
    distances = np.empty(candidates.shape)
    block = max(1, _BLOCK_ENTRIES // (candidates.shape[1] * rows.shape[1]))
    for start in range(0, len(queries), block):
        stop = start + block
        differences = queries[start:stop, None, :] - rows[candidates[start:stop]]
        distances[start:stop] = np.sqrt(np.einsum("qcd,qcd->qc", differences, differences))
    return distances


def _repeat_sorted(distances: FloatArray, multiplicities: IntArray, n_wanted: int) -> FloatArray:
    """The smallest ``n_wanted`` of each row's distances, each counted ``multiplicities`` times."""
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    cumulative = np.cumsum(np.take_along_axis(multiplicities, order, axis=1), axis=1)
    which = np.stack([(cumulative <= k).sum(axis=1) for k in range(n_wanted)], axis=1)
    return np.take_along_axis(distances, which, axis=1)
