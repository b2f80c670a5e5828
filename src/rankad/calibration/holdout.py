"""Which rows train and which rows calibrate: a split, all rows for both, or folds in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Protocol, Self, TypeVar

import numpy as np
from sklearn.model_selection import KFold

from rankad._borrowed import Interval
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration.reference import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)
from rankad.exceptions import CalibrationWarning
from rankad.models import Model

#: What a parameter ``calibration_size`` may be: a share of the rows, or a number of rows.
CALIBRATION_SIZE_CONSTRAINT: Final[list[Any]] = [
    Interval(Real, 0, 1, closed="neither"),
    Interval(Integral, 1, None, closed="left"),
]

#: Number of folds of calibration="cross".
_N_FOLDS = 5

#: With a larger share of repeated rows, calibration="cross" warns.
_MAX_REPEATED_SHARE = 0.01

M = TypeVar("M", bound=Model)

#: It learns a model from rows. If it also gets a model of all rows, the rows are a fold of them,
#: and the new model takes over the choices of that model.
Learn = Callable[[FloatArray, M | None], M]


class Holdout(Protocol):
    """Which rows train, and how the reference scores are made.

    ``training`` and ``calibration`` are indices of rows, ascending.
    """

    @property
    def training(self) -> IntArray:
        """Rows that the model is learned from."""

    @property
    def calibration(self) -> IntArray:
        """Rows whose scores are the reference scores."""

    def reference(self, model: M, learn: Learn[M], rows: FloatArray) -> ReferenceScores:
        """Reference scores, which the scores of new rows are compared with."""


@dataclass(frozen=True, eq=False)
class SplitRows:
    """Some rows train and the others calibrate. The false-alarm rate is guaranteed."""

    training: IntArray
    calibration: IntArray

    @classmethod
    def drawn(cls, n: int, size: float, rng: np.random.RandomState) -> Self:
        """Draw the rows to hold out: a number of rows, or a share of them."""
        n_held_out = int(size) if isinstance(size, Integral) else int(np.ceil(size * n))
        if n - n_held_out < 2:
            raise ValueError(
                f"calibration_size={size} leaves {max(n - n_held_out, 0)} of {n} rows to train on, "
                "but at least 2 are needed. Fit on more rows, or lower calibration_size."
            )
        order = rng.permutation(n)
        return cls(np.sort(order[n_held_out:]), np.sort(order[:n_held_out]))

    def reference(self, model: M, learn: Learn[M], rows: FloatArray) -> HeldOutScores:
        """Scores of the held-out rows."""
        return HeldOutScores.from_scores(model(rows[self.calibration]))


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """All rows train and calibrate: the paper's rank, without a guarantee."""

    training: IntArray

    @classmethod
    def drawn(cls, n: int, size: float, rng: np.random.RandomState) -> Self:
        """All rows: nothing is drawn."""
        return cls(np.arange(n))

    @property
    def calibration(self) -> IntArray:
        """All rows."""
        return self.training

    def reference(self, model: M, learn: Learn[M], rows: FloatArray) -> TrainingScores:
        """Scores of the rows that trained."""
        return TrainingScores.from_scores(model.training_scores(rows))


@dataclass(frozen=True, eq=False)
class CrossFittedRows:
    """All rows train. Each row is scored by a model that was learned without its fold."""

    folds: Sequence[tuple[IntArray, IntArray]]
    training: IntArray

    @classmethod
    def drawn(cls, n: int, size: float, rng: np.random.RandomState) -> Self:
        """Draw the folds."""
        folds = KFold(min(_N_FOLDS, n), shuffle=True, random_state=rng).split(np.empty((n, 1)))
        return cls(list(folds), np.arange(n))

    @property
    def calibration(self) -> IntArray:
        """All rows."""
        return self.training

    def reference(self, model: M, learn: Learn[M], rows: FloatArray) -> CrossFittedScores:
        """Score of each row by a model of the other folds."""
        _warn_of_repeated(rows)
        scores = np.empty(len(rows))
        for training, held_out in self.folds:
            scores[held_out] = learn(rows[training], model)(rows[held_out])
        return CrossFittedScores.from_scores(scores)


def _warn_of_repeated(rows: FloatArray) -> None:
    """Warn if many rows repeat: then the final model and the models of folds disagree about them.

    The final model has learned a rare row that a model of the other folds has never seen.
    """
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    n_repeated = int(counts[counts > 1].sum())
    if n_repeated > _MAX_REPEATED_SHARE * len(rows):
        warn_user(
            f"{n_repeated} of {len(rows)} rows are equal to another row. With calibration='cross' "
            "the false-alarm rate may then be far from alpha, on either side. Fit with "
            "calibration='split'.",
            CalibrationWarning,
        )


#: The ways to calibrate, by name. Each draws which of n rows train.
HOLDOUTS: Final[dict[str, Callable[[int, float, np.random.RandomState], Holdout]]] = {
    "split": SplitRows.drawn,
    "train": TrainingRows.drawn,
    "cross": CrossFittedRows.drawn,
}
