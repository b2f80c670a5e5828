"""What all displays share: the axes to draw on, and the colors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rankad.plots._style import BLUE, GREEN, ORANGE, PINK, RED, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Colors of lines on the same axes, in this order.
_CYCLE: Final = (BLUE, RED, GREEN, PINK, ORANGE, SKY)

SCALES: Final = ("linear", "log")


def require_matplotlib(what: str) -> None:
    """Refuse to draw without matplotlib, and say how to install it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{what} draws with matplotlib, which is not installed. Install it by: "
            "pip install 'rankad[plot]'."
        ) from error


class Display:
    """Draws on the given axes, or makes its own figure by pyplot.

    Attributes
    ----------
    ax_ : Axes
        Axes of the last drawing.
    figure_ : Figure or SubFigure
        Figure of these axes.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def _take_axes(self, ax: Axes | None, height: float | None = None) -> Axes:
        """Axes to draw on. A figure that is made here is ``height`` inches high."""
        require_matplotlib(type(self).__name__)
        self.ax_ = _new_axes(height) if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def _new_axes(height: float | None) -> Axes:
    # By pyplot, as in scikit-learn: then plt.show() shows the figure, and notebooks show it, too.
    from matplotlib import pyplot as plt

    figure = plt.figure(layout="constrained")
    if height is not None:
        figure.set_figheight(height)
    ax = figure.add_subplot()
    ax.set_prop_cycle(color=_CYCLE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def text_color() -> Any:
    """The user's color of text, which differs from the background."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def line_options(defaults: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options of a line. The user's options, also short names like c, replace the defaults."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return defaults | normalize_kwargs(options, Line2D)


def draw_diagonal(ax: Axes, start: float, label: str) -> None:
    """Draw the line of equal x and y up to 1, once on the same axes."""
    if label not in ax.get_legend_handles_labels()[1]:
        ends = (start, 1.0)
        ax.plot(ends, ends, color=text_color(), linestyle="--", linewidth=1.0, label=label)


def legend_above(ax: Axes, title: str | None = None, n_columns: int = 3) -> None:
    """Draw a legend above the axes, for pictures without room inside them."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=n_columns,
        frameon=False,
        title=title or None,
        alignment="left",
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def set_scale(ax: Axes, scale: str) -> None:
    """Make both axes linear, or both logarithmic."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}.")
    ax.set(xscale=scale, yscale=scale)
