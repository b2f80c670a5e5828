"""What the solver knows of an objective: value, gradient, Hessian product of the loss."""

from collections.abc import Sequence
from typing import Protocol

from rankad._typing import BoolArray, FloatArray, IntArray


class LossAt(Protocol):
    """A convex loss of the training scores, expanded to second order at one point."""

    @property
    def value(self) -> float:
        """Loss at the scores."""
        ...

    @property
    def gradient(self) -> FloatArray:
        """Derivative with respect to each score."""
        ...

    @property
    def is_active(self) -> BoolArray:
        """Whether each score's row of the Hessian differs from zero."""
        ...

    def hessian_product(self, vectors: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """(Generalized) Hessian times a vector ``(n,)``, or times each column of ``(n, k)``.

        With ``rows``, which include all active ones, vectors and product have only those.
        """
        ...

    def projected_hessian(self, features: FloatArray) -> FloatArray:
        """``Z' Hessian Z`` for a matrix Z, ``(n, r)``: the Hessian with respect to w in Z w."""
        ...


class Loss(Protocol):
    """A convex, once differentiable loss of the training scores ``f_i = g(x_i)``."""

    @property
    def is_shift_invariant(self) -> bool:
        """Whether adding a constant to all scores leaves the loss as it is."""
        ...

    @property
    def stages(self) -> Sequence["Loss"]:
        """Losses to minimize in turn, each from the last one's minimum, ending in this one."""
        ...

    def sampled(self, points: IntArray) -> tuple["Loss", float]:
        """The loss of some of the points, and how many times as large that of all is, about."""
        ...

    def at(self, scores: FloatArray) -> LossAt:
        """Expand the loss at these scores."""
        ...
