"""Which features make a row alarm."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from rankad.detector import RankAD
from rankad.explanations import Explanation, Reason
from rankad.plots._display import Display, ink, require_matplotlib
from rankad.plots._style import BLUE, GRAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False, kw_only=True)
class ExplanationDisplay(Display):
    """The p-value that a row would have if one feature alone moved to its best nominal value.

    A bar reaches from the p-value that the row has, a dashed line, to that which it would have; at
    its end stands the latter, under a feature's name from where to where the feature would move.
    Bars are blue where the p-value rises; where it stays, there is only its number. Make a display
    with `from_explanation` or `from_estimator`.

    Parameters
    ----------
    reasons : list of Reason
        The features, most gain first.
    p_value : float
        That of the row.
    row : int
        Which row it is.
    name : str or None
        Title; by default row and p-value.

    Attributes
    ----------
    bars_ : BarContainer
        From the p-value that the row has to that of each feature moved, in the order of
        `reasons`, from the top.
    before_ : Line2D
        The p-value that the row has.
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
            As `RankAD.explain` gives it.
        row : int, default=0
            Which of its rows.
        n_features : int, default=10
            Features to draw, those that gain most; all, where there are fewer.
        ax : matplotlib Axes, optional
            By default those of a new figure, as high as the features need.
        name : str, optional
            Title; by default row and p-value.
        **kwargs
            For the bars, as ``Axes.barh`` takes them.

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
            Fitted; see `rankad.explanations.explain`.
        X : array-like of shape (n_samples, n_features)
            Rows, of which only one is explained.
        row : int, default=0
            Which of them.
        n_features : int, default=10
            Features to draw, those that gain most; all, where there are fewer.
        ax : matplotlib Axes, optional
            By default those of a new figure, as high as the features need.
        name : str, optional
            Title; by default row and p-value.
        **kwargs
            For the bars, as ``Axes.barh`` takes them.

        Returns
        -------
        display : ExplanationDisplay
        """
        require_matplotlib(cls.__name__)
        if not isinstance(detector, RankAD):
            raise TypeError(
                f"{cls.__name__} takes a fitted RankAD, whose score is a kernel sum; got "
                f"{detector!r}."
            )
        rows: Any = getattr(X, "iloc", X)  # frames of pandas slice by label, not by place
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
            By default those of a new figure, as high as the features need.
        name : str, optional
            Title; by default row and p-value.
        **kwargs
            For the bars, as ``Axes.barh`` takes them.

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
        self.before_ = ax.axvline(self.p_value, color=ink(), linestyle="--", linewidth=1.0)
        after = [f"p = {reason.p_value_after:.3g}" for reason in self.reasons]
        ax.bar_label(self.bars_, after, padding=4.0)
        ax.set_yticks(places, [_described(reason) for reason in self.reasons])
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


def _described(reason: Reason) -> str:
    r"""Name of a feature, and below it from where to where it would move.

    >>> _described(Reason("amount", 812.0, 43.1, gain=5.2, p_value_after=0.41))
    'amount\n812 → 43.1'
    """
    if reason.gain <= 0.0:
        return f"{reason.name}\n{reason.value:.4g}, none better"
    return f"{reason.name}\n{reason.value:.4g} → {reason.best_value:.4g}"


def _require_row(row: int, n_rows: int) -> None:
    if not isinstance(row, Integral) or not 0 <= row < n_rows:
        raise ValueError(f"row must be an integer from 0 to {n_rows - 1}; got {row!r}.")
