"""Alarms a day: how many to expect, and how many of them are true."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Self

from scipy.stats import betabinom

from rankad.calibration.bounds import require_probability


@dataclass(frozen=True)
class FalseAlarmsPerDay:
    """How many false alarms a day a detector makes, over the draw of its reference and of the day.

    Where reference scores tie at the threshold there are fewer: then only ``high`` holds, ``low``
    is 0, and ``mean`` is an upper limit of the mean.

    Parameters
    ----------
    mean : float
        At most ``alpha`` times the events.
    low, high : int
        The count of a day lies between them with the confidence.
    confidence : float
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
        """Of alarms below the j-th of n reference scores: beta-binomial (N, j, n + 1 - j).

        >>> FalseAlarmsPerDay.from_order(50, 999, events_per_day=1000, confidence=0.95)
        FalseAlarmsPerDay(mean=50.0, low=32, high=70, confidence=0.95, has_ties=False)
        """
        require_probability("confidence", confidence)
        if not isinstance(events_per_day, Integral) or events_per_day < 1:
            raise ValueError(
                f"events_per_day must be a whole number, at least 1; got {events_per_day!r}."
            )
        law = betabinom(int(events_per_day), order, n_reference + 1 - order)
        low, high = law.ppf([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
        low = 0 if has_ties else int(low)
        return cls(float(law.mean()), low, int(high), confidence, has_ties)


def true_alarm_share(alpha: float, *, base_rate: float, power: float) -> float:
    """Expected share of true alarms: what whoever answers the alarms will see.

    ``b power / (b power + (1 - b) alpha)``, b the share of anomalies among all events.

    >>> round(true_alarm_share(0.01, base_rate=0.001, power=0.9), 3)
    0.083
    """
    require_probability("alpha", alpha)
    require_probability("base_rate", base_rate)
    if not 0.0 <= power <= 1.0:
        raise ValueError(f"power must lie in [0, 1]; got {power!r}.")
    true_alarms = base_rate * power
    return true_alarms / (true_alarms + (1.0 - base_rate) * alpha)
