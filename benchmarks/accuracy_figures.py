"""The pictures of docs/accuracy.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from accuracy_tables import ALL_CENTERS, OF_CENTERS, ByExperiment
from law_experiments import TRUE_DENSITY
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator
from methods import DENSITY, ECOD, IFOREST, KNN, KNN_10, LOF, OC_SVM, OUTWARD, RANKAD

from rankad.reproduce.results import Results

_RED, _GREY = "#c1121f", "#333333"

#: Methods beside RankAD.
_OTHERS = (OUTWARD, KNN, KNN_10, DENSITY, LOF, OC_SVM, IFOREST, ECOD)

#: Where a label may stand, from its point, in points: the first place that is free is taken.
_PLACES = (
    *((0, 9, "center"), (8, -3, "left"), (0, -17, "center"), (-8, -3, "right")),
    *((8, 9, "left"), (8, -16, "left"), (-8, 9, "right"), (-8, -16, "right")),
    *((0, 22, "center"), (0, -30, "center"), (24, 20, "left"), (24, -28, "left")),
)

#: Colors, and the shift along the axis that keeps points apart.
_OF_LAWS = {RANKAD: (_RED, -0.22), KNN: ("#457b9d", 0.0), OC_SVM: ("#8d99ae", 0.22)}
_MARKERS = {"gauss": "o", "two gaussians": "s", "student": "^"}


def draw_costs(of: ByExperiment, path: Path) -> None:
    """Mean AUC on the real sets against microseconds per point."""
    sets = of["sets"]
    figure, axis = plt.subplots(figsize=(9, 6), layout="constrained")
    line = (*OF_CENTERS, ALL_CENTERS)
    _draw_points(axis, sets, line, color=_RED, marker="o", lw=2)
    x, y = _place(sets, RANKAD)
    axis.plot(x, y, "o", ms=13, mfc="none", mec=_RED, mew=1.5)
    for method in _OTHERS:
        _draw_points(axis, sets, [method], color=_GREY, marker="o", ms=5)
    axis.set(
        xscale="log",
        xlabel="microseconds to score a point, one thread (geometric mean over sets)",
        ylabel=f"mean AUC over {len(sets.sets)} sets",
    )
    axis.margins(0.1)
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.xaxis.set_minor_locator(NullLocator())
    default = {"marker": "o", "ms": 13, "mfc": "none", "ls": ""}
    bars = f"bars: the standard error of the difference to {KNN}"
    handles = [
        Line2D([], [], color=_RED, marker="o", lw=2, label="RankAD, by its number of centers"),
        Line2D([], [], color=_RED, label="the default", **default),
        Line2D([], [], color=_GREY, marker="|", ms=9, ls="", label=bars),
    ]
    _add_legend(axis, handles, n_columns=1)
    _tidy(axis)
    figure.draw_without_rendering()  # the axes have their size from here on
    centers = {m: "800" if m == RANKAD else m.removeprefix("RankAD, ").split()[0] for m in line}
    _label_points(
        axis, {_place(sets, method): label for method, label in centers.items()}, _RED, _PLACES
    )
    beside = sorted(_PLACES, key=lambda place: place[2] == "center")  # not across the bar
    _label_points(axis, {_place(sets, method): method for method in _OTHERS}, _GREY, beside)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)


def _place(sets: Results, method: str) -> tuple[float, float]:
    return sets.geometric_mean(method, "score_microseconds"), sets.mean(method, "auc")


def _draw_points(axis: Axes, sets: Results, methods: Sequence[str], **style: Any) -> None:
    places = np.array([_place(sets, method) for method in methods])
    errors = [sets.difference(method, KNN, "auc").over_sets for method in methods]
    axis.errorbar(*places.T, yerr=np.nan_to_num(errors), elinewidth=0.8, capsize=2, **style)


def _label_points(
    axis: Axes,
    labels: dict[tuple[float, float], str],
    color: str,
    places: Sequence[tuple[int, int, str]],
) -> None:
    """Write each label beside its point, where it covers no point and no other label."""
    for point, label in labels.items():
        for right, up, side in places:
            text = axis.annotate(
                label,
                point,
                xytext=(right, up),
                textcoords="offset points",
                ha=side,
                fontsize=8,
                color=color,
            )
            if _is_free(axis, text):
                break
            text.remove()
        else:
            raise ValueError(f"There is no room for the label {label!r}.")


def _is_free(axis: Axes, text: Text) -> bool:
    """Whether a label covers nothing that was drawn before."""
    box = text.get_window_extent().padded(1.0)
    frame = axis.get_window_extent()
    if not (frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 <= frame.y1):
        return False
    if any(box.overlaps(other.get_window_extent()) for other in axis.texts if other is not text):
        return False
    for line in axis.lines:
        path = line.get_path().transformed(line.get_transform())
        if path.intersects_bbox(box, filled=False):
            return False
        if any(box.padded(4.0).contains(x, y) for x, y in path.vertices):
            return False
    return True


def draw_laws(of: ByExperiment, path: Path) -> None:
    """How far below the true density's AUC each law leaves a method, by the number of columns."""
    laws = of["laws"]
    n_features = laws.n_features()
    columns = sorted(set(n_features.tolist()))
    place = np.array([columns.index(d) for d in n_features], dtype=np.float64)
    families = np.array([name.rsplit(" ", 1)[0] for name in laws.sets])
    best = laws.by_set(TRUE_DENSITY, "auc_blurred")
    figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
    for method, (color, shift) in _OF_LAWS.items():
        below = laws.by_set(method, "auc_blurred") - best
        for family, marker in _MARKERS.items():
            is_one = families == family
            axis.plot(place[is_one] + shift, below[is_one], marker, ms=7, color=color, alpha=0.85)
    axis.axhline(0.0, color=_GREY, lw=1)
    axis.set_xticks(range(len(columns)), [str(d) for d in columns])
    axis.set(xlabel="columns", ylabel="AUC on blurred anomalies, less the true density's")
    methods = [
        Line2D([], [], color=c, marker="o", ls="", label=m) for m, (c, _) in _OF_LAWS.items()
    ]
    laws_told = [
        Line2D([], [], color=_GREY, marker=marker, ls="", label=family)
        for family, marker in _MARKERS.items()
    ]
    _add_legend(axis, [*methods, *laws_told], n_columns=2)
    _tidy(axis)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _add_legend(axis: Axes, handles: Sequence[Line2D], n_columns: int) -> None:
    """Below the axes, where it covers nothing."""
    axis.legend(
        handles=handles,
        ncols=n_columns,
        loc="upper left",
        bbox_to_anchor=(0.0, -0.13),
        frameon=False,
    )


def _tidy(axis: Axes) -> None:
    axis.grid(alpha=0.25, lw=0.4)
    axis.spines[["top", "right"]].set_visible(False)
