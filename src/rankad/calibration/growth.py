"""A reference and the scores of more rows: what may be added, and what replaces it."""

from __future__ import annotations

from rankad._typing import FloatArray
from rankad.calibration.dependent_scores import GroupScores, TimeScores
from rankad.calibration.reference import HeldOutScores, ReferenceScores


def grown(
    reference: ReferenceScores,
    scores: FloatArray,
    groups: object,
    *,
    replace: bool,
    in_order_of_time: bool = False,
) -> ReferenceScores:
    """Reference with the scores of new rows, or of these rows alone.

    ``groups`` has the label of the group of each row. Scores of rows, of groups and of runs do not
    mix. If rows are ``in_order_of_time``, a new reference is one of runs.

    >>> import numpy as np
    >>> reference = HeldOutScores.from_scores(np.array([0.1, 0.2]))
    >>> grown(reference, np.array([0.3]), None, replace=False)
    HeldOutScores(3 scores, guarantee: exact)
    """
    if replace or not isinstance(reference, HeldOutScores | GroupScores):
        fresh = _fresh(scores, groups, in_order_of_time=in_order_of_time)
        return fresh.with_rounding(reference.rounding)
    if isinstance(reference, GroupScores):
        if groups is None:
            raise ValueError(
                "The reference is of groups, and single rows do not mix with groups. Call "
                "calibrate(X, groups=...), or replace the reference: calibrate(X, replace=True)."
            )
        return reference.with_groups(scores, groups)
    if groups is not None:
        raise ValueError(
            "The reference is of single rows, and groups do not mix with them. Replace the "
            "reference: calibrate(X, groups=..., replace=True)."
        )
    return reference.extended(scores)


def _fresh(scores: FloatArray, groups: object, *, in_order_of_time: bool) -> ReferenceScores:
    if groups is not None:
        return GroupScores.from_groups(scores, groups)
    if in_order_of_time:
        return TimeScores.from_runs(scores, [0])
    return HeldOutScores.from_scores(scores)
