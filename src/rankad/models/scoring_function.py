"""From a trained ranker to the function that scores: fewer centers, the outward step, float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.kernels import KernelExpansion
from rankad.options import RankSVM
from rankad.preferences import ranks
from rankad.tuning.rules import NARROWEST_SIGMA

#: Change of a p-value that float32 must stay below.
_MAX_P_VALUE_CHANGE = 1e-3


def scoring_function(
    expansion: KernelExpansion,
    options: RankSVM,
    points: FloatArray,
    mean_neighbor_distance: float,
    *,
    is_final: bool,
) -> KernelExpansion:
    """The expansion with the outward step and the arithmetic that the options ask for.

    The arithmetic is chosen by the points that train: a score chosen by looking at held-out rows
    would no longer treat them and new rows alike. Only the final ranker changes it, no fold's.
    """
    if options.outward > 0.0:
        expansion = _stepped_outward(expansion, options.outward, mean_neighbor_distance)
    if is_final and np.dtype(options.dtype) == np.float32:
        expansion = _in_float32_if_safe(expansion, points, mean_neighbor_distance)
    return expansion


def _stepped_outward(
    expansion: KernelExpansion, outward: float, mean_neighbor_distance: float
) -> KernelExpansion:
    """The expansion with a step of a length in the data's own unit, however wide the kernel."""
    if mean_neighbor_distance == 0.0:
        raise ValueError(
            f"outward={outward} has no unit: the mean neighbor distance is 0, as most rows have "
            "copies. Raise n_neighbors above their number, or set outward to 0."
        )
    unit = NARROWEST_SIGMA * mean_neighbor_distance / expansion.sigma
    return replace(expansion, outward=float(outward * unit**2))


def _in_float32_if_safe(
    expansion: KernelExpansion, points: FloatArray, mean_neighbor_distance: float
) -> KernelExpansion:
    """The expansion in float32, if that changes no p-value."""
    # Moved about as far as their neighbors are, training rows score like new ones: where they lie,
    # whole levels of them tie.
    noise = np.random.RandomState(0).normal(size=points.shape)
    moved = points + mean_neighbor_distance / np.sqrt(points.shape[1]) * noise
    change = change_in_float32(expansion, moved)
    if change < _MAX_P_VALUE_CHANGE:
        return expansion.astype(np.float32)
    warn_user(
        f"Scoring stays in float64: float32 would change p-values by up to {change:.2g}. A smaller "
        "C or sigma, or scaled columns, make float32 safer."
    )
    return expansion


def change_in_float32(expansion: KernelExpansion, points: FloatArray) -> float:
    """Largest change of any point's rank among all of them, by scoring in float32."""
    scores = expansion(points)
    try:
        narrow_scores = expansion.astype(np.float32)(points)
    except ValueError:  # float32 cannot hold the coordinates
        return 1.0
    return float(np.abs(ranks(scores) - ranks(narrow_scores)).max())
