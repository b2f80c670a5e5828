"""Why a row alarms: what would have to change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from rankad.explanations import Change, Explanation, Reason
from rankad.explanations.numbers import number, told_apart
from rankad.plots._display import Display, require_matplotlib, text_color
from rankad.plots._inputs import calibrated_detector
from rankad.plots._style import BLUE, GRAY, RED
from rankad.plots._usual_units import LEFT, RIGHT, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

    from rankad._base import BaseDetector

#: Longer names of features are cut in the middle.
_LONGEST_NAME = 32

#: Markers of values beyond the left end, on the axis, and beyond the right end.
_MARKERS = {-1: "<", 0: "o", 1: ">"}

#: Text that is centered so many points below a place.
_BELOW: dict[str, Any] = {
    "textcoords": "offset points",
    "ha": "center",
    "va": "top",
    "fontsize": "small",
}


@dataclass(eq=False, repr=False, kw_only=True)
class ExplanationDisplay(Display):
    """What would have to change so that a row is nominal, beside what is usual.

    Each line is a feature. The gray bar goes from the 5% to the 95% quantile of nominal rows, and
    the numbers below it are these quantiles. The red marker is the row's value, and the blue marker
    is the value that the explanation proposes: a nominal row has it. Each feature has its own unit,
    so all gray bars are drawn in the same place. A triangle stands for a value beyond the axis. If
    only one value is usual, the bar is a short mark, and distances from it have no scale.

    A row that does not alarm, or that is not explained, is drawn beside its nearest nominal row.
    Make a display with `from_explanation` or `from_estimator`.

    Parameters
    ----------
    reason : Reason
        Why the row alarms.
    n_features : int
        Number of features to draw, largest change first. The picture says how many more there are.
    name : str or None
        Title. By default it is the row and its p-value before and after the change.

    Attributes
    ----------
    usual_ : LineCollection
        The usual ranges, from the top.
    values_, nominal_values_ : list of Line2D
        Markers of the row's values and of the nominal values.
    arrows_ : list of Annotation
        Arrows from the row's values to the nominal values.
    ax_, figure_
        Axes and figure.

    Examples
    --------
    >>> import numpy as np
    >>> from rankad import RankAD
    >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
    >>> detector = RankAD(random_state=0).fit(nominal)
    >>> display = ExplanationDisplay.from_estimator(detector, [[0.0, 9.0, 0.0]])
    >>> print(display.ax_.get_title(loc="left"))
    row 0: p = 0.00794 → 0.96
    if this feature changes
    """

    reason: Reason
    n_features: int = 10
    name: str | None = None
    usual_: LineCollection = field(init=False)
    values_: list[Line2D] = field(init=False)
    nominal_values_: list[Line2D] = field(init=False)
    arrows_: list[Annotation] = field(init=False)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        row: int = 0,
        n_features: int = 10,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the explanation of one row.

        Parameters
        ----------
        explanation : Explanation
            What ``explain`` of a detector returns.
        row : int, default=0
            Position of the row in the explanation.
        n_features : int, default=10
            Number of features to draw, largest change first; all if there are fewer.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure, with a height for the number of features.
        name : str, optional
            Title. By default it is the row and its p-value before and after the change.
        **kwargs
            Options of the usual ranges (``Axes.hlines``).

        Returns
        -------
        display : ExplanationDisplay
        """
        require_matplotlib(cls.__name__)
        if not isinstance(explanation, Explanation):
            raise TypeError(
                f"explanation must be the result of explain; got {type(explanation).__name__}. To "
                "draw the reason of row i, call from_explanation(explanation, row=i)."
            )
        _require_row(row, len(explanation))
        display = cls(reason=explanation[int(row)], n_features=n_features, name=name)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        detector: BaseDetector,
        X: ArrayLike,
        row: int = 0,
        n_features: int = 10,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Explain one row, and draw it.

        Parameters
        ----------
        detector : fitted detector
            Any detector of rankad. To set its options of ``explain``, call it yourself, and draw
            the result with `from_explanation`.
        X : array-like of shape (n_samples, n_features)
            Rows. Only one of them is explained.
        row : int, default=0
            Position of that row.
        n_features : int, default=10
            Number of features to draw, largest change first; all if there are fewer.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure, with a height for the number of features.
        name : str, optional
            Title. By default it is the row and its p-value before and after the change.
        **kwargs
            Options of the usual ranges (``Axes.hlines``).

        Returns
        -------
        display : ExplanationDisplay
        """
        require_matplotlib(cls.__name__)
        calibrated_detector(detector, cls.__name__)
        _require_row(row, _n_rows(X))
        rows: Any = getattr(X, "iloc", X)  # pandas frames slice by label, not by position
        reason = detector.explain(rows[row : row + 1])[0]
        if rows is X:  # without an index, the label of a row is its position
            reason = replace(reason, row=int(row))
        return cls(reason=reason, n_features=n_features, name=name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw a line for each feature.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure, with a height for the number of features.
        name : str, optional
            Title. By default it is the row and its p-value before and after the change.
        **kwargs
            Options of the usual ranges (``Axes.hlines``).

        Returns
        -------
        display : ExplanationDisplay
        """
        _require_n_features(self.n_features)
        changes = self.reason.changes or self.reason.nearest
        labels = [_label(change) for change in changes[: self.n_features]]
        if len(changes) > self.n_features:
            labels.append(f"and {len(changes) - self.n_features} more")
        ax = self._take_axes(ax, height=1.3 + 0.55 * len(labels))
        self._draw(ax, changes[: self.n_features], kwargs)
        ax.set_yticks(range(len(labels)), labels, parse_math=False)  # a $ in a name is no formula
        ax.tick_params(axis="y", length=0.0)
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.set_xticks([])
        ax.set_xlim(LEFT - 0.2, RIGHT + 0.2)
        title = name or self.name or _title(self.reason)
        ax.set_title(title, loc="left", fontsize="medium", parse_math=False)
        return self

    def _draw(self, ax: Axes, changes: tuple[Change, ...], options: dict[str, Any]) -> None:
        """Draw the usual ranges, the arrows, the markers and the legend."""
        defaults: dict[str, Any] = {"colors": GRAY, "alpha": 0.45, "linewidth": 9.0}
        drawn = places(changes)
        lines = range(len(changes))
        self.usual_ = ax.hlines(lines, *drawn.usual, **(defaults | options))
        self.arrows_ = [
            ax.annotate("", xy=(end, y), xytext=(start, y), arrowprops=_arrow())
            for y, (start, end) in enumerate(drawn.x.T)
        ]
        self.values_, self.nominal_values_ = (
            [_marker(ax, x, y, side, color) for x, y, side in zip(xs, lines, sides, strict=True)]
            for xs, sides, color in zip(drawn.x, drawn.side, (RED, BLUE), strict=True)
        )
        for y, change in enumerate(changes):
            ax.annotate(_usual_text(*change.usual), (0.5, y), (0.0, -8.0), **_BELOW)
        _draw_legend(ax, has_far=bool(drawn.side.any()))


