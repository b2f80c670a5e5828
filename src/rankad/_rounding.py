"""Rounding of scores: by how much two computations of the score of one row may differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import DTypeLike

from rankad._typing import FloatArray

#: Largest relative difference of two computations, in units of the precision. Squared distances of
#: hundreds of columns stay far below it.
_RELATIVE_UNITS: Final = 256.0

#: A difference that was measured on a few rows is multiplied by this.
_MARGIN: Final = 64.0


@dataclass(frozen=True)
class Rounding:
    """Two computations of one score differ by at most ``absolute + relative |score|``.

    A row is scored alone or in a batch, by compiled code or by NumPy. Sums are then added in
    another order, and the last digits of the score differ. A p-value counts the reference scores at
    or below a score, so a copy of a reference row could lose its tie. Therefore each reference
    score is lowered by its rounding before scores are compared with it. Ties can then only resolve
    upward: no p-value is smaller than in exact arithmetic.

    >>> Rounding(absolute=0.5, relative=0.25).lowered(np.array([-4.0, 0.0, 4.0]))
    array([-5.5, -0.5,  2.5])
    """

    absolute: float = 0.0
    relative: float = 0.0

    @classmethod
    def in_precision(cls, dtype: DTypeLike, absolute: float = 0.0) -> Self:
        """Rounding of scores that are computed in this precision, 2^-44 in float64.

        >>> Rounding.in_precision("float64").relative * 2.0**44
        1.0
        """
        return cls(absolute, _RELATIVE_UNITS * float(np.finfo(dtype).eps))

    @classmethod
    def measured(cls, scores: FloatArray, others: FloatArray, relative: float) -> Self:
        """Rounding of scores, of which some were computed in two ways; with a margin."""
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            differences = np.abs(scores - others)
        finite = differences[np.isfinite(differences)]
        return cls(_MARGIN * float(finite.max(initial=0.0)), relative)

    def of(self, scores: FloatArray) -> FloatArray:
        """Rounding of each score; 0 of an infinite one."""
        magnitudes = np.abs(scores)
        is_finite = np.isfinite(magnitudes)
        rounding = self.absolute + self.relative * np.where(is_finite, magnitudes, 0.0)
        return np.asarray(np.where(is_finite, rounding, 0.0))

    def lowered(self, sorted_scores: FloatArray) -> FloatArray:
        """Ascending scores, each lowered by its rounding. They still ascend."""
        if self.absolute == self.relative == 0.0:
            return sorted_scores
        lowered = sorted_scores - self.of(sorted_scores)
        # This difference is rounded, too, and could exchange neighbors.
        return np.ascontiguousarray(np.minimum.accumulate(lowered[::-1])[::-1])


#: Scores that are the same in every computation.
EXACT: Final = Rounding()
