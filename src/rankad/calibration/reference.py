"""Reference scores: what a score is compared with to become a p-value."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import floor
from typing import ClassVar, Self

import numpy as np

from rankad._typing import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceScores(ABC):
    """Sorted scores of nominal points, and the p-values they give to others.

    With ``e`` = `n_extra` virtual points that always count, ``p = (e + #{ref <= s}) / (n + e)``.
    """

    scores: FloatArray
    n_extra: ClassVar[int]

    #: What stands behind the p-values: "exact", "empirical" or "none".
    guarantee: ClassVar[str]

    @classmethod
    def of(cls, scores: FloatArray) -> Self:
        """Sort the scores of nominal points into a reference."""
        if np.isnan(scores).any():
            raise ValueError("Reference scores must not be NaN.")
        return cls(np.sort(scores))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} scores, guarantee: {self.guarantee})"

    @property
    def size(self) -> int:
        """Number of reference points."""
        return len(self.scores)

    @property
    def smallest_alpha(self) -> float:
        """The smallest level at which anything can alarm."""
        return self.n_extra / (self.size + self.n_extra)

    def p_values(self, scores: FloatArray) -> FloatArray:
        """p-value of each score: the smaller, the more anomalous."""
        if np.isnan(scores).any():
            raise ValueError("A score is NaN, and has no p-value.")
        n_at_most = np.searchsorted(self.scores, scores, side="right")
        return np.asarray((self.n_extra + n_at_most) / (self.size + self.n_extra))

    def threshold(self, alpha: float) -> float:
        """Score below which, strictly, ``p <= alpha``; minus infinity where no p is that small."""
        n_total = self.size + self.n_extra
        n_at_most = min(floor(alpha * n_total) - self.n_extra, self.size)
        # alpha * n_total rounds; the comparison that counts is that of p itself with alpha.
        if n_at_most < self.size and self.p_value(n_at_most + 1) <= alpha:
            n_at_most += 1
        elif n_at_most >= 0 and self.p_value(n_at_most) > alpha:
            n_at_most -= 1
        if n_at_most < 0:
            return -np.inf
        return float(self.scores[n_at_most]) if n_at_most < self.size else np.inf

    @abstractmethod
    def extended(self, scores: FloatArray) -> "HeldOutScores":
        """Reference with the scores of further held-out nominal points."""

    def p_value(self, n_at_most: int) -> float:
        """p-value of a score that so many of the reference scores do not exceed."""
        return (self.n_extra + n_at_most) / (self.size + self.n_extra)


class HeldOutScores(ReferenceScores):
    """Scores of points the ranker has not seen: split-conformal p-values.

    ``p = (1 + #{ref <= s}) / (n + 1)``. For a new nominal point, exchangeable with the reference
    points, ``P(p <= alpha) <= alpha`` exactly, whatever the ranker and the distribution.

    >>> reference = HeldOutScores.of(np.array([0.3, 0.1, 0.2]))
    >>> reference.p_values(np.array([0.05, 0.2, 9.0]))
    array([0.25, 0.75, 1.  ])
    >>> reference.threshold(alpha=0.5), reference.smallest_alpha
    (0.2, 0.25)
    """

    n_extra = 1
    guarantee = "exact"

    def extended(self, scores: FloatArray) -> "HeldOutScores":
        """Both sets of held-out points together."""
        return HeldOutScores.of(np.concatenate([self.scores, scores]))


class TrainingScores(ReferenceScores):
    """Scores of the training points themselves: the paper's rank, eq. (6).

    ``r = #{ref <= s} / n``. The ranker was fitted to these very points, so new nominal points
    score lower than they do, and the share with ``r <= alpha`` exceeds alpha: manifold where the
    kernel is narrow.

    >>> TrainingScores.of(np.array([0.3, 0.1, 0.2])).p_values(np.array([0.05, 0.2, 9.0]))
    array([0.        , 0.66666667, 1.        ])
    """

    n_extra = 0
    guarantee = "none"

    def extended(self, scores: FloatArray) -> HeldOutScores:
        """Only the held-out points: they do not mix with training points."""
        return HeldOutScores.of(scores)


class CrossFittedScores(ReferenceScores):
    """Out-of-fold scores of the training points, for use with one final ranker: empirical.

    ``p = (1 + #{ref <= s}) / (n + 1)``. All points both train and calibrate. In experience the
    false-alarm rate is near alpha, but nothing guarantees it: scores of different fits do not share
    a scale, and bounds that hold for held-out points fail.

    >>> CrossFittedScores.of(np.array([0.3, 0.1, 0.2]))
    CrossFittedScores(3 scores, guarantee: empirical)
    """

    n_extra = 1
    guarantee = "empirical"

    def extended(self, scores: FloatArray) -> HeldOutScores:
        """Only the held-out points: they do not mix with out-of-fold scores."""
        return HeldOutScores.of(scores)
