"""Cross-validation of C and sigma."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankad._typing import FloatArray
from rankad.plots._display import Display, legend_above, require_matplotlib
from rankad.plots._inputs import calibrated_detector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import QuadMesh
    from matplotlib.colorbar import Colorbar
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False, kw_only=True)
class TuningDisplay(Display):
    """Map of the cross-validated score over C and sigma, with the chosen cell.

    Make a display with `from_estimator`.

    Parameters
    ----------
    Cs : array of shape (n_Cs,)
        Values of C, ascending.
    sigmas : array of shape (n_sigmas,)
        Values of sigma, ascending.
    scores : array of shape (n_Cs, n_sigmas)
        Share of held-out pairs in the right order, averaged over the folds.
    C, sigma : float
        The chosen values.
    name : str or None
        Title of the legend.

    Attributes
    ----------
    mesh_ : QuadMesh
        The map.
    chosen_ : Line2D
        Mark of the chosen cell.
    colorbar_ : Colorbar or None
        The color bar, or None without one.
    ax_, figure_
        Axes and figure.
        Axes and figure.

    Examples
    --------
    >>> from rankad import RankAD
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = RankAD(C=[0.1, 1, 10], sigma=[0.5, 1], random_state=0)
    >>> display = TuningDisplay.from_estimator(detector.fit(X))
    >>> display.scores.shape
    (3, 2)
    """

    Cs: FloatArray
    sigmas: FloatArray
    scores: FloatArray
    C: float
    sigma: float
    name: str | None = None
    mesh_: QuadMesh = field(init=False)
    chosen_: Line2D = field(init=False)
    colorbar_: Colorbar | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        colorbar: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the map of a detector whose C or sigma was cross-validated.

        Parameters
        ----------
        detector : RankAD
            Fitted with a grid for C, for sigma or for both: "published", or a list.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Title of the legend.
        colorbar, **kwargs
            See `plot`.

        Returns
        -------
        display : TuningDisplay
        """
        require_matplotlib(cls.__name__)
        detector = calibrated_detector(detector, cls.__name__)
        results = getattr(detector, "cv_results_", None)
        if results is None:
            raise ValueError(
                f"{detector} was not cross-validated, so there is no map to draw. Fit with "
                "C='published', sigma='published' or both, or with a list of values."
            )
        Cs, row = np.unique(np.asarray(results["param_C"]), return_inverse=True)
        sigmas, column = np.unique(np.asarray(results["param_sigma"]), return_inverse=True)
        scores = np.full((Cs.size, sigmas.size), np.nan)
        scores[row, column] = results["mean_test_score"]
        chosen = {"C": detector.C_, "sigma": detector.sigma_}
        display = cls(Cs=Cs, sigmas=sigmas, scores=scores, **chosen, name=name)
        return display.plot(ax, colorbar=colorbar, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        colorbar: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Title of the legend.
        colorbar : bool, default=True
            Whether to draw the color bar.
        **kwargs
            Options of ``Axes.pcolormesh``.

        Returns
        -------
        display : TuningDisplay
        """
        ax = self._take_axes(ax)
        options: dict[str, Any] = {
            "cmap": "viridis",
            "edgecolors": "face",
            "linewidth": 0.1,
        } | kwargs
        ax.set(xscale="log", yscale="log", xlabel=r"Kernel width $\sigma$", ylabel="$C$")
        self.mesh_ = ax.pcolormesh(_edges(self.sigmas), _edges(self.Cs), self.scores, **options)
        _set_single_tick(ax.xaxis, self.sigmas)
        _set_single_tick(ax.yaxis, self.Cs)
        (self.chosen_,) = ax.plot(
            [self.sigma],
            [self.C],
            linestyle="none",
            marker="*",
            markersize=14.0,
            color="white",
            markeredgecolor="black",
            label=rf"chosen: $C$ = {self.C:.3g}, $\sigma$ = {self.sigma:.3g}",
        )
        legend_above(ax, name or self.name)
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.mesh_, ax=ax, label="Held-out pairs in the right order"
            )
        return self


def _set_single_tick(axis: Axis, values: FloatArray) -> None:
    """Show the value of a parameter that was not varied as the only tick."""
    if values.size == 1:
        axis.set_ticks(values, [f"{values[0]:.3g}"])
        axis.set_ticks([], minor=True)


def _edges(values: FloatArray) -> FloatArray:
    """Edges of cells around values with even ratios.

    >>> _edges(np.array([1.0, 4.0]))
    array([0.5, 2. , 8. ])
    """
    if values.size == 1:
        return np.append(values / 2.0, values * 2.0)
    logs = np.log(values)
    middles = (logs[1:] + logs[:-1]) / 2.0
    ends = 2.0 * logs[0] - middles[0], 2.0 * logs[-1] - middles[-1]
    return np.asarray(np.exp(np.concatenate([ends[:1], middles, ends[1:]])))
