"""What only experiments vary, in two small objects: the pairs, and how the ranker is trained.

Both have `get_params` and `set_params`, so that a grid search reaches into them:
``RankAD().set_params(pairs__levels=3, ranker__tol=1e-4)``.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator

from rankad._borrowed import Interval, Options, StrOptions, validate_parameter_constraints
from rankad._typing import FloatArray
from rankad.preferences import (
    PairWeight,
    Preferences,
    level_preferences,
    quantized_levels,
    rank_gap_preferences,
    tail_levels,
)
from rankad.ranker import RankProblem
from rankad.solvers import LOSSES

__all__ = ["Pairs", "RankSVM"]


class Pairs(BaseEstimator):  # type: ignore[misc]
    """Which pairs of training rows the ranker learns from: ``RankAD(pairs=Pairs(...))``.

    The rows are ranked by the statistic. The first row of each pair has the higher rank, and the
    ranker learns to score it higher.

    Parameters
    ----------
    levels : int, "tail" or None, default=10
        Levels that the ranks are quantized to; a pair is two rows of different levels. A number m
        makes m equal levels (the paper has 3). "tail" makes two: the least nominal tenth of the
        rows, and all others. None gives every distinct rank a level of its own.
    min_gap : float, optional
        Take the pairs whose ranks, between 0 and 1, differ by at least this. ``levels`` is then not
        used.
    weight : callable, optional
        Weight of a pair, from the level of its first row and that of its second: the w_ij of eq.
        (8). By default 1. Needs a number of levels, at most 100.

    Examples
    --------
    >>> statistic = np.array([0.1, 0.4, 0.3, 0.2])
    >>> Pairs(levels=2)(statistic).total_weight
    4.0
    >>> Pairs(levels=None)(statistic).total_weight
    6.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "levels": [Interval(Integral, 2, None, closed="left"), StrOptions({"tail"}), None],
        "min_gap": [Interval(Real, 0, 1, closed="neither"), None],
        "weight": [callable, None],
    }

    def __init__(
        self,
        levels: int | Literal["tail"] | None = 10,
        *,
        min_gap: float | None = None,
        weight: PairWeight | None = None,
    ) -> None:
        self.levels = levels
        self.min_gap = min_gap
        self.weight = weight

    def validate(self) -> None:
        """Refuse parameters out of range, or such as contradict each other."""
        _validate(self)
        if self.min_gap is not None and self.weight is not None:
            raise ValueError(
                "weight is for pairs of levels; with min_gap there are no levels. Give one of them."
            )
        if self.levels == "tail" and self.weight is not None:
            raise ValueError(
                "weight tells levels apart; with levels='tail' all pairs have the same two. Set "
                "levels to a number."
            )

    def __call__(self, statistic: FloatArray) -> Preferences:
        """Pairs of the rows with these values of the statistic."""
        if self.min_gap is not None:
            return rank_gap_preferences(statistic, self.min_gap)
        if self.levels == "tail":
            return level_preferences(tail_levels(statistic), self.weight)
        n_levels = statistic.size if self.levels is None else self.levels
        return level_preferences(quantized_levels(statistic, n_levels), self.weight)


class RankSVM(BaseEstimator):  # type: ignore[misc]
    """How the ranker is trained, and how it computes: ``RankAD(ranker=RankSVM(...))``.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of a pair. "hinge" is the paper's equation; it takes longer to solve.
    tol : float, default=1e-6
        The solver stops when the gradient's norm is at most this times the ranker's norm.
    max_iter : int, default=100
        Newton steps of one solve, at most.
    cv : int, cross-validation splitter or iterable of splits, default=4
        Folds for a grid of C or sigma. They are folds of the rows that train, not of those held
        out.
    outward : float, default=0.0
        Judge a row a little further out than it is: its score is multiplied by
        ``exp(-outward |v|^2 / sigma^2)``. Here v is its distance from the weighted mean of the
        centers around it, and sigma is .6 of the mean distance to the K nearest neighbors. Rows
        beside their neighbors, not among them, then score lower. 4 is a good value where gaps
        matter. Scoring takes longer (see `KernelExpansion`). Needs an anchor.
    dtype : {"float64", "float32"}, default="float64"
        Arithmetic of scoring. float32 is used only if it changes no p-value by 1e-3 or more, tried
        on training rows moved a little; else it warns and stays with float64. Training always takes
        float64.

    Examples
    --------
    >>> RankSVM(loss="hinge")
    RankSVM(loss='hinge')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "outward": [Interval(Real, 0, None, closed="left")],
        "dtype": [StrOptions({"float64", "float32"}), Options(type, {np.float64, np.float32})],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        tol: float = 1e-6,
        max_iter: int = 100,
        cv: Any = 4,
        outward: float = 0.0,
        dtype: DTypeLike = "float64",
    ) -> None:
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.outward = outward
        self.dtype = dtype

    def validate(self) -> None:
        """Refuse parameters out of range."""
        _validate(self)

    def problem(self, anchor: float, anchor_margin: float) -> RankProblem:
        """The problem to solve, with the weight and the margin of the point at infinity."""
        return RankProblem(anchor, anchor_margin, self.loss, self.tol, self.max_iter)


def _validate(options: Any) -> None:
    """Refuse parameters out of range, in scikit-learn's words."""
    validate_parameter_constraints(
        options._parameter_constraints,
        options.get_params(deep=False),
        caller_name=type(options).__name__,
    )
