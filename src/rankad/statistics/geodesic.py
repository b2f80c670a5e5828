"""Neighbor distances along the data: shortest paths in a neighbor graph, as in Isomap."""

import heapq
from dataclasses import dataclass

import numpy as np

from rankad._compiled import compiled
from rankad._typing import FloatArray, IntArray
from rankad.statistics.among_sample import SampledStatistic
from rankad.statistics.neighbors import (
    available_neighbors,
    distinct_rows,
    nearest_rows,
    repeat_sorted,
    row_means,
)


@dataclass(frozen=True)
class GeodesicNeighborDistance(SampledStatistic):
    """Minus the mean distance to the K nearest neighbors, measured along the neighbor graph.

    The graph joins each point to its ``n_graph_neighbors`` nearest (default: half of K, at least
    2). With K or more of them the K nearest along the graph are simply the K nearest. Where a
    point's component of the graph holds fewer than K others, those beyond its reach count as twice
    the largest distance found among the training points.

    >>> bent = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.1]])
    >>> GeodesicNeighborDistance(n_neighbors=3, n_graph_neighbors=1)(bent).round(2)
    array([-2.  , -1.33, -1.33, -2.  ])
    """

    n_neighbors: int = 10
    n_graph_neighbors: int | None = None
    n_jobs: int | None = None
    random_state: int | None = 0

    def __post_init__(self) -> None:
        if self.n_graph_neighbors is not None and self.n_graph_neighbors < 1:
            raise ValueError(f"n_graph_neighbors must be positive; got {self.n_graph_neighbors}.")

    @property
    def _n_edges(self) -> int:
        return self.n_graph_neighbors or max(2, self.n_neighbors // 2)

    def _values(self, points: FloatArray, reference: FloatArray | None) -> FloatArray:
        n_wanted = min(self.n_neighbors, available_neighbors(points, reference))
        distinct = distinct_rows(points if reference is None else reference)
        graph = _neighbor_graph(distinct.rows, self._n_edges, self.n_jobs)
        nearest, distances = _geodesic_nearest(*graph, min(n_wanted + 1, len(distinct.rows)))
        out_of_reach = 2.0 * distances[nearest >= 0].max(initial=0.0)
        multiplicities = np.where(nearest >= 0, distinct.counts[nearest], 0)
        if reference is None:
            multiplicities[:, 0] -= 1  # each row's first nearest is itself
        else:
            nearest, distances = self._from_outside(points, distinct.rows, nearest, distances)
            multiplicities = np.where(nearest >= 0, distinct.counts[nearest], 0)
        farthest = np.where(nearest >= 0, distances, 0.0).max(axis=1)
        stand_in = np.maximum(out_of_reach, farthest)  # sorts behind all that were found
        found = repeat_sorted(
            np.c_[np.where(nearest >= 0, distances, np.inf), stand_in],
            np.c_[multiplicities, np.full(len(nearest), n_wanted)],
            n_wanted,
        )
        values = -row_means(found)
        return np.asarray(values[distinct.inverse] if reference is None else values)

    def _from_outside(
        self, points: FloatArray, rows: FloatArray, nearest: IntArray, distances: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Geodesic neighbors of new points: one step to a near row, then along the graph."""
        doors, steps = nearest_rows(rows, points, min(self._n_edges, len(rows)), self.n_jobs)
        reached = nearest[doors].reshape(len(points), -1)
        lengths = (steps[:, :, None] + distances[doors]).reshape(len(points), -1)
        lengths = np.where(reached >= 0, lengths, np.inf)
        order = np.argsort(lengths, axis=1, kind="stable")
        reached = np.take_along_axis(reached, order, axis=1)
        lengths = np.take_along_axis(lengths, order, axis=1)
        return _first_occurrences(reached), lengths


def _neighbor_graph(
    rows: FloatArray, n_edges: int, n_jobs: int | None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Symmetric neighbor graph in compressed rows: offsets, neighbors, lengths."""
    n_candidates = min(n_edges + 1, len(rows))
    candidates, lengths = nearest_rows(rows, rows, n_candidates, n_jobs)
    start = np.repeat(np.arange(len(rows)), n_candidates)
    stop, lengths = candidates.ravel(), lengths.ravel()
    proper = start != stop
    start, stop, lengths = start[proper], stop[proper], lengths[proper]
    both_ways = (np.r_[start, stop], np.r_[stop, start], np.r_[lengths, lengths])
    order = np.argsort(both_ways[0], kind="stable")
    offsets = np.searchsorted(both_ways[0][order], np.arange(len(rows) + 1))
    return offsets, both_ways[1][order], both_ways[2][order]


@compiled
def _geodesic_nearest(
    offsets: IntArray, neighbors: IntArray, lengths: FloatArray, n_wanted: int
) -> tuple[IntArray, FloatArray]:
    """Indices and distances of each row's nearest along the graph, itself first; -1 where none."""
    n = offsets.size - 1
    nearest = np.full((n, n_wanted), -1, dtype=np.int64)
    distances = np.full((n, n_wanted), np.inf)
    settled_from = np.full(n, -1, dtype=np.int64)
    for source in range(n):
        heap = [(0.0, source)]
        n_found = 0
        while len(heap) > 0 and n_found < n_wanted:
            distance, row = heapq.heappop(heap)
            if settled_from[row] == source:
                continue
            settled_from[row] = source
            nearest[source, n_found] = row
            distances[source, n_found] = distance
            n_found += 1
            for edge in range(offsets[row], offsets[row + 1]):
                if settled_from[neighbors[edge]] != source:
                    heapq.heappush(heap, (distance + lengths[edge], neighbors[edge]))
    return nearest, distances


@compiled
def _first_occurrences(indices: IntArray) -> IntArray:
    """The indices, with all but the first occurrence in each row turned into -1."""
    kept = indices.copy()
    last_seen = np.full(indices.max() + 1, -1, dtype=np.int64)
    for i in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            index = indices[i, k]
            if index >= 0:
                if last_seen[index] == i:
                    kept[i, k] = -1
                last_seen[index] = i
    return kept
