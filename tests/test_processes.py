"""Forks, threads and interrupts: what a service or a notebook does to a library."""

import multiprocessing
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from rankad import RankAD


@pytest.fixture
def rows(rng):
    return rng.normal(size=(900, 4))


def _fitted_in_child(queue, detector, rows):
    scores = detector.score_samples(rows)
    with threadpool_limits(2):
        again = RankAD(n_centers=50, n_jobs=2, random_state=0).fit(rows)
    queue.put((scores, again.score_samples(rows)))


def test_a_forked_process_fits_and_scores(rows, monkeypatch):
    monkeypatch.setattr("rankad.kernels.expansion._OPERATIONS_PER_PART", 1000)
    with threadpool_limits(2):  # OpenMP's threads, once started, would hang the child's
        detector = RankAD(n_centers=50, n_jobs=2, random_state=0).fit(rows)
    scores = detector.score_samples(rows)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=_fitted_in_child, args=(queue, detector, rows))
    child.start()
    in_child, fitted_again = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    assert_array_equal(in_child, scores)
    assert_array_equal(fitted_again, scores)


def test_no_thread_outlives_a_call(rows, monkeypatch):
    monkeypatch.setattr("rankad.kernels.expansion._OPERATIONS_PER_PART", 1000)
    detector = RankAD(n_jobs=2, random_state=0).fit(rows)
    before = threading.active_count()
    detector.score_samples(np.repeat(rows, 20, axis=0))
    assert threading.active_count() == before
