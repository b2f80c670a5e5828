"""How all figures look, and how they become files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any, Final, TypeVar, cast

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankad.plots._display import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY
from rankad.reproduce import methods

COLORS: Final = {
    methods.BAYES: "#000000",
    methods.DEFAULT: BLUE,
    methods.PUBLISHED: RED,
    methods.ANCHORED: PINK,
    methods.OC_SVM: ORANGE,
    methods.BP_KNNG: "#A6761D",
    methods.AK_LPE: GREEN,
    methods.IFOREST: "#E7298A",
    methods.MASSAD: GRAY,
    methods.KNN: SKY,
    methods.LOF: "#7B4FA3",
    methods.ECOD: "#B8A400",
}

MARKERS: Final = dict(zip(COLORS, "xoXds^vDP<>*", strict=True))

_STYLE: Final[dict[str, Any]] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "svg.fonttype": "none",
    # The same picture is the same file.
    "svg.hashsalt": "rankad",
}


Drawing = TypeVar("Drawing", bound=Callable[..., Figure])


def styled(draw: Drawing) -> Drawing:
    """Have a figure drawn in the style of all, whatever the user's own is."""

    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> Figure:
        with style.context(("default", _STYLE)):
            return draw(*arguments, **options)

    return cast(Drawing, drawn)


def new_figure(width: float, height: float, n_rows: int, n_columns: int) -> tuple[Figure, Any]:
    """An empty figure and its axes, an array of shape ``(n_rows, n_columns)``."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def titled(ax: Axes, letter: str, title: str) -> None:
    """Give the axes a letter, for the text, and a title."""
    ax.set_title(f"({letter}) {title}", loc="left")


def images(figure: Figure) -> dict[str, bytes]:
    """The figure as PNG and as SVG, by the ending of the file's name."""
    made = {}
    with style.context(("default", _STYLE)):
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            stream = BytesIO()
            figure.savefig(stream, format=ending, dpi=150, metadata=metadata)
            made[ending] = stream.getvalue()
    return made
