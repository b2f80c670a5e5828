"""The style of all figures, and their files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from io import BytesIO
from typing import Any, Final, TypeVar, cast

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankad.plots import _style
from rankad.plots._style import BLACK, BROWN, GRAY, PICTURE, PINK, RED, SKY, WINE, Look
from rankad.reproduce import methods

LOOKS: Final = {
    methods.BAYES: Look(BLACK, "x", (0, (4, 2))),
    methods.DEFAULT: _style.DEFAULT,
    methods.PUBLISHED: _style.PUBLISHED,
    methods.ANCHORED: Look(PINK, "d", (0, (6, 1, 1, 1))),
    methods.OC_SVM: _style.ONE_CLASS,
    methods.BP_KNNG: Look(BROWN, "^", ":"),
    methods.AK_LPE: Look(SKY, "<", (0, (1, 1))),
    methods.IFOREST: Look(WINE, "D", (0, (3, 1, 1, 1))),
    methods.MASSAD: Look(GRAY, "p", ":"),
    methods.KNN: _style.NEIGHBORS,
    methods.LOF: _style.LOCAL_OUTLIER,
    methods.ECOD: _style.ECOD,
    methods.TRAINING_RANKS: Look(RED, "X", "-."),
}

#: Width of figures in inches; pages show 9 inches about 800 pixels wide.
WIDTH: Final = 9.0

Drawing = TypeVar("Drawing", bound=Callable[..., Figure])


def label_of(method: str) -> str:
    """The label of a method in a picture; the default is marked as such."""
    return f"{method} (default)" if method == methods.DEFAULT else method


#: Paths of an SVG are shortened: one decimal is enough to the eye, and only the first of successive
#: lines needs a letter.
_PATH: Final = re.compile(rb' d="[^"]*"')
_DECIMALS: Final = re.compile(rb"(\.\d)\d+")
_NEXT_LINE: Final = re.compile(rb" ?\nL ")


def styled(draw: Drawing) -> Drawing:
    """Draw a figure in the common style, independent of the user's style."""

    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> Figure:
        with style.context(("default", PICTURE)):
            return draw(*arguments, **options)

    return cast(Drawing, drawn)


def new_figure(height: float, n_rows: int, n_columns: int, **options: Any) -> tuple[Figure, Any]:
    """An empty figure and its axes, an array of shape ``(n_rows, n_columns)``."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def titled(ax: Axes, letter: str, title: str) -> None:
    """Give the axes a letter, which the text refers to, and a title."""
    ax.set_title(f"({letter}) {title}", loc="left")


def images(figure: Figure) -> dict[str, bytes]:
    """The figure as PNG and as SVG, by file extension."""
    with style.context(("default", PICTURE)):
        stream = BytesIO()
        figure.savefig(stream, format="svg", dpi=150, metadata={"Date": None})
        svg = _PATH.sub(_shortened, stream.getvalue())
        return {"png": _style.png(figure), "svg": svg}


def _shortened(path: re.Match[bytes]) -> bytes:
    """A path in fewer bytes. Paths with curves are left as they are."""
    if b"\nQ" in path[0] or b"\nC" in path[0]:
        return path[0]
    return _NEXT_LINE.sub(b" ", _DECIMALS.sub(rb"\1", path[0]))
