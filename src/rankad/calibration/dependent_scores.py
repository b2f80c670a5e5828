"""Reference scores of rows that depend on each other: in groups, or in the order of time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray, IntArray
from rankad.calibration.reference import HeldOutScores, ReferenceScores, require_numbers
from rankad.calibration.stratum_labels import StratumLabels


@dataclass(frozen=True, eq=False, repr=False)
class GroupScores(ReferenceScores):
    """Scores of held-out groups of rows, where each group counts once.

    ``p = (1 + sum over the groups of the share of its scores that are <= s) / (K + 1)``, for K
    groups. For a new nominal row *of a new group*, exchangeable with the held-out groups,
    ``P(p <= alpha) <= alpha``, if the sizes of the groups say nothing about the scores (Lee, Barber
    and Willett, 2023). Rows of one group may depend on each other in any way.

    Parameters
    ----------
    scores : array of shape (n_scores,)
        Ascending. `from_groups` sorts them.
    groups : array of int, shape (n_scores,)
        Group of each score, as a number from 0 to K - 1.
    labels : tuple
        Labels of the groups 0 to K - 1.

    Examples
    --------
    >>> reference = GroupScores.from_groups(np.array([0.1, 0.2, 0.3]), np.array(["a", "a", "b"]))
    >>> reference.p_values(np.array([0.0, 0.1, 0.2, 0.3]))
    array([0.33333333, 0.5       , 0.66666667, 1.        ])
    """

    groups: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    labels: tuple[Hashable, ...] = ()
    n_extra = 1
    guarantee = "groups"
    unit = "groups"

    @classmethod
    def from_groups(cls, scores: FloatArray, groups: object) -> Self:
        """Reference of the scores of nominal rows in any order, and the group of each row."""
        require_numbers(scores)
        labels = StratumLabels.from_values(groups, "groups")
        labels.require_rows(len(scores), "groups")
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], groups=labels.codes[order], labels=labels.keys)

    def with_groups(self, scores: FloatArray, groups: object) -> Self:
        """Both references together. A group must be new."""
        new = type(self).from_groups(scores, groups)
        known = set(self.labels).intersection(new.labels)
        if known:
            raise ValueError(
                f"Some groups are in the reference already: {sorted(known, key=str)[:3]}. Give "
                "each new group a new label, or replace the reference."
            )
        merged = np.concatenate([self.scores, new.scores])
        numbers = np.concatenate([self.groups, new.groups + len(self.labels)])
        order = np.argsort(merged, kind="stable")
        labels = (*self.labels, *new.labels)
        both = type(self)(merged[order], groups=numbers[order], labels=labels)
        return both.with_rounding(self.rounding)

    @property
    def size(self) -> int:
        """Number of groups."""
        return round(float(self._n_below[-1]))

    def threshold(self, alpha: float) -> float:
        """Rows that score below it have ``p <= alpha``. It is minus infinity if there are none."""
        if self.order(alpha) < 1:
            return -np.inf
        p = (self.n_extra + self._n_below) / (self.size + self.n_extra)
        n_at_most = int(np.searchsorted(p, alpha, side="right")) - 1
        return float(self.lowered[n_at_most]) if n_at_most < len(self.lowered) else np.inf

    def p_value(self, n_scores: int) -> float:
        """p-value of a score that is at least as large as ``n_scores`` of `lowered`."""
        return float((self.n_extra + self._n_below[n_scores]) / (self.size + self.n_extra))

    def _n_points(self, n_scores: Any) -> Any:
        return self._n_below[n_scores]

    @cached_property
    def _n_below(self) -> FloatArray:
        """Sum of the shares of all groups among the 0, 1, ... lowest scores.

        It is rounded, so that the ten tenths of a group make 1.
        """
        shares = 1.0 / np.bincount(self.groups)[self.groups]
        return np.round(np.concatenate([[0.0], np.cumsum(shares)]), 9)


@dataclass(frozen=True, eq=False, repr=False)
class TimeScores(HeldOutScores):
    """Scores of held-out runs of consecutive rows: rows that are near in time may be alike.

    The p-values are those of `HeldOutScores`. If rows far apart in time are nearly independent, and
    the reference spans many times the memory of the stream, the false-alarm rate is near alpha. It
    is not exact, and the laws of independent rows do not hold.

    Parameters
    ----------
    scores : array of shape (n_scores,)
        Ascending. `from_runs` sorts them.
    in_order : array of shape (n_scores,)
        The same scores in the order of time.
    run_starts : array of int
        Positions in ``in_order`` where a run of consecutive rows begins. The first is 0.

    Examples
    --------
    >>> reference = TimeScores.from_runs(np.array([0.3, 0.1, 0.2]), np.array([0, 2]))
    >>> reference.p_values(np.array([0.05, 0.2, 9.0])), reference.in_order
    (array([0.25, 0.75, 1.  ]), array([0.3, 0.1, 0.2]))
    """

    in_order: FloatArray = field(default_factory=lambda: np.empty(0))
    run_starts: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    guarantee = "time"

    @classmethod
    def from_runs(cls, scores: FloatArray, run_starts: ArrayLike) -> Self:
        """Reference of scores in the order of time, and where its runs begin."""
        require_numbers(scores)
        return cls(np.sort(scores), in_order=scores, run_starts=np.asarray(run_starts))

    def extended(self, scores: FloatArray) -> TimeScores:
        """Both references together. The new scores are one more run."""
        require_numbers(scores)
        merged = TimeScores.from_runs(
            np.concatenate([self.in_order, scores]), np.append(self.run_starts, len(self.in_order))
        )
        return merged.with_rounding(self.rounding)
