"""One run of a method on a set: fitted, timed, tested."""

import time
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from sklearn.metrics import roc_curve

from rankad._progress import quiet
from rankad._threads import one_thread_each
from rankad._typing import BoolArray, FloatArray
from rankad.metrics import auc, average_precision, partial_auc
from rankad.reproduce.errors import ReproductionError
from rankad.reproduce.methods import BAYES, DEFAULT, METHODS, Fitted, Method, bayes
from rankad.reproduce.protocol import STANDARD, Sizes, Split, load, split
from rankad.reproduce.records import LEVELS, Key, Record

#: False-alarm rates at which ROC curves are kept.
ROC_RATES = np.linspace(0.0, 1.0, 201)

#: Scoring is timed so often, or for so long, and the median taken.
_MOST_REPETITIONS = 5
_MOST_TIMED_SECONDS = 0.5


@dataclass(frozen=True)
class Task:
    """A run to be made."""

    key: Key
    sizes: Sizes
    folder: str | None
    with_roc: bool = False


def measured(task: Task) -> Record:
    """Fit the method to the rows that train, and test it; one thread, warnings kept."""
    key = task.key
    rows = _rows(key.set, key.seed, task.folder, task.sizes)
    method = _method(key.method, rows)
    try:
        with quiet(), one_thread_each(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return _measured(task, method, rows, caught)
    except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
        raise ReproductionError(f"{key} failed: {error}") from error


@lru_cache(maxsize=1)
def _rows(name: str, seed: int, folder: str | None, sizes: Sizes) -> Split:
    return split(load(name, seed, folder), sizes, seed)


def _method(name: str, rows: Split) -> Method:
    if name == BAYES and rows.nominal_law is not None:
        return bayes(rows.nominal_law)
    return METHODS[name]


def _measured(
    task: Task, method: Method, rows: Split, caught: list[warnings.WarningMessage]
) -> Record:
    key, is_standard = task.key, task.key.columns == STANDARD
    _warm_up(method.name)
    caught.clear()
    started = time.process_time()
    fitted = method.fit(rows.train, is_standard, key.seed)
    fit_seconds = time.process_time() - started
    scores, test_seconds = _timed_scores(fitted, rows.test)
    n_anomalies = int(rows.is_anomaly.sum())
    return Record(
        *key,
        n_train=len(rows.train),
        n_nominal=len(rows.test) - n_anomalies,
        n_anomalies=n_anomalies,
        auc=_rounded(auc(rows.is_anomaly, scores)),
        average_precision=_rounded(average_precision(rows.is_anomaly, scores)),
        partial_auc=_rounded(partial_auc(rows.is_anomaly, scores, max_false_alarms=0.1)),
        full_power_rate=_rounded(_full_power_rate(rows.is_anomaly, scores)),
        false_alarms=_false_alarms(fitted, scores[~rows.is_anomaly]),
        n_reference=fitted.reference.size,
        guarantee=fitted.reference.guarantee,
        fit_seconds=_rounded(fit_seconds),
        test_seconds=_rounded(test_seconds),
        n_centers=fitted.n_centers,
        setting={name: _rounded(value) for name, value in fitted.setting.items()},
        warnings=sorted({str(warning.message) for warning in caught}),
        roc=_roc(rows.is_anomaly, scores) if task.with_roc else None,
    )


@cache
def _warm_up(name: str) -> None:
    """Compile, and load what is loaded at the first use: that is not what is timed."""
    _warm_up_ranker()
    if name in METHODS:
        rows = np.random.default_rng(0).normal(size=(200, 3))
        METHODS[name].fit(rows, True, 0).score(rows[:10])


@cache
def _warm_up_ranker() -> None:
    """Rows enough for k-means and the few-centers solver, columns for both neighbor searches."""
    for n_columns in (3, 20):
        rows = np.random.default_rng(0).normal(size=(800, n_columns))
        METHODS[DEFAULT].fit(rows, True, 0).score(rows[:10])


def _timed_scores(fitted: Fitted, rows: FloatArray) -> tuple[FloatArray, float]:
    """Scores of the rows, and the seconds that takes: the median of some repetitions."""
    times: list[float] = []
    while len(times) < _MOST_REPETITIONS and sum(times) < _MOST_TIMED_SECONDS:
        started = time.process_time()
        scores = fitted.score(rows)
        times.append(time.process_time() - started)
    return scores, float(np.median(times))


def _false_alarms(fitted: Fitted, nominal_scores: FloatArray) -> list[int]:
    """How many of the scores of nominal rows alarm at each level."""
    return [int((nominal_scores < fitted.reference.threshold(alpha)).sum()) for alpha in LEVELS]


def _full_power_rate(is_anomaly: BoolArray, scores: FloatArray) -> float:
    """The least false-alarm rate at which every anomaly is caught.

    >>> _full_power_rate(np.array([False] * 4 + [True]), np.array([0.4, 0.3, 0.2, 0.1, 0.2]))
    0.5
    """
    return float((scores[~is_anomaly] <= scores[is_anomaly].max()).mean())


def _roc(is_anomaly: BoolArray, scores: FloatArray) -> list[float]:
    """Power at each of `ROC_RATES`, between the thresholds by drawing lots."""
    rates, power, _ = roc_curve(is_anomaly, -scores)
    return [float(value) for value in np.interp(ROC_RATES, rates, power).round(4)]


def _rounded(value: float) -> float:
    """Six digits, which are more than a run repeats: records stay short.

    >>> _rounded(0.123456789), _rounded(12345678.9)
    (0.123457, 12345700.0)
    """
    return float(f"{value:.6g}")
