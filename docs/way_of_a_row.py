"""Draw the way of a row through the rooms: docs/images/way_of_a_row.svg.

python docs/way_of_a_row.py
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

#: Box: what happens, in which module, and its color.
FIT = [
    ("RankAD.fit(X)", "detector.py", "tab:blue"),
    ("validate the rows", "_validation.py", "0.5"),
    ("test for copies and dependence", "calibration/sample.py", "tab:green"),
    ("hold some rows out", "calibration/holdout.py", "tab:green"),
    ("scale the columns", "_scaling.py", "0.5"),
    ("leave outlying rows out", "tuning/training_rows.py", "tab:orange"),
    ("statistic G of each row", "statistics/", "tab:orange"),
    ("pairs of rows of different rank", "preferences/", "tab:orange"),
    ("C, sigma and centers", "tuning/", "tab:orange"),
    ("RankSVM: the ranker", "ranker.py, solvers/, kernels/", "tab:orange"),
    ("model: a function from rows to scores", "models/", "tab:purple"),
    ("reference: scores of the rows held out", "calibration/reference.py", "tab:green"),
]
PREDICT = [
    ("det.predict(X, alpha)", "_deciding.py", "tab:blue"),
    ("alpha -> threshold in the reference", "calibration/control.py", "tab:green"),
    ("validate the rows", "_validation.py", "0.5"),
    ("the model scores them", "models/", "tab:purple"),
    ("kernel sum, far field", "kernels/expansion.py", "tab:orange"),
    ("score < threshold: -1, else +1", "_deciding.py", "tab:blue"),
]
LEGEND = [
    ("the detector", "tab:blue"),
    ("stages of Algorithm 1", "tab:orange"),
    ("the model: what was learned", "tab:purple"),
    ("calibration", "tab:green"),
    ("shared by all", "0.5"),
]
WIDTH, HEIGHT, GAP = 4.4, 0.62, 0.28


def draw_column(ax, x, title, boxes):
    """Draw boxes from top to bottom, with arrows down."""
    ax.text(x + WIDTH / 2, 0.55, title, ha="center", fontsize=14, weight="bold", color="#888888")
    for place, (label, home, color) in enumerate(boxes):
        y = -place * (HEIGHT + GAP)
        box = FancyBboxPatch(
            (x, y - HEIGHT),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.09",
            facecolor="white",
            edgecolor=color,
            linewidth=2.2,
        )
        ax.add_patch(box)
        ax.text(x + WIDTH / 2, y - 0.21, label, ha="center", va="center", fontsize=11.5)
        ax.text(
            *(x + WIDTH / 2, y - 0.46, home),
            ha="center",
            va="center",
            fontsize=9,
            family="monospace",
            color="#444444",
        )
        if place > 0:
            ax.annotate(
                "",
                (x + WIDTH / 2, y),
                (x + WIDTH / 2, y + GAP),
                arrowprops={"arrowstyle": "-|>", "color": "#888888", "lw": 1.6},
            )


def draw_legend(ax, x, y):
    """Draw what the colors mean, from the height y downward."""
    for place, (label, color) in enumerate(LEGEND):
        at = y - 0.45 * place
        ax.plot([x, x + 0.4], [at, at], color=color, lw=4, solid_capstyle="round")
        ax.text(x + 0.6, at, label, va="center", fontsize=11, color="#888888")


def main():
    """Draw both columns, and the legend below the shorter one."""
    mpl.rcParams["svg.hashsalt"] = "rankad"
    fig, ax = plt.subplots(figsize=(10, 10.5))
    draw_column(ax, 0.0, "fit: rows to a model", FIT)
    draw_column(ax, WIDTH + 0.9, "predict: a row to its label", PREDICT)
    draw_legend(ax, WIDTH + 1.0, -(len(PREDICT) + 1.5) * (HEIGHT + GAP))
    ax.set(xlim=(-0.15, 2 * WIDTH + 1.05), ylim=(-len(FIT) * (HEIGHT + GAP), 0.95))
    ax.set_axis_off()
    path = Path(__file__).parent / "images" / "way_of_a_row.svg"
    fig.savefig(path, transparent=True, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
