"""False alarms on fresh nominal rows, beside the rate asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from rankad._typing import FloatArray, IntArray
from rankad.calibration import false_alarm_band
from rankad.calibration.bounds import rate_interval
from rankad.calibration.control import FalseAlarmControl
from rankad.plots._display import (
    Display,
    draw_diagonal,
    line_options,
    require_matplotlib,
    set_scale,
)
from rankad.plots._inputs import (
    calibrated_detector,
    checked_p_values,
    resolved_alphas,
    spread_orders,
)
from rankad.plots._style import GRAY, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.container import ErrorbarContainer


@dataclass(eq=False, repr=False, kw_only=True)
class FalseAlarmDisplay(Display):
    """False alarms counted on fresh nominal rows, against the false-alarm rate asked for.

    The bands show what theory says about the detector's own rate. With the confidence, it lies in
    the interval at each alpha by itself, and below the limit at all alphas at once. The counted
    rate has its own error, which its bar shows. Make a display with `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        False-alarm rates asked for.
    n_alarms : array of shape (n_alphas,)
        Number of rows with ``p <= alpha``.
    n_rows : int
        Number of all rows.
    band_alphas : array of shape (n_band,)
        Alphas of the interval and of the limit: ``j / (n_reference + 1)``.
    low, high : array of shape (n_band,)
        The interval, of the law Beta(j, n + 1 - j).
    limits : array of shape (n_band,)
        The limit (see `RankAD.false_alarm_band`).
    confidence : float
        Probability of the interval, of the limit, and of each bar.
    name : str or None
        Name in the legend.

    Attributes
    ----------
    errorbar_ : ErrorbarContainer
        Realized rates, with the intervals of Clopper and Pearson as bars. On a logarithmic scale, a
        rate of 0 has a bar and no point.
    interval_, band_ : PolyCollection or None
        The interval and the limit.
    ax_, figure_
        Axes and figure.

    Examples
    --------
    >>> from rankad import RankAD
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> detector = RankAD(random_state=0).fit(X[:600])
    >>> display = FalseAlarmDisplay.from_estimator(detector, X[600:])
    >>> display.alphas
    array([0.01, 0.02, 0.05, 0.1 , 0.2 , 0.5 ])
    >>> display.rates.shape
    (6,)
    """

    alphas: FloatArray
    n_alarms: IntArray
    n_rows: int
    band_alphas: FloatArray
    low: FloatArray
    high: FloatArray
    limits: FloatArray
    confidence: float
    name: str | None = None
    errorbar_: ErrorbarContainer = field(init=False)
    interval_: PolyCollection | None = field(init=False)
    band_: PolyCollection | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        X: ArrayLike,
        *,
        alphas: Sequence[float] | None = None,
        confidence: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        scale: str = "log",
        plot_band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Count the false alarms of a detector on nominal rows that it has not seen.

        Parameters
        ----------
        detector : fitted detector
            A detector with held-out reference scores (``calibration="split"``).
        X : array-like of shape (n_samples, n_features)
            Fresh nominal rows, as for `RankAD.audit`.
        alphas : sequence of float, optional
            False-alarm rates. By default .001, .002, .005 and so on to .5, if the reference is
            large enough for them.
        confidence : float, default=0.95
            Probability of the interval, of the limit, and of each bar.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend. By default the detector's class.
        scale, plot_band, **kwargs
            See `plot`.

        Returns
        -------
        display : FalseAlarmDisplay
        """
        require_matplotlib(cls.__name__)
        detector = calibrated_detector(detector, cls.__name__)
        FalseAlarmControl(detector.reference_).require_exact(cls.__name__)
        detector._rows_to_audit(X, cls.__name__)  # refuses rows that it has seen
        return cls.from_predictions(
            detector.p_values(X),
            detector.reference_.size,
            alphas=alphas,
            confidence=confidence,
            ax=ax,
            name=type(detector).__name__ if name is None else name,
            scale=scale,
            plot_band=plot_band,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        p_values: ArrayLike,
        n_reference: int,
        *,
        alphas: Sequence[float] | None = None,
        confidence: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        scale: str = "log",
        plot_band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Count false alarms, given the p-values of nominal rows.

        Parameters
        ----------
        p_values : array-like of shape (n_samples,)
            p-values of fresh nominal rows.
        n_reference : int
            Number of held-out reference scores of these p-values.
        alphas : sequence of float, optional
            False-alarm rates. By default .001, .002, .005 and so on to .5, if the reference is
            large enough for them.
        confidence : float, default=0.95
            Probability of the interval, of the limit, and of each bar.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        scale, plot_band, **kwargs
            See `plot`.

        Returns
        -------
        display : FalseAlarmDisplay
        """
        require_matplotlib(cls.__name__)
        p = checked_p_values(p_values, n_reference)
        used_alphas = resolved_alphas(alphas, n_reference)
        orders = spread_orders(n_reference)
        limits = false_alarm_band(n_reference, confidence, orders=orders)
        tails = [[(1.0 - confidence) / 2.0], [(1.0 + confidence) / 2.0]]
        low, high = np.asarray(beta.ppf(tails, orders, n_reference + 1 - orders))
        display = cls(
            alphas=used_alphas,
            n_alarms=np.searchsorted(p, used_alphas, side="right"),
            n_rows=len(p),
            band_alphas=orders / (n_reference + 1),
            low=low,
            high=high,
            limits=limits,
            confidence=confidence,
            name=name,
        )
        return display.plot(ax, scale=scale, plot_band=plot_band, **kwargs)

    @property
    def rates(self) -> FloatArray:
        """Realized false-alarm rates."""
        return self.n_alarms / self.n_rows

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        scale: str = "log",
        plot_band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the rates over the diagonal, the interval and the limit.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        scale : {"log", "linear"}, default="log"
            Scale of both axes.
        plot_band : bool, default=True
            Whether to draw the interval and the limit. For several detectors with reference scores
            of the same number, once is enough.
        **kwargs
            Options of ``Axes.errorbar``.

        Returns
        -------
        display : FalseAlarmDisplay
        """
        ax = self._take_axes(ax)
        set_scale(ax, scale)
        self.interval_ = self.band_ = None
        if plot_band:
            self._draw_band(ax)
        draw_diagonal(ax, self.band_alphas[0] if scale == "log" else 0.0, "as asked for")
        name = name or self.name or "realized"
        defaults = {
            "marker": "o",
            "markersize": 4.0,
            "linestyle": "none",
            "capsize": 2.0,
            "label": f"{name} ({self.n_rows:,} rows)",
        }
        self.errorbar_ = ax.errorbar(
            self.alphas, self.rates, yerr=self._errors(), **line_options(defaults, kwargs)
        )
        self._set_limits(ax, scale)
        ax.set(xlabel="False-alarm rate asked for", ylabel="False-alarm rate")
        ax.legend(loc="upper left", frameon=False)
        return self

    def _errors(self) -> FloatArray:
        """Lengths of the bars, below and above the points."""
        intervals = [rate_interval(int(n), self.n_rows, self.confidence) for n in self.n_alarms]
        low, high = np.array(intervals).T
        return np.stack([self.rates - low, high - self.rates])

    def _draw_band(self, ax: Axes) -> None:
        percent = f"{100 * self.confidence:.4g}%"
        self.band_ = ax.fill_between(
            self.band_alphas,
            self.band_alphas,
            self.limits,
            color=SKY,
            alpha=0.3,
            linewidth=0.0,
            label=f"{percent} limit, all alphas at once",
        )
        self.interval_ = ax.fill_between(
            self.band_alphas,
            self.low,
            self.high,
            color=GRAY,
            alpha=0.35,
            linewidth=0.0,
            label=f"{percent} interval, each alpha",
        )

    def _set_limits(self, ax: Axes, scale: str) -> None:
        first, last = float(self.alphas.min()), float(self.alphas.max())
        if scale == "log":
            ends = first / 1.5, min(last * 1.5, 1.0)
            ax.set(xlim=ends, ylim=(min(ends[0] / 3.0, 0.5 / self.n_rows), 1.0))
        else:
            end = min(last * 1.1, 1.0)
            ax.set(xlim=(0.0, end), ylim=(0.0, min(1.5 * end, 1.0)))
