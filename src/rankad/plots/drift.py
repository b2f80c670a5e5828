"""The evidence that a stream drifts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, log10
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray, IntArray
from rankad.calibration.betting import Betting
from rankad.monitoring import DriftMonitor
from rankad.plots._display import (
    Display,
    legend_above,
    line_options,
    require_matplotlib,
    text_color,
)
from rankad.plots._inputs import checked_p_values
from rankad.plots._style import RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@dataclass(eq=False, repr=False, kw_only=True)
class DriftDisplay(Display):
    """Evidence of drift over time: the martingale of a `DriftMonitor`, and its alarm.

    Make a display with `from_monitor` or `from_p_values`.

    Parameters
    ----------
    times : array of shape (n,)
        Number of scores seen at each value.
    log10_martingale : array of shape (n,)
        Logarithm, to base 10, of the martingale.
    alpha : float
        The alarm is raised when the martingale reaches ``1 / alpha``.
    alarmed_at : int or None
        Number of scores seen at the alarm, or None without an alarm.
    name : str or None
        Name in the legend.

    Attributes
    ----------
    line_ : Line2D
        The martingale.
    threshold_ : Line2D
        The line ``1 / alpha``.
    alarm_ : Line2D or None
        Mark of the alarm. None if there was none, or if it was before the first of `times`.
    ax_, figure_
        Axes and figure.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> monitor = DriftMonitor(history_size=2000, random_state=0)
    >>> monitor.update_many(np.concatenate([rng.normal(size=900), rng.normal(2.0, size=100)]))
    True
    >>> display = DriftDisplay.from_monitor(monitor)
    >>> display.alarmed_at == monitor.alarmed_at
    True
    """

    times: IntArray
    log10_martingale: FloatArray
    alpha: float
    alarmed_at: int | None = None
    name: str | None = None
    line_: Line2D = field(init=False)
    threshold_: Line2D = field(init=False)
    alarm_: Line2D | None = field(init=False)

    @classmethod
    def from_monitor(
        cls,
        monitor: DriftMonitor,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the history of a monitor.

        Parameters
        ----------
        monitor : DriftMonitor
            A monitor with a history. The last ``history_size`` values are drawn.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        **kwargs
            Options of the martingale's `Line2D`.

        Returns
        -------
        display : DriftDisplay
        """
        require_matplotlib(cls.__name__)
        if not isinstance(monitor, DriftMonitor):
            raise TypeError(
                f"from_monitor takes a DriftMonitor; got {type(monitor).__name__}. Make one, for "
                "example DriftMonitor(detector, history_size=10_000), and give it rows with "
                "update_rows(X). Of a pipeline, they take the last step, pipe[-1], and "
                "pipe[:-1].transform(X)."
            )
        history = monitor.history
        if history.size == 0:
            raise ValueError(
                "The monitor has no history to draw. Make it with history_size=..., large enough "
                "for the part to draw, and give it scores."
            )
        display = cls(
            times=np.arange(monitor.n_seen - history.size, monitor.n_seen) + 1,
            log10_martingale=history / log(10.0),
            alpha=monitor.alpha,
            alarmed_at=monitor.alarmed_at,
            name=name,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_p_values(
        cls,
        p_values: ArrayLike,
        *,
        betting: str | Betting = "jumper",
        alpha: float = 0.01,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Bet against p-values in the order of the stream, and draw the martingale.

        Parameters
        ----------
        p_values : array-like of shape (n,)
            p-values that are independent and uniform if nothing drifts. Those of a detector are not
            quite, because they all compare with the same reference (see `DriftMonitor`).
        betting : {"jumper", "mixture"} or Betting, default="jumper"
            How to bet (see `DriftMonitor`).
        alpha : float, default=0.01
            Largest probability of an alarm without drift.
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        **kwargs
            Options of the martingale's `Line2D`.

        Returns
        -------
        display : DriftDisplay
        """
        require_matplotlib(cls.__name__)
        p = np.asarray(p_values, dtype=np.float64)
        checked_p_values(p)
        monitor = DriftMonitor(betting=betting, alpha=alpha, history_size=p.size, random_state=0)
        for value in p:
            monitor.update_p(float(value))
        return cls.from_monitor(monitor, ax=ax, name=name, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the martingale, the line ``1 / alpha``, and the alarm.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default a new figure.
        name : str, optional
            Name in the legend.
        **kwargs
            Options of the martingale's `Line2D`.

        Returns
        -------
        display : DriftDisplay
        """
        ax = self._take_axes(ax)
        defaults = {"linewidth": 1.3, "label": name or self.name or "martingale"}
        (self.line_,) = ax.plot(self.times, self.log10_martingale, **line_options(defaults, kwargs))
        self.threshold_ = ax.axhline(
            -log10(self.alpha),
            color=text_color(),
            linestyle="--",
            linewidth=1.0,
            label=f"alarm at {1.0 / self.alpha:g}",
        )
        self.alarm_ = self._draw_alarm(ax)
        ax.set(xlabel="Scores seen", ylabel="$\\log_{10}$ martingale")
        legend_above(ax, n_columns=2)
        return self

    def _draw_alarm(self, ax: Axes) -> Line2D | None:
        if self.alarmed_at is None or self.alarmed_at < self.times[0]:
            return None
        (mark,) = ax.plot(
            [self.alarmed_at],
            [self.log10_martingale[self.alarmed_at - self.times[0]]],
            linestyle="none",
            marker="o",
            markersize=7.0,
            color=RED,
            label=f"alarm after {self.alarmed_at:,} scores",
        )
        return mark
