"""One palette and one style for all pictures: colors, markers and lines of whatever is compared.

Every method has a color, a marker and a line of its own, so that pictures can be read by the
color-blind and in print without colors. The default detector is blue, round and solid everywhere.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colors that the color-blind can tell apart (Okabe and Ito), and a gray that shows on black and
#: on white.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, GRAY, BLACK = "#56B4E9", "#D55E00", "#888888", "#000000"

#: Darker ones (Tol), where more than eight methods are compared.
WINE, INDIGO, OLIVE, BROWN = "#882255", "#332288", "#999933", "#8C510A"


class Look(NamedTuple):
    """How a method is drawn."""

    color: str
    marker: str
    linestyle: Any = "-"

    def line(self, **options: Any) -> dict[str, Any]:
        """Options of a line with markers, of which the given ones come first."""
        return {**self._asdict(), **options}


#: The default detector.
DEFAULT: Final = Look(BLUE, "o")

#: The paper's algorithm to the letter.
PUBLISHED: Final = Look(RED, "X", "-.")

#: Nearest neighbors, the one-class SVM, isolation forests and other peers.
NEIGHBORS: Final = Look(GREEN, "v", "--")
ONE_CLASS: Final = Look(ORANGE, "s", (0, (5, 1, 1, 1, 1, 1)))
FOREST: Final = Look(PINK, "D", (0, (3, 1, 1, 1)))
LOCAL_OUTLIER: Final = Look(INDIGO, ">", (0, (1, 1)))
ECOD: Final = Look(OLIVE, "P", (0, (7, 2)))

#: Settings of pictures that stand in the docs, where they are shown some 800 pixels wide: so type
#: of 11 points on 9 inches is read as well as the page's own.
PICTURE: Final[dict[str, Any]] = {
    "axes.prop_cycle": f"cycler(color={[BLUE, RED, GREEN, PINK, ORANGE, SKY]})",
    "font.size": 11.0,
    "axes.titlesize": 12.0,
    "axes.labelsize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "svg.fonttype": "none",
    # The same picture is the same file.
    "svg.hashsalt": "rankad",
}


def png(figure: Figure, dpi: float = 150.0) -> bytes:
    """The figure as a PNG of at most 256 colors: it looks the same, in a third of the bytes."""
    from PIL import Image

    drawn, made = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    full = Image.open(drawn).convert("RGB")
    few = full.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(made, format="PNG", optimize=True)
    return made.getvalue()


def save_png(figure: Figure, path: Path | str, dpi: float = 150.0) -> None:
    """Write the figure as such a PNG."""
    Path(path).write_bytes(png(figure, dpi))
