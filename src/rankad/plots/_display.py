"""What all displays share: where they draw, and in which order of colors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rankad.plots._style import BLUE, GREEN, ORANGE, PINK, RED, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: In which order lines that are drawn on the same axes take them.
_CYCLE: Final = (BLUE, RED, GREEN, PINK, ORANGE, SKY)

SCALES: Final = ("linear", "log")


def require_matplotlib(what: str) -> None:
    """Say how to get matplotlib where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{what} draws with matplotlib, which is not installed: pip install 'rankad[plot]'."
        ) from error


class Display:
    """Takes the axes that are given, or makes a figure of its own, by pyplot.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn last.
    figure_ : Figure or SubFigure
        That of the axes.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def _take_axes(self, ax: Axes | None, height: float | None = None) -> Axes:
        """Axes to draw on; ``height``, in inches, is of a figure made here."""
        require_matplotlib(type(self).__name__)
        self.ax_ = _new_axes(height) if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def _new_axes(height: float | None) -> Axes:
    # By pyplot, as scikit-learn's displays do: plt.show() shows it, and notebooks do by themselves.
    from matplotlib import pyplot as plt

    figure = plt.figure(layout="constrained")
    if height is not None:
        figure.set_figheight(height)
    ax = figure.add_subplot()
    ax.set_prop_cycle(color=_CYCLE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def ink() -> Any:
    """The user's color of text: black on white, or white on black."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def line_options(defaults: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options of a line, where the user's come first, whether he writes color or c."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return defaults | normalize_kwargs(options, Line2D)


def draw_diagonal(ax: Axes, start: float, label: str) -> None:
    """The line of equal x and y up to 1, once on the same axes."""
    if label not in ax.get_legend_handles_labels()[1]:
        ends = (start, 1.0)
        ax.plot(ends, ends, color=ink(), linestyle="--", linewidth=1.0, label=label)


def legend_above(ax: Axes, title: str | None = None, n_columns: int = 3) -> None:
    """Legend over the axes, where inside them there is no room."""
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
    """Both axes linear, or both logarithmic."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}.")
    ax.set(xscale=scale, yscale=scale)
