"""Records of long measurements: one line each in a file, so that a stopped run can go on."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Kind = TypeVar("Kind")
Task = tuple[Any, ...]

FOLDER = Path(__file__).parent / "records"


def read_records(path: Path, kind: type[Kind]) -> list[Kind]:
    """The records of a file; a line that an interruption cut short is not one."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text().splitlines():
        try:
            records.append(kind(**json.loads(line)))
        except json.JSONDecodeError:
            continue
    return records


def record(
    measure: Callable[..., list[Any]], tasks: Sequence[Task], path: Path, n_jobs: int
) -> None:
    """Append what is measured of each task, as it comes, and tell how far it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with path.open("a") as file:
        if file.tell():
            file.write("\n")  # should the last line have been cut short
        for n_done, (task, records) in enumerate(_in_processes(measure, tasks, n_jobs), start=1):
            file.write("".join(json.dumps(asdict(one)) + "\n" for one in records))
            file.flush()
            minutes = (time.perf_counter() - started) * (len(tasks) / n_done - 1) / 60
            name = ", ".join(map(str, task))
            print(f"{n_done}/{len(tasks)}, {minutes:.0f} min left: {name}", file=sys.stderr)


def _in_processes(
    measure: Callable[..., list[Any]], tasks: Sequence[Task], n_jobs: int
) -> Iterator[tuple[Task, list[Any]]]:
    """What is measured of each task, as it comes; one thread of BLAS in each process."""
    # Whoever is told to end ends the processes, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as processes:
        futures = {processes.submit(measure, *task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            processes.shutdown(cancel_futures=True)
            raise
