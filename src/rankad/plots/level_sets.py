"""Where in the plane rows alarm, for several alphas."""

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
from rankad.plots._display import Display, legend_above, require_matplotlib, text_color
from rankad.plots._inputs import (
    ascending_alphas,
    calibrated_detector,
    column_pair,
)
from rankad.plots._style import BLUE, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False, kw_only=True)
class LevelSetDisplay(Display):
    """Contours where the p-value equals each alpha, over the rows and their alarms.

    Make a display with `from_estimator`.

    Parameters
    ----------
    x, y : array of shape (grid,)
        Values of the two features on the grid.
    scores : array of shape (grid, grid)
        Scores on the grid; ``scores[i, j]`` is the score at ``x[j]`` and ``y[i]``.
    thresholds : dict of float to float
        For each alpha, ascending, the score below which ``p <= alpha``.
    points : array of shape (n_samples, 2)
        The rows, in the two features.
    is_alarm : array of bool, shape (n_samples,)
        Which rows alarm at the detector's own alpha.
    alpha : float
        The detector's own alpha.
    feature_names : tuple of two str
        Names of the two features.
    n_held : int
        Number of other features, which are held at their medians.
    name : str or None
        Title of the legend.

    Attributes
    ----------
    contours_, regions_ : QuadContourSet or None
        Level sets of the score, and the regions between them. None if all are off the grid.
    points_, alarms_ : Line2D
        Rows that do not alarm, and rows that alarm.
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
            A detector of rankad.
        X : array-like of shape (n_samples, n_features)
            Rows to draw. For the contours, all but two features are held at their medians. Whether
            a row alarms depends on all its features.
        alphas : sequence of float, default=(0.01, 0.05, 0.1, 0.25, 0.5)
            Alphas of the contours. If the reference is too small for one, it is left out with a
            warning.
        features : pair of int or str, default=(0, 1)
            The two features to draw, by index or by name.
        grid : int, default=200
            Number of grid points on each side.
        margin : float, default=0.15
            How far beyond the rows to draw, as a share of their range.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Title of the legend.
        **kwargs
            Options of ``Axes.contour``.

        Returns
        -------
        display : LevelSetDisplay
        """
        require_matplotlib(cls.__name__)
        detector = calibrated_detector(detector, cls.__name__)
        if not isinstance(grid, Integral) or grid < 2:
            raise ValueError(f"grid must be an integer of at least 2; got {grid!r}.")
        names = feature_names(detector)
        columns = column_pair(features, names)
        rows = scoring_rows(detector, X)
        x, y = (_axis(rows[:, column], int(grid), margin) for column in columns)
        on_grid = np.tile(np.median(rows, axis=0), (x.size * y.size, 1))
        on_grid[:, columns] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        display = cls(
            x=x,
            y=y,
            # As an array without column names, because the columns of a frame would be checked.
            scores=detector._scores(on_grid).reshape(y.size, x.size),
            thresholds=_thresholds(detector, ascending_alphas(alphas)),
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
            Axes to draw on. By default a new figure.
        name : str, optional
            Title of the legend.
        **kwargs
            Options of ``Axes.contour``.

        Returns
        -------
        display : LevelSetDisplay
        """
        ax = self._take_axes(ax)
        self._draw_points(ax)
        self._draw_contours(ax, kwargs)
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        note = _note_on_held_features(self.n_held)
        legend_above(ax, "\n".join(filter(None, [name or self.name, note])))
        return self

    def _draw_points(self, ax: Axes) -> None:
        n_alarms = int(self.is_alarm.sum())
        shared: dict[str, Any] = {"linestyle": "none", "rasterized": True}
        (self.points_,) = ax.plot(
            *self.points[~self.is_alarm].T,
            **shared,
            marker=".",
            markersize=3.0,
            color=text_color(),
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
        scores = _clipped_to_finite(self.scores)
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
        """Alphas by threshold. With tied scores, several alphas may share one threshold."""
        labels: dict[float, str] = {}
        for alpha, threshold in self.thresholds.items():
            shared = f"{labels[threshold]}, " if threshold in labels else ""
            labels[threshold] = f"{shared}{alpha:g}"
        return labels


def _label_once(ax: Axes, contours: QuadContourSet, labels: dict[float, str]) -> None:
    """Write each alpha on the longest line of its contour, in directions that fan out."""
    from matplotlib.patheffects import withStroke

    halo = withStroke(linewidth=3.0, foreground=ax.get_facecolor())
    directions = np.linspace(0.2, 1.8, len(labels)) * np.pi
    at = []
    for lines, direction in zip(contours.allsegs, directions, strict=True):
        line = max(lines, key=len)
        spread = np.ptp(line, axis=0)
        toward = np.array([np.cos(direction), np.sin(direction)])
        at.append(tuple(line[(line @ (toward / np.where(spread > 0.0, spread, 1.0))).argmax()]))
    # All labels in one call: matplotlib 3.8 and 3.9 cannot place labels of some levels by hand.
    for text in ax.clabel(contours, fmt=labels, fontsize="small", colors=text_color(), manual=at):
        text.set_path_effects([halo])


def _clipped_to_finite(scores: FloatArray) -> FloatArray:
    """Scores for contour lines: infinite scores become the largest or smallest finite score."""
    is_finite = np.isfinite(scores)
    if is_finite.all() or not is_finite.any():
        return scores
    return np.clip(scores, scores[is_finite].min(), scores[is_finite].max())


def _thresholds(detector: BaseDetector, alphas: FloatArray) -> dict[float, float]:
    """For each alpha that the reference is large enough for, the score below which rows alarm."""
    reference = detector.reference_
    thresholds = {float(alpha): reference.threshold(float(alpha)) for alpha in alphas}
    too_small = [alpha for alpha, threshold in thresholds.items() if threshold == -np.inf]
    if too_small:
        warn_user(
            f"No contour at {', '.join(f'{alpha:g}' for alpha in too_small)}: {reference.size} "
            f"reference scores are too few. {advice_for_alpha(reference, too_small[0])}",
            CalibrationWarning,
        )
    return {alpha: threshold for alpha, threshold in thresholds.items() if alpha not in too_small}


def _axis(values: FloatArray, n: int, margin: float) -> FloatArray:
    """Evenly spaced values, from a little below the given values to a little above.

    >>> _axis(np.array([0.0, 10.0]), 3, margin=0.1)
    array([-1.,  5., 11.])
    """
    low, high = values.min(), values.max()
    extent = margin * (high - low) if high > low else 1.0
    return np.linspace(low - extent, high + extent, n)


def _note_on_held_features(n: int) -> str | None:
    """Note in the legend about the features that are not drawn."""
    if n == 0:
        return None
    return "1 other feature at its median" if n == 1 else f"{n} other features at their medians"
