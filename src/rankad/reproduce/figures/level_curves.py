"""Figs. 1 and 2: level curves of the learned scores, over those of the true density."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from sklearn.svm import OneClassSVM

from rankad._typing import FloatArray
from rankad.datasets import Law, two_gaussians
from rankad.detector import RankAD
from rankad.plots._style import BLACK, BLUE
from rankad.reproduce import methods
from rankad.reproduce.figures.roc import draw_roc
from rankad.reproduce.figures.style import label_of, new_figure, styled, titled
from rankad.reproduce.protocol import FIG_2_SET, FIG_2_SIZES, RAW, load, split
from rankad.reproduce.results import Results

#: Shares of the nominal law in the level sets.
MASSES: Final = (0.25, 0.5, 0.75, 0.9, 0.97)

#: Number of fresh nominal points that set the thresholds of the level sets.
_N_FRESH = 20_000

#: Grid points on each side of the window.
_N_GRID = 120

_SEED = 0

#: Colors of the learned sets, from the largest to the smallest, and of the true ones.
_SHADES: Final = [to_rgba(BLUE, opacity) for opacity in (0.12, 0.28, 0.46, 0.68, 0.95)]
_TRUE: Final = BLACK


@dataclass(frozen=True)
class Window:
    """The part of the plane that is drawn."""

    x: tuple[float, float]
    y: tuple[float, float]


FIG_1_WINDOW: Final = Window((0.9, 7.1), (-4.0, 4.0))
FIG_2_WINDOW: Final = Window((-18.0, 18.0), (-12.0, 12.0))


@styled
def fig_1() -> Figure:
    """Level curves of the one-class SVM and of the ranker, at the paper's settings."""
    data = two_gaussians(1_000, random_state=_SEED)
    law = data.nominal_law
    assert law is not None
    nu, sigma, C, anchor = 0.03, 1.5, 1.0, (1.0, 1.0)
    one_class = OneClassSVM(nu=nu, gamma=sigma**-2).fit(data.X)
    ranker = RankAD.as_published(C=C, sigma=sigma, random_state=_SEED).fit(data.X)
    anchored = RankAD.as_published(anchor=anchor, C=C, sigma=sigma, random_state=_SEED).fit(data.X)
    default = RankAD(random_state=_SEED).fit(data.X)
    setting = rf"C = {C:g}, $\sigma$ = {sigma:g}"
    panels = (
        (f"One-class SVM:\n$\\nu$ = {nu:g}, $\\sigma$ = {sigma:g}", one_class.score_samples),
        (f"The paper's ranker:\n{setting}", ranker.score_samples),
        ("The same, anchored:\nanchor = (1, 1)", anchored.score_samples),
        ("RankAD (default):\nRankAD()", default.score_samples),
    )
    figure, axes = new_figure(4.3, 1, len(panels), sharey=True)
    for letter, ax, (title, score) in zip("abcd", axes[0], panels, strict=True):
        _draw_level_curves(ax, score, law, data.X, FIG_1_WINDOW)
        titled(ax, letter, title)
        ax.set_xlabel("$x_1$")
    axes[0, 0].set_ylabel("$x_2$")
    _add_key(figure)
    return figure


@styled
def fig_2(results: Results) -> Figure:
    """ROC with the Bayes detector, and level sets of the scores over those of the density."""
    rows = split(load(FIG_2_SET, _SEED, None), FIG_2_SIZES[FIG_2_SET], _SEED)  # the first run
    law = rows.law
    assert law is not None
    figure, axes = new_figure(7.2, 2, 2)
    draw_roc(axes[0, 0], results, FIG_2_SET, RAW)
    axes[0, 0].set_ylim(0.4, 1.005)
    titled(axes[0, 0], "a", f"ROC, mean of {results.n_runs} runs ± 2 standard errors")
    panels = (
        (methods.PUBLISHED, RankAD.as_published(random_state=_SEED)),
        (methods.ANCHORED, RankAD.as_published(anchor=(1.0, 1.0), random_state=_SEED)),
        (methods.DEFAULT, RankAD(scaler=None, random_state=_SEED)),
    )
    for letter, ax, (title, detector) in zip("bcd", axes.flat[1:], panels, strict=True):
        detector.fit(rows.train)
        _draw_level_curves(ax, detector.score_samples, law, rows.train, FIG_2_WINDOW)
        titled(ax, letter, label_of(title))
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
    _add_key(figure)
    return figure


def _draw_level_curves(
    ax: Axes,
    score: Callable[[FloatArray], FloatArray],
    law: Law,
    rows: FloatArray,
    window: Window,
) -> None:
    """Draw level sets with the same shares of the nominal law, learned (filled) and true."""
    fresh = law.sample(_N_FRESH, random_state=_SEED)
    x, y = np.linspace(*window.x, _N_GRID), np.linspace(*window.y, _N_GRID)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    learned, true = (
        function(grid).reshape(_N_GRID, _N_GRID) for function in (score, law.log_density)
    )
    levels = _thresholds(score(fresh), MASSES)
    ax.contourf(x, y, learned, [*levels, np.inf], colors=_SHADES, zorder=-1)
    ax.set_rasterization_zorder(0)  # the filled sets; before 3.11 they could not ask for it
    ax.plot(rows[:, 0], rows[:, 1], ".", color="0.35", markersize=1.2, rasterized=True)
    ax.contour(x, y, learned, levels, colors=[BLUE], linewidths=0.7)
    true_levels = _thresholds(law.log_density(fresh), MASSES)
    ax.contour(x, y, true, true_levels, colors=_TRUE, linestyles="--", linewidths=0.9)
    ax.set(aspect="equal", xlim=window.x, ylim=window.y)
    ax.grid(visible=False)


def _thresholds(scores: FloatArray, masses: Sequence[float]) -> list[float]:
    """Thresholds with these shares of the scores above them, in ascending order.

    >>> _thresholds(np.arange(101.0), (0.25, 0.75))
    [25.0, 75.0]
    """
    return [float(np.quantile(scores, 1.0 - mass)) for mass in sorted(masses, reverse=True)]


def _add_key(figure: Figure) -> None:
    """Add the legend of the shades and lines below all panels."""
    shades = [
        Patch(facecolor=shade, edgecolor=BLUE, label=f"{mass:.0%}")
        for mass, shade in zip(sorted(MASSES, reverse=True), _SHADES, strict=True)
    ]
    shares = ", ".join(f"{100 * mass:.0f}" for mass in sorted(MASSES, reverse=True))
    true = Line2D([], [], color=_TRUE, linestyle="--", label=f"true density: {shares}%")
    figure.legend(
        handles=[*shades, true],
        loc="outside lower center",
        ncols=len(shades) + 1,
        title="Sets with this share of the nominal law: learned (blue) and true (dashed)",
        columnspacing=1.2,
        handlelength=1.6,
    )
