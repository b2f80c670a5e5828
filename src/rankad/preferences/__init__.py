"""From a statistic to preference pairs (second stage of Algorithm 1)."""

from rankad.preferences.levels import count_pairs, quantized_levels, ranks, require_pairs

__all__ = ["count_pairs", "quantized_levels", "ranks", "require_pairs"]
