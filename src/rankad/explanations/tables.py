"""Explanations as tables: of rows, of changed features, and of shared reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankad._pandas import imported_pandas

if TYPE_CHECKING:
    import pandas as pd

    from rankad.explanations.explanation import Explanation
    from rankad.explanations.reason import Reason

#: What stands in place of features, if an alarm is not explained.
NOT_EXPLAINED = "(not explained)"


class SharedReason(NamedTuple):
    """Features that are the reason of some alarms, and the positions of these alarms."""

    features: str
    rows: list[int]


def counted(explanation: Explanation, by: str) -> list[SharedReason]:
    """The reasons that alarms share, most frequent first, and last the alarms without a reason."""
    _require_one_of(by, ("set", "feature"))
    rows: dict[str, list[int]] = {}
    for i in np.flatnonzero(explanation.is_alarm):
        for features in _keys(explanation[int(i)], by):
            rows.setdefault(features, []).append(int(i))
    shared = [SharedReason(features, alarms) for features, alarms in rows.items()]
    return sorted(shared, key=lambda one: (one.features == NOT_EXPLAINED, -len(one.rows)))


def _keys(reason: Reason, by: str) -> list[str]:
    """The features that an alarm counts for."""
    if not reason.groups:
        return [NOT_EXPLAINED]
    if by == "feature":
        return list(reason.features)
    return [", ".join(sorted(map(group_name, reason.groups)))]


def group_name(names: tuple[str, ...]) -> str:
    """A feature, or a group of strongly correlated features, in a few words.

    >>> group_name(("red", "green", "blue"))
    'red (with 2 correlated features)'
    """
    if len(names) == 1:
        return names[0]
    others = "1 correlated feature" if len(names) == 2 else f"{len(names) - 1} correlated features"
    return f"{names[0]} (with {others})"


def shared_reasons(explanation: Explanation, by: str) -> pd.DataFrame:
    """See `Explanation.shared_reasons`."""
    shared = counted(explanation, by)
    n_alarms = int(explanation.is_alarm.sum())
    examples = [explanation[one.rows[0]] for one in shared]
    table = {
        "features": [one.features for one in shared],
        "alarms": [len(one.rows) for one in shared],
        "share": [len(one.rows) / n_alarms for one in shared],
        "example": [reason.row for reason in examples],
        "reason": [reason.text for reason in examples],
    }
    return imported_pandas("shared_reasons").DataFrame(table)


def frame(explanation: Explanation, by: str) -> pd.DataFrame:
    """See `Explanation.to_frame`."""
    _require_one_of(by, ("row", "feature"))
    pandas = imported_pandas("to_frame")
    reasons = list(explanation)
    if by == "row":
        table = {
            "p_value": explanation.p_values,
            "p_value_after": explanation.p_values_after,
            "n_features": [len(reason.changes) for reason in reasons],
            "features": [", ".join(reason.features) for reason in reasons],
            "reason": [reason.text for reason in reasons],
        }
        return pandas.DataFrame(table, index=explanation.index)
    pairs = [(reason, change) for reason in reasons for change in reason.changes]
    rows = [i for i, reason in enumerate(reasons) for _ in reason.changes]
    table = {
        "feature": [change.name for _, change in pairs],
        "value": [change.value for _, change in pairs],
        "nominal_value": [change.nominal_value for _, change in pairs],
        "usual_low": [change.usual[0] for _, change in pairs],
        "usual_high": [change.usual[1] for _, change in pairs],
        "p_value": [reason.p_value for reason, _ in pairs],
        "p_value_after": [reason.p_value_after for reason, _ in pairs],
    }
    return pandas.DataFrame(table, index=explanation.index[rows])


def _require_one_of(by: str, allowed: tuple[str, str]) -> None:
    if by not in allowed:
        raise ValueError(f"by must be {allowed[0]!r} or {allowed[1]!r}; got {by!r}.")
