"""The pictures of docs/accuracy.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_tables import ALL_CENTERS, OF_CENTERS, ByExperiment
from law_experiments import TRUE_DENSITY
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator
from methods import DENSITY, ECOD, IFOREST, KNN, KNN_10, LOF, OC_SVM, OUTWARD, RANKAD

from rankad.plots._style import (
    BLACK,
    BLUE,
    DEFAULT,
    NEIGHBORS,
    ONE_CLASS,
    PICTURE,
    Look,
    save_png,
)
from rankad.reproduce.results import Results

_OTHER = Look("0.25", "s")

#: Methods other than RankAD.
_OTHERS = (OUTWARD, KNN, KNN_10, DENSITY, LOF, OC_SVM, IFOREST, ECOD)

#: The part of the scale that is enlarged: AUC relative to the baseline.
_CLOSE = (-0.03, 0.018)

#: Offsets of a label from its point, in points. The first free place is taken.
_PLACES = (
    *((0, 11, "center"), (10, -4, "left"), (0, -20, "center"), (-10, -4, "right")),
    *((9, 10, "left"), (9, -19, "left"), (-9, 10, "right"), (-9, -19, "right")),
    *((0, 24, "center"), (0, -33, "center"), (24, 22, "left"), (24, -31, "left")),
    *((-24, 22, "right"), (-24, -31, "right"), (0, 38, "center"), (0, -47, "center")),
    *((0, 54, "center"), (0, -63, "center"), (-40, 40, "right"), (-40, -50, "right")),
)

#: Looks of the methods that are compared with the true density.
_OF_LAWS = {RANKAD: DEFAULT, KNN: NEIGHBORS, OC_SVM: ONE_CLASS}
_FAMILIES = {
    "gauss": "One normal law",
    "two gaussians": "Two of unequal width",
    "student": "Student's t",
}


def draw_costs(of: ByExperiment, path: Path) -> None:
    """Draw mean AUC on the real sets against microseconds per row; the best methods enlarged."""
    sets = of["sets"]
    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 7.6), layout="constrained")
    whole, close = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    line = (*OF_CENTERS, ALL_CENTERS)
    for axis in (whole, close):
        _draw_points(axis, sets, line, **DEFAULT.line(linewidth=2.2, zorder=2.2))
        for method in _OTHERS:
            _draw_points(axis, sets, [method], **_OTHER.line(linestyle="none", markersize=5))
        axis.plot(
            *_place(sets, RANKAD),
            marker="*",
            markersize=19,
            color=BLUE,
            markeredgecolor=BLACK,
            zorder=2.4,
        )
        axis.set(xscale="log", ylabel="Mean AUC")
        axis.margins(0.1)
    middle = sets.mean(KNN, "auc")
    low, high = middle + _CLOSE[0], middle + _CLOSE[1]
    close.set_ylim(low, high)
    whole.axhspan(low, high, color="0.93", zorder=0)
    whole.set_title(f"All methods, {len(sets.sets)} real sets", loc="left")
    close.set_title("The gray strip, enlarged", loc="left")
    close.set_xlabel("Microseconds to score a row, one thread (geometric mean over sets)")
    close.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    close.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    close.xaxis.set_minor_locator(NullLocator())
    star = {"marker": "*", "markersize": 17, "markeredgecolor": BLACK, "linestyle": ""}
    bars = f"bars: standard error of the difference to {KNN}"
    handles = [
        Line2D([], [], color=BLUE, label="the default", **star),
        Line2D([], [], **DEFAULT.line(linewidth=2.2, label="RankAD, by number of centers")),
        Line2D([], [], color="0.25", marker="|", markersize=12, linestyle="", label=bars),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.2)
    figure.draw_without_rendering()  # gives the axes their final size
    beside = sorted(_PLACES, key=lambda place: place[2] == "center")
    is_close = {method: low < sets.mean(method, "auc") < high for method in _OTHERS}
    for axis, shown in ((whole, False), (close, True)):
        places = {_place(sets, m): m for m in _OTHERS if is_close[m] == shown}
        _label_points(axis, places, _OTHER.color, beside)
    centers = {m: m.removeprefix("RankAD, ").split()[0] for m in line if m != RANKAD}
    labels = {_place(sets, RANKAD): "800 (default)"}
    _label_points(close, labels | {_place(sets, m): n for m, n in centers.items()}, BLUE, _PLACES)
    save_png(figure, path)


def _place(sets: Results, method: str) -> tuple[float, float]:
    return sets.geometric_mean(method, "score_microseconds"), sets.mean(method, "auc")


def _draw_points(axis: Axes, sets: Results, methods: Sequence[str], **style: Any) -> None:
    places = np.array([_place(sets, method) for method in methods])
    errors = [sets.difference(method, KNN, "auc").over_sets for method in methods]
    axis.errorbar(*places.T, yerr=np.nan_to_num(errors), elinewidth=1.1, capsize=3, **style)


def _label_points(
    axis: Axes,
    labels: dict[tuple[float, float], str],
    color: str,
    places: Sequence[tuple[int, int, str]],
) -> None:
    """Write each label beside its point, so that it covers no point and no other label."""
    for point, label in labels.items():
        for right, up, side in places:
            text = axis.annotate(
                label,
                point,
                xytext=(right, up),
                textcoords="offset points",
                ha=side,
                fontsize=10,
                color=color,
            )
            if _is_free(axis, text):
                break
            text.remove()
        else:
            raise ValueError(f"There is no room for the label {label!r}.")


def _is_free(axis: Axes, text: Text) -> bool:
    """Whether a label covers nothing drawn before it."""
    box = text.get_window_extent().padded(1.0)
    frame = axis.get_window_extent()
    if not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 <= frame.y1):
        return False
    if any(box.overlaps(other.get_window_extent()) for other in axis.texts if other is not text):
        return False
    for line in axis.lines:
        path = line.get_path().transformed(line.get_transform())
        if line.get_linestyle() != "None" and path.intersects_bbox(box, filled=False):
            return False
        if any(box.padded(4.0).contains(x, y) for x, y in path.vertices):
            return False
    bars = (
        path.transformed(collection.get_transform())
        for collection in axis.collections
        for path in collection.get_paths()
    )
    return not any(bar.intersects_bbox(box, filled=False) for bar in bars)


def draw_laws(of: ByExperiment, path: Path) -> None:
    """Draw AUC minus that of the true density, for each law, by the number of columns."""
    laws = of["laws"]
    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    axes = figure.subplots(1, len(_FAMILIES), sharex=True, sharey=True)
    family_of = np.array([name.rsplit(" ", 1)[0] for name in laws.sets])
    columns = sorted(set(laws.n_features().tolist()))
    for axis, (family, title) in zip(axes, _FAMILIES.items(), strict=True):
        is_one = family_of == family
        place = np.array([columns.index(d) for d in laws.n_features()[is_one]])
        for i, (method, look) in enumerate(_OF_LAWS.items()):
            below = laws.values(method, "auc_blurred") - laws.values(TRUE_DENSITY, "auc_blurred")
            seeds = below[is_one]
            axis.errorbar(
                place + 0.12 * (i - 1),
                seeds.mean(axis=1),
                yerr=2.0 * seeds.std(axis=1, ddof=1) / np.sqrt(seeds.shape[1]),
                **look.line(linewidth=2.6 if method == RANKAD else 1.5),
                markersize=7,
                elinewidth=1.1,
                capsize=2.5,
                zorder=2.2 if method == RANKAD else 2.0,
                label=f"{method} (default)" if method == RANKAD else method,
            )
        axis.axhline(0.0, color=BLACK, linewidth=1.2)
        axis.set_xticks(range(len(columns)), [str(d) for d in columns])
        axis.set_title(title, loc="left")
        axis.set_xlabel("Columns")
    axes[0].set_ylabel("AUC minus that of the true density")
    handles, labels = axes[0].get_legend_handles_labels()
    bars = f"Bars: ± 2 standard errors over {seeds.shape[1]} seeds"
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), title=bars)
    save_png(figure, path)
