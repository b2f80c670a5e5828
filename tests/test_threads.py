import gc
import multiprocessing
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from contextlib import nullcontext

import pytest
import threadpoolctl

from rankad._threads import in_threads, one_thread_each, share_out


def squares_up_to(n):
    for k in range(n):
        yield k * k


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_results_come_in_order(n_jobs):
    items = [3, 0, 5, 1]
    assert list(in_threads(squares_up_to, items, n_jobs)) == [
        [k * k for k in range(n)] for n in items
    ]
    assert list(in_threads(squares_up_to, [], n_jobs)) == []


def test_each_thread_has_one_thread_of_blas():
    def blas_threads(_):
        yield max(
            pool["num_threads"]
            for pool in threadpoolctl.threadpool_info()
            if pool["user_api"] == "blas"
        )

    before = threadpoolctl.threadpool_info()
    assert list(in_threads(blas_threads, range(4), 2)) == [[1]] * 4
    assert threadpoolctl.threadpool_info() == before


def test_an_error_ends_the_others_at_their_next_piece():
    def endless_but_one(item):
        if item == 0:
            time.sleep(0.05)
            raise ZeroDivisionError
        while True:
            time.sleep(0.001)
            yield item

    n_before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(in_threads(endless_but_one, [0, 1, 2], 2))
    assert threading.active_count() == n_before


INTERRUPTED = """
    import os, signal, threading
    import numpy as np
    from rankad import RankAD

    # A process that was started in the background inherits that it ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = np.random.default_rng(0).normal(size=(3000, 4))  # a fit of many seconds
    RankAD.as_published(sigma=[1.0], C=[1.0]).fit(rows[:100])  # compile
    detector = RankAD.as_published(n_jobs=2, random_state=0)
    ready = threading.Timer(1.0, lambda: print("ready", flush=True))
    ready.start()
    try:
        detector.fit(rows)
    except KeyboardInterrupt:
        ready.join()
        print("as before", sorted(vars(detector)) == sorted(detector.get_params()))
        print("threads", threading.active_count())
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            print("children", children.read().split())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts children in /proc")
def test_an_interrupt_ends_a_fit_and_leaves_no_worker_behind():
    script = textwrap.dedent(INTERRUPTED)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as fit:
        try:
            assert fit.stdout.readline() == "ready\n"
            fit.send_signal(signal.SIGINT)
            output, _ = fit.communicate(timeout=60)
        finally:
            fit.kill()
    assert fit.returncode == 0
    assert output.splitlines() == ["as before True", "threads 1", "children []"]


def test_shared_work_is_done_once_and_by_several_threads():
    seen, barrier = [], threading.Barrier(2, timeout=30)

    def work(item):
        barrier.wait()  # passes only if two threads work
        seen.append((item, threading.get_ident()))

    share_out(work, range(10), n_jobs=2)
    assert sorted(item for item, _ in seen) == list(range(10))
    assert len({thread for _, thread in seen}) == 2


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_what_fails_in_shared_work_is_raised_and_ends_it(n_jobs):
    done = []

    def work(item):
        if item == 2:
            raise ValueError("item 2 is bad")
        done.append(item)

    with pytest.raises(ValueError, match="item 2 is bad"):
        share_out(work, range(1000), n_jobs=n_jobs)
    assert len(done) < 999
    assert threading.active_count() == 1 or n_jobs == 1


def test_no_work_is_no_work():
    share_out(lambda item: pytest.fail("nothing to do"), [], n_jobs=2)


@pytest.fixture
def two_blas_threads():
    limits = threadpoolctl.threadpool_limits(2, "blas")
    with threadpoolctl.threadpool_limits(None):  # after it, other threads may set limits, too
        pass
    yield
    with limits:  # after it, the limits are as before
        pass


@pytest.fixture
def held_by_another_thread():
    """Functions that start and end a thread that holds the limit."""
    is_in, may_leave = threading.Event(), threading.Event()

    def hold():
        with one_thread_each():
            is_in.set()
            may_leave.wait(60)

    other = threading.Thread(target=hold)

    def start():
        other.start()
        assert is_in.wait(30)

    def leave():
        may_leave.set()
        other.join()

    yield start, leave
    leave()


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("first", ["this", "the other"])
@pytest.mark.parametrize("last", ["this", "the other"])
def test_the_last_who_leaves_takes_the_limit_away(first, last, held_by_another_thread):
    start, leave = held_by_another_thread
    if first == "the other":
        start()
    with one_thread_each():
        if first == "this":
            start()
        assert _threads_of("blas") == {1}
        if last == "this":
            leave()
        assert _threads_of("blas") == {1}
    assert _threads_of("blas") == ({2} if last == "this" else {1})
    leave()
    assert _threads_of("blas") == {2}
    with threadpoolctl.threadpool_limits(3, "blas"):  # and anyone may set another
        assert _threads_of("blas") == {3}


def test_every_thread_has_its_own_limit_of_openmp(held_by_another_thread):
    start, _ = held_by_another_thread
    start()
    with threadpoolctl.threadpool_limits(2, "openmp"):
        assert _threads_of("openmp") == {2}
        with one_thread_each():
            assert _threads_of("openmp") == {1}
        assert _threads_of("openmp") == {2}


def _limits_in_child(queue):
    before = _threads_of("blas")
    with one_thread_each():
        within = _threads_of("blas")
    queue.put([before, within, _threads_of("blas")])


@pytest.mark.posix
@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("this_holds_it", [False, True])
def test_a_forked_process_does_not_wait_for_threads_it_has_not(
    this_holds_it, held_by_another_thread
):
    start, _ = held_by_another_thread
    start()
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=_limits_in_child, args=(queue,))
    with one_thread_each() if this_holds_it else nullcontext():
        child.start()
        limits = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert limits == ([{1}, {1}, {1}] if this_holds_it else [{2}, {1}, {2}])


def _threads_of(user_api):
    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == user_api}


class _Piece:
    """An object that can have weak references."""


def test_results_passed_on_are_kept_by_nobody():
    pieces = in_threads(lambda _: [_Piece()], range(3), 2)
    first = weakref.ref(next(pieces)[0])
    gc.collect()
    assert first() is None
    assert len(list(pieces)) == 2
