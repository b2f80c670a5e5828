"""Which rows train and which rows calibrate: a split, all rows for both, or folds in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Protocol, Self, TypeVar

import numpy as np
from sklearn.model_selection import KFold

from rankad._borrowed import HasMethods, Interval, StrOptions
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration.copies import row_hashes
from rankad.calibration.dependent_scores import GroupScores, TimeScores
from rankad.calibration.reference import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)
from rankad.calibration.sample import Sample
from rankad.calibration.splits import TimeBlocks, drawn_units, first_split, run_starts
from rankad.exceptions import CalibrationWarning
from rankad.models import Model

#: What a parameter ``calibration_size`` may be: a share of the rows, or a number of rows.
CALIBRATION_SIZE_CONSTRAINT: Final[list[Any]] = [
    Interval(Real, 0, 1, closed="neither"),
    Interval(Integral, 1, None, closed="left"),
]

#: What a parameter ``calibration_split`` may be.
CALIBRATION_SPLIT_CONSTRAINT: Final[list[Any]] = [
    StrOptions({"random", "time"}),
    HasMethods(["split", "get_n_splits"]),  # text has a split, too
]

#: Number of folds of calibration="cross".
_N_FOLDS = 5

#: With a larger share of repeated rows, calibration="cross" warns.
_MAX_REPEATED_SHARE = 0.01

M = TypeVar("M", bound=Model)

#: It learns a model from rows. If it also gets a model of all rows, the rows are a fold of them,
#: and the new model takes over the choices of that model.
Learn = Callable[[FloatArray, M | None], M]


@dataclass(frozen=True)
class HoldoutOptions:
    """The parameters ``calibration_size`` and ``calibration_split`` of a detector."""

    size: float
    split: Any


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
    """Some rows train and the others calibrate. The false-alarm rate is guaranteed.

    ``make`` turns the scores of the held-out rows into the reference: of rows, groups or runs.
    """

    training: IntArray
    calibration: IntArray
    make: Callable[[FloatArray], HeldOutScores | GroupScores]

    @classmethod
    def drawn(cls, sample: Sample, options: HoldoutOptions, rng: np.random.RandomState) -> Self:
        """Hold out rows, groups or runs, as the options ask."""
        n, size, groups = len(sample.rows), options.size, sample.groups
        splitter = TimeBlocks(size=size) if options.split == "time" else options.split
        if not isinstance(splitter, str):
            training, held_out = first_split(
                splitter, sample.rows, groups.codes if groups else None
            )
        elif groups is None:
            held_out = drawn_units(n, size, rng, "rows")
            training = np.setdiff1d(np.arange(n), held_out)
        else:
            held_out_groups = drawn_units(len(groups.keys), size, rng, "groups")
            is_held_out = np.isin(groups.codes, held_out_groups)
            training, held_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
            if len(training) < 2:
                raise ValueError("The training groups have a single row. Fit on more rows.")
        return cls(training, held_out, _reference_maker(sample, held_out, options.split))

    def reference(self, model: M, learn: Learn[M], rows: FloatArray) -> HeldOutScores | GroupScores:
        """Scores of the held-out rows."""
        return self.make(model(rows[self.calibration]))


def _reference_maker(
    sample: Sample, held_out: IntArray, split: Any
) -> Callable[[FloatArray], HeldOutScores | GroupScores]:
    """What turns the scores of the held-out rows into a reference."""
    if sample.groups is not None:
        labels = sample.groups.of_rows(held_out)
        return lambda scores: GroupScores.from_groups(scores, labels)
    if isinstance(split, str) and split == "random":
        return HeldOutScores.from_scores
    starts = run_starts(held_out)
    return lambda scores: TimeScores.from_runs(scores, starts)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """All rows train and calibrate: the paper's rank, without a guarantee."""

    training: IntArray

    @classmethod
    def drawn(cls, sample: Sample, options: HoldoutOptions, rng: np.random.RandomState) -> Self:
        """All rows: nothing is drawn."""
        require_random(options, "train")
        return cls(np.arange(len(sample.rows)))

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
    def drawn(cls, sample: Sample, options: HoldoutOptions, rng: np.random.RandomState) -> Self:
        """Draw the folds, of rows or of whole groups."""
        require_random(options, "cross")
        n = len(sample.rows)
        units = np.arange(n) if sample.groups is None else sample.groups.codes
        n_units = int(units.max()) + 1
        if n_units < 2:
            raise ValueError("calibration='cross' needs at least 2 groups; got 1.")
        splits = KFold(min(_N_FOLDS, n_units), shuffle=True, random_state=rng)
        folds = [
            (np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))
            for _, held_out in splits.split(np.empty((n_units, 1)))
            if (is_held_out := np.isin(units, held_out)).any()
        ]
        return cls(folds, np.arange(n))

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


def require_random(options: HoldoutOptions, calibration: str) -> None:
    """Refuse a split of rows for a calibration that makes none."""
    if isinstance(options.split, str) and options.split == "random":
        return
    raise ValueError(
        f"calibration_split={options.split!r} needs calibration='split'; got "
        f"calibration={calibration!r}, which holds no rows out."
    )


def _warn_of_repeated(rows: FloatArray) -> None:
    """Warn if many rows repeat: then the final model and the models of folds disagree about them.

    The final model has learned a rare row that a model of the other folds has never seen.
    """
    counts = np.unique(row_hashes(rows), return_counts=True)[1]
    n_repeated = int(counts[counts > 1].sum())
    if n_repeated > _MAX_REPEATED_SHARE * len(rows):
        warn_user(
            f"{n_repeated} of {len(rows)} rows are equal to another row. With calibration='cross' "
            "the false-alarm rate may then be far from alpha, on either side. Fit with "
            "calibration='split'.",
            CalibrationWarning,
        )


#: The ways to calibrate, by name. Each draws which of the rows train.
HOLDOUTS: Final[dict[str, Callable[[Sample, HoldoutOptions, np.random.RandomState], Holdout]]] = {
    "split": SplitRows.drawn,
    "train": TrainingRows.drawn,
    "cross": CrossFittedRows.drawn,
}
