"""From a trained ranker to its scoring function: the outward step and float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.kernels import KernelExpansion
from rankad.options import RankSVM
from rankad.preferences import ranks
from rankad.tuning.rules import NARROWEST_SIGMA

#: float32 is used if every p-value changes by less than this.
_MAX_P_VALUE_CHANGE = 1e-3


def scoring_function(
    expansion: KernelExpansion,
    options: RankSVM,
    points: FloatArray,
    mean_neighbor_distance: float,
    *,
    is_final: bool,
) -> KernelExpansion:
    """The expansion with the outward step and the arithmetic of the options.

    The arithmetic is chosen by the points that train. A choice by the held-out rows would treat
    them and new rows differently. Only the final ranker may change to float32, not that of a fold.
    """
    if options.outward > 0.0:
        expansion = _with_outward_step(expansion, options.outward, mean_neighbor_distance)
    if is_final and np.dtype(options.dtype) == np.float32:
        expansion = _in_float32_if_safe(expansion, points, mean_neighbor_distance)
    return expansion


def _with_outward_step(
    expansion: KernelExpansion, outward: float, mean_neighbor_distance: float
) -> KernelExpansion:
    """The expansion with a step in units of the data, which do not depend on the kernel width."""
    if mean_neighbor_distance == 0.0:
        raise ValueError(
            f"outward={outward} has no unit, because the mean neighbor distance is 0: most rows "
            "have copies. Raise n_neighbors above the number of copies, or set outward to 0."
        )
    unit = NARROWEST_SIGMA * mean_neighbor_distance / expansion.sigma
    return replace(expansion, outward=float(outward * unit**2))


def _in_float32_if_safe(
    expansion: KernelExpansion, points: FloatArray, mean_neighbor_distance: float
) -> KernelExpansion:
    """The expansion in float32, if no p-value changes by `_MAX_P_VALUE_CHANGE` or more."""
    # Training rows tie in whole levels. Moved by about the distance of their neighbors, they score
    # like new rows.
    noise = np.random.RandomState(0).normal(size=points.shape)
    moved = points + mean_neighbor_distance / np.sqrt(points.shape[1]) * noise
    change = change_in_float32(expansion, moved)
    if change < _MAX_P_VALUE_CHANGE:
        return expansion.astype(np.float32)
    warn_user(
        f"Scoring stays in float64, because float32 would change p-values by up to {change:.2g}. "
        "Reduce C or sigma, or scale the columns, to make float32 safe."
    )
    return expansion


def change_in_float32(expansion: KernelExpansion, points: FloatArray) -> float:
    """Largest change of the rank of any point among all points, if they are scored in float32."""
    scores = expansion(points)
    try:
        narrow_scores = expansion.astype(np.float32)(points)
    except ValueError:  # float32 cannot hold the coordinates
        return 1.0
    return float(np.abs(ranks(scores) - ranks(narrow_scores)).max())
