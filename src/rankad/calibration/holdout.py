"""Who trains and who calibrates: some rows each, all rows both, or folds of them in turn."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Generic, Protocol, TypeVar

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


class Model(Protocol):
    """What was learned from rows: a function that scores rows, higher = more nominal."""

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row, shape ``(n,)``."""

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that it was learned from: the same rows, in the same order."""


M = TypeVar("M", bound=Model)

#: Learns from rows, with random numbers. Where a model is given, it was learned from all rows, and
#: the rows are a fold of them: choices that it has made are taken over.
Learn = Callable[[FloatArray, np.random.RandomState, M | None], M]


@dataclass(frozen=True)
class CalibratedModel(Generic[M]):
    """A model, the reference scores that its scores are compared with, and whose those are."""

    model: M
    reference: ReferenceScores
    indices: IntArray


def split(
    learn: Learn[M], rows: FloatArray, size: float, rng: np.random.RandomState
) -> CalibratedModel[M]:
    """Learn from some rows, compare with the others: the exact guarantee."""
    training, held_out = held_out_split(len(rows), size, rng)
    model = learn(rows[training], rng, None)
    return CalibratedModel(model, HeldOutScores.of(model(rows[held_out])), held_out)


def train(
    learn: Learn[M], rows: FloatArray, size: float, rng: np.random.RandomState
) -> CalibratedModel[M]:
    """Learn from all rows, compare with the same: the paper's rank, without guarantee."""
    model = learn(rows, rng, None)
    reference = TrainingScores.of(model.training_scores(rows))
    return CalibratedModel(model, reference, np.arange(len(rows)))


def cross(
    learn: Learn[M], rows: FloatArray, size: float, rng: np.random.RandomState
) -> CalibratedModel[M]:
    """Learn from all rows, compare with scores of fold by fold left-out rows: empirical."""
    model = learn(rows, rng, None)
    out_of_fold = np.empty(len(rows))
    n_folds = min(_N_FOLDS, len(rows))
    for training, held_out in KFold(n_folds, shuffle=True, random_state=rng).split(rows):
        out_of_fold[held_out] = learn(rows[training], rng, model)(rows[held_out])
    return CalibratedModel(model, CrossFittedScores.of(out_of_fold), np.arange(len(rows)))


#: The ways to calibrate, by name.
CALIBRATIONS: Final[dict[str, Callable[..., CalibratedModel[Any]]]] = {
    "split": split,
    "train": train,
    "cross": cross,
}


def held_out_split(n: int, size: float, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Indices of the rows to learn from, and of those to hold out, both ascending."""
    n_held_out = int(size) if isinstance(size, Integral) else int(np.ceil(size * n))
    if n - n_held_out < 2:
        raise ValueError(
            f"calibration_size={size} leaves {max(n - n_held_out, 0)} of {n} samples to train on; "
            "at least 2 are needed. Fit on more rows, or lower calibration_size."
        )
    order = rng.permutation(n)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
