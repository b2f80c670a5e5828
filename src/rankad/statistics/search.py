"""Which rows are searched for neighbors, by which method, and in how many chunks.

These depend only on the number n of rows, the number d of columns and K. The table has the
microseconds per query for the 10 nearest of n rows, for normal data on one core
(``python benchmarks/neighbors.py``):

======= ================================ ================================
n       k-d tree, d = 3 / 5 / 7 / 10     brute force, d = 3 / 5 / 7 / 10
======= ================================ ================================
1,000   2.1 / 3.8 / 6.3 / 9.6            2.2 / 2.5 / 2.5 / 2.6
5,000   2.4 / 6.3 / 16 / 40              3.9 / 4.0 / 4.4 / 5.4
20,000  2.6 / 8.1 / 29 / 96              10 / 12 / 13 / 15
200,000 5.2 / 14 / 96 / 580              110 / 110 / 130 / 170
======= ================================ ================================

So a tree needs four times more rows for each further column to be the faster method. Its cost
doubles with each column. The cost of brute force grows with the number of pairs. With hundreds of
neighbors, each takes about .1 microseconds, more in a tree of many columns. The faster method is
nearly always the same (``python benchmarks/neighbors.py --neighbors 200``). Neighbors need not be
found among all rows: K neighbors among n rows are about as far away as K s/n neighbors among a
random sample of s rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Literal, TypeAlias, TypeVar

import joblib
import numpy as np
from scipy.spatial import cKDTree

from rankad._progress import track
from rankad._threads import in_threads, one_thread_each
from rankad._typing import FloatArray, IntArray
from rankad.statistics.brute_force import BruteForce

Result = TypeVar("Result")

Method: TypeAlias = Literal["k-d tree", "brute force"]

#: Function that returns the indices and distances of the nearest rows of queries, nearest first.
Search: TypeAlias = Callable[[FloatArray], tuple[IntArray, FloatArray]]

#: Size of a sample of rows, if there are too many rows to search and few neighbors.
SAMPLE_ROWS = 10_000

#: The limit on neighbors leaves at least this many. With 50 neighbors, the distance to them
#: determines the density to about 15%.
_ENOUGH_NEIGHBORS = 50

#: A sample leaves at least this many neighbors, or all if they were fewer.
_MIN_NEIGHBORS = 5

#: From this many rows times 4^d on, a tree is faster than brute force.
_TREE_ROWS = 16

#: Costs of an exact search that takes about ten seconds on one core. The cost of a tree is n 2^d,
#: that of brute force is n^2 (d + 14).
_MAX_TREE_COST = 2e7
_MAX_BRUTE_FORCE_COST = 3e11

#: Limit on neighbors: n K for all rows together, which takes a few seconds.
_MAX_NEIGHBORS = 2e7

#: Number of rows whose distances to all rows are computed in about ten seconds.
_MAX_ROWS_FOR_ALL_PAIRS = 20_000

#: Work of one thread between two reports of progress: queries, distances by brute force, and
#: neighbors.
_CHUNK_QUERIES = 2**14
_CHUNK_ENTRIES = 2**27
_CHUNK_NEIGHBORS = 2**20


@dataclass(frozen=True)
class NeighborSearch:
    """Plan of a search: the method, the number of rows searched, and the number of neighbors.

    >>> search = NeighborSearch("k-d tree", n_rows=750_000, n_searched=4_543, n_neighbors=8_255)
    >>> print(search)
    k-d tree among 4543 of 750000 rows, drawn at random, 50 neighbors standing for 8255
    >>> search.n_sought
    50
    """

    method: Method
    n_rows: int
    n_searched: int
    n_neighbors: int = 10

    @property
    def among_all(self) -> bool:
        """Whether all rows are searched."""
        return self.n_searched == self.n_rows

    @property
    def n_sought(self) -> int:
        """Number of neighbors among the searched rows, in place of ``n_neighbors`` among all."""
        return neighbors_among(self.n_searched, self.n_rows, self.n_neighbors)

    def __str__(self) -> str:
        if self.among_all:
            return f"{self.method} among all {self.n_rows} rows"
        sample = f"{self.method} among {self.n_searched} of {self.n_rows} rows, drawn at random"
        if self.n_sought == self.n_neighbors:
            return sample
        return f"{sample}, {self.n_sought} neighbors standing for {self.n_neighbors}"


def neighbors_among(n_sample: int, n_rows: int, n_neighbors: int) -> int:
    """Number of neighbors in a sample, about as far away as ``n_neighbors`` among all rows.

    It is at least 5, or ``n_neighbors`` if that is smaller, because the distance to fewer neighbors
    is too random.

    >>> neighbors_among(1_000, 20_000, n_neighbors=737), neighbors_among(1_000, 20_000, 10)
    (37, 5)
    """
    in_proportion = round(min(n_neighbors, n_rows) * n_sample / n_rows)
    return max(min(n_neighbors, _MIN_NEIGHBORS), in_proportion)


def planned_search(
    n_rows: int,
    n_features: int,
    n_searches: int = 1,
    n_neighbors: int = 10,
    work_per_neighbor: float = 1.0,
) -> NeighborSearch:
    """Plan of ``n_searches`` searches for neighbors among so many rows.

    There are two limits. All searches together take at most about ten seconds on one core, which
    for one search is 110,000 rows of 10 columns or 1.2 million rows of 4. And all rows together
    have at most 20 million neighbors. Within the limits all rows are searched. Else a random sample
    of the rows is searched, for neighbors in proportion. With 50 neighbors or more, the sample is
    as large as the limits allow. But the limit on neighbors leaves at least 50 of them, and the
    limit on time at least 10,000 rows. With fewer neighbors the sample has 10,000 rows.

    ``work_per_neighbor`` is the work of a statistic for each neighbor, in units of the work of
    finding it, which is included.

    >>> print(planned_search(1_000_000, n_features=3))
    k-d tree among all 1000000 rows
    >>> print(planned_search(20_000, n_features=10))
    brute force among all 20000 rows
    >>> print(planned_search(150_000, n_features=2, n_neighbors=2_800))
    k-d tree among 7143 of 150000 rows, drawn at random, 133 neighbors standing for 2800
    """
    n_searched = _rows_for_neighbors(n_rows, n_neighbors, n_searches * work_per_neighbor)
    affordable = _affordable_rows(n_rows, n_features, n_searches, n_searched)
    if affordable < n_searched:
        are_many = n_neighbors >= _ENOUGH_NEIGHBORS
        at_least = min(SAMPLE_ROWS, n_searched)
        n_searched = max(affordable, at_least) if are_many else at_least
    method = search_method(n_searched, n_features)
    return NeighborSearch(method, n_rows, n_searched, n_neighbors)


def planned_all_pairs(n_rows: int, n_neighbors: int = 10) -> NeighborSearch:
    """Plan of a search for a statistic that computes all distances between rows.

    >>> print(planned_all_pairs(100_000, n_neighbors=5))
    brute force among 10000 of 100000 rows, drawn at random
    """
    n_searched = n_rows if n_rows <= _MAX_ROWS_FOR_ALL_PAIRS else SAMPLE_ROWS
    n_searched = min(n_searched, _rows_for_neighbors(n_rows, n_neighbors))
    return NeighborSearch("brute force", n_rows, n_searched, n_neighbors)


def search_method(n_rows: int, n_features: int) -> Method:
    """The faster method for a search among so many rows."""
    return "k-d tree" if n_rows >= _TREE_ROWS * 4**n_features else "brute force"


def prepared_search(rows: FloatArray, n_nearest: int, method: Method) -> Search:
    """Search among the rows, prepared for any number of queries."""
    if method == "brute force":
        return BruteForce(rows, n_nearest)
    return partial(_nearest_by_tree, cKDTree(rows), n_nearest)


def in_chunks(
    function: Callable[[slice], Result], n_queries: int, n_jobs: int | None, n_chunk: int
) -> list[Result]:
    """Results of the function for chunks of ``n_chunk`` queries each, computed by threads."""
    chunks = [slice(start, start + n_chunk) for start in range(0, n_queries, n_chunk)]
    # The matrix products of a chunk are too small for more than one thread each.
    results = in_threads(lambda chunk: (function(chunk),), chunks or [slice(0, 0)], n_jobs)
    with one_thread_each(), closing(results):
        tracked = track(results, max(len(chunks), 1), "ranking by neighbors")
        return [result for (result,) in tracked]


def chunk_size(n_queries: int, n_rows: int, n_jobs: int | None, n_nearest: int = 1) -> int:
    """Number of queries in a chunk, so small that all threads have work and report progress."""
    share: int = -(-n_queries // joblib.effective_n_jobs(n_jobs))
    max_queries = min(_CHUNK_QUERIES, _CHUNK_ENTRIES // n_rows, _CHUNK_NEIGHBORS // n_nearest)
    return max(1, min(max_queries, share))


def _rows_for_neighbors(n_rows: int, n_neighbors: int, work_per_neighbor: float = 1.0) -> int:
    """Number of rows to search so that neighbors in proportion keep to the limit on neighbors."""
    n_neighbors = min(n_neighbors, n_rows)
    max_neighbors = max(_MAX_NEIGHBORS / (work_per_neighbor * n_rows), _ENOUGH_NEIGHBORS)
    return n_rows if n_neighbors <= max_neighbors else ceil(n_rows * max_neighbors / n_neighbors)


def _affordable_rows(n_rows: int, n_features: int, n_searches: int, n_searched: int) -> int:
    """Number of rows, at most ``n_searched``, that can be searched for all rows in time."""
    if search_method(n_searched, n_features) == "k-d tree":
        cost = n_searches * n_rows * 2.0**n_features
        n_searched = int(n_searched * min(1.0, _MAX_TREE_COST / cost))
    if search_method(n_searched, n_features) == "brute force":
        cost_of_row = float(n_searches) * n_rows * (n_features + 14)
        n_searched = min(n_searched, int(_MAX_BRUTE_FORCE_COST / cost_of_row))
    return n_searched


def _nearest_by_tree(
    tree: cKDTree, n_nearest: int, queries: FloatArray
) -> tuple[IntArray, FloatArray]:
    distances, indices = tree.query(queries, k=[*range(1, n_nearest + 1)])
    return np.asarray(indices), np.asarray(distances)
