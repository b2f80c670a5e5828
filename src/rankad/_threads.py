"""Work shared between threads: compiled loops and BLAS run without the interpreter lock."""

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
    """Lists of the pieces that the function yields for each item, in the items' order.

    ``n_jobs`` is understood as joblib does. Each thread has one thread of BLAS to itself: more of
    them than cores would wait for one another. They see the caller's context variables, so that
    progress within is shown as it would be in the caller's thread. The threads end with the
    iteration: nothing is left that a fork could break. Whoever stops iterating, by an exception or
    Ctrl-C, waits only until each thread has finished the piece it is at.

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
        # A copy for each, as a context can be entered by one thread at a time.
        futures = deque(executor.submit(copy_context().run, pieces_of, item) for item in items)
        try:
            while futures:  # each is dropped, with its result, when that is passed on
                yield futures.popleft().result()
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
    """While it lasts, BLAS and OpenMP use one thread for each call from the calling thread.

    For products so small that sharing one among threads costs more than it saves, and on a busy
    machine many times more; and for OpenMP, whose threads do not survive a fork. OpenMP's limit is
    each calling thread's own, that of BLAS the whole process's.
    """
    thread = get_ident()
    _blas_limit.ask(thread)
    try:
        with _controller("openmp").limit(limits=1):
            yield
    finally:
        _blas_limit.leave(thread)


class _BlasLimit:
    """One thread for BLAS: set by the first who asks for it, taken away by the last who leaves."""

    def __init__(self) -> None:
        # Reentrant: the garbage collector may close somebody's generator at any moment.
        self._lock = RLock()
        self._holders: list[int] = []
        self._limiter: Any = None

    def ask(self, thread: int) -> None:
        """Set the limit, unless it is set."""
        with self._lock:
            if not self._holders:
                self._limiter = _controller("blas").limit(limits=1)
                self._let_others_change_it()
            self._holders.append(thread)

    def leave(self, thread: int) -> None:
        """Take the limit away, unless others still want it."""
        with self._lock:
            self._holders.remove(thread)
            if not self._holders:
                self._limiter.restore_original_limits()
                self._let_others_change_it()

    def _let_others_change_it(self) -> None:
        """Leave a limit: threadpoolctl heeds the thread that set one alone, until it has."""
        with _controller("blas").limit(limits=None):
            pass

    def renew(self) -> None:
        """In a forked process: of all threads, only the one that forked is left to leave."""
        self._lock = RLock()
        for thread in {*self._holders} - {get_ident()}:
            while thread in self._holders:
                self.leave(thread)


_blas_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_blas_limit.renew)


@cache
def _controller(user_api: str) -> ThreadpoolController:
    """Looking for the libraries takes a while, so it is done once."""
    return ThreadpoolController().select(user_api=user_api)
