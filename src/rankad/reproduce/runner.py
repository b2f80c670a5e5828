"""Runs that have not been made yet, made in processes of one thread each, and kept one by one."""

import signal
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from typing import Any, TypeVar

import joblib

from rankad._progress import track
from rankad.reproduce.errors import ReproductionError
from rankad.reproduce.measure import measured
from rankad.reproduce.records import Keyed, Kind, RecordFile

Task = TypeVar("Task", bound=Keyed)


def run(
    tasks: Sequence[Task],
    file: RecordFile[Kind],
    n_jobs: int | None,
    measure: Callable[[Task], Kind] | None = None,
) -> list[Kind]:
    """Make the runs that the file does not hold, and return the records of all.

    ``measure`` makes one, by default as a reproduction does.
    """
    missing = [task for task in tasks if task.key not in file]
    made = _in_processes(measured if measure is None else measure, missing, n_jobs)
    # Closed at once, by an exception or Ctrl-C: the processes end with it. joblib then warns that
    # what they were at is lost, which tells nobody anything.
    with warnings.catch_warnings(), closing(made) as records:
        warnings.filterwarnings("ignore", ".*still being processed by the workers", UserWarning)
        for record in track(records, len(missing), "runs"):
            file.add(record)
    return file.records(task.key for task in tasks)


def _in_processes(
    measure: Callable[[Any], Any], tasks: Sequence[Keyed], n_jobs: int | None
) -> Generator[Any]:
    """Records as they come."""
    n_processes = min(joblib.effective_n_jobs(n_jobs), max(len(tasks), 1))
    if n_processes == 1:
        yield from map(measure, tasks)
        return
    # One thread of BLAS and OpenMP in each process: seconds are comparable, and cores not shared.
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(
            n_processes, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            with closing(
                parallel(joblib.delayed(_undisturbed)(measure, task) for task in tasks)
            ) as records:
                yield from records
        except BrokenProcessPool as error:
            raise ReproductionError(
                "A process was ended by the system, probably for lack of memory. Try fewer jobs: "
                "the same call goes on where it stopped."
            ) from error


def _undisturbed(measure: Callable[[Any], Any], task: Keyed) -> Any:
    """Measure in a process of its own, where Ctrl-C is the caller's to act on: it ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return measure(task)
