"""Alarms a day: how many to expect, and what share of them is true."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Self

from scipy.stats import betabinom

from rankad.calibration.bounds import require_probability


@dataclass(frozen=True)
class FalseAlarmsPerDay:
    """How many false alarms a detector makes in one day.

    The count is random over the draw of the reference and over the rows of the day.

    If reference scores tie at the threshold, there are fewer. Then only ``high`` holds, ``low`` is
    0, and ``mean`` is an upper limit of the mean.

    Parameters
    ----------
    mean : float
        Mean count. It is at most ``alpha`` times the number of events.
    low, high : int
        Interval that holds the count of one day with the confidence.
    confidence : float
        Probability of the interval.
    has_ties : bool
        Whether reference scores tie at the threshold.

    Examples
    --------
    >>> FalseAlarmsPerDay.from_order(50, 999, events_per_day=1000, confidence=0.95)
    FalseAlarmsPerDay(mean=50.0, low=32, high=70, confidence=0.95, has_ties=False)
    """

    mean: float
    low: int
    high: int
    confidence: float
    has_ties: bool = False

    @classmethod
    def from_order(
        cls,
        order: int,
        n_reference: int,
        events_per_day: int,
        confidence: float,
        *,
        has_ties: bool = False,
    ) -> Self:
        """Count of alarms below the j-th of n reference scores: beta-binomial (N, j, n + 1 - j)."""
        require_probability("confidence", confidence)
        if not isinstance(events_per_day, Integral) or events_per_day < 1:
            raise ValueError(
                f"events_per_day must be a whole number of at least 1; got {events_per_day!r}."
            )
        law = betabinom(int(events_per_day), float(order), float(n_reference + 1 - order))
        low, high = law.ppf([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
        low = 0 if has_ties else int(low)
        return cls(float(law.mean()), low, int(high), confidence, has_ties)


def true_alarm_share(alpha: float, *, base_rate: float, power: float) -> float:
    """Expected share of true alarms among all alarms that somebody answers.

    It is ``b power / (b power + (1 - b) alpha)`` for the base rate b.

    Parameters
    ----------
    alpha : float
        False-alarm rate.
    base_rate : float
        Share of anomalies among all events.
    power : float
        Share of the anomalies that alarm.

    Returns
    -------
    share : float

    Examples
    --------
    >>> round(true_alarm_share(0.01, base_rate=0.001, power=0.9), 3)
    0.083
    """
    require_probability("alpha", alpha)
    require_probability("base_rate", base_rate)
    if not 0.0 <= power <= 1.0:
        raise ValueError(f"power must be at least 0 and at most 1; got {power!r}.")
    true_alarms = base_rate * power
    return true_alarms / (true_alarms + (1.0 - base_rate) * alpha)
