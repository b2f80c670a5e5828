"""What is measured of a run: a method fitted to the rows that train, and tested.

Each function of a `Run` gives measures by name; `Run.record` makes the record of them.
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

#: Scoring is repeated no longer than this to be timed.
_MAX_TIMED_SECONDS = 0.5


@dataclass(frozen=True, eq=False)
class Run:
    """A method fitted to the rows that train, and its scores of the rows that test."""

    key: Key
    split: Split
    fitted: Fitted
    scores: FloatArray
    fit_seconds: float
    test_seconds: float

    @property
    def nominal_scores(self) -> FloatArray:
        """Scores of the nominal rows that test."""
        return self.scores[: len(self.split.nominal)]

    def record(self, measures: dict[str, float], roc: list[float] | None = None) -> Record:
        """The measures as they are kept, with the sizes of what they are of."""
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
    """Fit a method, and score the rows that test; the seconds are the processor's."""
    started = time.process_time()
    fitted = method.fit(split.train, key.columns == STANDARD, key.seed)
    fit_seconds = time.process_time() - started
    scores, test_seconds = timed_scores(fitted.score, split.test, n_repetitions)
    return Run(key, split, fitted, scores, fit_seconds, test_seconds)


def timed_scores(score: Score, rows: FloatArray, n_repetitions: int) -> tuple[FloatArray, float]:
    """Scores of the rows, and the seconds that takes: the median of the repetitions."""
    times: list[float] = []
    while len(times) < n_repetitions and sum(times) < _MAX_TIMED_SECONDS:
        started = time.process_time()
        scores = score(rows)
        times.append(time.process_time() - started)
    return scores, float(np.median(times))


def warm_up(method: Method) -> None:
    """Compile, and load what is loaded at the first use: that is not what is timed."""
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
    """Rows enough for k-means and the few-centers solver, columns for both neighbor searches."""
    for n_columns in (3, 20):
        rows = np.random.default_rng(0).normal(size=(1_200, n_columns))
        METHODS[DEFAULT].fit(rows, True, 0).score(rows[:10])


def ranking(run: Run) -> dict[str, float]:
    """How well the scores tell anomalies from nominal rows, whatever the threshold."""
    return {
        "auc": auc(run.split.is_anomaly, run.scores),
        "average_precision": average_precision(run.split.is_anomaly, run.scores),
    }


def false_alarms(run: Run, levels: Iterable[float] = ALPHAS) -> dict[str, float]:
    """Share of the nominal rows that alarm at each level."""
    return {
        rate_name(alpha): float((run.nominal_scores < run.fitted.reference.threshold(alpha)).mean())
        for alpha in levels
    }


def full_power_rate(is_anomaly: BoolArray, scores: FloatArray) -> float:
    """The least false-alarm rate at which every anomaly is caught.

    >>> full_power_rate(np.array([False] * 4 + [True]), np.array([0.4, 0.3, 0.2, 0.1, 0.2]))
    0.5
    """
    return float((scores[~is_anomaly] <= scores[is_anomaly].max()).mean())


def roc(is_anomaly: BoolArray, scores: FloatArray) -> list[float]:
    """Power at each of `ROC_RATES`, between the thresholds by drawing lots."""
    rates, power, _ = roc_curve(is_anomaly, -scores)
    return [float(value) for value in np.interp(ROC_RATES, rates, power).round(4)]


def _rounded(measures: dict[str, float]) -> dict[str, float]:
    """Six digits of each, which are more than a run repeats: records stay short.

    >>> _rounded({"auc": 0.123456789, "n_rows": 12345678.9})
    {'auc': 0.123457, 'n_rows': 12345700.0}
    """
    return {name: float(f"{value:.6g}") for name, value in measures.items()}
