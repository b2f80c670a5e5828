"""Why rows alarm: the reasons of many rows, and what they share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.explanations import display, tables
from rankad.explanations.reason import Change, Reason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why rows alarm: the result of `RankAD.explain`, one `Reason` for each row.

    ``len`` counts the rows, iteration gives their reasons, ``explanation[i]`` is the reason of row
    i by position, and a slice, a mask or a list of positions gives the explanation of some rows.
    Notebooks show it as a table.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the columns in ``fit``, or x0, x1 and so on if they had no names.
    index : index of pandas, or array of int
        Label of each row: the index of the frame, or 0, 1 and so on.
    alpha : float
        Rows with a p-value of at most alpha alarm, and these are explained.
    max_features : int
        The number of features up to which changes were tried.
    values : array of shape (n_samples, n_features)
        The rows.
    changed_values : array of shape (n_samples, n_features)
        The rows after the changes that make them nominal. Every changed value is that of a nominal
        row, and all changed values of a row are from the same nominal row. Rows that do not alarm,
        and rows for which no change was found, stay as they are.
    p_values, p_values_after : array of shape (n_samples,)
        p-values of ``values`` and of ``changed_values``.
    in_groups : array of bool, shape (n_samples,)
        Whether whole groups of strongly correlated features change, because so few features alone
        do not suffice.
    group_of_feature : array of int, shape (n_features,)
        Number of the group of strongly correlated features that each feature belongs to.
    nearest_rows : array of shape (n_samples, n_features)
        The nearest nominal row of each row.
    scale : array of shape (n_features,)
        Unit of the differences: the standard deviation of each feature among nominal rows.
    usual_values : array of shape (2, n_features)
        The 5% and the 95% quantile of each feature among nominal rows.

    Examples
    --------
    >>> from rankad import RankAD
    >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
    >>> rows = [[0.0, 9.0, 0.0], [0.1, 0.2, 0.0], [-7.0, 0.0, 8.0]]
    >>> explanation = RankAD(random_state=0).fit(nominal).explain(rows)
    >>> explanation[0].features, explanation[2].features
    (('x1',), ('x2', 'x0'))
    """

    feature_names: tuple[str, ...]
    index: Any
    alpha: float
    max_features: int
    values: FloatArray
    changed_values: FloatArray
    p_values: FloatArray
    p_values_after: FloatArray
    in_groups: BoolArray
    group_of_feature: IntArray
    nearest_rows: FloatArray
    scale: FloatArray
    usual_values: FloatArray

    @property
    def is_alarm(self) -> BoolArray:
        """Which rows alarm."""
        return self.p_values <= self.alpha

    @property
    def is_explained(self) -> BoolArray:
        """Which rows alarm, and are nominal after the change of a few features."""
        return self.is_alarm & (self.p_values_after > self.alpha)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Reason]:
        return (self._reason(i) for i in range(len(self)))

    @overload
    def __getitem__(self, at: int) -> Reason: ...
    @overload
    def __getitem__(self, at: slice | Sequence[int] | IntArray | BoolArray) -> Explanation: ...
    def __getitem__(self, at: Any) -> Reason | Explanation:
        """Reason of one row by position, or the explanation of some rows."""
        if isinstance(at, Integral) and not isinstance(at, bool):
            return self._reason(range(len(self))[int(at)])
        rows = _positions(at, len(self))
        of_rows = ("values", "changed_values", "p_values", "p_values_after", "in_groups")
        parts = {name: getattr(self, name)[rows] for name in (*of_rows, "nearest_rows")}
        return replace(self, **parts, index=self.index[rows])

    def shared_reasons(self, by: str = "set") -> pd.DataFrame:
        """What many alarms have in common, most frequent first.

        Parameters
        ----------
        by : {"set", "feature"}, default="set"
            Count the alarms with the same set of features. Or count, for each feature, the alarms
            that change it, alone or in a group; then an alarm counts once for each of its features.

        Returns
        -------
        table : pandas.DataFrame
            Columns: features; alarms, a count; share, of all alarms; example and reason, the label
            and the reason of one of these alarms. By set, a group of strongly correlated
            features is one feature. The alarms that are not explained are one line.
        """
        return tables.shared_reasons(self, by)

    def to_frame(self, by: str = "row") -> pd.DataFrame:
        """Make a pandas frame. Its index has the labels of the rows.

        Parameters
        ----------
        by : {"row", "feature"}, default="row"
            One line for each row, to join with your table. Or one line for each changed feature.

        Returns
        -------
        frame : pandas.DataFrame
            Columns by row: p_value, p_value_after, n_features, features and reason (texts). Columns
            by feature: feature, value, nominal_value, usual_low, usual_high, p_value,
            p_value_after.
        """
        return tables.frame(self, by)

    def __repr__(self) -> str:
        return "\n".join(display.text_lines(self))

    def _repr_html_(self) -> str:
        return display.html(self)

    def _reason(self, i: int) -> Reason:
        is_changed = self.changed_values[i] != self.values[i]
        changes = self._changes(i, self.changed_values[i])
        units = self.group_of_feature if self.in_groups[i] else np.arange(len(is_changed))
        groups = [
            tuple(self.feature_names[feature] for feature in np.flatnonzero(units == unit))
            for unit in dict.fromkeys(units[is_changed].tolist())
        ]
        return Reason(
            row=_plain(self.index[i]),
            alpha=self.alpha,
            p_value=float(self.p_values[i]),
            p_value_after=float(self.p_values_after[i]),
            changes=changes,
            max_features=self.max_features,
            in_groups=bool(self.in_groups[i]),
            groups=tuple(groups),
            nearest=self._changes(i, self.nearest_rows[i]),
        )

    def _changes(self, i: int, target: FloatArray) -> tuple[Change, ...]:
        """The features in which row i differs from the target, largest difference first."""
        with np.errstate(over="ignore"):
            distances = np.abs(target - self.values[i]) / self.scale
        order = [f for f in np.argsort(-distances, kind="stable") if distances[f] > 0.0]
        return tuple(
            Change(
                self.feature_names[f],
                float(self.values[i, f]),
                float(target[f]),
                (float(self.usual_values[0, f]), float(self.usual_values[1, f])),
            )
            for f in order
        )


def _positions(at: Any, n: int) -> IntArray:
    """Positions that a slice, a mask or a list of positions picks."""
    if isinstance(at, slice):
        return np.arange(n)[at]
    chosen = np.asarray(at)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "biu"):
        raise TypeError(
            "Index an explanation by a position, a slice, a mask or a list of positions; "
            f"got {at!r}."
        )
    return np.arange(n)[chosen] if chosen.size else np.arange(0)


def _plain(label: Any) -> Hashable:
    """A label as a Python object: 7, not np.int64(7).

    >>> _plain(np.int64(7)), _plain("a7")
    (7, 'a7')
    """
    if isinstance(label, tuple):  # of an index of several levels
        return tuple(map(_plain, label))
    plain: Hashable = label.item() if isinstance(label, np.generic) else label
    return plain
