"""ROC curves, mean over the runs: Fig. 3 and a panel of Fig. 2."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankad.reproduce import methods
from rankad.reproduce.figures.style import LOOKS, label_of, new_figure, styled, titled
from rankad.reproduce.markdown import mean_and_deviation
from rankad.reproduce.measure import ROC_RATES
from rankad.reproduce.protocol import RAW
from rankad.reproduce.results import Results, mean_roc, of_runs

#: Points of the curve between two markers; the first marker is shifted for each method.
_MARKED = 25


def draw_roc(ax: Axes, results: Results, name: str, columns: str) -> None:
    """Draw one curve for each method, with its AUC and a band of two standard errors."""
    for i, method in enumerate(results.drawn):
        runs = results.runs(method, name, columns)
        look, power = LOOKS[method], mean_roc(runs)
        is_default = method == methods.DEFAULT
        aucs = mean_and_deviation(of_runs(runs, "auc"))
        ax.plot(
            ROC_RATES,
            power,
            **look.line(
                label=f"{_NAMES.get(method, method)}: {aucs}",
                # The default is the widest line, and lies below the others so that it hides none.
                linewidth=3.6 if is_default else 1.6,
                markersize=7.0 if is_default else 5.0,
                markevery=(4 * i, _MARKED),
                zorder=2.0 if is_default else 2.1,
            ),
        )
        curves = np.array([run.roc for run in runs if run.roc is not None])
        error = 2.0 * curves.std(axis=0, ddof=min(1, len(curves) - 1)) / np.sqrt(len(curves))
        low, high = np.clip([power - error, power + error], 0.0, 1.0)
        ax.fill_between(ROC_RATES, low, high, color=look.color, alpha=0.18, linewidth=0.0)
    ax.set(xlim=(-0.01, 1.0), ylim=(0.0, 1.01))
    ax.set(xlabel="False-alarm rate", ylabel="Anomalies caught")
    ax.legend(
        loc="lower right",
        title="AUC ± standard deviation",
        alignment="left",
        fontsize=9.0,
        title_fontsize=9.0,
        handlelength=3.2,
    )


#: Shorter names for legends.
_NAMES = {
    methods.DEFAULT: label_of(methods.DEFAULT),
    methods.PUBLISHED: "as published",
    methods.ANCHORED: "as published, anchored",
}


@styled
def fig_3(results: Results) -> Figure:
    """ROC on banknote and magic, on raw columns as in the paper and on z-scored ones."""
    figure, axes = new_figure(
        8.4, len(results.columns), len(results.sets), sharex=True, sharey=True
    )
    letters = iter("abcd")
    for row, columns in zip(axes, results.columns, strict=True):
        for ax, name in zip(row, results.sets, strict=True):
            draw_roc(ax, results, name, columns)
            kind = "raw columns" if columns == RAW else "z-scored"
            titled(ax, next(letters), f"{name}, {kind}")
            ax.label_outer()
    figure.suptitle(f"ROC, mean of {results.n_runs} runs ± 2 standard errors", fontsize=12)
    return figure
