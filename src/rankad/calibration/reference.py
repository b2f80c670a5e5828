"""Reference scores: what a score is compared with to become a p-value."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import floor
from typing import ClassVar, Self

import numpy as np

from rankad._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ReferenceScores(ABC):
    """Sorted scores of nominal points, and the p-values they give to others.

    With ``e`` = `n_extra` virtual points that always count, ``p = (e + #{ref <= s}) / (n + e)``.
    """

    scores: FloatArray
    n_extra: ClassVar[int]

    @classmethod
    def of(cls, scores: FloatArray) -> Self:
        """Sort the scores of nominal points into a reference."""
        return cls(np.sort(scores))

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
        return self._p_value(np.searchsorted(self.scores, scores, side="right"))

    def threshold(self, alpha: float) -> float:
        """Score below which, strictly, ``p <= alpha``; minus infinity where no p is that small."""
        n_total = self.size + self.n_extra
        n_at_most = min(floor(alpha * n_total) - self.n_extra, self.size)
        # alpha * n_total rounds; the comparison that counts is that of p itself with alpha.
        if n_at_most < self.size and self._p_value(n_at_most + 1) <= alpha:
            n_at_most += 1
        elif n_at_most >= 0 and self._p_value(n_at_most) > alpha:
            n_at_most -= 1
        if n_at_most < 0:
            return -np.inf
        return float(self.scores[n_at_most]) if n_at_most < self.size else np.inf

    @abstractmethod
    def extended(self, scores: FloatArray) -> "HeldOutScores":
        """Reference with the scores of further held-out nominal points."""

    def _p_value(self, n_at_most: IntArray | int) -> FloatArray:
        return np.asarray((self.n_extra + n_at_most) / (self.size + self.n_extra))


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

    def extended(self, scores: FloatArray) -> "HeldOutScores":
        """Both sets of held-out points together."""
        return HeldOutScores.of(np.concatenate([self.scores, scores]))


class TrainingScores(ReferenceScores):
    """Scores of the training points themselves: the paper's rank, eq. (6).

    ``r = #{ref <= s} / n``. The ranker was fitted to these very points, so new nominal points
    score lower than they do, and the share with ``r <= alpha`` exceeds alpha, often threefold.

    >>> TrainingScores.of(np.array([0.3, 0.1, 0.2])).p_values(np.array([0.05, 0.2, 9.0]))
    array([0.        , 0.66666667, 1.        ])
    """

    n_extra = 0

    def extended(self, scores: FloatArray) -> HeldOutScores:
        """Only the held-out points: they do not mix with training points."""
        return HeldOutScores.of(scores)
