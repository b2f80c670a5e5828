"""The interface of a model."""

from typing import Protocol

from rankad._rounding import Rounding
from rankad._typing import FloatArray, IntArray


class Model(Protocol):
    """A function, learned from rows, that scores rows: higher = more nominal."""

    @property
    def rounding(self) -> Rounding:
        """By how much two computations of the score of one row may differ."""

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row, shape ``(n,)``."""

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that it was learned from: the same rows in the same order."""

    def watches(self, columns: IntArray, row: FloatArray) -> bool:
        """Whether other values than those of a row are far from all training rows.

        The columns are some that have a single value among the training rows, that of the row.
        """
