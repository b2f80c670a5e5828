"""Certified counts: lower limits of the number of true alarms, whichever alarms are chosen.

Let m p-values be given. The test of Simes rejects a set of k of them at the level a if its j-th
smallest is at most ``j a / k``, for some j. *Closed testing* tests all subsets. A set S then has at
least so many true alarms as ``|S|`` minus the size of the largest subset of S that is not rejected.
That holds for all S at once with probability ``1 - a``, if Simes' test is valid for the nominal
rows. It is valid for split-conformal p-values with one reference, because they depend on one
another positively (Bates et al., 2023).

All subsets need not be visited (Goeman, Meijer, Krebs and Solari, 2019). Let h be the size of the
largest set that is not rejected. Then the number for S is the largest value of
``1 - u + #{i in S : h p_i <= u a}`` over ``u = 1 ... |S|``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.calibration.bounds import require_probability
from rankad.calibration.discoveries import checked_p_values


@dataclass(frozen=True, eq=False, repr=False)
class TrueAlarms:
    """Lower limits of the number of true alarms in a batch, for all choices of alarms at once.

    A row is a *true alarm* if it was not drawn from the nominal distribution. With the confidence,
    all limits hold together, over the draws of the reference and of the batch. So you may look at
    the limits first, and then choose an alpha or single rows.

    Parameters
    ----------
    p_values : array of shape (n,)
        Split-conformal p-values of one batch, in the order of its rows.
    confidence : float
        Probability that no limit is too large.

    Examples
    --------
    >>> alarms = TrueAlarms.from_p_values([0.001, 0.002, 0.003, 0.4, 0.6, 0.8], confidence=0.95)
    >>> alarms
    TrueAlarms(with confidence 0.95 at least 3 of 6 rows are true alarms)
    >>> alarms.at(alpha=0.002), alarms.among([True, False, True, True, False, False])
    (2, 2)
    >>> alarms.lower_limits  # of the 0, 1, 2, ... rows with the lowest p-values
    array([0, 1, 2, 3, 3, 3, 3])
    """

    p_values: FloatArray
    confidence: float

    @classmethod
    def from_p_values(cls, p_values: ArrayLike, confidence: float = 0.95) -> Self:
        """Limits for the p-values of one batch."""
        require_probability("confidence", confidence)
        return cls(checked_p_values(p_values), float(confidence))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(with confidence {self.confidence} at least "
            f"{self.lower_limits[-1]} of {len(self.p_values)} rows are true alarms)"
        )

    def at(self, alpha: float) -> int:
        """Least number of true alarms among the rows with ``p <= alpha``.

        Parameters
        ----------
        alpha : float
            Any number from 0 to 1. It may be chosen after looking at the limits.

        Returns
        -------
        n_true : int
        """
        if not 0.0 <= alpha <= 1.0:
            raise ValueError(f"alpha must be at least 0 and at most 1; got {alpha!r}.")
        return int(self.lower_limits[np.searchsorted(self._in_order, alpha, side="right")])

    def among(self, is_chosen: ArrayLike) -> int:
        """Least number of true alarms among chosen rows.

        Parameters
        ----------
        is_chosen : array-like of bool, shape (n,)
            The rows, chosen in any way.

        Returns
        -------
        n_true : int
        """
        chosen: BoolArray = np.asarray(is_chosen)
        if chosen.shape != self.p_values.shape or chosen.dtype != np.bool_:
            raise ValueError(
                f"is_chosen must be a mask of shape {self.p_values.shape}, True for a chosen row; "
                f"got shape {chosen.shape} of {chosen.dtype}."
            )
        return int(self._limits_of_lowest(np.sort(self.p_values[chosen]))[-1])

    @cached_property
    def lower_limits(self) -> IntArray:
        """Least number of true alarms among the k rows with the lowest p-values, k = 0, 1, ..."""
        return self._limits_of_lowest(self._in_order)

    @cached_property
    def _in_order(self) -> FloatArray:
        return np.sort(self.p_values)

    @cached_property
    def _max_unrejected(self) -> int:
        return largest_unrejected(self._in_order, 1.0 - self.confidence)

    def _limits_of_lowest(self, p: FloatArray) -> IntArray:
        """Limits for the k lowest of the ascending p-values of a set, for all k.

        ``n_within[u - 1]`` of them have ``h p <= u a``. Among the k lowest these are
        ``min(k, n_within[u - 1])``. That is ``n_within`` for the first ``n_small`` of the u, and k
        for larger u. Of the latter, the smallest u gives the largest value.
        """
        sizes = np.arange(len(p) + 1)
        levels = sizes[1:] * (1.0 - self.confidence)
        n_within = np.searchsorted(self._max_unrejected * p, levels, side="right")
        values = np.maximum.accumulate(np.append(0, n_within - sizes[:-1]))
        n_small = np.searchsorted(n_within, sizes, side="right")
        return np.asarray(np.maximum(values[n_small], np.maximum(sizes - n_small, 0)))


def largest_unrejected(p_in_order: FloatArray, level: float) -> int:
    """Size of the largest set of p-values that Simes' test does not reject; 0 if there is none.

    Of all sets of one size, the one with the largest p-values is rejected last. If it is not
    rejected, the next smaller one is not either. So the size is found by bisection.

    >>> largest_unrejected(np.array([0.01, 0.02, 0.9]), level=0.05)
    1
    """
    low, high = 0, len(p_in_order)
    while low < high:
        middle = (low + high + 1) // 2
        steps = np.arange(1, middle + 1)
        if (middle * p_in_order[len(p_in_order) - middle :] > steps * level).all():
            low = middle
        else:
            high = middle - 1
    return low
