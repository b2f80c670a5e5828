"""The hinge loss of the paper's equation (9), smoothed in stages for Newton's method.

With e = 1 - t the shortfall of a pair, the hinge is ``max(0, e)``. Smoothed over a width h it is

    0 where e <= -h,    (e + h)^2 / (4 h) where |e| < h,    e where e >= h.

It lies at most h/4 above the hinge and never below it. It is a difference of squared hinges,
``(max(0, e + h)^2 - max(0, e - h)^2) / (4 h)``, with the margins 1 + h and 1 - h. So its value,
gradient and Hessian come from the sweeps of two squared hinges.

The minimum of the smoothed objective exceeds that of the exact one by at most
C |P| (1 + anchor) h / 4.
"""

from dataclasses import dataclass, replace

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.preferences import Preferences
from rankad.solvers.pairwise import PairwiseSquaredHinge, PairwiseSquaredHingeAt

#: Widths of the stages. Each stage starts from the minimum of the stage before.
_WIDTHS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True, eq=False)
class PairwiseHinge:
    """``L(t) = max(0, 1 - t)`` over preference pairs, with the anchor at infinity.

    >>> import numpy as np
    >>> from rankad.preferences import level_preferences
    >>> loss = PairwiseHinge(level_preferences(np.array([1, 2])))
    >>> at_zero = loss.at(np.array([0.0, 0.0]))
    >>> round(at_zero.value, 6), at_zero.gradient.round(6)
    (1.0, array([ 1., -1.]))
    """

    preferences: Preferences
    anchor: float = 0.0
    anchor_margin: float = 1.0
    width: float = _WIDTHS[-1]

    @property
    def stages(self) -> tuple["PairwiseHinge", ...]:
        """Versions of decreasing width, this one last."""
        wider = [replace(self, width=width) for width in _WIDTHS if width > self.width]
        return (*wider, self)

    @property
    def is_shift_invariant(self) -> bool:
        """Whether only differences of scores matter, as without an anchor."""
        return self.anchor == 0

    def sampled(self, points: IntArray) -> tuple["PairwiseHinge", float]:
        """The loss of some of the points, and the factor from it to the loss of all."""
        squared, factor = self._squared(0.0).sampled(points)
        return replace(self, preferences=squared.preferences), factor

    def at(self, scores: FloatArray) -> "PairwiseHingeAt":
        """The smoothed loss at these scores."""
        return PairwiseHingeAt(
            self._squared(self.width).at(scores), self._squared(-self.width).at(scores), self.width
        )

    def _squared(self, shift: float) -> PairwiseSquaredHinge:
        return PairwiseSquaredHinge(
            self.preferences, self.anchor, self.anchor_margin + shift, margin=1.0 + shift
        )


@dataclass(frozen=True, eq=False)
class PairwiseHingeAt:
    """The smoothed hinge at given scores, as a difference of two squared hinges."""

    outer: PairwiseSquaredHingeAt
    inner: PairwiseSquaredHingeAt
    width: float

    @property
    def value(self) -> float:
        """Loss at the scores."""
        return (self.outer.value - self.inner.value) / (4.0 * self.width)

    @property
    def gradient(self) -> FloatArray:
        """Derivative with respect to each score."""
        return (self.outer.gradient - self.inner.gradient) / (4.0 * self.width)

    @property
    def is_active(self) -> BoolArray:
        """Whether each point is in an active pair, the pair with the anchor included."""
        return self.outer.is_active

    def hessian_product(self, vectors: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Hessian times a vector, or times each column of a matrix."""
        product = self.outer.hessian_product(vectors, rows)
        product -= self.inner.hessian_product(vectors, rows)
        return product / (4.0 * self.width)

    def projected_hessian(self, features: FloatArray) -> FloatArray:
        """``Z' Hessian Z`` for the rows Z of ``features``."""
        outer = self.outer.projected_hessian(features)
        return (outer - self.inner.projected_hessian(features)) / (4.0 * self.width)
