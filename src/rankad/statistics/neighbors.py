"""Distances to nearest neighbors. A point is never its own neighbor, but its copies are.

The search is among the distinct rows, and each row counts as many times as it occurs. So equal rows
get equal distances to the last bit. A row repeated thousands of times costs no more than one row. A
point leaves out one row, itself, and not all rows at distance zero.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankad._compiled import compiled_or
from rankad._typing import FloatArray, IntArray
from rankad.statistics.search import chunk_size, in_chunks, prepared_search, search_method


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of an array, and how often each occurs; ``rows[inverse]`` is the array."""

    rows: FloatArray
    inverse: IntArray
    counts: IntArray


def distinct_rows(points: FloatArray) -> DistinctRows:
    """The distinct rows of ``points``, in lexicographic order.

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
    among: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Distances from each point to its nearest others, ascending, shape ``(n, n_neighbors)``.

    Without ``among``, the neighbors of a point are all other points, including its copies. With
    ``among``, they are the rows of ``among``.

    >>> neighbor_distances(np.array([[0.0], [1.0], [1.0], [5.0]]), 2)
    array([[1., 1.],
           [0., 1.],
           [0., 1.],
           [4., 4.]])
    """
    return of_neighbor_distances(lambda nearest: nearest, points, n_neighbors, among, n_jobs)


def of_neighbor_distances(
    function: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    n_neighbors: int,
    among: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Results of a function of the neighbor distances, one for each point.

    The function gets the distances of a chunk of points at a time, because all of them together may
    not fit into memory.

    >>> of_neighbor_distances(row_means, np.array([[0.0], [1.0], [1.0], [5.0]]), 2)
    array([1. , 0.5, 0.5, 4. ])
    """
    among_themselves = among is None
    pool = points if among is None else among
    n_available = available_neighbors(points, among)
    if not 1 <= n_neighbors <= n_available:
        raise ValueError(
            f"n_neighbors={n_neighbors} must lie between 1 and {n_available}, the number of "
            f"{'other' if among_themselves else 'given'} points."
        )
    distinct = distinct_rows(pool)
    queries = distinct.rows if among_themselves else points
    n_candidates = min(n_neighbors + among_themselves, len(distinct.rows))
    search = prepared_search(distinct.rows, n_candidates, search_method(*pool.shape))
    has_copies = len(distinct.rows) < len(pool)

    def of_chunk(chunk: slice) -> FloatArray:
        candidates, distances = search(queries[chunk])
        if not has_copies:  # the nearest row of a row is itself
            return np.ascontiguousarray(function(distances[:, among_themselves:]))
        multiplicities = distinct.counts[candidates]
        if among_themselves:
            multiplicities -= candidates == np.arange(len(queries))[chunk, None]
        return np.ascontiguousarray(function(repeat_sorted(distances, multiplicities, n_neighbors)))

    n_chunk = chunk_size(len(queries), len(distinct.rows), n_jobs, n_candidates)
    results = np.concatenate(in_chunks(of_chunk, len(queries), n_jobs, n_chunk))
    return results[distinct.inverse] if among_themselves else results


def row_sample(points: FloatArray, n_max: int) -> FloatArray:
    """All points, or ``n_max`` of them if there are more, drawn with a fixed seed."""
    if len(points) <= n_max:
        return points
    return points[np.random.RandomState(0).choice(len(points), n_max, replace=False)]


def row_means(columns: FloatArray) -> FloatArray:
    """Mean of each row, added column by column, so it is the same in every batch."""
    total = np.zeros(len(columns))
    for column in columns.T:
        total += column
    return np.asarray(total / max(columns.shape[1], 1))


def available_neighbors(points: FloatArray, among: FloatArray | None = None) -> int:
    """Largest number of neighbors of a point: all others, or all rows of ``among``."""
    return len(points) - 1 if among is None else len(among)


def nearest_rows(
    rows: FloatArray, queries: FloatArray, n_nearest: int, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Indices of the nearest rows of each query, nearest first, and their distances."""
    search = prepared_search(rows, n_nearest, search_method(*rows.shape))
    n_chunk = chunk_size(len(queries), len(rows), n_jobs, n_nearest)
    found = in_chunks(lambda chunk: search(queries[chunk]), len(queries), n_jobs, n_chunk)
    indices, distances = (np.concatenate(part) for part in zip(*found, strict=True))
    return indices, distances


def _plain_repeat_sorted(
    distances: FloatArray, multiplicities: IntArray, n_wanted: int
) -> FloatArray:
    rows = zip(distances, multiplicities, strict=True)
    repeated = [np.repeat(row, n_copies)[:n_wanted] for row, n_copies in rows]
    return np.array(repeated, dtype=np.float64).reshape(-1, n_wanted)


@compiled_or(_plain_repeat_sorted)
def repeat_sorted(distances: FloatArray, multiplicities: IntArray, n_wanted: int) -> FloatArray:
    """The first ``n_wanted`` of each row's distances, each repeated ``multiplicities`` times.

    Distances with a positive multiplicity must ascend, and suffice for ``n_wanted``.
    """
    repeated = np.empty((distances.shape[0], n_wanted))
    for i in range(distances.shape[0]):
        n_filled, k = 0, 0
        while n_filled < n_wanted:
            n_copies = min(multiplicities[i, k], n_wanted - n_filled)
            for _ in range(n_copies):
                repeated[i, n_filled] = distances[i, k]
                n_filled += 1
            k += 1
    return repeated
