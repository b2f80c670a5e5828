"""From a statistic to preference pairs (second stage of Algorithm 1)."""

from rankad.preferences.levels import quantized_levels, ranks, tail_levels
from rankad.preferences.pairs import (
    PairWeight,
    Preferences,
    level_preferences,
    rank_gap_preferences,
    require_pairs,
)
from rankad.preferences.scheme import PreferenceScheme

__all__ = [
    "PairWeight",
    "PreferenceScheme",
    "Preferences",
    "level_preferences",
    "quantized_levels",
    "rank_gap_preferences",
    "ranks",
    "require_pairs",
    "tail_levels",
]
