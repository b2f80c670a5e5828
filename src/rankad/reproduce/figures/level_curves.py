"""Figs. 1 and 2: level curves of what was learned, over those of the true density."""

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
from rankad.reproduce import methods
from rankad.reproduce.figures.roc import draw_roc
from rankad.reproduce.figures.style import COLORS, new_figure, styled, titled
from rankad.reproduce.protocol import FIG_2_SET, FIG_2_SIZES, RAW, load, split
from rankad.reproduce.results import Results

#: Shares of the nominal law that the level sets hold.
MASSES: Final = (0.25, 0.5, 0.75, 0.9, 0.97)

#: Fresh nominal points that tell where a score's level sets hold these shares.
_N_FRESH = 20_000

#: Points a side of the grid on which level curves are traced.
_N_GRID = 240

_SEED = 0

_TRUE, _LEARNED = "0.15", COLORS[methods.DEFAULT]


@dataclass(frozen=True)
class Window:
    """The part of the plane that is drawn."""

    x: tuple[float, float]
    y: tuple[float, float]


FIG_1_WINDOW: Final = Window((0.9, 7.1), (-4.0, 4.0))
FIG_2_WINDOW: Final = Window((-18.0, 18.0), (-12.0, 12.0))


@styled
def fig_1() -> Figure:
    """Level curves of the one-class SVM against the ranker's, at the paper's settings."""
    data = two_gaussians(1_000, random_state=_SEED)
    law = data.nominal_law
    assert law is not None
    nu, sigma, C = 0.03, 1.5, 1.0
    one_class = OneClassSVM(nu=nu, gamma=sigma**-2).fit(data.X)
    ranker = RankAD.as_published(C=C, sigma=sigma, random_state=_SEED).fit(data.X)
    anchored = RankAD.as_published(anchor=1.0, C=C, sigma=sigma, random_state=_SEED).fit(data.X)
    default = RankAD(random_state=_SEED).fit(data.X)
    panels = (
        (f"one-class SVM,\n$\\nu$ = {nu:g}, $\\sigma$ = {sigma:g}", one_class.score_samples),
        (f"the paper's ranker,\nm = 3, C = {C:g}, $\\sigma$ = {sigma:g}", ranker.score_samples),
        ("the same, anchored\n(anchor = 1)", anchored.score_samples),
        ("RankAD,\ndefault", default.score_samples),
    )
    figure, axes = new_figure(10.4, 4.6, 1, len(panels))
    for letter, ax, (title, score) in zip("abcd", axes[0], panels, strict=True):
        _draw_level_curves(ax, score, law, data.X, FIG_1_WINDOW)
        titled(ax, letter, title)
    _add_key(figure)
    return figure


@styled
def fig_2(results: Results) -> Figure:
    """ROC beside the Bayes detector, and level sets of the ranks over the true density's."""
    rows = split(load(FIG_2_SET, _SEED, None), FIG_2_SIZES[FIG_2_SET], _SEED)  # the first run
    law = rows.law
    assert law is not None
    figure, axes = new_figure(10.0, 7.4, 2, 2)
    draw_roc(axes[0, 0], results, FIG_2_SET, RAW)
    axes[0, 0].set_ylim(0.4, 1.005)
    titled(axes[0, 0], "a", "ROC")
    panels = (
        (methods.PUBLISHED, RankAD.as_published(random_state=_SEED)),
        (methods.ANCHORED, RankAD.as_published(anchor=1.0, random_state=_SEED)),
        (methods.DEFAULT, RankAD(scaler=None, random_state=_SEED)),
    )
    for letter, ax, (title, detector) in zip("bcd", axes.flat[1:], panels, strict=True):
        detector.fit(rows.train)
        _draw_level_curves(ax, detector.score_samples, law, rows.train, FIG_2_WINDOW)
        titled(ax, letter, title)
    _add_key(figure)
    return figure


def _draw_level_curves(
    ax: Axes,
    score: Callable[[FloatArray], FloatArray],
    law: Law,
    rows: FloatArray,
    window: Window,
) -> None:
    """Level sets that hold the same shares of the nominal law, learned (filled) and true."""
    fresh = law.sample(_N_FRESH, random_state=_SEED)
    x, y = np.linspace(*window.x, _N_GRID), np.linspace(*window.y, _N_GRID)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    learned, true = (
        function(grid).reshape(_N_GRID, _N_GRID) for function in (score, law.log_density)
    )
    labels = _thresholds(score(fresh), MASSES)
    levels = list(labels)
    shades = [to_rgba(_LEARNED, opacity) for opacity in np.linspace(0.1, 0.6, len(levels))]
    ax.contourf(x, y, learned, [*levels, np.inf], colors=shades)
    ax.plot(rows[:, 0], rows[:, 1], ".", color="0.45", markersize=1.0, rasterized=True)
    curves = ax.contour(x, y, learned, levels, colors=[_LEARNED], linewidths=0.9)
    ax.clabel(curves, fmt=labels, fontsize=7, inline_spacing=2)
    true_levels = list(_thresholds(law.log_density(fresh), MASSES))
    ax.contour(x, y, true, true_levels, colors=_TRUE, linestyles="--", linewidths=0.8)
    ax.set(aspect="equal", xlim=window.x, ylim=window.y)
    ax.grid(visible=False)


def _thresholds(scores: FloatArray, masses: Sequence[float]) -> dict[float, str]:
    """Scores above which these shares of them lie, increasing and distinct, with the shares.

    >>> _thresholds(np.arange(101.0), (0.25, 0.75))
    {25.0: '75%', 75.0: '25%'}
    """
    shares = sorted(masses, reverse=True)
    return {float(np.quantile(scores, 1.0 - share)): f"{share:.0%}" for share in shares}


def _add_key(figure: Figure) -> None:
    shares = ", ".join(f"{mass:.0%}" for mass in MASSES)
    lines = [
        Line2D([], [], color=_TRUE, linestyle="--", label="true density"),
        Patch(facecolor=to_rgba(_LEARNED, 0.4), edgecolor=_LEARNED, label="learned"),
    ]
    figure.legend(
        handles=lines,
        loc="outside lower center",
        ncols=2,
        title=f"curves around {shares} of the nominal law",
    )
