"""Runs that have not been made yet, made in processes of one thread each, and kept one by one."""

import signal
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import replace

import joblib
import numpy as np

from rankad._progress import quiet, track
from rankad._threads import one_thread_each
from rankad.reproduce.errors import ReproductionError
from rankad.reproduce.experiment import Task
from rankad.reproduce.records import Record, RecordFile


def run(tasks: Sequence[Task], file: RecordFile, n_jobs: int | None) -> list[Record]:
    """Make the runs that the file does not hold, and return the records of all."""
    missing = [task for task in tasks if task.key not in file]
    made = _in_processes(missing, n_jobs)
    # Closed at once, by an exception or Ctrl-C: the processes end with it. joblib then warns that
    # what they were at is lost, which tells nobody anything.
    with warnings.catch_warnings(), closing(made) as records:
        warnings.filterwarnings("ignore", ".*still being processed by the workers", UserWarning)
        for record in track(records, len(missing), "runs"):
            file.add(record)
    return file.records(task.key for task in tasks)


def measured(task: Task) -> Record:
    """Make a run, in one thread; its warnings are kept."""
    try:
        with quiet(), one_thread_each(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = task.measure(task.key)
    except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
        raise ReproductionError(f"{task.key} failed: {error}") from error
    return replace(record, warnings=sorted({str(warning.message) for warning in caught}))


def _in_processes(tasks: Sequence[Task], n_jobs: int | None) -> Generator[Record]:
    """Records as they come."""
    n_processes = min(joblib.effective_n_jobs(n_jobs), max(len(tasks), 1))
    if n_processes == 1:
        yield from map(measured, tasks)
        return
    # One thread of BLAS and OpenMP in each process: seconds are comparable, and cores not shared.
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(
            n_processes, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            with closing(parallel(joblib.delayed(_undisturbed)(task) for task in tasks)) as records:
                yield from records
        except BrokenProcessPool as error:
            raise ReproductionError(
                "A process was ended by the system, probably for lack of memory. Try fewer jobs: "
                "the same call goes on where it stopped."
            ) from error


def _undisturbed(task: Task) -> Record:
    """Measure in a process of its own, where Ctrl-C is the caller's to act on: it ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return measured(task)
