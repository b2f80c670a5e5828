"""Work shared between threads: compiled loops and BLAS run without the interpreter lock."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Event, Lock, Thread
from typing import TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Piece = TypeVar("Piece")


def in_threads(
    function: Callable[[Item], Iterable[Piece]], items: Sequence[Item], n_jobs: int | None
) -> Generator[list[Piece]]:
    """Lists of the pieces that the function yields for each item, in the items' order.

    ``n_jobs`` is understood as joblib does. Each thread has one thread of BLAS to itself: more of
    them than cores would wait for one another. The threads end with the iteration: nothing is left
    that a fork could break. Whoever stops iterating, by an exception or Ctrl-C, waits only until
    each thread has finished the piece it is at.

    >>> list(in_threads(range, [1, 3], n_jobs=2))
    [[0], [0, 1, 2]]
    """
    n_threads = min(joblib.effective_n_jobs(n_jobs), len(items))
    if n_threads <= 1:
        yield from (list(function(item)) for item in items)
        return
    is_stopped = Event()

    def pieces_of(item: Item) -> list[Piece]:
        pieces = []
        for piece in function(item):
            pieces.append(piece)
            if is_stopped.is_set():
                break
        return pieces

    with one_thread_each(), ThreadPoolExecutor(n_threads) as executor:
        futures = [executor.submit(pieces_of, item) for item in items]
        try:
            yield from (future.result() for future in futures)
        finally:
            is_stopped.set()
            executor.shutdown(cancel_futures=True)


def share_out(function: Callable[[Item], None], items: Sequence[Item], n_jobs: int | None) -> None:
    """Call the function on all items, in the calling thread and ``n_jobs - 1`` others.

    For compiled functions that take milliseconds: nothing is returned, and the threads, which end
    with the call, take the items one after another.

    >>> numbers = [1, 2, 3]
    >>> share_out(numbers.append, [4, 5], n_jobs=2)
    >>> sorted(numbers)
    [1, 2, 3, 4, 5]
    """
    n_threads = 1 if len(items) < 2 else min(joblib.effective_n_jobs(n_jobs), len(items))
    remaining = iter(items)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for item in remaining:
                function(item)
        except BaseException as failure:
            deque(remaining, maxlen=0)  # the others need not go on
            failures.append(failure)

    helpers = [Thread(target=work) for _ in range(n_threads - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """While it lasts, BLAS and OpenMP use one thread for each call.

    For products so small that sharing one among threads costs more than it saves, and on a busy
    machine many times more; and for OpenMP, whose threads do not survive a fork. The limit is the
    whole process's: whoever comes first sets it and takes it away again, others meanwhile need not.
    """
    if not _limit_is_set.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1):
            yield
    finally:
        _limit_is_set.release()


_limit_is_set = Lock()


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes a while, so it is done once."""
    return ThreadpoolController()
