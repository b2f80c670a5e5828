"""Forks, threads and read-only installs, as in a service or a notebook."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

import rankad
from rankad import RankAD


@pytest.fixture
def rows(rng):
    return rng.normal(size=(900, 4))


def _fitted_in_child(queue, detector, rows):
    scores = detector.score_samples(rows)
    with threadpool_limits(2):
        again = RankAD(n_centers=50, n_jobs=2, random_state=0).fit(rows)
    queue.put((scores, again.score_samples(rows)))


@pytest.mark.posix
def test_a_forked_process_fits_and_scores(rows, monkeypatch):
    monkeypatch.setattr("rankad.kernels.expansion._OPERATIONS_PER_CHUNK", 1000)
    with threadpool_limits(2):  # a child of a process with OpenMP threads would hang
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
    monkeypatch.setattr("rankad.kernels.expansion._OPERATIONS_PER_CHUNK", 1000)
    detector = RankAD(n_jobs=2, random_state=0).fit(rows)
    before = threading.active_count()
    detector.score_samples(np.repeat(rows, 20, axis=0))
    assert threading.active_count() == before


@pytest.mark.slow
def test_an_install_that_cannot_be_written_without_a_home_imports_and_runs(tmp_path):
    """There Numba has no folder for its cache: "cannot cache function: no locator available"."""
    package = Path(rankad.__file__).parent
    shutil.copytree(package, tmp_path / "rankad", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path for path in tmp_path.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()  # then nobody can make this folder, not even root
    code = """
import numpy as np
import rankad
rows = np.random.default_rng(0).normal(size=(60, 2))
detector = rankad.RankAD(alpha=0.1, random_state=0).fit(rows)
print(rankad.__file__, detector.predict([[0.0, 0.0], [99.0, 0.0]]))
"""
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), os.devnull)
    done = subprocess.run(
        [sys.executable, "-O", "-W", "error", "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), **nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split(" ", 1) == [str(tmp_path / "rankad" / "__init__.py"), "[ 1 -1]\n"], (
        done.stderr
    )