def _arrow() -> dict[str, Any]:
    return {"arrowstyle": "->", "color": text_color(), "shrinkA": 3.0, "shrinkB": 4.0}


def _marker(ax: Axes, x: float, y: float, side: int, color: str) -> Line2D:
    (marker,) = ax.plot(x, y, color=color, marker=_MARKERS[side], markersize=8.0, zorder=4)
    return marker


def _draw_legend(ax: Axes, *, has_far: bool) -> None:
    """Draw it below the axes, from their right end: labels of features may be long."""
    from matplotlib.lines import Line2D

    point: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 8.0}
    handles = [
        Line2D([], [], color=RED, label="this row", **point),
        Line2D([], [], color=BLUE, label="nominal row", **point),
        Line2D([], [], color=GRAY, alpha=0.45, linewidth=9.0, label="90% of nominal rows"),
    ]
    if has_far:
        far = point | {"marker": ">", "color": text_color(), "markerfacecolor": "none"}
        handles.append(Line2D([], [], label="beyond the axis", **far))
    ax.legend(
        handles=handles,
        loc="upper right",
        bbox_to_anchor=(1.0, 0.0),
        ncols=2,
        frameon=False,
        borderaxespad=0.2,
    )


def _title(reason: Reason) -> str:
    """The row, its p-value before and after the change, or why there is no change."""
    title = f"row {reason.row}: p = {reason.p_value:.3g}"
    if reason.changes:
        return f"{title} → {reason.p_value_after:.3g}\nif {_what_changes(reason)}"
    if reason.is_alarm:
        title += f", {reason.why_not}"
    else:
        title += ", no alarm"
    if not reason.nearest:
        return f"{title}\nIt equals a nominal row"
    return f"{title}\nDifferences to its nearest nominal row:"


def _what_changes(reason: Reason) -> str:
    n_units = len(reason.groups)
    if reason.in_groups:
        what = "this group" if n_units == 1 else f"these {n_units} groups"
        return f"{what} of correlated features {'changes' if n_units == 1 else 'change'}"
    return "this feature changes" if n_units == 1 else f"these {n_units} features change"


def _label(change: Change) -> str:
    r"""Name of a feature, and below it its value and its nominal value.

    >>> _label(Change("amount", 812.0, 43.1, (5.0, 120.0)))
    'amount\n812 → 43.1'
    """
    name = change.name
    if len(name) > _LONGEST_NAME:
        half = _LONGEST_NAME // 2
        name = f"{name[:half]}…{name[-half:]}"
    value, nominal_value = told_apart(change.value, change.nominal_value)
    return f"{name}\n{value} → {nominal_value}"


def _usual_text(low: float, high: float) -> str:
    return " to ".join(told_apart(low, high)) if low < high else number(low)


def _n_rows(X: Any) -> int:
    try:
        return len(X)
    except TypeError as error:  # for example a lazy frame, or a sparse matrix
        raise TypeError(
            f"X must be a dense array, a data frame or a list of rows; got {type(X).__name__}."
        ) from error


def _require_row(row: int, n_rows: int) -> None:
    if not isinstance(row, Integral) or not 0 <= row < n_rows:
        raise ValueError(f"row must be an integer from 0 to {n_rows - 1}; got {row!r}.")


def _require_n_features(n_features: int) -> None:
    if not isinstance(n_features, Integral) or n_features < 1:
        raise ValueError(f"n_features must be an integer of at least 1; got {n_features!r}.")
