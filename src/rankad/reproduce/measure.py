"""Measures of a run: a method is fitted to the training rows and scores the test rows.

Each function of a `Run` returns measures by name. `Run.record` makes a record of them.
"""

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.metrics import roc_curve

from rankad._typing import BoolArray, FloatArray
from rankad.metrics import auc, average_precision
from rankad.reproduce.fitting import Fitted, Method, Score
from rankad.reproduce.methods import DEFAULT, METHODS
from rankad.reproduce.protocol import STANDARD, Split
from rankad.reproduce.records import ALPHAS, Key, Record, rate_name

#: False-alarm rates at which ROC curves are kept.
ROC_RATES = np.linspace(0.0, 1.0, 201)

#: Scoring is not repeated after this many seconds in total.
_MAX_TIMED_SECONDS = 0.5


@dataclass(frozen=True, eq=False)
class Run:
    """A method fitted to the training rows, and its scores of the test rows."""

    key: Key
    split: Split
    fitted: Fitted
    scores: FloatArray
    fit_seconds: float
    test_seconds: float

    @property
    def nominal_scores(self) -> FloatArray:
        """Scores of the nominal test rows."""
        return self.scores[: len(self.split.nominal)]

    def record(self, measures: dict[str, float], roc: list[float] | None = None) -> Record:
        """A record of these measures, with the sizes of the run."""
        sizes: dict[str, float] = {
            "n_nominal": len(self.split.nominal),
            "n_anomalies": len(self.split.anomalies),
            "n_reference": self.fitted.reference.size,
        }
        if self.fitted.n_centers is not None:
            sizes["n_centers"] = self.fitted.n_centers
        n_train, n_features = self.split.train.shape
        return Record(
            *self.key,
            n_train=n_train,
            n_features=n_features,
            measures=_rounded(sizes | measures),
            guarantee=self.fitted.reference.guarantee,
            setting=_rounded(self.fitted.setting),
            roc=roc,
        )


def run_of(key: Key, method: Method, split: Split, n_repetitions: int = 1) -> Run:
    """Fit a method and score the test rows; seconds are processor time."""
    started = time.process_time()
    fitted = method.fit(split.train, key.columns == STANDARD, key.seed)
    fit_seconds = time.process_time() - started
    scores, test_seconds = timed_scores(fitted.score, split.test, n_repetitions)
    return Run(key, split, fitted, scores, fit_seconds, test_seconds)


def timed_scores(score: Score, rows: FloatArray, n_repetitions: int) -> tuple[FloatArray, float]:
    """Scores of the rows, and the seconds for that, median of the repetitions."""
    times: list[float] = []
    while len(times) < n_repetitions and sum(times) < _MAX_TIMED_SECONDS:
        started = time.process_time()
        scores = score(rows)
        times.append(time.process_time() - started)
    return scores, float(np.median(times))


def warm_up(method: Method) -> None:
    """Fit and score once without timing, so that compiling and loading are not timed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up_ranker()
        _warm_up(method)


@cache
def _warm_up(method: Method) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 3))
    method.fit(rows, True, 0).score(rows[:10])


@cache
def _warm_up_ranker() -> None:
    """Use enough rows for k-means and its solver, and columns for both neighbor searches."""
    for n_columns in (3, 20):
        rows = np.random.default_rng(0).normal(size=(1_200, n_columns))
        METHODS[DEFAULT].fit(rows, True, 0).score(rows[:10])


def ranking(run: Run) -> dict[str, float]:
    """AUC and average precision, which need no threshold."""
    return {
        "auc": auc(run.split.is_anomaly, run.scores),
        "average_precision": average_precision(run.split.is_anomaly, run.scores),
    }


def false_alarms(run: Run, alphas: Iterable[float] = ALPHAS) -> dict[str, float]:
    """Share of the nominal test rows that alarm, for each alpha."""
    return {
        rate_name(alpha): float((run.nominal_scores < run.fitted.reference.threshold(alpha)).mean())
        for alpha in alphas
    }


def full_power_rate(is_anomaly: BoolArray, scores: FloatArray) -> float:
    """The smallest false-alarm rate at which every anomaly is caught.

    >>> full_power_rate(np.array([False] * 4 + [True]), np.array([0.4, 0.3, 0.2, 0.1, 0.2]))
    0.5
    """
    return float((scores[~is_anomaly] <= scores[is_anomaly].max()).mean())


def roc(is_anomaly: BoolArray, scores: FloatArray) -> list[float]:
    """Power at each of `ROC_RATES`, linear between the thresholds."""
    rates, power, _ = roc_curve(is_anomaly, -scores)
    return [float(value) for value in np.interp(ROC_RATES, rates, power).round(4)]


def _rounded(measures: dict[str, float]) -> dict[str, float]:
    """The measures with six digits. Two runs differ in fewer digits, and records stay short.

    >>> _rounded({"auc": 0.123456789, "n_rows": 12345678.9})
    {'auc': 0.123457, 'n_rows': 12345700.0}
    """
    return {name: float(f"{value:.6g}") for name, value in measures.items()}
