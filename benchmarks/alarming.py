"""Detectors with a false-alarm rate alpha, each set by its own parameter."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad import Calibrated, RankAD

RANKAD = "rankad, RankAD"

#: Rows and alpha to a mask of the rows that alarm.
Alarms = Callable[[np.ndarray, float], np.ndarray]


def or_nothing(alarms: Alarms) -> Alarms:
    """The same function, with NaN where alpha is refused because the reference is too small."""

    def tried(new: np.ndarray, alpha: float) -> np.ndarray:
        try:
            return alarms(new, alpha)
        except ValueError:  # UnresolvableAlphaError of rankad, and the ValueError of puncc
            return np.full(len(new), np.nan)

    return tried


def by_calibrated(detector: Any) -> Callable[[np.ndarray, int], Alarms]:
    def fit(rows: np.ndarray, seed: int) -> Alarms:
        fitted = detector.set_params(random_state=seed).fit(rows)
        return or_nothing(lambda new, alpha: fitted.predict(new, alpha) == -1)

    return fit


def by_confident(rows: np.ndarray, seed: int) -> Alarms:
    """RankAD whose false-alarm rate is at most alpha with 95% confidence."""
    fitted = RankAD(random_state=seed).fit(rows)
    return or_nothing(lambda new, alpha: fitted.predict(new, alpha, confidence=0.95) == -1)


def by_contamination(make: Callable[[float, int], Any]) -> Callable[[np.ndarray, int], Alarms]:
    """A detector that takes alpha as `contamination` or `nu`: z-scored, refitted for each alpha."""

    def fit(rows: np.ndarray, seed: int) -> Alarms:
        def alarms(new: np.ndarray, alpha: float) -> np.ndarray:
            detector = make_pipeline(StandardScaler(), make(alpha, seed)).fit(rows)
            return np.asarray(detector.predict(new) == -1)

        return alarms

    return fit


def by_pyod(rows: np.ndarray, seed: int) -> Alarms:
    from pyod.models.iforest import IForest

    def alarms(new: np.ndarray, alpha: float) -> np.ndarray:
        return np.asarray(
            IForest(contamination=alpha, random_state=seed).fit(rows).predict(new) == 1
        )

    return alarms


def by_puncc(rows: np.ndarray, seed: int) -> Alarms:
    from deel.puncc.anomaly_detection import SplitCAD
    from deel.puncc.api.prediction import BasePredictor

    class Forest(BasePredictor):
        def predict(self, X: np.ndarray) -> np.ndarray:
            return -self.model.score_samples(X)

    detector = SplitCAD(Forest(IsolationForest(random_state=seed)), random_state=seed)
    detector.fit(z=rows, fit_ratio=0.75)
    return or_nothing(lambda new, alpha: np.asarray(detector.predict(new, alpha=alpha), dtype=bool))


METHODS: dict[str, Callable[[np.ndarray, int], Alarms]] = {
    RANKAD: by_calibrated(RankAD()),
    "rankad, RankAD, confidence .95": by_confident,
    "rankad, Calibrated(IsolationForest)": by_calibrated(Calibrated(IsolationForest())),
    "puncc, SplitCAD(IsolationForest)": by_puncc,
    "scikit-learn, IsolationForest(contamination)": by_contamination(
        lambda alpha, seed: IsolationForest(contamination=alpha, random_state=seed)
    ),
    "scikit-learn, OneClassSVM(nu)": by_contamination(lambda alpha, seed: OneClassSVM(nu=alpha)),
    "scikit-learn, LocalOutlierFactor(contamination)": by_contamination(
        lambda alpha, seed: LocalOutlierFactor(contamination=alpha, novelty=True)
    ),
    "PyOD, IForest(contamination)": by_pyod,
}


#: Packages that some methods need.
_NEEDED = {"puncc": "deel", "PyOD": "pyod"}


def installed() -> list[str]:
    """Methods whose packages are installed."""
    return [
        method
        for method in METHODS
        if all(find_spec(package) for name, package in _NEEDED.items() if name in method)
    ]
