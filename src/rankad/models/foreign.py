"""Scores of another library's detector, as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from rankad._rounding import Rounding
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user

#: Number of rows that test whether a detector's scores depend on the batch.
_N_PROBED = 10

#: Rounding, as a share of a score and of the spread of the scores of training rows. The arithmetic
#: of other libraries is not known.
_RELATIVE = 1e-9

#: The spread is the distance of these quantiles, of so many rows. A row far out does not matter.
_QUANTILES = (0.05, 0.95)
_MAX_ROWS_FOR_SPREAD = 1000


@dataclass(frozen=True, eq=False)
class RawScores:
    """Scores of a detector, turned so that higher means more nominal."""

    detector: Any
    sign: float

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Score of each row."""
        if hasattr(self.detector, "score_samples"):
            return np.asarray(self.detector.score_samples(rows), dtype=np.float64)
        return self.sign * np.asarray(self.detector.decision_function(rows), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ForeignScores:
    """Scores of another library. A row scores the same in any batch, up to the rounding."""

    raw: RawScores
    rounding: Rounding
    scores_rows_alone: bool

    @classmethod
    def from_fitted(cls, detector: Any, rows: FloatArray) -> Self:
        """Scores of a detector that was fitted to these rows. Refuse one that cannot score rows."""
        raw = RawScores(detector, _orientation(detector))
        name = type(_innermost_detector(detector)).__name__
        together, alone = _scores_of_probes(raw, rows[:_N_PROBED], name)
        scores_rows_alone = not np.allclose(together, alone, rtol=1e-6, atol=1e-9)
        if scores_rows_alone:
            warn_user(
                f"{name} scores a row differently in different batches, and then p-values are not "
                "valid. So rows are scored one at a time, which is slower."
            )
        scores = raw(rows[:_MAX_ROWS_FOR_SPREAD])
        rounding = Rounding.measured(alone if scores_rows_alone else together, alone, _RELATIVE)
        absolute = max(rounding.absolute, _RELATIVE * _spread(scores))
        return cls(raw, Rounding(absolute, _RELATIVE), scores_rows_alone)

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row."""
        return _scores_one_by_one(self.raw, rows) if self.scores_rows_alone else self.raw(rows)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that the detector was fitted to."""
        return self(rows)

    def watches(self, columns: IntArray, row: FloatArray) -> bool:
        """False: what the detector makes of columns with a single value is not known."""
        return False


def _orientation(detector: Any) -> float:
    """+1 if a higher decision means more nominal (scikit-learn), -1 if less nominal (PyOD)."""
    if hasattr(detector, "score_samples"):
        return 1.0
    innermost = _innermost_detector(detector)
    if hasattr(detector, "decision_function"):
        if isinstance(innermost, OutlierMixin):
            return 1.0
        if hasattr(innermost, "decision_scores_"):  # every fitted PyOD detector has it
            return -1.0
    raise TypeError(
        f"{type(innermost).__name__} cannot be calibrated: it is not a scikit-learn or PyOD "
        "detector that scores new rows. Give one with score_samples or decision_function. "
        "LocalOutlierFactor scores new rows with novelty=True."
    )


def _innermost_detector(detector: Any) -> Any:
    """The detector inside pipelines and searches."""
    while True:
        if hasattr(detector, "steps"):
            detector = detector.steps[-1][1]
        elif hasattr(detector, "best_estimator_"):
            detector = detector.best_estimator_
        else:
            return detector


def _scores_of_probes(
    raw_scores: Callable[[FloatArray], FloatArray], rows: FloatArray, name: str
) -> tuple[FloatArray, FloatArray]:
    """Scores of rows together and alone. Refuse a detector that cannot score rows alone."""
    try:
        together, alone = raw_scores(rows), _scores_one_by_one(raw_scores, rows)
    except Exception as error:
        raise TypeError(
            f"{name} cannot be calibrated, because it cannot score a few rows, or a single row: "
            f"{error}"
        ) from error
    if np.isnan(together).any() or np.isnan(alone).any():
        raise TypeError(f"{name} cannot be calibrated, because it gives NaN scores.")
    if np.ptp(alone) == 0.0 and not np.allclose(together, alone, rtol=1e-6, atol=1e-9):
        raise TypeError(
            f"{name} cannot be calibrated, because it only ranks rows within their batch: alone, "
            "all rows get the same score."
        )
    return together, alone


def _spread(scores: FloatArray) -> float:
    """Distance of a low and a high quantile of the finite scores."""
    finite = scores[np.isfinite(scores)]
    return float(np.diff(np.quantile(finite, _QUANTILES))[0]) if finite.size else 0.0


def _scores_one_by_one(
    raw_scores: Callable[[FloatArray], FloatArray], rows: FloatArray
) -> FloatArray:
    return np.array([raw_scores(row[None])[0] for row in rows])
