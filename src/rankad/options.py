"""Options that only experiments change: the pairs, and how the ranker is trained.

Both have `get_params` and `set_params`, so a grid search can set their values:
``RankAD().set_params(pairs__levels=3, ranker__tol=1e-4)``.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
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
from rankad.solvers import LOSSES, LossMaker

__all__ = ["Pairs", "RankSVM"]

# Levels times rows must fit into 64 bits.
MAX_LEVELS = 1_000_000


class Pairs(BaseEstimator):  # type: ignore[misc]
    """Which pairs of training rows the ranker learns from: ``RankAD(pairs=Pairs(...))``.

    The rows are ranked by the statistic. The first row of each pair has the higher rank, and the
    ranker learns to score it higher.

    Parameters
    ----------
    levels : int, "tail" or None, default=10
        Levels of the ranks. A pair is two rows of different levels. A number m makes m equal levels
        (the paper has 3). "tail" makes two levels: the least nominal tenth of the rows, and all
        other rows. None gives every distinct rank its own level.
    min_gap : float, optional
        Take the pairs whose ranks, between 0 and 1, differ by at least this. Then ``levels`` is not
        used.
    weight : callable, optional
        Weight of a pair, from the level of its first row and the level of its second row: the w_ij
        of eq. (8). The default is 1. It needs a number of levels, at most 100.

    Examples
    --------
    >>> statistic = np.array([0.1, 0.4, 0.3, 0.2])
    >>> Pairs(levels=2)(statistic).total_weight
    4.0
    >>> Pairs(levels=None)(statistic).total_weight
    6.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "levels": [Interval(Integral, 2, MAX_LEVELS, closed="both"), StrOptions({"tail"}), None],
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
        """Refuse parameters that are out of range, or that contradict each other."""
        _validate(self)
        if self.min_gap is not None and self.weight is not None:
            raise ValueError(
                "weight needs levels, but min_gap makes pairs without levels. Set one of them to "
                "None."
            )
        if self.levels == "tail" and self.weight is not None:
            raise ValueError(
                "weight has no effect with levels='tail', because all pairs have the same two "
                "levels. Set levels to a number, or weight to None."
            )

    def __call__(self, statistic: FloatArray) -> Preferences:
        """Pairs of the rows, given the value of the statistic of each row."""
        if self.min_gap is not None:
            return rank_gap_preferences(statistic, self.min_gap)
        if self.levels == "tail":
            return level_preferences(tail_levels(statistic), self.weight)
        n_levels = statistic.size if self.levels is None else self.levels
        return level_preferences(quantized_levels(statistic, n_levels), self.weight)


class RankSVM(BaseEstimator):  # type: ignore[misc]
    """How the ranker is trained, and how it scores: ``RankAD(ranker=RankSVM(...))``.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"} or callable, default="squared_hinge"
        Loss of a pair. "hinge" is the loss of the paper's equation. It takes longer to solve. For a
        loss of your own, give its class, or a function that makes it from the preferences, the
        weight of the anchor and the anchor's margin. CONTRIBUTING has an example.
    tol : float, default=1e-6
        The solver stops when the norm of the gradient is at most ``tol`` times the norm of the
        ranker.
    max_iter : int, default=100
        Largest number of Newton steps of one solve.
    cv : int, cross-validation splitter or iterable of splits, default=4
        Folds for a grid of C or sigma. The folds divide the rows that train, not the held-out rows.
    outward : float, default=0.0
        Lower the score of rows that lie beside their neighbors, not among them. The score is
        multiplied by ``exp(-outward |v|^2 / sigma^2)``. Here v is the distance of the row from the
        weighted mean of the centers around it, and sigma is .6 of the mean distance to the K
        nearest neighbors. 4 is a good value where gaps between clusters matter. Scoring takes
        longer (see `KernelExpansion`). It needs an anchor.
    dtype : {"float64", "float32"}, default="float64"
        Arithmetic of scoring. float32 is used only if it changes ranks little. This is tested on
        training rows that are moved a little, ranked among one another: no rank may change by 1e-3
        or more, and ties up to the rounding may raise the ranks by less than 1e-3 in the mean. If
        the test fails, a warning says so and scoring stays in float64. Training always uses
        float64.

    Examples
    --------
    >>> RankSVM(loss="hinge")
    RankSVM(loss='hinge')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES)), callable],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "outward": [Interval(Real, 0, None, closed="left")],
        "dtype": [StrOptions({"float64", "float32"}), Options(type, {np.float64, np.float32})],
    }

    def __init__(
        self,
        *,
        loss: str | LossMaker = "squared_hinge",
        tol: float = 1e-6,
        max_iter: int = 100,
        cv: Any = 4,
        outward: float = 0.0,
        dtype: str | type[np.floating[Any]] = "float64",
    ) -> None:
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.outward = outward
        self.dtype = dtype

    def validate(self) -> None:
        """Refuse parameters that are out of range."""
        _validate(self)

    def problem(self, anchor: float, anchor_margin: float) -> RankProblem:
        """The problem to solve, given the weight and the margin of the point at infinity."""
        return RankProblem(anchor, anchor_margin, self.loss, self.tol, self.max_iter)


def _validate(options: Any) -> None:
    """Refuse parameters that are out of range, with scikit-learn's messages."""
    validate_parameter_constraints(
        options._parameter_constraints,
        options.get_params(deep=False),
        caller_name=type(options).__name__,
    )
