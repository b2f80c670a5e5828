"""One palette and one style for all pictures: the color, marker and line of each method.

So a picture can be read by color-blind readers, and in print without colors. The default detector
is blue, round and solid everywhere.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colors that color-blind readers can tell apart (Okabe and Ito), and a gray that is visible on
#: black and on white.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, GRAY, BLACK = "#56B4E9", "#D55E00", "#888888", "#000000"

#: Darker colors (Tol), for pictures of more than eight methods.
WINE, INDIGO, OLIVE, BROWN = "#882255", "#332288", "#999933", "#8C510A"


class Look(NamedTuple):
    """How a method is drawn."""

    color: str
    marker: str
    linestyle: Any = "-"

    def line(self, **options: Any) -> dict[str, Any]:
        """Options of a line with markers. The given options replace those of the method."""
        return {**self._asdict(), **options}


#: The default detector.
DEFAULT: Final = Look(BLUE, "o")

#: The paper's algorithm, with all its choices.
PUBLISHED: Final = Look(RED, "X", "-.")

#: Nearest neighbors, the one-class SVM, isolation forests and other peers.
NEIGHBORS: Final = Look(GREEN, "v", "--")
ONE_CLASS: Final = Look(ORANGE, "s", (0, (5, 1, 1, 1, 1, 1)))
FOREST: Final = Look(PINK, "D", (0, (3, 1, 1, 1)))
LOCAL_OUTLIER: Final = Look(INDIGO, ">", (0, (1, 1)))
ECOD: Final = Look(OLIVE, "P", (0, (7, 2)))

#: Settings of pictures in the docs. They are shown about 800 pixels wide, and 11 points on 9 inches
#: are then as readable as the text of the page.
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
    # The same picture gives the same file.
    "svg.hashsalt": "rankad",
}


def png(figure: Figure, dpi: float = 150.0) -> bytes:
    """The figure as a PNG of at most 256 colors: it looks the same, with a third of the bytes."""
    from PIL import Image

    full_png, small_png = BytesIO(), BytesIO()
    figure.savefig(full_png, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    full = Image.open(full_png).convert("RGB")
    few = full.quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(small_png, format="PNG", optimize=True)
    return small_png.getvalue()


def save_png(figure: Figure, path: Path | str, dpi: float = 150.0) -> None:
    """Write the figure as a PNG of at most 256 colors."""
    Path(path).write_bytes(png(figure, dpi))
