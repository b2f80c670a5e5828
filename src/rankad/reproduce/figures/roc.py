"""ROC curves, mean over the runs: Fig. 3, and a part of Fig. 2."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankad.reproduce import methods, paper
from rankad.reproduce.figures.style import COLORS, new_figure, styled, titled
from rankad.reproduce.markdown import mean_and_deviation
from rankad.reproduce.measure import ROC_RATES
from rankad.reproduce.protocol import RAW
from rankad.reproduce.results import Results, mean_roc, of_runs


def draw_roc(
    ax: Axes, results: Results, name: str, columns: str, *, with_costs: bool = False
) -> None:
    """One curve for each method, with its AUC; with test time and centers where asked."""
    for method in results.drawn:
        runs = results.runs(method, name, columns)
        label = f"{method}: AUC {mean_and_deviation(of_runs(runs, 'auc'))}"
        if with_costs:
            milliseconds = 1e3 * results.median_seconds(method, name, columns)
            n_centers = np.median(of_runs(runs, "n_centers"))
            label += f"\n{milliseconds:.2g} ms, {n_centers:.0f} {_KEPT[method]}"
        is_bayes = method == methods.BAYES
        ax.plot(
            ROC_RATES,
            mean_roc(runs),
            color=COLORS[method],
            label=label,
            linestyle="--" if is_bayes else "-",
            linewidth=1.2 if is_bayes else 1.7,
        )
    ax.set(xlim=(-0.01, 1.0), ylim=(0.0, 1.01))
    ax.set(xlabel="false-alarm rate", ylabel="anomalies caught")
    ax.legend(loc="lower right")


#: What each method compares a point with.
_KEPT = {
    methods.DEFAULT: "centers",
    methods.PUBLISHED: "support vectors",
    methods.AK_LPE: "rows",
    methods.OC_SVM: "support vectors",
}


@styled
def fig_3(results: Results) -> Figure:
    """ROC on banknote and magic, raw as in the paper and z-scored."""
    figure, axes = new_figure(9.2, 8.6, len(results.columns), len(results.sets))
    letters = iter("abcd")
    for row, columns in zip(axes, results.columns, strict=True):
        for ax, name in zip(row, results.sets, strict=True):
            draw_roc(ax, results, name, columns, with_costs=True)
            run = results.runs(methods.DEFAULT, name, columns)[0]
            said = "raw columns" if columns == RAW else "z-scored"
            n_test = int(run.measures["n_nominal"] + run.measures["n_anomalies"])
            titled(ax, next(letters), f"{name}, {said}: {run.n_train:,} train, {n_test:,} test")
            if columns == RAW:
                ax.legend(loc="lower right", title=_quote(name), title_fontsize=7.5)
    return figure


def _quote(name: str) -> str:
    """What the paper's text says of the same."""
    published = paper.FIG_3[name]
    times = ", ".join(f"{method} {1e3 * s:g} ms" for method, s in published.seconds.items())
    return f"paper: {times}\n({published.n_support} support vectors)"
