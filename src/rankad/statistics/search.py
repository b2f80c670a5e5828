"""Which rows are searched for neighbors, how, and in how many pieces: decided by (n, d) alone.

Measured on one core, microseconds per query for the 10 nearest of n rows, normal data
(``python benchmarks/neighbors.py``):

======= ================================ ================================
n       k-d tree, d = 3 / 5 / 7 / 10     brute force, d = 3 / 5 / 7 / 10
======= ================================ ================================
1,000   2.1 / 3.8 / 6.3 / 9.6            2.2 / 2.5 / 2.5 / 2.6
5,000   2.4 / 6.3 / 16 / 40              3.9 / 4.0 / 4.4 / 5.4
20,000  2.6 / 8.1 / 29 / 96              10 / 12 / 13 / 15
200,000 5.2 / 14 / 96 / 580              110 / 110 / 130 / 170
======= ================================ ================================

So a tree needs four times as many rows for every column, its cost doubles with every column, and
that of brute force grows as the number of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
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

#: Finds the nearest rows of queries: their indices and distances, nearest first.
Search: TypeAlias = Callable[[FloatArray], tuple[IntArray, FloatArray]]

#: Rows that stand for all where there are too many to search.
REFERENCE_ROWS = 10_000

#: A tree is faster than brute force from so many rows, times 4^d, on.
_TREE_ROWS = 16

#: Costs of an exact search that take some ten seconds on one core: of a tree in n 2^d, of brute
#: force in n^2 (d + 14).
_MOST_TREE_COST = 2e7
_MOST_BRUTE_FORCE_COST = 3e11

#: Rows of which all distances are computed, not only those of neighbors: ten seconds, too.
_MOST_ROWS_FOR_ALL_PAIRS = 20_000

#: Work of one thread between two reports: queries, and their distances by brute force.
_CHUNK_QUERIES = 2**14
_CHUNK_ENTRIES = 2**27


@dataclass(frozen=True)
class NeighborSearch:
    """How neighbors are sought: by which method, and among how many of the rows.

    >>> NeighborSearch("brute force", n_rows=750_000, n_reference=10_000)
    NeighborSearch(method='brute force', n_rows=750000, n_reference=10000)
    >>> print(NeighborSearch("brute force", n_rows=750_000, n_reference=10_000))
    brute force among 10000 of 750000 rows, drawn at random
    """

    method: Method
    n_rows: int
    n_reference: int

    @property
    def among_all(self) -> bool:
        """Whether all rows are searched."""
        return self.n_reference == self.n_rows

    def __str__(self) -> str:
        if self.among_all:
            return f"{self.method} among all {self.n_rows} rows"
        return f"{self.method} among {self.n_reference} of {self.n_rows} rows, drawn at random"


def planned_search(n_rows: int, n_features: int, n_searches: int = 1) -> NeighborSearch:
    """Plan of the search for neighbors among so many rows; queries do not change it.

    All rows are searched where that, so many times, takes no more than some ten seconds on one
    core: once, for up to 110,000 rows of 10 columns, 1.2 million of 4. Beyond, a random sample of
    them stands for all.

    >>> print(planned_search(1_000_000, n_features=3))
    k-d tree among all 1000000 rows
    >>> print(planned_search(20_000, n_features=10))
    brute force among all 20000 rows
    """
    method = _method(n_rows, n_features)
    cost, most = float(n_rows) ** 2 * (n_features + 14), _MOST_BRUTE_FORCE_COST
    if method == "k-d tree":
        cost, most = n_rows * 2.0**n_features, _MOST_TREE_COST
    if n_searches * cost <= most or n_rows <= REFERENCE_ROWS:
        return NeighborSearch(method, n_rows, n_rows)
    return NeighborSearch(_method(REFERENCE_ROWS, n_features), n_rows, REFERENCE_ROWS)


def planned_all_pairs(n_rows: int) -> NeighborSearch:
    """Plan for what takes all distances between rows.

    >>> print(planned_all_pairs(100_000))
    brute force among 10000 of 100000 rows, drawn at random
    """
    n_reference = n_rows if n_rows <= _MOST_ROWS_FOR_ALL_PAIRS else REFERENCE_ROWS
    return NeighborSearch("brute force", n_rows, n_reference)


def prepared_search(rows: FloatArray, n_nearest: int, method: Method) -> Search:
    """A search among all of the rows."""
    if method == "brute force":
        return BruteForce(rows, n_nearest)
    return partial(_nearest_by_tree, cKDTree(rows), n_nearest)


def in_chunks(
    function: Callable[[slice], Result], n_queries: int, n_jobs: int | None, n_chunk: int
) -> list[Result]:
    """Results for slices of so many queries each, computed by threads."""
    chunks = [slice(start, start + n_chunk) for start in range(0, n_queries, n_chunk)]
    # The matrix products within a chunk are too small for more than one thread each.
    results = in_threads(lambda chunk: (function(chunk),), chunks or [slice(0, 0)], n_jobs)
    with one_thread_each(), closing(results):
        tracked = track(results, max(len(chunks), 1), "ranking by neighbors")
        return [result for (result,) in tracked]


def chunk_size(n_queries: int, n_rows: int, n_jobs: int | None) -> int:
    """Queries of one chunk of a search: enough for every thread, and a report now and then."""
    share: int = -(-n_queries // joblib.effective_n_jobs(n_jobs))
    return max(1, min(_CHUNK_QUERIES, _CHUNK_ENTRIES // n_rows, share))


def _method(n_rows: int, n_features: int) -> Method:
    return "k-d tree" if n_rows >= _TREE_ROWS * 4**n_features else "brute force"


def _nearest_by_tree(
    tree: cKDTree, n_nearest: int, queries: FloatArray
) -> tuple[IntArray, FloatArray]:
    distances, indices = tree.query(queries, k=[*range(1, n_nearest + 1)])
    return np.asarray(indices), np.asarray(distances)
