"""Which rows to hold out: at random, whole groups, or runs of consecutive rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.calibration.dependence import relatedness

#: Rows that the gap may take on each side of a held-out run, as a share of its stretch.
_MAX_GAP_SHARE = 1 / 16

#: A run of fewer held-out rows is not worth its gaps.
_MIN_RUN = 10


def drawn_units(n: int, size: float, rng: np.random.RandomState, unit: str) -> IntArray:
    """Draw which of n units (rows or groups) to hold out: a number of them, or a share."""
    n_held_out = _n_held_out(n, size)
    n_needed = 2 if unit == "rows" else 1
    if n - n_held_out < n_needed:
        n_enough = 4 if unit == "rows" else 2  # RankAD cannot rank two training rows
        remedy = f"Fit on at least {n_enough} {unit}."
        if n >= n_enough:
            smaller = max(n // 4, 1)
            remedy = f"Fit on more {unit}, or lower calibration_size, for example to {smaller}."
        raise ValueError(
            f"calibration_size={size} leaves {max(n - n_held_out, 0)} of {n} {unit} to train on, "
            f"but at least {n_needed} {'are' if n_needed > 1 else 'is'} needed. {remedy}"
        )
    return np.sort(rng.permutation(n)[:n_held_out])


@dataclass(frozen=True)
class TimeBlocks:
    """Hold out runs of consecutive rows: for rows in the order of time.

    The rows are cut into stretches of equal length. The last rows of each stretch are held out. The
    rows in a gap on each side of them do not train. So a held-out row has few rows like it among
    the training rows, as a new row has. Use it as ``RankAD(calibration_split=TimeBlocks(...))``;
    "time" is ``TimeBlocks(size=calibration_size)``. It also works as a splitter of scikit-learn.

    Parameters
    ----------
    n_blocks : int, default=10
        Number of held-out runs. There are fewer if a run would have fewer than 10 rows. 1 holds out
        the last rows of the file.
    gap : int or "auto", default="auto"
        Number of rows on each side of a held-out run that do not train. "auto" is the first lag at
        which the autocorrelation of the columns is below .2, at most 1/16 of a stretch.
    size : float or int, default=0.25
        Rows to hold out: a share of the rows, or a number of rows.

    Examples
    --------
    >>> training, held_out = next(TimeBlocks(n_blocks=1, gap=2, size=3).split(np.zeros((10, 1))))
    >>> training, held_out
    (array([0, 1, 2, 3, 4]), array([7, 8, 9]))
    """

    n_blocks: int = 10
    gap: int | Literal["auto"] = "auto"
    size: float = 0.25

    def get_n_splits(self, X: Any = None, y: object = None, groups: object = None) -> int:
        """Number of splits: 1."""
        return 1

    def split(
        self, X: FloatArray, y: object = None, groups: object = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows that train and the rows that are held out.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows in the order of time.
        y : Ignored
        groups : None
            Groups are refused: runs of rows cut them apart.

        Yields
        ------
        training, held_out : ndarray of int
            Indices of rows, ascending.
        """
        n = len(X)
        self._check(n, groups)
        n_held_out = min(_n_held_out(n, self.size), n)
        # Two rows of a stretch that are not held out keep its run apart from the run before.
        n_blocks = max(1, min(self.n_blocks, n_held_out // _MIN_RUN, (n - n_held_out) // 2))
        ends = np.linspace(0, n, n_blocks + 1).round().astype(np.intp)[1:]
        runs = np.diff(np.linspace(0, n_held_out, n_blocks + 1).round().astype(np.intp))
        gap = self._gap(X, n // n_blocks)
        is_training, is_held_out = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
        for end, run in zip(ends, runs, strict=True):
            is_held_out[end - run : end] = True
            is_training[max(0, end - run - gap) : end + gap] = False
        if is_training.sum() < 2:
            raise ValueError(
                f"{self} leaves {int(is_training.sum())} of {n} rows to train on, but at least 2 "
                f"are needed. Fit on more rows{', or lower size or gap' if n > 2 else ''}."
            )
        yield np.flatnonzero(is_training), np.flatnonzero(is_held_out)

    def _check(self, n: int, groups: object) -> None:
        if groups is not None:
            raise ValueError(
                "TimeBlocks (calibration_split='time') cuts groups apart. With groups, use "
                "calibration_split='random', which holds out whole groups, or give a splitter that "
                "does, such as GroupShuffleSplit."
            )
        if not isinstance(self.n_blocks, Integral) or self.n_blocks < 1:
            raise ValueError(f"n_blocks must be a number of at least 1; got {self.n_blocks!r}.")
        if self.gap != "auto" and (not isinstance(self.gap, Integral) or self.gap < 0):
            raise ValueError(f"gap must be 'auto' or a number of at least 0; got {self.gap!r}.")
        is_number = isinstance(self.size, Integral) and self.size >= 1
        if not is_number and not (isinstance(self.size, Real) and 0.0 < self.size < 1.0):
            raise ValueError(f"size must be a share of the rows or a number; got {self.size!r}.")

    def _gap(self, rows: FloatArray, stretch: int) -> int:
        if self.gap != "auto":
            return self.gap
        lag = relatedness(np.asarray(rows, dtype=np.float64))
        return min(lag, int(stretch * _MAX_GAP_SHARE))


def first_split(
    splitter: Any, rows: FloatArray, groups: IntArray | None
) -> tuple[IntArray, IntArray]:
    """The first split of a splitter: which rows train, and which rows are held out, ascending."""
    try:
        training, held_out = next(iter(splitter.split(rows, None, groups)))
    except StopIteration:
        raise ValueError(f"calibration_split={splitter!r} gives no split of the rows.") from None
    training, held_out = np.unique(training), np.unique(held_out)
    for name, indices in (("training", training), ("held-out", held_out)):
        if indices.dtype.kind not in "iu" or not np.isin(indices, np.arange(len(rows))).all():
            raise ValueError(
                f"The {name} rows of calibration_split={splitter!r} are no indices of the "
                f"{len(rows)} rows."
            )
    if len(training) < 2 or len(held_out) < 1:
        raise ValueError(
            f"calibration_split={splitter!r} gives {len(training)} training rows and "
            f"{len(held_out)} held-out rows, but at least 2 and 1 are needed."
        )
    if np.intersect1d(training, held_out).size:
        raise ValueError(
            f"calibration_split={splitter!r} has rows on both sides. A held-out row must not train."
        )
    if groups is not None and np.intersect1d(groups[training], groups[held_out]).size:
        raise ValueError(
            f"calibration_split={splitter!r} cuts groups apart. Use a splitter that keeps groups "
            "together, such as GroupShuffleSplit, or calibration_split='random'."
        )
    return training, held_out


def run_starts(indices: IntArray) -> IntArray:
    """Positions in ascending indices where a run of consecutive ones begins.

    >>> run_starts(np.array([3, 4, 5, 9, 10]))
    array([0, 3])
    """
    return np.flatnonzero(np.diff(indices, prepend=indices[0] - 2) > 1)


def are_runs(starts: IntArray, n_rows: int) -> bool:
    """Whether rows with these starts of runs are a few runs, and are not scattered in the file.

    >>> are_runs(np.array([0, 15]), 30), are_runs(np.arange(0, 30, 2), 30)
    (True, False)
    """
    return len(starts) <= max(1, n_rows // _MIN_RUN)


def _n_held_out(n: int, size: float) -> int:
    return int(size) if isinstance(size, Integral) else int(np.ceil(size * n))
