"""Calibrated p-values for any other detector."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.calibration import (
    CALIBRATION_SIZE_CONSTRAINT,
    CALIBRATIONS,
    CalibratedDetectorMixin,
)

#: Rows on which a detector is probed for scores that depend on the batch.
_N_PROBED = 10


class Calibrated(CalibratedDetectorMixin, BaseEstimator):  # type: ignore[misc]
    """Any scikit-learn or PyOD detector, with p-values and decisions at any level.

    Parameters
    ----------
    detector : estimator
        A detector with ``fit`` and ``score_samples`` or ``decision_function``: scikit-learn's
        (higher = more nominal) or PyOD's (higher = more anomalous). It is cloned; its own threshold
        and its ``contamination`` play no part.
    alpha : float, default=0.05
        False-alarm level of ``predict(X)``.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, and seeds the detector where its own ``random_state`` is None.

    Attributes
    ----------
    detector_ : estimator
        The fitted detector.
    scores_rows_alone_ : bool
        Whether rows are scored one at a time, because the detector's scores depend on the batch
        (PyOD's ECOD and COPOD rank a row among the training rows *and* the rest of its batch).

    Examples
    --------
    >>> from sklearn.svm import OneClassSVM
    >>> nominal = np.random.default_rng(0).normal(size=(500, 2))
    >>> calibrated = Calibrated(OneClassSVM(), random_state=0).fit(nominal)
    >>> calibrated.predict([[0.0, 0.0], [7.0, 7.0]], alpha=0.01)
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "detector": [HasMethods(["fit"])],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "calibration": [StrOptions(set(CALIBRATIONS))],
        "calibration_size": CALIBRATION_SIZE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        detector: Any,
        *,
        alpha: float = 0.05,
        calibration: str = "split",
        calibration_size: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.detector = detector
        self.alpha = alpha
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.random_state = random_state

    def _learn(self, rows: FloatArray, rng: np.random.RandomState) -> None:
        detector = clone(self.detector)
        unseeded = [
            name
            for name, value in sorted(detector.get_params(deep=True).items())
            if name.split("__")[-1] == "random_state" and value is None
        ]
        detector.set_params(**{name: rng.randint(2**31 - 1) for name in unseeded})
        detector.fit(rows)
        _require_scores(detector)
        self.detector_ = detector
        self.scores_rows_alone_ = not _is_batch_independent(detector, rows[:_N_PROBED])
        if self.scores_rows_alone_:
            warn_user(
                f"{type(detector).__name__} scores a row differently in different batches, which "
                "voids p-values; rows are scored one at a time instead, which is slower."
            )

    def _scores(self, rows: FloatArray) -> FloatArray:
        if self.scores_rows_alone_:
            return _scores_one_by_one(self.detector_, rows)
        return _nominal_scores(self.detector_, rows)


def _require_scores(detector: Any) -> None:
    if hasattr(detector, "score_samples") or hasattr(detector, "decision_function"):
        return
    raise TypeError(
        f"{type(detector).__name__} has neither score_samples nor decision_function for new rows. "
        "LocalOutlierFactor has them with novelty=True."
    )


def _is_batch_independent(detector: Any, rows: FloatArray) -> bool:
    together, alone = _nominal_scores(detector, rows), _scores_one_by_one(detector, rows)
    return np.allclose(together, alone, rtol=1e-6, atol=1e-9)


def _scores_one_by_one(detector: Any, rows: FloatArray) -> FloatArray:
    return np.array([_nominal_scores(detector, row[None])[0] for row in rows])


def _nominal_scores(detector: Any, rows: FloatArray) -> FloatArray:
    """Scores, higher = more nominal, whichever way the detector's own convention points."""
    if hasattr(detector, "score_samples"):
        return np.asarray(detector.score_samples(rows), dtype=np.float64)
    decision = np.asarray(detector.decision_function(rows), dtype=np.float64)
    # PyOD's detectors, whose decision grows with anomaly, are no OutlierMixin.
    return decision if isinstance(detector, OutlierMixin) else -decision
