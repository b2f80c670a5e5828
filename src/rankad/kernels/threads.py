"""Sharing the rows of a large batch among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import joblib

#: Below so many operations, about a millisecond of them, threads cost more than they save.
_WORTH_A_THREAD = 2_000_000

#: Parts for each thread: a thread that is held up leaves parts to the others.
_PARTS_PER_THREAD = 8


def in_threads(
    function: Callable[[int, int], None],
    n_rows: int,
    *,
    operations_per_row: int,
    n_jobs: int | None,
) -> None:
    """Call ``function(start, stop)`` on parts of the rows, in ``n_jobs`` threads.

    The threads live only as long as the call: nothing is left that a fork could break, or that
    could multiply with threads elsewhere.
    """
    if n_jobs == 1 or n_rows * operations_per_row < 2 * _WORTH_A_THREAD:
        function(0, n_rows)
        return
    n_threads = min(joblib.effective_n_jobs(n_jobs), n_rows)
    if n_threads <= 1:
        function(0, n_rows)
        return
    n_parts = min(_PARTS_PER_THREAD * n_threads, n_rows)
    bounds = [n_rows * part // n_parts for part in range(n_parts + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(function, bounds[:-1], bounds[1:]):
            pass
