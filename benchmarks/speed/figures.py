"""Pictures: scoring time against batch, centers and columns, and fit time against rows.

The measured numbers are kept beside the picture, in speed_growth.json. So the picture can be
redrawn without measuring.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import machine
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from peers import nominal_rows, scorers
from scoring import N_CENTERS, detector, random_expansion
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM
from threadpoolctl import threadpool_limits
from timing import Timings, timed

from rankad import RankAD
from rankad.plots._style import (
    BLACK,
    DEFAULT,
    ECOD,
    FOREST,
    LOCAL_OUTLIER,
    NEIGHBORS,
    ONE_CLASS,
    PICTURE,
    SKY,
    Look,
    save_png,
)

#: The same look for the same detector in every picture. Two kinds of methods are measured but not
#: drawn: other neighbor searches, which lie near LOF, and Nystroem, near the one-class SVM.
_LOOKS: Mapping[str, Look] = {
    "RankAD": DEFAULT,
    "RankAD, one row at a time": Look(BLACK, ".", ":"),
    "kernel sum alone": Look(SKY, "^"),
    "kernel sum alone, float32": Look(SKY, "1", "--"),
    "OneClassSVM": ONE_CLASS,
    "IsolationForest": FOREST,
    "LOF": LOCAL_OUTLIER,
    "PyOD ECOD": ECOD,
    "mean k-NN, brute force": NEIGHBORS,
}
#: The file of the measured numbers.
NUMBERS = "speed_growth.json"

_OURS = tuple(_LOOKS)[:4]

#: By detector and size: the median, the smallest and the largest of the repeats.
Curves = dict[str, dict[int, tuple[float, float, float]]]


def draw_all(folder: Path, repeats: int) -> None:
    """Measure and draw the four pictures."""
    with threadpool_limits(1):
        measured = {
            "batch": against_batch(repeats),
            "centers": against_centers(repeats),
            "dimension": against_dimension(repeats),
            "fits": fits_against_rows(repeats),
        }
    on_file = {"processor": machine.description()["processor"], "curves": measured}
    (folder / NUMBERS).write_text(json.dumps(on_file, indent=1) + "\n")
    draw(folder)


def draw(folder: Path) -> None:
    """Draw the measured numbers."""
    on_file = json.loads((folder / NUMBERS).read_text())
    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 8.6), layout="constrained")
    axes = figure.subplots(2, 2)
    panels = {
        "batch": (f"(a) Batch: 10 columns, {N_CENTERS} centers", "Rows in the batch"),
        "centers": ("(b) Centers: 10 columns", "Centers or support vectors"),
        "dimension": (f"(c) Columns: {N_CENTERS} centers", "Columns"),
        "fits": ("(d) Fitting: 10 columns", "Rows to train on"),
    }
    for axis, (name, (title, x_label)) in zip(axes.flat, panels.items(), strict=True):
        _draw(axis, on_file["curves"][name])
        axis.set(xlabel=x_label, ylabel="Microseconds a row")
        axis.set_title(title, loc="left")
    axes[1, 1].set_ylabel("Seconds")
    handles = {label: line for axis in axes.flat for line, label in _legend_of(axis)}
    figure.legend(
        [handles[name] for name in _LOOKS],
        [f"{name} (default)" if name == "RankAD" else name for name in _LOOKS],
        loc="outside lower center",
        ncols=3,
        handlelength=3.2,
        title=f"One thread, {on_file['processor']}. Bars: from the fastest to the slowest repeat",
    )
    save_png(figure, folder / "speed_growth.png")


def _legend_of(axis: Axes) -> Iterator[tuple[object, str]]:
    return zip(*axis.get_legend_handles_labels(), strict=True)


def against_batch(repeats: int) -> Curves:
    """Microseconds per row by the size of the batch."""
    ours = detector()
    scorer = ours.scorer_
    functions = {"RankAD": ours.score_samples, "RankAD, one row at a time": _row_by_row(scorer)}
    peers = scorers(nominal_rows(2_000, 10), N_CENTERS, n_jobs=1)
    return _per_point(
        dict.fromkeys((1, 10, 100, 1000, 10000), functions | peers),
        lambda n: nominal_rows(n, 10, seed=2)[:n] if n > 1 else nominal_rows(2, 10, seed=2)[:1],
        repeats,
    )


def against_centers(repeats: int) -> Curves:
    """Microseconds per row by the number of centers. Our curves are plain kernel sums."""
    rows = nominal_rows(4_000, 10)
    functions: dict[int, dict[str, Callable[..., object]]] = {}
    for n in (25, 50, 100, 200, 400, 800, 1_600):
        functions[n] = {
            "kernel sum alone": random_expansion(n, 10),
            "kernel sum alone, float32": random_expansion(n, 10, "float32"),
        }
    for nu in (0.03, 0.06, 0.12, 0.25, 0.4):  # a lower bound of the share of support vectors
        svm = OneClassSVM(nu=nu, gamma=0.03).fit(rows)
        functions.setdefault(len(svm.support_), {})["OneClassSVM"] = svm.decision_function
    return _per_point(functions, lambda _: nominal_rows(20_000, 10, seed=2), repeats)


def against_dimension(repeats: int) -> Curves:
    """Microseconds per row by the number of columns. Our curves are plain kernel sums."""
    functions: dict[int, dict[str, Callable[..., object]]] = {}
    for d in (2, 5, 10, 20, 50, 100):
        peers = scorers(nominal_rows(2_000, d), N_CENTERS, n_jobs=1)
        functions[d] = {
            "kernel sum alone": random_expansion(N_CENTERS, d),
            "kernel sum alone, float32": random_expansion(N_CENTERS, d, "float32"),
            **{name: peers[name] for name in _FAST_ENOUGH},
        }
    return _per_point(functions, lambda d: nominal_rows(20_000, d, seed=2), repeats)


_FAST_ENOUGH = (
    *("OneClassSVM", "SGDOneClassSVM + Nystroem", "IsolationForest", "PyOD ECOD"),
    "mean k-NN, brute force",
)


def fits_against_rows(repeats: int) -> Curves:
    """Seconds to fit by the number of rows, calibration included where there is any."""
    curves: Curves = {}
    makers = {
        "RankAD": (lambda: RankAD(random_state=0), 300_000),
        "OneClassSVM": (lambda: OneClassSVM(nu=0.05, gamma=0.1), 30_000),
        "IsolationForest": (lambda: IsolationForest(n_estimators=100, random_state=0), 300_000),
        "LOF": (lambda: LocalOutlierFactor(novelty=True), 30_000),
    }
    for n in (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000):
        rows = nominal_rows(n, 10)
        functions = {
            name: lambda make=make, rows=rows: make().fit(rows)
            for name, (make, largest) in makers.items()
            if n <= largest
        }
        # Long fits run once: their noise is small compared with the slopes.
        timings = timed(functions, repeats if n <= 3_000 else 1)
        for name in functions:
            curves.setdefault(name, {})[n] = _median_and_range(timings, name)
    return curves


def _row_by_row(scorer: Callable[..., object]) -> Callable[[np.ndarray], object]:
    return lambda X: [scorer.score(row) for row in X]


def _per_point(
    functions: Mapping[int, Mapping[str, Callable[..., object]]],
    points_of: Callable[[int], np.ndarray],
    repeats: int,
) -> Curves:
    curves: Curves = {}
    for x, by_name in functions.items():
        points = points_of(x)
        calls = {name: partial(function, points) for name, function in by_name.items()}
        timings = timed(calls, repeats)
        for name in by_name:
            microseconds = 1e6 / len(points)
            curves.setdefault(name, {})[x] = _median_and_range(timings, name, microseconds)
    return curves


def _median_and_range(timings: Timings, name: str, unit: float = 1.0) -> tuple[float, float, float]:
    seconds = timings.seconds[name]
    found = timings.median(name), min(seconds), max(seconds)
    median, low, high = (float(f"{unit * value:.4g}") for value in found)
    return median, low, high


def _draw(axis: Axes, curves: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> None:
    for name in (name for name in _LOOKS if name in curves):
        x = [int(size) for size in curves[name]]
        order = np.argsort(x)
        median, low, high = np.array(list(curves[name].values()))[order].T
        is_ours = name in _OURS
        axis.errorbar(
            np.array(x)[order],
            median,
            yerr=[median - low, high - median],
            **_LOOKS[name].line(linewidth=2.6 if name == "RankAD" else 1.6),
            markersize=8 if is_ours else 6,
            elinewidth=1.0,
            zorder=2.3 if is_ours else 2.0,
            label=name,
        )
    axis.set(xscale="log", yscale="log")
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
