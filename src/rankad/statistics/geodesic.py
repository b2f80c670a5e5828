"""Neighbor distances along the data, by shortest paths in a neighbor graph, as in Isomap."""

import heapq
from dataclasses import dataclass, replace
from typing import Self

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
from rankad.statistics.search import (
    NeighborSearch,
    chunk_size,
    in_chunks,
    planned_search,
    prepared_search,
    search_method,
)

#: Number of edges that are followed in the time of finding one neighbor.
_EDGES_PER_SEARCH = 10


@dataclass(frozen=True)
class GeodesicNeighborDistance(SampledStatistic):
    """Minus the mean distance to the K nearest neighbors, measured along the neighbor graph.

    The graph joins each point to its ``n_graph_neighbors`` nearest (default: half of K, at least
    2). If ``n_graph_neighbors`` is K or more, the K nearest along the graph are the K nearest. If
    fewer than K others are connected to a point, each missing one counts as twice the largest
    distance found among the training points.

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
            raise ValueError(f"n_graph_neighbors must be at least 1; got {self.n_graph_neighbors}.")

    def planned_search(self, n_rows: int, n_features: int) -> NeighborSearch:
        """How neighbors are searched for. All edges of each neighbor found are followed."""
        work = 1.0 + self._n_edges / _EDGES_PER_SEARCH
        return planned_search(
            n_rows, n_features, n_neighbors=self.n_neighbors, work_per_neighbor=work
        )

    def _with_neighbors(self, n_neighbors: int) -> Self:
        fewer = super()._with_neighbors(n_neighbors)
        if self.n_graph_neighbors is None:
            return fewer
        n_edges = round(self.n_graph_neighbors * n_neighbors / self.n_neighbors)
        return replace(fewer, n_graph_neighbors=max(n_edges, min(self.n_graph_neighbors, 2)))

    @property
    def _n_edges(self) -> int:
        return self.n_graph_neighbors or max(2, self.n_neighbors // 2)

    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        n_wanted = min(self.n_neighbors, available_neighbors(points, among))
        distinct = distinct_rows(points if among is None else among)
        rows = distinct.rows
        graph = _neighbor_graph(rows, self._n_edges, self.n_jobs)
        n_found = min(n_wanted + 1, len(rows))
        n_chunk = chunk_size(len(rows), len(rows), self.n_jobs, n_found)
        found = in_chunks(
            lambda chunk: _geodesic_nearest(*graph, n_found, chunk.start, chunk.stop),
            *(len(rows), self.n_jobs, n_chunk),
        )
        nearest, distances = (np.concatenate(part) for part in zip(*found, strict=True))
        out_of_reach = 2.0 * distances[nearest >= 0].max(initial=0.0)

        def means(reached: IntArray, lengths: FloatArray, n_itself: int = 0) -> FloatArray:
            """Mean distances; a missing neighbor counts ``out_of_reach``, or as the farthest."""
            multiplicities = np.where(reached >= 0, distinct.counts[reached], 0)
            multiplicities[:, 0] -= n_itself
            farthest = np.where(reached >= 0, lengths, 0.0).max(axis=1)
            lengths = np.c_[lengths, np.maximum(out_of_reach, farthest)]
            multiplicities = np.c_[multiplicities, np.full(len(reached), n_wanted)]
            return row_means(repeat_sorted(lengths, multiplicities, n_wanted))

        if among is None:
            # Each row's first nearest is itself.
            return -means(nearest, distances, n_itself=1)[distinct.inverse]
        search = prepared_search(rows, min(self._n_edges, len(rows)), search_method(*rows.shape))

        def means_from_outside(chunk: slice) -> FloatArray:
            entries = search(points[chunk])
            return means(*_nearest_through_entries(*entries, nearest, distances, n_wanted))

        n_chunk = chunk_size(len(points), len(rows), self.n_jobs, n_wanted)
        return -np.concatenate(in_chunks(means_from_outside, len(points), self.n_jobs, n_chunk))


def _neighbor_graph(
    rows: FloatArray, n_edges: int, n_jobs: int | None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Symmetric neighbor graph in compressed rows: offsets, neighbors and lengths of the edges."""
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
    offsets: IntArray,
    neighbors: IntArray,
    lengths: FloatArray,
    n_wanted: int,
    start: int,
    stop: int,
) -> tuple[IntArray, FloatArray]:
    """Indices and distances of the nearest rows along the graph, for the rows ``start:stop``.

    Each row is its own first nearest. The index -1 stands for no row.
    """
    n_rows = offsets.size - 1
    stop = min(stop, n_rows)
    nearest = np.full((stop - start, n_wanted), -1, dtype=np.int64)
    distances = np.full((stop - start, n_wanted), np.inf)
    shortest = np.full(n_rows, np.inf)  # to each row, of the paths seen so far
    seen_from = np.full(n_rows, -1, dtype=np.int64)
    for source in range(start, stop):
        heap = [(0.0, source)]
        shortest[source], seen_from[source] = 0.0, source
        n_found = 0
        while len(heap) > 0 and n_found < n_wanted:
            distance, row = heapq.heappop(heap)
            if distance > shortest[row]:
                continue  # a shorter path to this row was found before
            nearest[source - start, n_found] = row
            distances[source - start, n_found] = distance
            n_found += 1
            for edge in range(offsets[row], offsets[row + 1]):
                other, length = neighbors[edge], distance + lengths[edge]
                if seen_from[other] != source or length < shortest[other]:
                    shortest[other], seen_from[other] = length, source
                    heapq.heappush(heap, (length, other))
    return nearest, distances


@compiled
def _nearest_through_entries(
    entries: IntArray,
    steps: FloatArray,
    nearest: IntArray,
    distances: FloatArray,
    n_wanted: int,
) -> tuple[IntArray, FloatArray]:
    """Nearest rows of new points: one step to an entry, a near row, and then along the graph."""
    found = np.full((entries.shape[0], n_wanted), -1, dtype=np.int64)
    found_lengths = np.full((entries.shape[0], n_wanted), np.inf)
    shortest = np.full(nearest.shape[0], np.inf)
    seen_from = np.full(nearest.shape[0], -1, dtype=np.int64)
    reached = np.empty(nearest.shape[0], dtype=np.int64)
    for i in range(entries.shape[0]):
        n_reached = 0
        for k in range(entries.shape[1]):
            for m in range(nearest.shape[1]):
                row = nearest[entries[i, k], m]
                if row < 0:
                    break  # no more rows are connected to this entry
                length = steps[i, k] + distances[entries[i, k], m]
                if seen_from[row] != i:
                    reached[n_reached] = row
                    n_reached += 1
                if seen_from[row] != i or length < shortest[row]:
                    shortest[row], seen_from[row] = length, i
        order = np.argsort(shortest[reached[:n_reached]])[:n_wanted]
        for place in range(order.size):
            found[i, place] = reached[order[place]]
            found_lengths[i, place] = shortest[reached[order[place]]]
    return found, found_lengths
