"""Which features make a row alarm."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from rankad.detector import RankAD
from rankad.explanations import Explanation, Reason
from rankad.plots._display import Display, require_matplotlib, text_color
from rankad.plots._style import BLUE, GRAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False, kw_only=True)
class ExplanationDisplay(Display):
    """The p-value that a row would have if one feature alone moved to its best nominal value.

    The dashed line is the row's p-value. The bar of a feature goes from there to the p-value after
    the move, and the number at its end is that p-value. The label of the bar has the feature's
    name, its value and its best nominal value. A bar is blue if the p-value rises. If it does not
    rise, there is only the number. Make a display with `from_explanation` or `from_estimator`.

    Parameters
    ----------
    reasons : list of Reason
        The features, largest gain first.
    p_value : float
        p-value of the row.
    row : int
        Index of the row.
    name : str or None
        Title. By default it is the row and its p-value.

    Attributes
    ----------
    bars_ : BarContainer
        Bars from the row's p-value to the p-value after each move, in the order of `reasons`, from
        the top.
    before_ : Line2D
        The row's p-value.
    ax_, figure_
        Axes and figure.

    Examples
    --------
    >>> import numpy as np
    >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
    >>> detector = RankAD(random_state=0).fit(nominal)
    >>> display = ExplanationDisplay.from_estimator(detector, [[0.0, 9.0, 0.0]])
    >>> display.ax_.get_title(loc="left"), str(display.reasons[0])
    ('row 0: p = 0.00794', 'x1 9 -> 0.241943')
    """

    reasons: list[Reason]
    p_value: float
    row: int
    name: str | None = None
    bars_: BarContainer = field(init=False)
    before_: Line2D = field(init=False)

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
            A result of `RankAD.explain`.
        row : int, default=0
            Index of the row in the explanation.
        n_features : int, default=10
            Number of features to draw, largest gain first; all if there are fewer.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure, with a height for the number of features.
        name : str, optional
            Title. By default it is the row and its p-value.
        **kwargs
            Options of ``Axes.barh``.

        Returns
        -------
        display : ExplanationDisplay
        """
        require_matplotlib(cls.__name__)
        _require_row(row, len(explanation.values))
        display = cls(
            reasons=explanation.top(row, n_features),
            p_value=float(explanation.p_values[row]),
            row=int(row),
            name=name,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        detector: RankAD,
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
        detector : RankAD
            A fitted detector (see `RankAD.explain`).
        X : array-like of shape (n_samples, n_features)
            Rows. Only one of them is explained.
        row : int, default=0
            Index of that row.
        n_features : int, default=10
            Number of features to draw, largest gain first; all if there are fewer.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure, with a height for the number of features.
        name : str, optional
            Title. By default it is the row and its p-value.
        **kwargs
            Options of ``Axes.barh``.

        Returns
        -------
        display : ExplanationDisplay
        """
        require_matplotlib(cls.__name__)
        if not isinstance(detector, RankAD):
            raise TypeError(
                f"{cls.__name__} takes a fitted RankAD, because its score is a kernel sum; got "
                f"{detector!r}."
            )
        rows: Any = getattr(X, "iloc", X)  # pandas frames slice by label, not by position
        _require_row(row, len(X))  # type: ignore[arg-type]
        explanation = detector.explain(rows[row : row + 1])
        display = cls(
            reasons=explanation.top(0, n_features),
            p_value=float(explanation.p_values[0]),
            row=int(row),
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure, with a height for the number of features.
        name : str, optional
            Title. By default it is the row and its p-value.
        **kwargs
            Options of ``Axes.barh``.

        Returns
        -------
        display : ExplanationDisplay
        """
        ax = self._take_axes(ax, height=1.2 + 0.45 * len(self.reasons))
        places = range(len(self.reasons))
        colors = [BLUE if r.p_value_after > self.p_value else GRAY for r in self.reasons]
        self.bars_ = ax.barh(
            places,
            [reason.p_value_after - self.p_value for reason in self.reasons],
            left=self.p_value,
            **({"height": 0.6} | ({} if "color" in kwargs else {"color": colors}) | kwargs),
        )
        self.before_ = ax.axvline(self.p_value, color=text_color(), linestyle="--", linewidth=1.0)
        after = [f"p = {reason.p_value_after:.3g}" for reason in self.reasons]
        ax.bar_label(self.bars_, after, padding=4.0)
        ax.set_yticks(places, [_label(reason) for reason in self.reasons])
        ax.tick_params(axis="y", length=0.0)
        ax.set_ylim(len(self.reasons) - 0.4, -0.6)
        ax.set_xlim(0.0, 1.25)  # room for the number beside a bar up to 1
        ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
        ax.set_xlabel("p-value: now (dashed), and if this feature alone moved")
        ax.set_title(name or self.name or self._title(), loc="left", fontsize="medium")
        return self

    def _title(self) -> str:
        title = f"row {self.row}: p = {self.p_value:.3g}"
        if any(reason.p_value_after > self.p_value for reason in self.reasons):
            return title
        return f"{title}, and no feature alone would raise it"


def _label(reason: Reason) -> str:
    r"""Name of a feature, and below it its value and its best nominal value.

    >>> _label(Reason("amount", 812.0, 43.1, gain=5.2, p_value_after=0.41))
    'amount\n812 → 43.1'
    """
    if reason.gain <= 0.0:
        return f"{reason.name}\n{reason.value:.4g}, none better"
    return f"{reason.name}\n{reason.value:.4g} → {reason.best_value:.4g}"


def _require_row(row: int, n_rows: int) -> None:
    if not isinstance(row, Integral) or not 0 <= row < n_rows:
        raise ValueError(f"row must be an integer from 0 to {n_rows - 1}; got {row!r}.")
