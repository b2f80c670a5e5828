"""Why one row alarms."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from rankad.explanations.numbers import told_apart


class Change(NamedTuple):
    """One feature of a row, and the value of a nominal row that it would take.

    Attributes
    ----------
    name : str
        Name of the feature.
    value : float
        The row's value.
    nominal_value : float
        The proposed value. A nominal row has it.
    usual : (float, float)
        90% of the nominal rows lie between these values.

    Examples
    --------
    >>> print(Change("amount", 812.0, 43.1, (5.0, 120.0)))
    amount 812 -> 43.1
    """

    name: str
    value: float
    nominal_value: float
    usual: tuple[float, float]

    def __str__(self) -> str:
        value, nominal_value = told_apart(self.value, self.nominal_value)
        return f"{self.name} {value} -> {nominal_value}"


@dataclass(frozen=True)
class Reason:
    """Why one row alarms: the changes that together make it nominal.

    Attributes
    ----------
    row : hashable
        Label of the row: its place in the index of the frame, or its number.
    alpha : float
        The row alarms if its p-value is at most alpha.
    p_value, p_value_after : float
        p-value of the row, and of the row after the changes.
    changes : tuple of Change
        The changes, largest first. It is empty if the row does not alarm, or if no change of so few
        features suffices.
    max_features : int
        The number of features up to which changes were tried.
    in_groups : bool
        Whether whole groups of strongly correlated features change, because fewer features do not
        suffice.
    groups : tuple of tuple of str
        One tuple for each feature that changes, or the names of each group that changes.
    nearest : tuple of Change
        What separates the row from its nearest nominal row, largest difference first.
    """

    row: Hashable
    alpha: float
    p_value: float
    p_value_after: float
    changes: tuple[Change, ...]
    max_features: int
    in_groups: bool
    groups: tuple[tuple[str, ...], ...]
    nearest: tuple[Change, ...]

    @property
    def is_alarm(self) -> bool:
        """Whether the row alarms."""
        return self.p_value <= self.alpha

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that change."""
        return tuple(change.name for change in self.changes)

    def __str__(self) -> str:
        return f"row {self.row}: p = {self.p_value:.3g}, {self.text}"

    @property
    def text(self) -> str:
        """The reason in words."""
        if not self.is_alarm:
            return "no alarm"
        if not self.changes:
            return f"{self.why_not}; nearest nominal row: {described(self.nearest)}"
        what = f"{_n_groups(len(self.groups))}: " if self.in_groups else ""
        return f"nominal (p = {self.p_value_after:.3g}) if {what}{described(self.changes)}"

    @property
    def why_not(self) -> str:
        """What is said of an alarm without a reason."""
        if self.max_features == 1:
            return "not explained by one feature or group of features"
        return f"not explained by {self.max_features} features or groups of features"


def _n_groups(n: int) -> str:
    return "a group of correlated features" if n == 1 else f"{n} groups of correlated features"


def described(changes: tuple[Change, ...], n_shown: int = 4) -> str:
    """The first changes in one line.

    >>> described((Change("amount", 812.0, 43.1, (5.0, 120.0)),))
    'amount 812 -> 43.1'
    """
    parts = [str(change) for change in changes[:n_shown]]
    n_more = len(changes) - len(parts)
    return ", ".join([*parts, f"and {n_more} more"] if n_more else parts)
