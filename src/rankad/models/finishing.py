"""From a trained ranker to the model: fewer centers, the outward step, float32, the columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankad._scaling import shift_and_scale
from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.kernels import KernelExpansion
from rankad.models.learned_ranker import LearnedRanker
from rankad.options import RankSVM
from rankad.preferences import ranks
from rankad.ranker import Ranker, pruned
from rankad.tuning import Chosen, RankedPoints, TrainingSample, Tuning
from rankad.tuning.rules import NARROWEST_SIGMA

#: float32 is used if `change_in_float32` is less than this.
_MAX_P_VALUE_CHANGE = 1e-3


def learned_ranker(
    ranker: Ranker,
    scaler: Any,
    sample: TrainingSample,
    ranked: RankedPoints,
    chosen: Chosen,
    *,
    tuning: Tuning,
    options: RankSVM,
    is_fold: bool,
    row_rounding: float,
) -> LearnedRanker:
    """The model of a trained ranker: its expansion as it scores, and the results of the training.

    The arithmetic is chosen by the points that train. A choice by the held-out rows would treat
    them and new rows differently. The rankers of folds stay in float64.
    """
    expansion, pruning_error = ranker.expansion, 0.0
    if tuning.center_rule.n_centers is not None:
        expansion, pruning_error = pruned(ranker, tuning.problem, sample.points)
    distance = ranked.mean_neighbor_distance
    if options.outward > 0.0:
        expansion = _with_outward_step(expansion, options.outward, distance)
    if not is_fold and np.dtype(options.dtype) == np.float32:
        expansion = _in_float32_if_safe(expansion, sample.all_points, distance)
    columns = shift_and_scale(scaler, sample.all_points.shape[1])
    return LearnedRanker(
        scaler=scaler,
        expansion=expansion if columns is None else expansion.on_columns(*columns),
        row_rounding=row_rounding,
        chosen=chosen,
        n_neighbors=ranked.n_neighbors,
        mean_neighbor_distance=ranked.mean_neighbor_distance,
        neighbor_search=ranked.neighbor_search,
        n_outlying=sample.n_outlying,
        solution=ranker.solution,
        pruning_error=pruning_error,
    )


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
    """The expansion in float32, if it changes ranks by less than `_MAX_P_VALUE_CHANGE`."""
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
    """How much ranks of the points among all points change, if they are scored in float32.

    It is the largest change of a rank, or the mean rise by ties up to the rounding if that is more.
    """
    scores = expansion(points)
    try:
        narrow = expansion.astype(np.float32)
    except ValueError:  # float32 cannot hold the coordinates
        return 1.0
    narrow_scores = narrow(points).astype(np.float64)
    lowered = narrow.rounding().lowered(np.sort(narrow_scores))
    narrow_ranks = ranks(narrow_scores)
    raised_ranks = np.searchsorted(lowered, narrow_scores, side="right") / len(points)
    largest_change = np.abs(ranks(scores) - narrow_ranks).max()
    return float(max(largest_change, (raised_ranks - narrow_ranks).mean()))
