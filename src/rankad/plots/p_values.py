"""Whether the p-values of nominal rows are uniform."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, binom

from rankad._typing import FloatArray, IntArray
from rankad.calibration.bounds import require_probability
from rankad.plots._display import (
    Display,
    draw_diagonal,
    line_options,
    require_matplotlib,
    set_scale,
)
from rankad.plots._inputs import advice_for_another, checked_p_values, spread_orders
from rankad.plots._style import GRAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

#: Probability that is neglected in each tail of a law.
_NEGLECTED_TAIL = 1e-10


@dataclass(eq=False, repr=False, kw_only=True)
class PValueDisplay(Display):
    """Distribution of the p-values of nominal rows, beside their law if all is well.

    A curve above the band means more small p-values, and so more false alarms, than asked for. A
    curve below the band means fewer. The band holds each point of the curve with the confidence,
    not all points at once. Make a display with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    p_values : array of shape (n_samples,)
        Ascending.
    band_alphas : array of shape (n_band,)
        Alphas at which the band is drawn.
    low, high : array of shape (n_band,)
        The band: shares of the rows.
    confidence : float
        Probability of the band, at each point.
    n_reference : int or None
        Number of held-out reference scores, if the band takes account of them.
    name : str or None
        Name in the legend.

    Attributes
    ----------
    line_ : Line2D
        Share of the rows with at most each p-value.
    band_ : PolyCollection or None
        The band.
    ax_, figure_
        Axes and figure.

    Examples
    --------
    >>> from rankad import RankAD
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> detector = RankAD(random_state=0).fit(X[:600])
    >>> display = PValueDisplay.from_estimator(detector, X[600:])
    >>> display.n_reference, display.ax_.get_xlabel()
    (150, 'p-value')
    """

    p_values: FloatArray
    band_alphas: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    n_reference: int | None = None
    name: str | None = None
    line_: Line2D = field(init=False)
    band_: PolyCollection | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        X: ArrayLike,
        *,
        confidence: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        scale: str = "linear",
        plot_band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the p-values of nominal rows that a detector has not seen.

        Parameters
        ----------
        detector : fitted detector
            Any detector with ``p_values``. If its reference scores are held out, the band has their
            exact law. Otherwise it is the band of independent uniform p-values.
        X : array-like of shape (n_samples, n_features)
            Fresh nominal rows.
        confidence : float, default=0.95
            Probability of the band, at each point.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend. By default the detector's class.
        scale, plot_band, **kwargs
            See `plot`.

        Returns
        -------
        display : PValueDisplay
        """
        require_matplotlib(cls.__name__)
        if not hasattr(detector, "p_values"):
            raise TypeError(
                f"{cls.__name__} takes a detector with p_values; got {detector!r}. "
                f"{advice_for_another(detector)}"
            )
        p_values = detector.p_values(X)
        reference = getattr(detector, "reference_", None)
        is_exact = reference is not None and reference.guarantee == "exact"
        return cls.from_predictions(
            p_values,
            n_reference=reference.size if reference is not None and is_exact else None,
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
        *,
        n_reference: int | None = None,
        confidence: float = 0.95,
        ax: Axes | None = None,
        name: str | None = None,
        scale: str = "linear",
        plot_band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw p-values of nominal rows.

        Parameters
        ----------
        p_values : array-like of shape (n_samples,)
            p-values of fresh nominal rows.
        n_reference : int, optional
            Number n of held-out reference scores that all the p-values compare with. Then, of N
            rows, the number with ``p <= j / (n + 1)`` is beta-binomial (N, j, n + 1 - j). Without
            it, the band is that of independent uniform p-values, which is binomial.
        confidence : float, default=0.95
            Probability of the band, at each point.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        scale, plot_band, **kwargs
            See `plot`.

        Returns
        -------
        display : PValueDisplay
        """
        require_matplotlib(cls.__name__)
        require_probability("confidence", confidence)
        p = checked_p_values(p_values, n_reference)
        band_alphas, low, high = _band(len(p), n_reference, confidence)
        display = cls(
            p_values=p,
            band_alphas=band_alphas,
            low=low,
            high=high,
            confidence=confidence,
            n_reference=n_reference,
            name=name,
        )
        return display.plot(ax, scale=scale, plot_band=plot_band, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        scale: str = "linear",
        plot_band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve over the diagonal and the band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        scale : {"linear", "log"}, default="linear"
            Scale of both axes. "log" shows the small p-values, which alarm.
        plot_band : bool, default=True
            Whether to draw the band. For several curves of the same number of rows, once is enough.
        **kwargs
            Options of the curve's `Line2D`.

        Returns
        -------
        display : PValueDisplay
        """
        ax = self._take_axes(ax)
        set_scale(ax, scale)
        self.band_ = self._draw_band(ax) if plot_band else None
        draw_diagonal(ax, self.band_alphas[0] if scale == "log" else 0.0, "uniform")
        name = name or self.name or "p-values"
        defaults = {"drawstyle": "steps-post", "label": f"{name} ({len(self.p_values):,} rows)"}
        (self.line_,) = ax.plot(*self._curve(), **line_options(defaults, kwargs))
        lowest = 0.5 / len(self.p_values)
        limits = {"linear": (0.0, 1.0, 0.0, 1.0), "log": (self.band_alphas[0], 1.0, lowest, 1.0)}
        ax.axis(limits[scale])
        ax.set(xlabel="p-value", ylabel="Share of rows with at most this p-value")
        ax.legend(loc="lower right", frameon=False)
        return self

    def _curve(self) -> tuple[FloatArray, FloatArray]:
        """Empirical distribution function, from p = 0 to p = 1."""
        values, counts = np.unique(self.p_values, return_counts=True)
        shares = np.cumsum(counts) / len(self.p_values)
        return np.concatenate([[0.0], values, [1.0]]), np.concatenate([[0.0], shares, [1.0]])

    def _draw_band(self, ax: Axes) -> PolyCollection:
        has_every_alpha = self.n_reference == len(self.band_alphas) - 1
        return ax.fill_between(
            self.band_alphas,
            self.low,
            self.high,
            step="post" if has_every_alpha else None,
            color=GRAY,
            alpha=0.3,
            linewidth=0.0,
            label=f"{100 * self.confidence:.4g}% interval, each alpha",
        )


def _band(
    n_rows: int, n_reference: int | None, confidence: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p-values, and the band of the share of rows with at most each of them."""
    tail = (1.0 - confidence) / 2.0
    if n_reference is None:
        band_alphas = spread_orders(max(n_rows, 1_000)) / max(n_rows, 1_000)
        low, high = np.asarray(binom.ppf([[tail], [1.0 - tail]], n_rows, band_alphas))
        return band_alphas, low / n_rows, high / n_rows
    orders = spread_orders(n_reference + 1)
    counts = [_beta_binomial_quantiles(n_rows, int(j), n_reference, tail) for j in orders]
    low, high = np.array(counts).T
    return orders / (n_reference + 1), low / n_rows, high / n_rows


def _beta_binomial_quantiles(n_rows: int, order: int, n_reference: int, tail: float) -> IntArray:
    """Lower and upper quantile of the beta-binomial law (N, j, n + 1 - j).

    For j = n + 1 both are N.

    It uses the ratios of successive probabilities, without the tails that do not count. scipy adds
    up the whole law for every step of a search, which is slow.

    >>> _beta_binomial_quantiles(1000, 50, 999, tail=0.025)
    array([32, 70])
    """
    a, b = order, n_reference + 1 - order
    if b == 0:
        return np.array([n_rows, n_rows])
    shares = np.asarray(beta.ppf([_NEGLECTED_TAIL, 1.0 - _NEGLECTED_TAIL], a, b))
    spread = sqrt(-0.5 * np.log(_NEGLECTED_TAIL) * n_rows)  # of the count (Hoeffding's inequality)
    first = max(floor(n_rows * shares[0] - spread), 0)
    last = min(ceil(n_rows * shares[1] + spread), n_rows)
    k = np.arange(first, last, dtype=np.float64)
    ratios = (n_rows - k) / (k + 1.0) * ((a + k) / (b + n_rows - 1.0 - k))
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    below = np.cumsum(np.exp(logs - logs.max()))
    return np.asarray(first + np.searchsorted(below / below[-1], [tail, 1.0 - tail]))
