"""Monitoring with a fitted detector and new rows: drift, shift, an alarm budget, and episodes.

`DriftMonitor`, `Reweighted`, `AlarmBudget` and `Episodes` are names of `rankad`. Here are the
results of `Episodes`, and how many false episodes to expect in a day.
"""

from rankad.monitoring.alarm_budget import AlarmBudget
from rankad.monitoring.drift import DriftMonitor
from rankad.monitoring.episode_rates import EpisodesPerDay, episodes_per_day
from rankad.monitoring.episodes import Episode, Episodes
from rankad.monitoring.reweighted import Reweighted

__all__ = ["Episode", "EpisodesPerDay", "episodes_per_day"]
