"""Accuracy of RankAD and its peers on real data, one-class protocol: docs/accuracy.md.

    RANKAD_DATA=... python benchmarks/accuracy.py [--collection adbench] [--seeds 5] [--jobs 2]
    RANKAD_DATA=... python benchmarks/accuracy.py --costs

Half of the nominal rows, at most 5,000, train; at most 20,000 of the rest and all anomalies test.
Columns are z-scored by the training rows. A record per method, set and seed is appended to a file,
so an interrupted run goes on where it stopped; benchmarks/accuracy_page.py makes the page of them.
``--costs`` measures, for one seed, what fitting and scoring cost: one process with one thread, in
seconds of its processor.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from one_class import load_split, set_names
from records import FOLDER, Task, read_records, record
from sklearn.preprocessing import StandardScaler

from rankad.metrics import auc, average_precision, power

N_TRAIN, N_TEST = 5_000, 20_000
LEVELS = (0.01, 0.05, 0.1)

#: Another reading of annthyroid, with the same nominal rows: it would count twice.
LEFT_OUT = ("annthyroid_6832",)

#: Rows of a batch whose scoring is timed: fewer would time the call more than the scoring.
LEAST_TIMED, MOST_TIMED = 2_000, 5_000

RECORDS, COSTS = FOLDER / "accuracy.jsonl", FOLDER / "costs.jsonl"


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


@dataclass(frozen=True)
class Cost:
    """What one method costs on one set."""

    method: str
    set: str
    fit_seconds: float
    score_microseconds: float


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


def accuracy(method: str, name: str, seed: int) -> list[Record]:
    """Fit a method to a set and test it."""
    from methods import METHODS

    rows = scaled_rows(name, seed)
    with warnings.catch_warnings():  # some sets are smaller than a method would like
        warnings.simplefilter("ignore")
        fitted = METHODS[method](rows.train, seed)
        scores = fitted.score(rows.test)
    nominal_scores = scores[~rows.is_anomaly]
    return [
        Record(
            *(method, name, seed, *rows.train.shape),
            auc=auc(rows.is_anomaly, scores),
            average_precision=average_precision(rows.is_anomaly, scores),
            power=power(rows.is_anomaly, scores, 0.05),
            false_alarms=[fitted.false_alarms(nominal_scores, alpha) for alpha in LEVELS],
        )
    ]


def cost(method: str, name: str) -> list[Cost]:
    """Fit a method to a set and score a batch: seconds of the processor, median of five."""
    from methods import METHODS

    rows = scaled_rows(name, 0)
    n_times = -(-LEAST_TIMED // len(rows.test))
    batch = np.tile(rows.test, (n_times, 1))[:MOST_TIMED]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        METHODS[method](rows.train[:200], 0).score(batch[:10])  # whatever compiles, compiles now
        started = time.process_time()
        fitted = METHODS[method](rows.train, 0)
        fit_seconds = time.process_time() - started
        times = []
        for _ in range(5):
            started = time.process_time()
            fitted.score(batch)
            times.append(time.process_time() - started)
    return [Cost(method, name, fit_seconds, 1e6 * float(np.median(times)) / len(batch))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collection", default="*", help="adbench or paper; both by default")
    parser.add_argument("--methods", nargs="*", help="only methods with one of these in the name")
    parser.add_argument("--costs", action="store_true", help="measure costs instead of accuracy")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    from methods import METHODS

    asked = arguments.methods or [""]
    methods = [method for method in METHODS if any(part in method for part in asked)]
    names = [name for name in set_names(arguments.collection) if name not in LEFT_OUT]
    tasks: list[Task]
    if arguments.costs:
        known = {(one.method, one.set) for one in read_records(COSTS, Cost)}
        tasks = [(method, name) for name in names for method in methods]
        record(cost, [task for task in tasks if task not in known], COSTS, n_jobs=1)
        return
    done = {(one.method, one.set, one.seed) for one in read_records(RECORDS, Record)}
    tasks = [
        (method, name, seed)
        for seed in range(arguments.seeds)
        for name in names
        for method in methods
    ]
    record(accuracy, [task for task in tasks if task not in done], RECORDS, arguments.jobs)


if __name__ == "__main__":
    main()
