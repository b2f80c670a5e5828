"""Where reference scores come from: rows held out, the training rows, or folds of them."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Final, Protocol

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval

from rankad._typing import FloatArray, IntArray
from rankad.calibration.reference import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)

#: What a parameter ``calibration_size`` may be: a share of the rows, or a number of them.
CALIBRATION_SIZE_CONSTRAINT: Final[list[Any]] = [
    Interval(Real, 0, 1, closed="neither"),
    Interval(Integral, 1, None, closed="left"),
]

#: Folds of calibration="cross".
_N_FOLDS = 5


class Learner(Protocol):
    """A detector while it is being fitted."""

    calibration_size: float

    def _learn(self, rows: FloatArray, rng: np.random.RandomState) -> None:
        """Learn to score from nominal rows."""

    def _scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row."""

    def _training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that was learned from."""

    def _for_fold(self) -> "Learner":
        """Copy that will learn from a part of the rows."""

    def _settle(self, rows: FloatArray) -> None:
        """Make any choice that depends on scores, by those of rows that were learned from."""


def split(detector: Learner, rows: FloatArray, rng: np.random.RandomState) -> ReferenceScores:
    """Learn from some rows, compare with the others: the exact guarantee."""
    training, held_out = held_out_split(len(rows), detector.calibration_size, rng)
    detector._learn(rows[training], rng)
    # Not from the held-out rows: a score chosen by looking at them would no longer treat them and
    # new rows alike.
    detector._settle(rows[training])
    return HeldOutScores.of(detector._scores(rows[held_out]))


def train(detector: Learner, rows: FloatArray, rng: np.random.RandomState) -> ReferenceScores:
    """Learn from all rows, compare with the same: the paper's rank, without guarantee."""
    detector._learn(rows, rng)
    detector._settle(rows)
    return TrainingScores.of(detector._training_scores(rows))


def cross(detector: Learner, rows: FloatArray, rng: np.random.RandomState) -> ReferenceScores:
    """Learn from all rows, compare with scores of fold by fold left-out rows: empirical."""
    detector._learn(rows, rng)
    detector._settle(rows)
    out_of_fold = np.empty(len(rows))
    n_folds = min(_N_FOLDS, len(rows))
    for training, held_out in KFold(n_folds, shuffle=True, random_state=rng).split(rows):
        fold_detector = detector._for_fold()
        fold_detector._learn(rows[training], rng)
        out_of_fold[held_out] = fold_detector._scores(rows[held_out])
    return CrossFittedScores.of(out_of_fold)


CALIBRATIONS: Final[
    dict[str, Callable[[Learner, FloatArray, np.random.RandomState], ReferenceScores]]
] = {"split": split, "train": train, "cross": cross}


def held_out_split(n: int, size: float, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Indices of the rows to learn from, and of those to hold out."""
    n_held_out = int(size) if isinstance(size, Integral) else int(np.ceil(size * n))
    if n - n_held_out < 2:
        raise ValueError(
            f"calibration_size={size} leaves {max(n - n_held_out, 0)} of {n} samples to train on; "
            "at least 2 are needed. Fit on more rows, or lower calibration_size."
        )
    order = rng.permutation(n)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
