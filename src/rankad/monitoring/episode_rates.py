"""How many false episodes a day to expect, counted on a reference in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from rankad._typing import BoolArray
from rankad.calibration import TimeScores
from rankad.calibration.bounds import require_probability
from rankad.exceptions import UnresolvableAlphaError
from rankad.monitoring.episodes import Episodes
from rankad.monitoring.stream_inputs import is_number

#: Number of blocks of consecutive rows that show how unevenly episodes come.
_N_BLOCKS: Final = 20


@dataclass(frozen=True)
class EpisodesPerDay:
    """How many false episodes a day to expect, from a count on held-out rows.

    Parameters
    ----------
    mean : float
        Estimate of the mean number of episodes a day.
    low, high : float
        Interval for that mean number, with the confidence.
    confidence : float
        Nominal confidence of the interval.
    alarms : float
        Mean number of alarms a day: at most ``alpha rows_per_day``, if the p-values are valid.
        There are never more episodes than alarms.
    n_episodes, n_rows : int
        What was counted: episodes that begin in so many held-out rows.
    """

    mean: float
    low: float
    high: float
    confidence: float
    alarms: float
    n_episodes: int
    n_rows: int


def episodes_per_day(
    reference: Any,
    alpha: float,
    rows_per_day: float,
    *,
    gap: int = 1,
    cooldown: int = 0,
    confidence: float = 0.95,
) -> EpisodesPerDay:
    """How many false episodes a day to expect, from held-out rows in the order of time.

    It counts the episodes of the held-out runs at alpha. Each held-out row is compared with the
    others. Proved is only that there are never more episodes than alarms, so that valid p-values
    make at most ``alpha rows_per_day`` false episodes a day on average. The estimate is a
    measurement. It assumes that new rows depend on each other as the held-out rows did.

    The interval takes episodes to come as a Poisson process, made wider by as much as the counts of
    20 blocks of consecutive rows vary more than Poisson counts. It assumes that such blocks are
    nearly independent: that the stream forgets within a small part of a twentieth of the held-out
    rows. Otherwise the interval is too narrow.

    Parameters
    ----------
    reference : fitted detector or ReferenceScores
        Its held-out rows must be runs of consecutive rows of one entity.
    alpha : float
        False-alarm rate of the alarms.
    rows_per_day : float
        Number of rows a day, of one entity.
    gap, cooldown : int
        As in `Episodes`, in rows.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    episodes : EpisodesPerDay

    Examples
    --------
    >>> from rankad.calibration import TimeScores
    >>> noise = np.random.default_rng(0).normal(size=8001)
    >>> stream = noise[1:] + noise[:-1]          # an alarm often follows an alarm
    >>> reference = TimeScores.from_runs(stream, np.array([0, 4000]))
    >>> found = episodes_per_day(reference, alpha=0.01, rows_per_day=1440, gap=3)
    >>> f"{found.alarms:.1f} alarms, {found.mean:.1f} episodes, {found.low:.1f} to {found.high:.1f}"
    '14.4 alarms, 12.4 episodes, 9.7 to 15.7'
    """
    require_probability("alpha", alpha)
    require_probability("confidence", confidence)
    if not (is_number(rows_per_day) and rows_per_day > 0):
        raise ValueError(f"rows_per_day must be a finite number above 0; got {rows_per_day!r}.")
    runs = _alarms_of_runs(_in_time_order(reference), alpha)
    starts = _starts(runs, Episodes(gap=gap, cooldown=cooldown))
    low, high = _mean_interval(starts, confidence)
    per_day = rows_per_day / len(starts)
    n_episodes = int(starts.sum())
    return EpisodesPerDay(
        mean=n_episodes * per_day,
        low=low * per_day,
        high=high * per_day,
        confidence=confidence,
        alarms=alpha * rows_per_day,
        n_episodes=n_episodes,
        n_rows=len(starts),
    )


def _in_time_order(reference: Any) -> TimeScores:
    if hasattr(reference, "fit"):
        check_is_fitted(reference, "reference_")
    scores = getattr(reference, "reference_", reference)
    if not isinstance(scores, TimeScores):
        raise TypeError(
            f"Episodes are counted on held-out runs of consecutive rows; got {scores!r}. Fit on "
            "rows in the order of time with calibration_split='time'."
        )
    return scores


def _alarms_of_runs(reference: TimeScores, alpha: float) -> list[BoolArray]:
    """Which rows of each run alarm, where each row is compared with the other rows."""
    n = len(reference.in_order)
    if alpha * n < 1.0:
        raise UnresolvableAlphaError(
            f"alpha={alpha} needs at least {ceil(1.0 / alpha)} held-out rows; got {n}. Hold out "
            "more rows, or raise alpha."
        )
    p = np.searchsorted(reference.lowered, reference.in_order, side="right") / n
    return np.split(p <= alpha, reference.run_starts[1:])


def _starts(runs: list[BoolArray], empty: Episodes) -> BoolArray:
    """Rows where an episode starts.

    In the first rows of a run it cannot be known whether an earlier episode goes on: they only
    serve to look back, and are left out.
    """
    n_back = ceil(max(empty.gap, empty.cooldown))
    found = []
    for run in runs:
        episodes = Episodes(gap=empty.gap, cooldown=empty.cooldown)
        is_start = np.zeros(len(run), dtype=np.bool_)
        for episode in episodes.update_many(run) + episodes.close():
            is_start[int(episode.start)] = True
        found.append(is_start[n_back:])
    starts = np.concatenate(found)
    if len(starts) < _N_BLOCKS:
        raise ValueError(
            f"The {len(runs)} held-out runs have {len(starts)} rows beyond their first {n_back}, "
            f"but {_N_BLOCKS} are needed. Lower gap or cooldown, or hold out longer runs."
        )
    return starts


def _mean_interval(starts: BoolArray, confidence: float) -> tuple[float, float]:
    """Interval for the mean number of starts in so many rows."""
    n = float(starts.sum())
    counts = np.array([block.sum() for block in np.array_split(starts, _N_BLOCKS)])
    # A Poisson law has the variance 1 for each expected event.
    spread = max(1.0, float(counts.var(ddof=1) / counts.mean())) if n else 1.0
    tail = (1.0 - confidence) / 2.0
    low = float(chi2.ppf(tail, 2.0 * n / spread)) if n else 0.0
    high = float(chi2.ppf(1.0 - tail, 2.0 * n / spread + 2.0))
    return spread * low / 2.0, spread * high / 2.0
