"""Microseconds per query for the K nearest of n rows: k-d tree and brute force, on one core.

    python benchmarks/neighbors.py [--neighbors K] [n ...]

This makes the table of `rankad.statistics.search`, which decides how neighbors are sought. The data
are normal. The time to build a tree is divided by the number of rows. The default is all n of the
table, 1,000 to 200,000, and K = 10.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from rankad.statistics.search import Method, chunk_size, prepared_search

SIZES = (1_000, 5_000, 20_000, 200_000)
DIMENSIONS = (3, 5, 7, 10)

#: Neighbors that one measurement finds: enough to measure the time of a query.
_MAX_NEIGHBORS = 200_000

_REPEATS = 3


def microseconds(n_rows: int, n_features: int, method: Method, n_neighbors: int) -> float:
    rows = np.random.default_rng(0).normal(size=(n_rows, n_features))
    return min(_microseconds_once(rows, method, n_neighbors) for _ in range(_REPEATS))


def _microseconds_once(rows: np.ndarray, method: Method, n_neighbors: int) -> float:
    queries = rows[: _MAX_NEIGHBORS // n_neighbors]
    chunk = chunk_size(len(queries), len(rows), 1, n_neighbors)
    started = time.perf_counter()
    search = prepared_search(rows, n_neighbors, method)
    prepared = time.perf_counter()
    for first in range(0, len(queries), chunk):
        search(queries[first : first + chunk])
    searched = time.perf_counter()
    return 1e6 * ((prepared - started) / len(rows) + (searched - prepared) / len(queries))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="n")
    parser.add_argument("--neighbors", type=int, default=10, metavar="K")
    arguments = parser.parse_args()
    dimensions = " / ".join(map(str, DIMENSIONS))
    print(f"| n | k-d tree, d = {dimensions} | brute force, d = {dimensions} |\n|---|---|---|")
    with threadpool_limits(1):
        for n_rows in arguments.sizes:
            cells = [
                " / ".join(
                    f"{microseconds(n_rows, d, method, arguments.neighbors):.2g}"
                    for d in DIMENSIONS
                )
                for method in ("k-d tree", "brute force")
            ]
            print(f"| {n_rows:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
