"""Which pairs a statistic gives rise to, as one object for any part of the data."""

from dataclasses import dataclass
from typing import Literal

from rankad._typing import FloatArray, IntArray
from rankad.preferences.levels import quantized_levels, tail_levels
from rankad.preferences.pairs import (
    PairWeight,
    Preferences,
    level_preferences,
    rank_gap_preferences,
)


@dataclass(frozen=True)
class PreferenceScheme:
    """Pairs of different levels, or, with ``min_rank_gap``, pairs of sufficiently different ranks.

    ``n_levels=None`` gives every distinct rank a level of its own (the paper's m = n), "tail" only
    sets the least nominal points below all others.

    >>> import numpy as np
    >>> PreferenceScheme(n_levels=2)(np.array([0.1, 0.4, 0.3, 0.2])).total_weight
    4.0
    >>> PreferenceScheme(n_levels=None)(np.array([0.1, 0.4, 0.3, 0.2])).total_weight
    6.0
    """

    n_levels: int | Literal["tail"] | None = "tail"
    min_rank_gap: float | None = None
    pair_weight: PairWeight | None = None

    def __post_init__(self) -> None:
        if self.min_rank_gap is not None and self.pair_weight is not None:
            raise ValueError(
                "pair_weight weighs pairs of levels; with min_rank_gap there are none. Give one."
            )
        if self.n_levels == "tail" and self.pair_weight is not None:
            raise ValueError(
                "pair_weight tells pairs of levels apart; with n_levels='tail' all are of the same "
                "two. Set n_levels to a number."
            )

    def __call__(self, statistic: FloatArray) -> Preferences:
        """Preferences among points with these statistics."""
        if self.min_rank_gap is not None:
            return rank_gap_preferences(statistic, self.min_rank_gap)
        return level_preferences(self._levels(statistic), self.pair_weight)

    def _levels(self, statistic: FloatArray) -> IntArray:
        if self.n_levels == "tail":
            return tail_levels(statistic)
        n_levels = statistic.size if self.n_levels is None else self.n_levels
        return quantized_levels(statistic, n_levels)
