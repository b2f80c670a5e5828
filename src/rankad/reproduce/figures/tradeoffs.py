"""Two figures that the paper does not have: false-alarm rates, and AUC against test time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from rankad.plots._style import BLACK, BLUE, RED
from rankad.reproduce import methods
from rankad.reproduce.figures.style import LOOKS, label_of, new_figure, styled, titled
from rankad.reproduce.protocol import STANDARD
from rankad.reproduce.records import ALPHAS, Record
from rankad.reproduce.results import Results, false_alarm_rates, of_runs

#: Lower rates, such as 0, are drawn at this rate, because the scale is logarithmic.
MIN_RATE = 0.002

#: Areas of markers, so that all look equally large.
_MARKER_AREAS = {"o": 60, "X": 62, "s": 48, "^": 58, "v": 58, "<": 58, ">": 58, "D": 40, "P": 66}


def _shown(results: Results) -> list[str]:
    return [name for name in LOOKS if name in results.methods]


@styled
def false_alarms(results: Results) -> Figure:
    """False-alarm rates, z-scored: a line for each method, a panel for each alpha."""
    shown = _shown(results)
    figure, axes = new_figure(1.6 + 0.36 * len(shown), 1, len(ALPHAS), sharey=True)
    for level, (ax, alpha) in enumerate(zip(axes[0], ALPHAS, strict=True)):
        ax.axvline(alpha, color=BLACK, linewidth=1.2, linestyle="--")
        for place, method in enumerate(shown):
            _draw_rates(ax, results, method, level, place)
        ax.set(xscale="log", xlim=(0.9 * MIN_RATE, 1.0), title=f"alpha = {alpha:g}")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0,)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
        ax.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(range(len(shown)), [label_of(method) for method in shown])
    axes[0, 0].invert_yaxis()
    for label, method in zip(axes[0, 0].get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if method == methods.DEFAULT else "normal")
    figure.supxlabel("False-alarm rate on fresh nominal rows", fontsize=11)
    _add_key(figure)
    return figure


def _draw_rates(ax: Axes, results: Results, method: str, level: int, place: int) -> None:
    """Draw the rates of a method at one alpha: a dot for each set, and the mean with its error."""
    color = _color(results.runs(method, results.sets[0], STANDARD))
    rates = np.array(
        [false_alarm_rates(results.runs(method, name, STANDARD))[level] for name in results.sets]
    )
    shown = np.maximum(rates, MIN_RATE)
    ax.plot(shown, np.full(len(shown), place), "o", color=color, alpha=0.4, markersize=5)
    mean = rates.mean()
    error = 2.0 * rates.std(ddof=min(1, len(rates) - 1)) / np.sqrt(len(rates))
    low, high = np.maximum([mean - error, mean + error], MIN_RATE)
    ax.plot([low, high], [place, place], "-", color=color, linewidth=2.0)
    marker = "D" if color == BLUE else "|"
    ax.plot(
        [max(mean, MIN_RATE)],
        [place],
        marker,
        color=color,
        markersize=8 if marker == "D" else 15,
        markeredgewidth=2.2 if marker == "|" else 0.0,
        label=method,
    )


def _color(runs: list[Record]) -> str:
    """Blue if the false-alarm rate is guaranteed, else red."""
    return BLUE if runs[0].guarantee == "exact" else RED


def _add_key(figure: Figure) -> None:
    mean: dict[str, Any] = {"linestyle": "-", "linewidth": 2.0}
    figure.legend(
        handles=[
            Line2D([], [], color=BLUE, marker="D", label="held-out scores: guaranteed", **mean),
            Line2D(
                *([], []),
                color=RED,
                marker="|",
                markersize=13,
                markeredgewidth=2.2,
                label="training ranks: no guarantee",
                **mean,
            ),
            Line2D([], [], color="0.4", marker="o", alpha=0.5, linestyle="", label="one set"),
            Line2D([], [], color=BLACK, linestyle="--", label="alpha"),
        ],
        loc="outside upper center",
        ncols=4,
        title="Mean over the sets, ± 2 standard errors",
    )


@styled
def auc_and_time(results: Results) -> Figure:
    """AUC against the time to test a row, for each method and set, z-scored."""
    n_columns = 4
    n_rows = -(-len(results.sets) // n_columns)
    figure, axes = new_figure(2.6 * n_rows + 1.3, n_rows, n_columns, sharex=True)
    for letter, ax, name in zip("abcdefgh", axes.flat, results.sets, strict=False):
        for method in _shown(results):
            if (
                method != methods.TRAINING_RANKS
            ):  # has the ranker of the default, and so its AUC and time
                _draw_tradeoff(ax, results, method, name)
        ax.set(xscale="log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0,)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.tick_params(labelsize=9.0)
        ax.margins(0.12)
        titled(ax, letter, name)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        [handle.lines[0] for handle in handles],
        [label_of(label) for label in labels],
        loc="outside upper center",
        ncols=4,
        title=f"Bars: ± 2 standard errors over {results.n_runs} runs",
    )
    figure.supxlabel("Microseconds to test a row, one thread", fontsize=11)
    figure.supylabel("AUC", fontsize=11)
    return figure


def _draw_tradeoff(ax: Axes, results: Results, method: str, name: str) -> None:
    runs, look = results.runs(method, name, STANDARD), LOOKS[method]
    n_tested = runs[0].measures["n_nominal"] + runs[0].measures["n_anomalies"]
    aucs = of_runs(runs, "auc")
    is_default = method == methods.DEFAULT
    ax.errorbar(
        [1e6 * results.median_seconds(method, name, STANDARD) / n_tested],
        [aucs.mean()],
        yerr=[2.0 * aucs.std(ddof=min(1, len(aucs) - 1)) / np.sqrt(len(aucs))],
        **look.line(linestyle="none"),
        markersize=_MARKER_AREAS.get(look.marker, 60) ** 0.5,
        markeredgecolor=BLACK if is_default else "white",
        markeredgewidth=1.3 if is_default else 0.4,
        elinewidth=1.2,
        capsize=2.0,
        label=method,
        zorder=3.0 if is_default else 2.0,
    )
