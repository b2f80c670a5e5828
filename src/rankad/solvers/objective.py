"""What the solver needs of a loss: its value, gradient and Hessian product."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.preferences import Preferences


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
        """Whether the row of the Hessian of each score differs from zero."""
        ...

    def hessian_product(self, vectors: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """(Generalized) Hessian times a vector ``(n,)``, or times each column of ``(n, k)``.

        With ``rows``, vectors and product have only these rows. They must include all active rows.
        """
        ...

    def projected_hessian(self, features: FloatArray) -> FloatArray:
        """``Z' Hessian Z`` for a matrix Z, ``(n, r)``: the Hessian with respect to w in Z w."""
        ...


class Loss(Protocol):
    """A convex, once differentiable loss of the training scores ``f_i = g(x_i)``."""

    @property
    def is_shift_invariant(self) -> bool:
        """Whether a constant added to all scores does not change the loss."""
        ...

    @property
    def stages(self) -> Sequence["Loss"]:
        """Losses to minimize in turn, each from the minimum of the one before; this one last."""
        ...

    def sampled(self, points: IntArray) -> tuple["Loss", float]:
        """The loss of some of the points, and the factor from it to about the loss of all."""
        ...

    def at(self, scores: FloatArray) -> LossAt:
        """The loss at these scores, to second order."""
        ...


#: Makes a loss from the preferences, the weight of the anchor and its margin.
LossMaker: TypeAlias = Callable[[Preferences, float, float], Loss]
