"""Making missing runs, in processes of one thread each, and keeping each record at once."""

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
    """Make the runs that the file does not hold, and return the records of all runs."""
    missing = [task for task in tasks if task.key not in file]
    made = _in_processes(missing, n_jobs)
    # An exception or Ctrl-C closes the generator, and the processes end. joblib then warns that the
    # current runs are lost. The warning helps nobody.
    with warnings.catch_warnings(), closing(made) as records:
        warnings.filterwarnings("ignore", ".*still being processed by the workers", UserWarning)
        for record in track(records, len(missing), "runs"):
            file.add(record)
    return file.records(task.key for task in tasks)


def measured(task: Task) -> Record:
    """Make a run in one thread, and keep its warnings in the record."""
    try:
        with quiet(), one_thread_each(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = task.measure(task.key)
    except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
        raise ReproductionError(f"{task.key} failed: {error}") from error
    return replace(record, warnings=sorted({str(warning.message) for warning in caught}))


def _in_processes(tasks: Sequence[Task], n_jobs: int | None) -> Generator[Record]:
    """Records in the order in which they are ready."""
    n_processes = min(joblib.effective_n_jobs(n_jobs), max(len(tasks), 1))
    if n_processes == 1:
        yield from map(measured, tasks)
        return
    # BLAS and OpenMP have one thread in each process, so that seconds are comparable.
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(
            n_processes, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            with closing(parallel(joblib.delayed(_undisturbed)(task) for task in tasks)) as records:
                yield from records
        except BrokenProcessPool as error:
            raise ReproductionError(
                "The system ended a process, probably for lack of memory. Use fewer jobs. The same "
                "call continues where it stopped."
            ) from error


def _undisturbed(task: Task) -> Record:
    """Measure in a process of its own that ignores Ctrl-C; the calling process ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return measured(task)
