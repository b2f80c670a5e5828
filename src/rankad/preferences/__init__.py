"""Preference pairs from a statistic: the second stage of Algorithm 1."""

from rankad.preferences.levels import quantized_levels, ranks, tail_levels
from rankad.preferences.pairs import (
    PairWeight,
    Preferences,
    level_preferences,
    rank_gap_preferences,
    require_pairs,
)
