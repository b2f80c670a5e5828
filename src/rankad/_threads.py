"""Work shared between threads. Compiled loops and BLAS run without the interpreter lock."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Event, RLock, Thread, get_ident
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Piece = TypeVar("Piece")


def in_threads(
    function: Callable[[Item], Iterable[Piece]], items: Sequence[Item], n_jobs: int | None
) -> Generator[list[Piece]]:
    """For each item, in order, the list of the pieces that the function yields for it.

    ``n_jobs`` has joblib's meaning. BLAS uses one thread for each of these threads, because more
    threads than cores would wait for each other. The threads see the caller's context variables,
    so progress is shown as in the caller's thread. They end with the iteration, so a later fork
    cannot break them. If the iteration stops early, by an exception or Ctrl-C, each thread still
    finishes its current piece.

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
        # One copy for each item, because only one thread at a time can enter a context.
        futures = deque(executor.submit(copy_context().run, pieces_of, item) for item in items)
        try:
            while futures:  # a future and its result are dropped once the result is passed on
                yield futures.popleft().result()
        finally:
            is_stopped.set()
            executor.shutdown(cancel_futures=True)


def share_out(function: Callable[[Item], None], items: Sequence[Item], n_jobs: int | None) -> None:
    """Call the function on all items, in the calling thread and up to ``n_jobs - 1`` others.

    For compiled functions that take milliseconds. Nothing is returned. Each thread takes the next
    item when it is free, and all threads end with the call.

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
            deque(remaining, maxlen=0)  # drop all items left, so the other threads stop
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
    """Context in which BLAS and OpenMP use one thread for each call.

    There are two uses. Sharing a small product among threads costs more than it saves, on a busy
    machine many times more. And OpenMP's threads do not survive a fork. OpenMP's limit holds for
    the calling thread, the limit of BLAS for the whole process.
    """
    thread = get_ident()
    _blas_limit.hold(thread)
    try:
        with _controller("openmp").limit(limits=1):
            yield
    finally:
        _blas_limit.release(thread)


class _BlasLimit:
    """A limit of one thread for BLAS: the first holder sets it, the last one removes it."""

    def __init__(self) -> None:
        # Reentrant, because the garbage collector may close a generator that holds the limit at
        # any moment.
        self._lock = RLock()
        self._holders: list[int] = []
        self._limiter: Any = None

    def hold(self, thread: int) -> None:
        """Add the thread to the holders; the first one sets the limit."""
        with self._lock:
            if not self._holders:
                self._limiter = _controller("blas").limit(limits=1)
                self._let_any_thread_change_it()
            self._holders.append(thread)

    def release(self, thread: int) -> None:
        """Remove the thread from the holders; the last one removes the limit."""
        with self._lock:
            self._holders.remove(thread)
            if not self._holders:
                self._limiter.restore_original_limits()
                self._let_any_thread_change_it()

    def _let_any_thread_change_it(self) -> None:
        """Enter and leave an empty limit, so that threadpoolctl accepts changes by other threads.

        Until then it accepts them only from the thread that set the limit.
        """
        with _controller("blas").limit(limits=None):
            pass

    def renew_after_fork(self) -> None:
        """Release the limit for all threads but this one: only this one exists after a fork."""
        self._lock = RLock()
        for thread in {*self._holders} - {get_ident()}:
            while thread in self._holders:
                self.release(thread)


_blas_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_blas_limit.renew_after_fork)


@cache
def _controller(user_api: str) -> ThreadpoolController:
    """Controller of the loaded libraries of this kind; cached, because the search is slow."""
    return ThreadpoolController().select(user_api=user_api)
