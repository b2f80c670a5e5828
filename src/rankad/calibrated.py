"""Calibrated p-values for any other detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.calibration import (
    CALIBRATION_SIZE_CONSTRAINT,
    CALIBRATIONS,
    CalibratedDetector,
)

#: Rows on which a detector is probed for scores that depend on the batch.
_N_PROBED = 10

#: Scores are rounded to this part of the spread of (at most so many) training rows' scores.
_RELATIVE_UNIT = 1e-9
_MAX_ROWS_FOR_UNIT = 1000


class Calibrated(CalibratedDetector, BaseEstimator):  # type: ignore[misc]
    """Any scikit-learn or PyOD detector, with p-values and decisions at any level.

    Parameters
    ----------
    detector : estimator
        A detector with ``fit`` and ``score_samples`` or ``decision_function``: scikit-learn's
        (higher = more nominal) or PyOD's (higher = more anomalous), alone or at the end of a
        pipeline. It is cloned; its own threshold and its ``contamination`` play no part. It is
        given rows as a float64 array without column names, missing values or text.
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

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the detector to nominal rows, and calibrate; ``y`` is ignored."""
        fitted, model = self._calibrated(X, self._learn)
        fitted.detector_ = model.detector
        fitted.scores_rows_alone_ = model.scores_rows_alone
        return self._become(fitted)

    def _learn(
        self, rows: FloatArray, rng: np.random.RandomState, like: ForeignScores | None
    ) -> ForeignScores:
        detector = clone(self.detector)
        unseeded = [
            name
            for name, value in sorted(detector.get_params(deep=True).items())
            if name.split("__")[-1] == "random_state" and value is None
        ]
        detector.set_params(**{name: rng.randint(2**31 - 1) for name in unseeded})
        detector.fit(rows)
        raw = RawScores(detector, _orientation(detector))
        name = type(_innermost(detector)).__name__
        scores_rows_alone = not _is_batch_independent(raw, rows[:_N_PROBED], name)
        if scores_rows_alone:
            warn_user(
                f"{name} scores a row differently in different batches, which "
                "voids p-values; rows are scored one at a time instead, which is slower."
            )
        scores = raw(rows[:_MAX_ROWS_FOR_UNIT])
        unit = _RELATIVE_UNIT * float(np.ptp(scores[np.isfinite(scores)]))
        return ForeignScores(raw, unit, scores_rows_alone)


@dataclass(frozen=True, eq=False)
class RawScores:
    """Scores, higher = more nominal, whichever way the detector's own convention points."""

    detector: Any
    sign: float

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Score of each row, as the detector rounds it."""
        if hasattr(self.detector, "score_samples"):
            return np.asarray(self.detector.score_samples(rows), dtype=np.float64)
        return self.sign * np.asarray(self.detector.decision_function(rows), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ForeignScores:
    """Another library's scores, rounded to a unit, so that a row scores the same in any batch."""

    raw: RawScores
    unit: float
    scores_rows_alone: bool

    @property
    def detector(self) -> Any:
        """The fitted detector."""
        return self.raw.detector

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row."""
        scores = _one_by_one(self.raw, rows) if self.scores_rows_alone else self.raw(rows)
        # Other libraries round a row's score differently in different batches; on a coarser grid
        # a row ties with its own duplicates, as it must.
        return np.round(scores / self.unit) * self.unit if self.unit > 0.0 else scores

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that the detector was fitted to."""
        return self(rows)


def _orientation(detector: Any) -> float:
    """+1 where a higher decision means more nominal (scikit-learn), -1 where less so (PyOD)."""
    if hasattr(detector, "score_samples"):
        return 1.0
    innermost = _innermost(detector)
    if hasattr(detector, "decision_function"):
        if isinstance(innermost, OutlierMixin):
            return 1.0
        if hasattr(innermost, "decision_scores_"):  # what every fitted PyOD detector has
            return -1.0
    raise TypeError(
        f"{type(innermost).__name__} is no scikit-learn or PyOD detector that can score new rows. "
        "LocalOutlierFactor can with novelty=True."
    )


def _innermost(detector: Any) -> Any:
    """The detector inside pipelines and searches."""
    while True:
        if hasattr(detector, "steps"):
            detector = detector.steps[-1][1]
        elif hasattr(detector, "best_estimator_"):
            detector = detector.best_estimator_
        else:
            return detector


def _is_batch_independent(
    raw_scores: Callable[[FloatArray], FloatArray], rows: FloatArray, name: str
) -> bool:
    """Whether rows score the same alone as together; refuse a detector that says nothing alone."""
    try:
        together, alone = raw_scores(rows), _one_by_one(raw_scores, rows)
    except Exception as error:
        raise TypeError(
            f"{name} cannot score a few rows, or one, by themselves, and so cannot be calibrated: "
            f"{error}"
        ) from error
    if np.isnan(together).any() or np.isnan(alone).any():
        raise TypeError(f"{name} gives NaN scores, and so cannot be calibrated.")
    is_independent = np.allclose(together, alone, rtol=1e-6, atol=1e-9)
    if not is_independent and np.ptp(alone) == 0.0:
        raise TypeError(
            f"{name} ranks rows only within their batch (alone they all score the same), and so "
            "cannot be calibrated."
        )
    return is_independent


def _one_by_one(raw_scores: Callable[[FloatArray], FloatArray], rows: FloatArray) -> FloatArray:
    return np.array([raw_scores(row[None])[0] for row in rows])
