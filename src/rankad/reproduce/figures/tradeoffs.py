"""Two figures of our own: false alarms asked and realised, and accuracy for test time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from rankad.reproduce import methods
from rankad.reproduce.figures.style import COLORS, MARKERS, new_figure, styled, titled
from rankad.reproduce.protocol import STANDARD
from rankad.reproduce.records import LEVELS
from rankad.reproduce.results import Results, false_alarm_rates, of_runs

#: Lower rates, 0 among them, are drawn here: the scale is logarithmic.
_LEAST_RATE = 0.002


def _shown(results: Results) -> list[str]:
    return [name for name in COLORS if name in results.methods]


@styled
def false_alarms(results: Results) -> Figure:
    """Asked against realised false alarms of each method, z-scored: sets as dots, their mean."""
    shown = [*_shown(results), methods.TRAINING_RANKS]
    n_columns = 4
    n_rows = -(-len(shown) // n_columns)
    figure, axes = new_figure(10.0, 2.6 * n_rows, n_rows, n_columns)
    for ax, method in zip(axes.flat, shown, strict=False):
        _draw_rates(ax, results, method)
    for ax in list(axes.flat)[len(shown) :]:
        ax.remove()
    figure.supxlabel("false-alarm rate asked", fontsize=9)
    figure.supylabel("realised on fresh nominal rows", fontsize=9)
    return figure


def _draw_rates(ax: Axes, results: Results, method: str) -> None:
    color = COLORS.get(method, COLORS[methods.PUBLISHED])
    ax.plot([0.005, 0.2], [0.005, 0.2], color="0.4", linewidth=1.0, linestyle="--")
    for name in results.sets:
        rates = false_alarm_rates(results.runs(method, name, STANDARD))
        ax.plot(LEVELS, np.maximum(rates, _LEAST_RATE), "o", color=color, alpha=0.35, markersize=4)
    means = results.mean_false_alarms(method, STANDARD)
    means = np.maximum(means, _LEAST_RATE)
    ax.plot(LEVELS, means, "_-", color=color, markersize=11, linewidth=1.6)
    guarantee = results.runs(method, results.sets[0], STANDARD)[0].guarantee
    ax.set_title(f"{method}\n{_promise(guarantee)}", fontsize=9, loc="left")
    ax.set(xscale="log", yscale="log", xlim=(0.006, 0.17), ylim=(0.9 * _LEAST_RATE, 0.6))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator(LEVELS))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda rate, _: f"{rate:g}")
        axis.set_minor_formatter(NullFormatter())


def _promise(guarantee: str) -> str:
    return {"exact": "held-out: guaranteed", "none": "training ranks: no guarantee"}.get(
        guarantee, guarantee
    )


@styled
def auc_and_time(results: Results) -> Figure:
    """AUC against the time to test a point, for each method and set, z-scored."""
    n_columns = 4
    n_rows = -(-len(results.sets) // n_columns)
    figure, axes = new_figure(10.0, 2.9 * n_rows + 0.5, n_rows, n_columns)
    for letter, ax, name in zip("abcdefgh", axes.flat, results.sets, strict=False):
        for method in _shown(results):
            runs = results.runs(method, name, STANDARD)
            n_rows_tested = runs[0].measures["n_nominal"] + runs[0].measures["n_anomalies"]
            microseconds = 1e6 * results.median_seconds(method, name, STANDARD) / n_rows_tested
            auc = float(of_runs(runs, "auc").mean())
            ax.plot(
                microseconds,
                auc,
                MARKERS[method],
                color=COLORS[method],
                markersize=9 if method == methods.DEFAULT else 6,
                markeredgewidth=0.0,
                label=method,
                zorder=3 if method == methods.DEFAULT else 2,
                clip_on=False,
            )
        ax.set(xscale="log")
        titled(ax, letter, name)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    for ax in axes[-1]:
        ax.set_xlabel("microseconds to test a point")
    for ax in axes[:, 0]:
        ax.set_ylabel("AUC")
    return figure
