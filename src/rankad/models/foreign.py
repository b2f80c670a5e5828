"""Scores of another library's detector, as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from rankad._typing import FloatArray
from rankad._warnings import warn_user

#: Number of rows that test whether a detector's scores depend on the batch.
_N_PROBED = 10

#: Unit of rounding, as a share of the spread of the scores of training rows, and how many rows.
_RELATIVE_UNIT = 1e-9
_MAX_ROWS_FOR_UNIT = 1000


@dataclass(frozen=True, eq=False)
class RawScores:
    """Scores of a detector, turned so that higher means more nominal."""

    detector: Any
    sign: float

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Score of each row, not rounded."""
        if hasattr(self.detector, "score_samples"):
            return np.asarray(self.detector.score_samples(rows), dtype=np.float64)
        return self.sign * np.asarray(self.detector.decision_function(rows), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ForeignScores:
    """Scores of another library, rounded so that a row scores the same in any batch."""

    raw: RawScores
    unit: float
    scores_rows_alone: bool

    @classmethod
    def from_fitted(cls, detector: Any, rows: FloatArray) -> Self:
        """Scores of a detector that was fitted to these rows. Refuse one that cannot score rows."""
        raw = RawScores(detector, _orientation(detector))
        name = type(_innermost_detector(detector)).__name__
        scores_rows_alone = not _is_batch_independent(raw, rows[:_N_PROBED], name)
        if scores_rows_alone:
            warn_user(
                f"{name} scores a row differently in different batches, and then p-values are not "
                "valid. So rows are scored one at a time, which is slower."
            )
        scores = raw(rows[:_MAX_ROWS_FOR_UNIT])
        unit = _RELATIVE_UNIT * float(np.ptp(scores[np.isfinite(scores)]))
        return cls(raw, unit, scores_rows_alone)

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row."""
        scores = _scores_one_by_one(self.raw, rows) if self.scores_rows_alone else self.raw(rows)
        # Rounding errors of other libraries differ between batches. On a coarser grid a row ties
        # with its own duplicates, as it must.
        return np.round(scores / self.unit) * self.unit if self.unit > 0.0 else scores

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that the detector was fitted to."""
        return self(rows)


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


def _is_batch_independent(
    raw_scores: Callable[[FloatArray], FloatArray], rows: FloatArray, name: str
) -> bool:
    """Whether rows score the same alone and together. Refuse a detector without such scores."""
    try:
        together, alone = raw_scores(rows), _scores_one_by_one(raw_scores, rows)
    except Exception as error:
        raise TypeError(
            f"{name} cannot be calibrated, because it cannot score a few rows, or a single row: "
            f"{error}"
        ) from error
    if np.isnan(together).any() or np.isnan(alone).any():
        raise TypeError(f"{name} cannot be calibrated, because it gives NaN scores.")
    is_independent = np.allclose(together, alone, rtol=1e-6, atol=1e-9)
    if not is_independent and np.ptp(alone) == 0.0:
        raise TypeError(
            f"{name} cannot be calibrated, because it only ranks rows within their batch: alone, "
            "all rows get the same score."
        )
    return is_independent


def _scores_one_by_one(
    raw_scores: Callable[[FloatArray], FloatArray], rows: FloatArray
) -> FloatArray:
    return np.array([raw_scores(row[None])[0] for row in rows])
