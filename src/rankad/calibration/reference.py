"""Reference scores: what a score is compared with to become a p-value."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import Any, ClassVar, Self

import numpy as np

from rankad._typing import FloatArray, IntArray

#: Most scores that are kept, and how many of the lowest of them are always kept one by one.
MAX_SCORES = 1_000_000
EXACT_TAIL = 500_000


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceScores(ABC):
    """Sorted scores of nominal points, and the p-values they give to others.

    With ``e`` = `n_extra` virtual points that always count, ``p = (e + #{ref <= s}) / (n + e)``.

    ``counts``, where given, says for how many points each score stands (see `thinned`).
    """

    scores: FloatArray
    counts: IntArray | None = None
    n_extra: ClassVar[int]

    #: What stands behind the p-values: "exact", "empirical" or "none".
    guarantee: ClassVar[str]

    @classmethod
    def from_scores(cls, scores: FloatArray) -> Self:
        """Sort the scores of nominal points into a reference; above a million, see `thinned`."""
        if np.isnan(scores).any():
            raise ValueError("Reference scores must not be NaN.")
        in_order = np.sort(scores)
        if len(in_order) <= MAX_SCORES:
            return cls(in_order)
        return cls(*thinned(in_order, np.ones(len(in_order), dtype=np.int64)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} scores, guarantee: {self.guarantee})"

    @property
    def size(self) -> int:
        """Number of reference points."""
        return int(self._n_below[-1]) if self.counts is not None else len(self.scores)

    @property
    def smallest_alpha(self) -> float:
        """The smallest level at which anything can alarm."""
        return self.n_extra / (self.size + self.n_extra)

    def p_values(self, scores: FloatArray) -> FloatArray:
        """p-value of each score: the smaller, the more anomalous."""
        if np.isnan(scores).any():
            raise ValueError("A score is NaN, and has no p-value.")
        n_at_most = self._n_points(np.searchsorted(self.scores, scores, side="right"))
        return np.asarray((self.n_extra + n_at_most) / (self.size + self.n_extra))

    def p_value(self, n_scores: int) -> float:
        """p-value of a score that is at least as large as so many of ``scores``."""
        return (self.n_extra + int(self._n_points(n_scores))) / (self.size + self.n_extra)

    def threshold(self, alpha: float) -> float:
        """Score below which, strictly, ``p <= alpha``; minus infinity where no p is that small."""
        return self.score_of_order(self.order(alpha))

    def order(self, alpha: float) -> int:
        """Which of the points, from below, is the threshold of the level: the j-th; 0 if none is.

        With held-out points and no ties ``j = floor(alpha (n + 1))``; one more than there are
        points where everything alarms.
        """
        return order_of(alpha, self.size, self.n_extra)

    def is_tied(self, order: int) -> bool:
        """Whether other points share the j-th one's score, or may: the rate is then lower."""
        score = self.score_of_order(order)
        low = int(np.searchsorted(self.scores, score, side="left"))
        high = int(np.searchsorted(self.scores, score, side="right"))
        return int(self._n_points(high)) - int(self._n_points(low)) > 1

    def score_of_order(self, order: int) -> float:
        """The score of the j-th point from below: minus infinity for 0, infinity beyond the last.

        Where scores stand for several points, it is the lowest of those that the j-th may be.
        """
        if order < 1:
            return -np.inf
        if self.counts is None:
            index = order - 1
        else:
            index = int(np.searchsorted(self._n_below, order - 1, side="right")) - 1
        return float(self.scores[index]) if index < len(self.scores) else np.inf

    @abstractmethod
    def extended(self, scores: FloatArray) -> "HeldOutScores":
        """Reference with the scores of further held-out nominal points."""

    def _n_points(self, n_scores: Any) -> Any:
        """How many points so many of the lowest scores stand for."""
        return n_scores if self.counts is None else self._n_below[n_scores]

    @cached_property
    def _n_below(self) -> IntArray:
        """Number of points that the first 0, 1, ... scores stand for."""
        counts = np.ones(len(self.scores), dtype=np.int64) if self.counts is None else self.counts
        return np.concatenate([[0], np.cumsum(counts)])


class HeldOutScores(ReferenceScores):
    """Scores of points the ranker has not seen: split-conformal p-values.

    ``p = (1 + #{ref <= s}) / (n + 1)``. For a new nominal point, exchangeable with the reference
    points, ``P(p <= alpha) <= alpha`` exactly, whatever the ranker and the distribution.

    >>> reference = HeldOutScores.from_scores(np.array([0.3, 0.1, 0.2]))
    >>> reference.p_values(np.array([0.05, 0.2, 9.0]))
    array([0.25, 0.75, 1.  ])
    >>> reference.threshold(alpha=0.5), reference.smallest_alpha
    (0.2, 0.25)
    """

    n_extra = 1
    guarantee = "exact"

    def extended(self, scores: FloatArray) -> "HeldOutScores":
        """Both sets of held-out points together; of millions, the lower tail one by one."""
        new = HeldOutScores.from_scores(scores)
        order = np.argsort(np.concatenate([self.scores, new.scores]), kind="stable")
        merged = np.concatenate([self.scores, new.scores])[order]
        if self.counts is None and len(merged) <= MAX_SCORES:
            return HeldOutScores(merged)
        counts = np.concatenate([np.diff(self._n_below), np.diff(new._n_below)])[order]
        return HeldOutScores(*thinned(merged, counts))


class TrainingScores(ReferenceScores):
    """Scores of the training points themselves: the paper's rank, eq. (6).

    ``r = #{ref <= s} / n``. The ranker was fitted to these very points, so new nominal points
    score lower than they do, and the share with ``r <= alpha`` exceeds alpha, several-fold where
    the kernel is narrow.

    >>> TrainingScores.from_scores(np.array([0.3, 0.1, 0.2])).p_values(np.array([0.05, 0.2, 9.0]))
    array([0.        , 0.66666667, 1.        ])
    """

    n_extra = 0
    guarantee = "none"

    def extended(self, scores: FloatArray) -> HeldOutScores:
        """Only the held-out points: they do not mix with training points."""
        return HeldOutScores.from_scores(scores)


class CrossFittedScores(ReferenceScores):
    """Out-of-fold scores of the training points, for use with one final ranker: empirical.

    ``p = (1 + #{ref <= s}) / (n + 1)``. All points both train and calibrate. In experience the
    false-alarm rate is near alpha, but nothing guarantees it: scores of different fits do not share
    a scale, and bounds that hold for held-out points fail.

    >>> CrossFittedScores.from_scores(np.array([0.3, 0.1, 0.2]))
    CrossFittedScores(3 scores, guarantee: empirical)
    """

    n_extra = 1
    guarantee = "empirical"

    def extended(self, scores: FloatArray) -> HeldOutScores:
        """Only the held-out points: they do not mix with out-of-fold scores."""
        return HeldOutScores.from_scores(scores)


def order_of(alpha: float, n_reference: int, n_extra: int = 1) -> int:
    """Which of n reference points, from below, is the threshold of ``p <= alpha``; 0 if none is.

    >>> order_of(0.05, 99), order_of(0.01, 98), order_of(0.5, 1)
    (5, 0, 1)
    """
    n_total = n_reference + n_extra
    n_at_most = min(floor(alpha * n_total) - n_extra, n_reference)
    # alpha * n_total rounds; the comparison that counts is that of p itself with alpha.
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
    """At most so many of the sorted scores, the lowest one by one, and what each stands for.

    Of those above the exact tail, groups of neighbors, of about equally many points, become their
    lowest member. p-values among them are so rounded up, by some groups' share of the points: they
    stay valid.

    >>> thinned(np.arange(8.0), np.ones(8, dtype=np.int64), max_size=4, exact=2)
    (array([0., 1., 2., 5.]), array([1, 1, 3, 3]))
    """
    if len(scores) <= max_size:
        return scores, counts
    n_before = np.concatenate([[0], np.cumsum(counts[exact:-1])])  # points of the groups so far
    group_size = -(-int(counts[exact:].sum()) // (max_size - exact))
    begins_group = np.diff(n_before // group_size, prepend=-1) > 0
    starts = np.concatenate([np.arange(exact), exact + np.flatnonzero(begins_group)])
    return scores[starts], np.add.reduceat(counts, starts)
