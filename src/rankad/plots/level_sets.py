"""Where in the plane rows alarm, at which level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._base import BaseDetector
from rankad._typing import BoolArray, FloatArray
from rankad._validation import feature_names, scoring_rows
from rankad._warnings import warn_user
from rankad.calibration.control import advice_for_alpha
from rankad.exceptions import CalibrationWarning
from rankad.plots._display import Display, ink, legend_above, require_matplotlib
from rankad.plots._inputs import (
    calibrated_detector,
    sorted_levels,
    two_columns,
)
from rankad.plots._style import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False, kw_only=True)
class LevelSetDisplay(Display):
    """Contours at which the p-value passes the levels, over the rows and those that alarm.

    Make a display with `from_estimator`.

    Parameters
    ----------
    x, y : array of shape (grid,)
        Values of the two features, at which scores were taken.
    scores : array of shape (grid, grid)
        Scores; ``scores[i, j]`` is that of ``x[j]`` and ``y[i]``.
    thresholds : dict of float to float
        By level, the score below which ``p <= alpha``, ascending.
    points : array of shape (n_samples, 2)
        The rows, in the two features.
    is_alarm : array of bool, shape (n_samples,)
        Which of them alarm at the detector's own level.
    alpha : float
        That level.
    feature_names : tuple of two str
    n_held : int
        Other features, held at their medians.
    name : str or None
        Title of the legend.

    Attributes
    ----------
    contours_, regions_ : QuadContourSet or None
        Level sets of the score, and what lies between them; None where all are off the grid.
    points_, alarms_ : Line2D
        Rows that do not alarm, and rows that do.
    ax_, figure_
        Axes and figure.

    Examples
    --------
    >>> from rankad import RankAD, datasets
    >>> X = datasets.two_gaussians(1000, random_state=0).X
    >>> detector = RankAD(random_state=0).fit(X[:800])
    >>> display = LevelSetDisplay.from_estimator(detector, X[800:], grid=50)
    >>> list(display.thresholds)
    [0.01, 0.05, 0.1, 0.25, 0.5]
    """

    x: FloatArray
    y: FloatArray
    scores: FloatArray
    thresholds: dict[float, float]
    points: FloatArray
    is_alarm: BoolArray
    alpha: float
    feature_names: tuple[str, str]
    n_held: int = 0
    name: str | None = None
    contours_: QuadContourSet | None = field(init=False)
    regions_: QuadContourSet | None = field(init=False)
    points_: Line2D = field(init=False)
    alarms_: Line2D = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        X: ArrayLike,
        *,
        alphas: Sequence[float] = (0.01, 0.05, 0.1, 0.25, 0.5),
        features: Sequence[int | str] = (0, 1),
        grid: int = 200,
        margin: float = 0.15,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the level sets of a detector over rows.

        Parameters
        ----------
        detector : fitted detector
        X : array-like of shape (n_samples, n_features)
            Rows to draw. Where there are more than two features, the others are held at their
            medians for the contours; whether a row alarms, it is asked of the whole row.
        alphas : sequence of float, default=(0.01, 0.05, 0.1, 0.25, 0.5)
            Levels; those that the reference cannot resolve are left out, with a warning.
        features : pair of int or str, default=(0, 1)
            The two features to draw, by place or by name.
        grid : int, default=200
            Points a side at which scores are taken.
        margin : float, default=0.15
            How far beyond the rows to draw, as a share of their range.
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Title of the legend.
        **kwargs
            For the contours, as ``Axes.contour`` takes them.

        Returns
        -------
        display : LevelSetDisplay
        """
        require_matplotlib(cls.__name__)
        detector = calibrated_detector(detector, cls.__name__)
        if not isinstance(grid, Integral) or grid < 2:
            raise ValueError(f"grid must be an integer of at least 2; got {grid!r}.")
        names = feature_names(detector)
        columns = two_columns(features, names)
        rows = scoring_rows(detector, X)
        x, y = (_axis(rows[:, column], int(grid), margin) for column in columns)
        on_grid = np.tile(np.median(rows, axis=0), (x.size * y.size, 1))
        on_grid[:, columns] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        display = cls(
            x=x,
            y=y,
            # As an array, without the names of columns that a frame would be checked for.
            scores=detector._scores(on_grid).reshape(y.size, x.size),
            thresholds=_thresholds(detector, sorted_levels(alphas)),
            points=rows[:, columns],
            is_alarm=detector.predict(X) == -1,
            alpha=detector.alpha,
            feature_names=(names[columns[0]], names[columns[1]]),
            n_held=rows.shape[1] - 2,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw rows and contours.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        name : str, optional
            Title of the legend.
        **kwargs
            For the contours, as ``Axes.contour`` takes them.

        Returns
        -------
        display : LevelSetDisplay
        """
        ax = self._take_axes(ax)
        self._draw_points(ax)
        self._draw_contours(ax, kwargs)
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        held = _held(self.n_held)
        legend_above(ax, "\n".join(filter(None, [name or self.name, held])))
        return self

    def _draw_points(self, ax: Axes) -> None:
        n_alarms = int(self.is_alarm.sum())
        shared: dict[str, Any] = {"linestyle": "none", "rasterized": True}
        (self.points_,) = ax.plot(
            *self.points[~self.is_alarm].T,
            **shared,
            marker=".",
            markersize=3.0,
            color=ink(),
            alpha=0.5,
            zorder=2.1,
            label=f"{len(self.points) - n_alarms:,} rows",
        )
        (self.alarms_,) = ax.plot(
            *self.points[self.is_alarm].T,
            **shared,
            marker="x",
            markersize=5.0,
            color=RED,
            zorder=2.2,
            label=f"{n_alarms:,} alarms (p ≤ {self.alpha:g})",
        )

    def _draw_contours(self, ax: Axes, options: dict[str, Any]) -> None:
        self.contours_ = self.regions_ = None
        scores = _finite(self.scores)
        low, high = float(scores.min()), float(scores.max())
        labels = {level: label for level, label in self._labels().items() if low < level < high}
        if not labels:
            return
        lines: dict[str, Any] = {"linestyles": "solid", "linewidths": 0.8, "zorder": 2.0}
        if "cmap" not in options:
            lines["colors"] = BLUE
        self.contours_ = ax.contour(self.x, self.y, scores, [*labels], **(lines | options))
        shades = [(BLUE, opacity) for opacity in np.linspace(0.08, 0.45, len(labels))]
        levels = [*labels, high]
        self.regions_ = ax.contourf(self.x, self.y, scores, levels, colors=shades, zorder=1.0)
        _label_once(ax, self.contours_, labels)

    def _labels(self) -> dict[float, str]:
        """Levels by their thresholds: tied scores may give several levels the same."""
        labels: dict[float, str] = {}
        for alpha, threshold in self.thresholds.items():
            shared = f"{labels[threshold]}, " if threshold in labels else ""
            labels[threshold] = f"{shared}{alpha:g}"
        return labels


def _label_once(ax: Axes, contours: QuadContourSet, labels: dict[float, str]) -> None:
    """Write each level on the longest line of its contour, in directions that fan out."""
    from matplotlib.patheffects import withStroke

    halo = withStroke(linewidth=3.0, foreground=ax.get_facecolor())
    directions = np.linspace(0.2, 1.8, len(labels)) * np.pi
    at = []
    for lines, direction in zip(contours.allsegs, directions, strict=True):
        line = max(lines, key=len)
        spread = np.ptp(line, axis=0)
        toward = np.array([np.cos(direction), np.sin(direction)])
        at.append(tuple(line[(line @ (toward / np.where(spread > 0.0, spread, 1.0))).argmax()]))
    # All levels in one call: matplotlib 3.8 and 3.9 cannot place labels of some levels by hand.
    for text in ax.clabel(contours, fmt=labels, fontsize="small", colors=ink(), manual=at):
        text.set_path_effects([halo])


def _finite(scores: FloatArray) -> FloatArray:
    """Scores that lines can be drawn through: infinite ones, as of densities, cut off."""
    is_finite = np.isfinite(scores)
    if is_finite.all() or not is_finite.any():
        return scores
    return np.clip(scores, scores[is_finite].min(), scores[is_finite].max())


def _thresholds(detector: BaseDetector, alphas: FloatArray) -> dict[float, float]:
    """Score below which each level alarms, of the levels that the reference resolves."""
    reference = detector.reference_
    thresholds = {float(alpha): reference.threshold(float(alpha)) for alpha in alphas}
    coarse = [alpha for alpha, threshold in thresholds.items() if threshold == -np.inf]
    if coarse:
        warn_user(
            f"No contour at {', '.join(f'{alpha:g}' for alpha in coarse)}: {reference.size} "
            f"reference points cannot resolve it. {advice_for_alpha(reference, coarse[0])}",
            CalibrationWarning,
        )
    return {alpha: threshold for alpha, threshold in thresholds.items() if alpha not in coarse}


def _axis(values: FloatArray, n: int, margin: float) -> FloatArray:
    """Evenly spaced values, somewhat beyond those given.

    >>> _axis(np.array([0.0, 10.0]), 3, margin=0.1)
    array([-1.,  5., 11.])
    """
    low, high = values.min(), values.max()
    extent = margin * (high - low) if high > low else 1.0
    return np.linspace(low - extent, high + extent, n)


def _held(n: int) -> str | None:
    """What is said of the features that are not drawn."""
    if n == 0:
        return None
    return "1 other feature at its median" if n == 1 else f"{n} other features at their medians"
