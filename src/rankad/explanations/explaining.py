"""From rows and a fitted model to an explanation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from rankad._typing import FloatArray
from rankad.explanations.explanation import Explanation
from rankad.explanations.nominal_rows import NominalRows
from rankad.explanations.search import Search


@dataclass(frozen=True, eq=False)
class Judge:
    """What decides which rows alarm.

    A row alarms if its score is below its threshold, one for each row. ``p_values`` takes the
    scores of all rows.
    """

    alpha: float
    thresholds: FloatArray
    p_values: Callable[[FloatArray], FloatArray]


def explained(
    rows: FloatArray,
    score: Callable[[FloatArray], FloatArray],
    judge: Judge,
    pool: NominalRows,
    *,
    max_features: int,
    feature_names: tuple[str, ...],
    index: Any,
) -> Explanation:
    """Explain the rows that alarm. The rows are checked."""
    scores = score(rows)
    search = Search(score, pool, max_features)
    found = search(rows, judge.thresholds, scores < judge.thresholds)
    p_values = judge.p_values(scores)
    return Explanation(
        feature_names=feature_names,
        index=index,
        alpha=judge.alpha,
        max_features=max_features,
        values=rows.copy(),  # the caller may change the rows later
        changed_values=found.rows,
        p_values=p_values,
        p_values_after=judge.p_values(score(found.rows)),
        in_groups=found.in_groups,
        group_of_feature=pool.units_by_correlation,
        nearest_rows=found.nearest,
        scale=pool.scale,
        usual_values=pool.usual_values,
    )


def require_max_features(max_features: Any) -> int:
    """Refuse a number of features that is no integer of at least 1."""
    if not isinstance(max_features, Integral) or isinstance(max_features, bool) or max_features < 1:
        raise ValueError(f"max_features must be an integer of at least 1; got {max_features!r}.")
    return int(max_features)
