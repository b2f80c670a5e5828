"""The picture at the top of README.md: one fit for any alpha, and the false alarms it makes.

    python examples/readme_picture.py [FILE]

Draws to docs/images/readme.png, or to FILE, in a minute. It draws the same picture every time.
Needs matplotlib. Left: a law in the plane. Right: the handwritten digits that scikit-learn
includes.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad import RankAD
from rankad.plots import LevelSetDisplay
from rankad.plots._style import BLACK, BLUE, DEFAULT, ONE_CLASS, PICTURE, PUBLISHED, save_png

PICTURE_FILE = Path(__file__).parents[1] / "docs" / "images" / "readme.png"

#: The alphas whose alarm regions are drawn, and those at which false alarms are counted.
REGIONS = (0.01, 0.05, 0.1)
ALPHAS = np.geomspace(0.01, 0.3, 16)

#: Splits of the digits, and the training rows of each. The other rows are new.
N_SPLITS, N_TRAIN = 20, 1_200

#: Colors of the regions where rows alarm at 1%, at 5% and at 10%.
_SHADES = ("#EDA587", "#F6C9B3", "#FCE8DD")
_WINDOW = ((-3.6, 3.6), (-2.4, 1.8))

#: Rows that are drawn with their p-values, and the side of the p-value.
_NEW_ROWS = (
    ((-1.45, 0.75), "right"),
    ((0.0, 0.12), "left"),
    ((2.1, 1.4), "left"),
)


def main() -> None:
    """Draw one fit at three alphas, and count false alarms over many splits and alphas."""
    style.use(("default", PICTURE))
    figure = Figure(figsize=(1600 / 150, 560 / 150), layout="constrained")
    plane, rates = figure.subplots(1, 2)
    rows = nominal_rows(4_000, np.random.default_rng(0))
    draw_regions(plane, RankAD(random_state=0).fit(rows), rows)
    draw_rates(rates, false_alarms(N_SPLITS))
    save_png(figure, sys.argv[1] if len(sys.argv) > 1 else PICTURE_FILE)


def nominal_rows(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of two clusters, a bow and a blob below it."""
    n_bow = n * 3 // 5
    angle = rng.uniform(-1.25, 1.25, n_bow)
    bow = np.column_stack([2.3 * np.sin(angle), 2.0 * np.cos(angle) - 0.9])
    bow += rng.normal(0.0, 0.18, bow.shape)
    blob = rng.normal((0.0, -1.05), (0.5, 0.3), (n - n_bow, 2))
    return np.concatenate([bow, blob])


def draw_regions(ax: Axes, detector: RankAD, rows: np.ndarray) -> None:
    """Draw the regions where a new row alarms at each alpha, with the training rows."""
    corners = np.array(_WINDOW).T
    sets = LevelSetDisplay.from_estimator(
        detector, corners, alphas=REGIONS, grid=300, margin=0.0, ax=Figure().subplots()
    )
    levels = list(sets.thresholds.values())
    ax.contourf(sets.x, sets.y, sets.scores, [-np.inf, *levels], colors=_SHADES)
    ax.contour(sets.x, sets.y, sets.scores, levels, colors=PUBLISHED.color, linewidths=0.9)
    ax.plot(*rows.T, ".", color=BLUE, markersize=2.2, alpha=0.6, markeredgewidth=0.0)
    halo = [withStroke(linewidth=3.0, foreground="white")]
    p_values = detector.p_values([place for place, _ in _NEW_ROWS])
    for (place, side), p_value in zip(_NEW_ROWS, p_values, strict=True):
        ax.plot(*place, "D", color="white", markeredgecolor=BLACK, markersize=6.5, zorder=3)
        ax.annotate(
            *(f"p = {p_value:.2g}", place),
            xytext=(8 if side == "left" else -8, 3),
            textcoords="offset points",
            ha=side,
            path_effects=halo,
            zorder=4,
        )
    ax.set(xlim=_WINDOW[0], ylim=_WINDOW[1], xticks=[], yticks=[])
    handles = [
        Line2D([], [], color=BLUE, marker=".", linestyle="", markersize=8, label="trained on"),
        *(
            Patch(facecolor=shade, edgecolor=PUBLISHED.color, label=f"{100 * alpha:g}%")
            for shade, alpha in zip(_SHADES, REGIONS, strict=True)
        ),
    ]
    handles[1].set_label("alarm at 1%")
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=4,
        columnspacing=1.5,
        handlelength=1.6,
    )
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.set_title("One fit, any alpha", loc="left", fontweight="bold")


def false_alarms(n_splits: int) -> dict[str, np.ndarray]:
    """False-alarm rates on new digits: a row for each split, a column for each alpha."""
    digits = load_digits().data
    seen: dict[str, list[list[float]]] = {}
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(digits))
        train, fresh = digits[order[:N_TRAIN]], digits[order[N_TRAIN:]]
        for calibration in ("split", "train"):
            p = RankAD(calibration=calibration, random_state=seed).fit(train).p_values(fresh)
            seen.setdefault(calibration, []).append([(p <= alpha).mean() for alpha in ALPHAS])
        scaler = StandardScaler().fit(train)
        svms = [make_pipeline(scaler, OneClassSVM(nu=alpha)).fit(train) for alpha in ALPHAS]
        rates = [(svm.predict(fresh) == -1).mean() for svm in svms]
        seen.setdefault("svm", []).append(rates)
    return {name: np.array(rates) for name, rates in seen.items()}


def draw_rates(ax: Axes, seen: dict[str, np.ndarray]) -> None:
    """Draw the mean false-alarm rates over the splits, with two standard errors."""
    ax.plot(
        *(ALPHAS, ALPHAS),
        color=BLACK,
        linestyle="--",
        linewidth=1.4,
        zorder=3,
        label="as asked",
    )
    looks = {
        "split": (DEFAULT, "RankAD (default), one fit for every alpha"),
        "svm": (ONE_CLASS, "OneClassSVM(nu), a fit for each alpha"),
        "train": (PUBLISHED, "same ranker, the paper's training ranks"),
    }
    for name, (look, label) in looks.items():
        mean = seen[name].mean(axis=0)
        error = 2.0 * seen[name].std(axis=0, ddof=1) / np.sqrt(len(seen[name]))
        wide = 2.8 if look is DEFAULT else 1.6
        ax.plot(ALPHAS, mean, **look.line(linewidth=wide, markevery=3, label=label))
        low = np.maximum(mean - error, seen[name].min(axis=0))
        ax.fill_between(ALPHAS, low, mean + error, color=look.color, alpha=0.25, lw=0)
    ax.set(xscale="log", yscale="log", xlim=(0.0095, 0.31), ylim=(0.0018, 1.0))
    ticks = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    for axis, shown in ((ax.xaxis, ticks[1:6]), (ax.yaxis, ticks)):
        axis.set_ticks(shown)
        axis.set_ticks([], minor=True)
        axis.set_major_formatter(lambda rate, _: f"{100 * rate:g}%")
    ax.set(xlabel="False alarms asked for", ylabel="Seen on fresh rows")
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        *(handles[1:] + handles[:1], labels[1:] + labels[:1]),
        loc="lower right",
        handlelength=3.2,
        title=f"Handwritten digits, mean of {N_SPLITS} splits ± 2 standard errors",
        title_fontsize=9.0,
        fontsize=9.5,
        alignment="left",
        borderaxespad=0.2,
    )
    ax.set_title("False alarms: asked and seen", loc="left", fontweight="bold")


if __name__ == "__main__":
    main()
