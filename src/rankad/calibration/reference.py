"""Reference scores: p-values compare a score with them."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import floor
from typing import Any, ClassVar, Self

import numpy as np

from rankad._rounding import EXACT, Rounding
from rankad._typing import FloatArray, IntArray

#: Largest number of scores to keep, and how many of the lowest are always kept one by one.
MAX_SCORES = 1_000_000
EXACT_TAIL = 500_000


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceScores(ABC):
    """Sorted scores of nominal rows, and the p-values that they give to other scores.

    The p-value of a score s is ``p = (e + #{ref <= s}) / (n + e)``, for n reference scores and
    ``e`` = `n_extra` virtual scores that always count. A reference score counts if it is at most s
    up to `rounding`, so p-values hold although scores are rounded.

    Parameters
    ----------
    scores : array of shape (n_scores,)
        Ascending.
    counts : array of int, shape (n_scores,), optional
        Number of nominal rows that each score stands for; by default 1. Above a million scores, the
        upper part is thinned and the lower 500,000 are kept one by one.
    rounding : Rounding, optional
        By how much two computations of one score may differ; by default 0.

    Attributes
    ----------
    guarantee : {"exact", "groups", "time", "empirical", "none"}
        What is known about the false-alarm rate of these p-values.
    """

    scores: FloatArray
    counts: IntArray | None = None
    rounding: Rounding = EXACT
    n_extra: ClassVar[int]

    #: What is known about the false-alarm rate of the p-values: "exact" for a new row, "groups" for
    #: a new row of a new group, near alpha for "time" and "empirical", "none".
    guarantee: ClassVar[str]

    #: What the reference counts, in the words of messages.
    unit: ClassVar[str] = "scores"

    @classmethod
    def from_scores(cls, scores: FloatArray) -> Self:
        """Reference of the scores of nominal rows, in any order. Above a million, it is thinned."""
        require_numbers(scores)
        in_order = np.sort(scores)
        if len(in_order) <= MAX_SCORES:
            return cls(in_order)
        return cls(*thinned(in_order, np.ones(len(in_order), dtype=np.int64)))

    def with_rounding(self, rounding: Rounding) -> Self:
        """The same scores, with the rounding of the model that gave them."""
        return replace(self, rounding=rounding)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} {self.unit}, guarantee: {self.guarantee})"

    @property
    def size(self) -> int:
        """Number of nominal rows that the reference stands for."""
        return int(self._n_below[-1]) if self.counts is not None else len(self.scores)

    @property
    def smallest_alpha(self) -> float:
        """The smallest alpha at which anything can alarm."""
        return self.n_extra / (self.size + self.n_extra)

    def p_values(self, scores: FloatArray) -> FloatArray:
        """p-value of each score: small = anomalous."""
        if np.isnan(scores).any():
            raise ValueError(
                f"A score is NaN and has no p-value: number {int(np.isnan(scores).argmax())}. "
                "Remove its row."
            )
        n_at_most = self._n_points(np.searchsorted(self.lowered, scores, side="right"))
        return np.asarray((self.n_extra + n_at_most) / (self.size + self.n_extra))

    def p_value(self, n_scores: int) -> float:
        """p-value of a score that is at least as large as ``n_scores`` of `lowered`."""
        return (self.n_extra + int(self._n_points(n_scores))) / (self.size + self.n_extra)

    def threshold(self, alpha: float) -> float:
        """Rows that score below it have ``p <= alpha``. It is minus infinity if there are none."""
        return self.score_of_order(self.order(alpha))

    def order(self, alpha: float) -> int:
        """Order j of the score that is the threshold of alpha: the j-th from below; 0 if none is.

        For held-out scores without ties ``j = floor(alpha (n + 1))``. If everything alarms, j is
        one more than the number of scores.
        """
        return order_of(alpha, self.size, self.n_extra)

    def is_tied(self, order: int) -> bool:
        """Whether other scores tie with the j-th, or may tie. Then the rate is lower."""
        index = self._index(order)
        if not 0 <= index < len(self.scores):
            return False
        # From the first score that is at least the lowered one, to the last whose lowered score is
        # at most the score.
        low = int(np.searchsorted(self.scores, self.lowered[index], side="left"))
        high = int(np.searchsorted(self.lowered, self.scores[index], side="right"))
        return int(self._n_points(high)) - int(self._n_points(low)) > 1

    def score_of_order(self, order: int) -> float:
        """The j-th score from below, lowered by its rounding.

        It is minus infinity for 0, and infinity beyond the last. If scores stand for several rows,
        it is the lowest value that the j-th score may have.
        """
        index = self._index(order)
        if index < 0:
            return -np.inf
        return float(self.lowered[index]) if index < len(self.lowered) else np.inf

    @cached_property
    def lowered(self) -> FloatArray:
        """The scores, lowered by their rounding: p-values compare a score with them."""
        return self.rounding.lowered(self.scores)

    def _index(self, order: int) -> int:
        """Position of the j-th score from below; -1 for 0."""
        if order < 1:
            return -1
        if self.counts is None:
            return order - 1
        return int(np.searchsorted(self._n_below, order - 1, side="right")) - 1

    def _n_points(self, n_scores: Any) -> Any:
        """Number of rows that the ``n_scores`` lowest scores stand for."""
        return n_scores if self.counts is None else self._n_below[n_scores]

    @cached_property
    def _n_below(self) -> IntArray | FloatArray:
        """Number of rows that the first 0, 1, ... scores stand for."""
        counts = np.ones(len(self.scores), dtype=np.int64) if self.counts is None else self.counts
        return np.concatenate([[0], np.cumsum(counts)])


class HeldOutScores(ReferenceScores):
    """Scores of rows that the model has not seen: split-conformal p-values.

    ``p = (1 + #{ref <= s}) / (n + 1)``. For a new nominal row, exchangeable with the reference
    rows, ``P(p <= alpha) <= alpha`` exactly, for any model and any distribution.

    Parameters
    ----------
    scores : array of shape (n_scores,)
        Ascending. `from_scores` sorts them.
    counts : array of int, shape (n_scores,), optional
        Number of nominal rows that each score stands for; by default 1.
    rounding : Rounding, optional
        By how much two computations of one score may differ; by default 0.

    Examples
    --------
    >>> reference = HeldOutScores.from_scores(np.array([0.3, 0.1, 0.2]))
    >>> reference.p_values(np.array([0.05, 0.2, 9.0]))
    array([0.25, 0.75, 1.  ])
    >>> reference.threshold(alpha=0.5), reference.smallest_alpha
    (0.2, 0.25)
    """

    n_extra = 1
    guarantee = "exact"

    def extended(self, scores: FloatArray) -> HeldOutScores:
        """Both references together. Above a million scores, the upper part is thinned."""
        new = HeldOutScores.from_scores(scores)
        order = np.argsort(np.concatenate([self.scores, new.scores]), kind="stable")
        merged = np.concatenate([self.scores, new.scores])[order]
        if self.counts is None and len(merged) <= MAX_SCORES:
            return HeldOutScores(merged, rounding=self.rounding)
        counts = np.concatenate([np.diff(self._n_below), np.diff(new._n_below)])[order]
        return HeldOutScores(*thinned(merged, counts), self.rounding)


class TrainingScores(ReferenceScores):
    """Scores of the training rows themselves: the paper's rank, eq. (6).

    ``r = #{ref <= s} / n``. The ranker was fitted to these rows, so new nominal rows score lower.
    The share of new nominal rows with ``r <= alpha`` exceeds alpha. With a narrow kernel it is
    several times alpha.

    >>> TrainingScores.from_scores(np.array([0.3, 0.1, 0.2])).p_values(np.array([0.05, 0.2, 9.0]))
    array([0.        , 0.66666667, 1.        ])
    """

    n_extra = 0
    guarantee = "none"


class CrossFittedScores(ReferenceScores):
    """Out-of-fold scores of the training rows, for use with one final ranker: empirical.

    ``p = (1 + #{ref <= s}) / (n + 1)``. All rows train and calibrate. On rows without repeats, the
    measured false-alarm rate is near alpha, but it is not guaranteed: rankers of different folds
    score on different scales, and the bounds for held-out rows fail. On rows that repeat (counts,
    codes) it can be several times alpha, or far below it.

    >>> CrossFittedScores.from_scores(np.array([0.3, 0.1, 0.2]))
    CrossFittedScores(3 scores, guarantee: empirical)
    """

    n_extra = 1
    guarantee = "empirical"


def require_numbers(scores: FloatArray) -> None:
    """Refuse NaN."""
    if np.isnan(scores).any():
        raise ValueError(
            f"Reference scores must not be NaN; got {int(np.isnan(scores).sum())} of them."
        )


def order_of(alpha: float, n_reference: int, n_extra: int = 1) -> int:
    """Order j of the score that is the threshold of ``p <= alpha``, from below; 0 if none is.

    >>> order_of(0.05, 99), order_of(0.01, 98), order_of(0.5, 1)
    (5, 0, 1)
    """
    n_total = n_reference + n_extra
    n_at_most = min(floor(alpha * n_total) - n_extra, n_reference)
    # alpha * n_total is rounded, so p itself is compared with alpha.
    if n_at_most < n_reference and (n_extra + n_at_most + 1) / n_total <= alpha:
        n_at_most += 1
    elif n_at_most >= 0 and (n_extra + n_at_most) / n_total > alpha:
        n_at_most -= 1
    return n_at_most + 1


def thinned(
    scores: FloatArray,
    counts: IntArray,
    max_size: int = MAX_SCORES,
    exact: int = EXACT_TAIL,
) -> tuple[FloatArray, IntArray]:
    """At most ``max_size`` of the sorted scores, and how many rows each stands for.

    The ``exact`` lowest scores are kept one by one. The scores above them form groups of neighbors
    with about equally many rows, and each group becomes its lowest score. So p-values above the
    exact part are rounded up, by at most the share of a few groups, and they stay valid.

    >>> thinned(np.arange(8.0), np.ones(8, dtype=np.int64), max_size=4, exact=2)
    (array([0., 1., 2., 5.]), array([1, 1, 3, 3]))
    """
    if len(scores) <= max_size:
        return scores, counts
    n_before = np.concatenate([[0], np.cumsum(counts[exact:-1])])  # rows of the groups so far
    group_size = -(-int(counts[exact:].sum()) // (max_size - exact))
    begins_group = np.diff(n_before // group_size, prepend=-1) > 0
    starts = np.concatenate([np.arange(exact), exact + np.flatnonzero(begins_group)])
    return scores[starts], np.add.reduceat(counts, starts)
