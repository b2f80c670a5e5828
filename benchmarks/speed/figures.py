"""Pictures: scoring time against batch, centers and dimension, fit time against rows."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from peers import nominal_rows, scorers
from scoring import N_CENTERS, detector, random_expansion
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM
from threadpoolctl import threadpool_limits
from timing import timed

from rankad import RankAD

#: The same color for the same detector in every picture; ours stand out.
_STYLES: Mapping[str, dict[str, object]] = {
    "RankAD": {"color": "#c1121f", "lw": 2.5, "zorder": 5},
    "kernel sum alone": {"color": "#f4736b", "lw": 2.5, "zorder": 4},
    "kernel sum alone, float32": {"color": "#f4736b", "lw": 2.5, "ls": "--", "zorder": 4},
    "RankAD, one row at a time": {"color": "#c1121f", "lw": 1.5, "ls": ":", "zorder": 5},
    "OneClassSVM": {"color": "#1d3557"},
    "SGDOneClassSVM + Nystroem": {"color": "#457b9d"},
    "IsolationForest": {"color": "#2a9d8f"},
    "LOF": {"color": "#8d99ae"},
    "PyOD KNN": {"color": "#b08968"},
    "PyOD ECOD": {"color": "#9d4edd"},
    "mean k-NN, brute force": {"color": "#e9a03b"},
    "mean k-NN, k-d tree": {"color": "#6b705c"},
}

Curves = Mapping[str, Mapping[int, float]]


def draw_all(folder: Path, repeats: int) -> None:
    """Measure and draw the four pictures."""
    figure, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    with threadpool_limits(1):
        _draw(axes[0, 0], against_batch(repeats), "points in the batch", "microseconds per point")
        _draw(axes[0, 1], against_centers(repeats), "centers or support vectors", "")
        _draw(axes[1, 0], against_dimension(repeats), "columns", "microseconds per point")
        _draw(axes[1, 1], fits_against_rows(repeats), "rows to train on", "seconds to fit")
    axes[0, 0].set_title(f"Scoring: batch size (d = 10, {N_CENTERS} centers)")
    axes[0, 1].set_title("Scoring: centers (20,000 points, d = 10)")
    axes[1, 0].set_title(f"Scoring: dimension (20,000 points, {N_CENTERS} centers)")
    axes[1, 1].set_title("Fitting (d = 10)")
    handles = {}
    for axis in axes.flat:
        for line in axis.get_lines():
            handles[line.get_label()] = line
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    figure.savefig(folder / "speed.png", dpi=130)
    plt.close(figure)


def against_batch(repeats: int) -> Curves:
    """Microseconds per point for ever larger batches."""
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
    """Microseconds per point for ever more centers: ours are sums without a detector's checks."""
    rows = nominal_rows(4_000, 10)
    functions: dict[int, dict[str, Callable[..., object]]] = {}
    for n in (25, 50, 100, 200, 400, 800, 1_600):
        functions[n] = {
            "kernel sum alone": random_expansion(n, 10),
            "kernel sum alone, float32": random_expansion(n, 10, "float32"),
        }
    for nu in (0.03, 0.06, 0.12, 0.25, 0.4):  # the least share of support vectors
        svm = OneClassSVM(nu=nu, gamma=0.03).fit(rows)
        functions.setdefault(len(svm.support_), {})["OneClassSVM"] = svm.decision_function
    return _per_point(functions, lambda _: nominal_rows(20_000, 10, seed=2), repeats)


def against_dimension(repeats: int) -> Curves:
    """Microseconds per point for ever more columns: ours are sums without a detector's checks."""
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
    """Seconds to fit ever more rows, calibration included where there is any."""
    curves: dict[str, dict[int, float]] = {}
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
        # Long fits once: their noise is small beside the slopes.
        timings = timed(functions, repeats if n <= 3_000 else 1)
        for name in functions:
            curves.setdefault(name, {})[n] = timings.median(name)
    return curves


def _row_by_row(scorer: Callable[..., object]) -> Callable[[np.ndarray], object]:
    return lambda X: [scorer.score(row) for row in X]


def _per_point(
    functions: Mapping[int, Mapping[str, Callable[..., object]]],
    points_of: Callable[[int], np.ndarray],
    repeats: int,
) -> Curves:
    curves: dict[str, dict[int, float]] = {}
    for x, by_name in functions.items():
        points = points_of(x)
        calls = {name: partial(function, points) for name, function in by_name.items()}
        timings = timed(calls, repeats)
        for name in by_name:
            curves.setdefault(name, {})[x] = timings.median(name) / len(points) * 1e6
    return curves


def _draw(axis: plt.Axes, curves: Curves, x_label: str, y_label: str) -> None:
    for name, points in curves.items():
        x = sorted(points)
        y = [points[value] for value in x]
        axis.loglog(x, y, marker="o", ms=3, label=name, **_STYLES[name])
    axis.set(xlabel=x_label, ylabel=y_label)
    axis.grid(alpha=0.25, which="both", lw=0.4)
    axis.spines[["top", "right"]].set_visible(False)
