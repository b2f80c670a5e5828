"""Accuracy of RankAD and its peers on real data, one-class protocol: docs/accuracy.md.

    RANKAD_DATA=... python benchmarks/accuracy.py [--collection adbench] [--seeds 5] [--jobs 2]

Half of the nominal rows, at most 5,000, train; at most 20,000 of the rest and all anomalies test.
Columns are z-scored by the training rows. One record per method, set and seed is appended to the
records' file, so an interrupted run goes on where it stopped; benchmarks/accuracy_page.py makes the
page of them. Detectors have one thread each, and as many run side by side as ``--jobs``.
"""

import argparse
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
from one_class import load_split, set_names
from sklearn.preprocessing import StandardScaler

from rankad.metrics import auc, average_precision, power

N_TRAIN, N_TEST = 5_000, 20_000
LEVELS = (0.01, 0.05, 0.1)
Kind = TypeVar("Kind")

RECORDS = Path(__file__).parent / "records" / "accuracy.jsonl"


@dataclass(frozen=True)
class Record:
    """What one method did on one set, for one seed."""

    method: str
    set: str
    seed: int
    n_train: int
    n_features: int
    auc: float
    average_precision: float
    power: float
    false_alarms: list[float]
    fit_seconds: float
    score_microseconds: float
    n_centers: int | None


@dataclass(frozen=True)
class Rows:
    """A split of a set, z-scored."""

    train: np.ndarray
    test: np.ndarray
    is_anomaly: np.ndarray


@lru_cache(maxsize=1)
def scaled_rows(name: str, seed: int) -> Rows:
    split = load_split(name, seed, n_train=N_TRAIN, n_test=N_TEST)
    scaler = StandardScaler().fit(split.train)
    train, test = scaler.transform(split.train), scaler.transform(split.test)
    return Rows(train, test, ~split.is_nominal)


def measured(method: str, name: str, seed: int) -> Record:
    """Fit a method to a set and test it."""
    from methods import METHODS

    rows = scaled_rows(name, seed)
    started = time.perf_counter()
    with warnings.catch_warnings():  # some sets are smaller than a method would like
        warnings.simplefilter("ignore")
        fitted = METHODS[method](rows.train, seed)
        fit_seconds = time.perf_counter() - started
        scores = fitted.score(rows.test)
        seconds = seconds_of(partial(fitted.score, rows.test))
    nominal_scores = scores[~rows.is_anomaly]
    return Record(
        *(method, name, seed, *rows.train.shape),
        auc=auc(rows.is_anomaly, scores),
        average_precision=average_precision(rows.is_anomaly, scores),
        power=power(rows.is_anomaly, scores, 0.05),
        false_alarms=[fitted.false_alarms(nominal_scores, alpha) for alpha in LEVELS],
        fit_seconds=fit_seconds,
        score_microseconds=1e6 * seconds / len(scores),
        n_centers=fitted.n_centers,
    )


def seconds_of(work: Callable[[], object]) -> float:
    """How long some work takes: once if that is long, else the median of five."""
    times: list[float] = []
    while not times or (len(times) < 5 and times[0] < 1.0):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def read_lines(path: Path, kind: type[Kind]) -> list[Kind]:
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


def in_processes(
    function: Callable[..., Kind], tasks: Sequence[tuple[object, ...]], n_jobs: int
) -> Iterator[Kind]:
    """Results of the tasks, as they come; one thread of BLAS in each process."""
    # Whoever is told to end ends the processes, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as processes:
        try:
            for future in as_completed([processes.submit(function, *task) for task in tasks]):
                yield future.result()
        except BaseException:
            processes.shutdown(cancel_futures=True)
            raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collection", default="*", help="adbench or paper; both by default")
    parser.add_argument("--sets", nargs="*", help="only these sets")
    parser.add_argument("--methods", nargs="*", help="only methods with one of these in the name")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", type=Path, default=RECORDS)
    arguments = parser.parse_args()
    from methods import METHODS

    asked = arguments.methods or [""]
    methods = [method for method in METHODS if any(part in method for part in asked)]
    done = {
        (record.method, record.set, record.seed) for record in read_lines(arguments.records, Record)
    }
    tasks = [
        (method, name, seed)
        for seed in range(arguments.seeds)
        for name in arguments.sets or set_names(arguments.collection)
        for method in methods
    ]
    left = [task for task in tasks if task not in done]
    arguments.records.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with arguments.records.open("a") as file:
        for n_done, record in enumerate(in_processes(measured, left, arguments.jobs), start=1):
            file.write(json.dumps(asdict(record)) + "\n")
            file.flush()
            seconds = (time.perf_counter() - started) * (len(left) / n_done - 1)
            line = f"{n_done}/{len(left)}, some {seconds / 60:.0f} min left: {record.method}, "
            print(f"{line}{record.set}, seed {record.seed}: {record.auc:.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()
