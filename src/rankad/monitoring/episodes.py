"""Alarms as episodes: a run of alarming rows of one entity is one event."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import inf, isfinite
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad.calibration.states import STATE_VERSION, SavedState
from rankad.monitoring.stream_inputs import (
    checked_alarms,
    checked_entities,
    checked_numbers,
    checked_times,
    is_number,
    values_of_rows,
)

_STATE_NAMES: Final = (
    *("gap", "cooldown", "has_times", "latest", "n_seen", "n_episodes", "n_suppressed"),
    "watched",
)


@dataclass(frozen=True, repr=False)
class Episode:
    """A run of alarming rows of one entity: one event.

    Parameters
    ----------
    entity : str, int or None
        Whose rows they are. None in a stream without entities.
    start, end : int or float
        First and last alarm: row numbers of the stream from 0 on, or times if the stream has times.
    worst : int or float
        Row number or time of the alarm with the lowest score. Without scores it is the start.
    lowest : float or None
        The lowest score or p-value. None without scores.
    n_alarms : int
        Number of alarms.

    Examples
    --------
    >>> Episode("web-1", 120, 140, worst=125, lowest=0.001, n_alarms=9)
    <Episode of 'web-1': 9 alarms from 120 to 140, worst at 125 (0.001)>
    """

    entity: Hashable
    start: float
    end: float
    worst: float
    lowest: float | None
    n_alarms: int

    def __repr__(self) -> str:
        of = "" if self.entity is None else f" of {self.entity!r}"
        alarms = "1 alarm" if self.n_alarms == 1 else f"{self.n_alarms} alarms"
        lowest = "" if self.lowest is None else f" ({self.lowest:.3g})"
        start, end, worst = (f"{at:.15g}" for at in (self.start, self.end, self.worst))
        when = f"at {start}" if self.n_alarms == 1 else f"from {start} to {end}, worst at {worst}"
        return f"<Episode{of}: {alarms} {when}{lowest}>"


@dataclass
class _Watched:
    """The last episode of an entity, while it is open or in its cool-down.

    `since` counts from its last alarm: rows of the entity, or time.
    """

    episode: Episode
    since: float = 0.0
    is_open: bool = True


class Episodes:
    """Groups the alarms of a stream into episodes, entity by entity.

    A run of alarming rows of one entity is one event, with a start, an end and a worst row. An
    alarm opens an episode, or joins the open episode of its entity. Alarms near in time are mostly
    one fault, so that people answer episodes, not rows. `episodes_per_day` says how many false
    episodes to expect.

    Give the rows as they come, in one call or in many. A batch is a stream with one call:
    ``episodes.update_many(is_alarm) + episodes.close()``.

    Memory grows with the number of entities that are in an episode or in its cool-down, not with
    the number of rows.

    Parameters
    ----------
    gap : float, default=1
        Longest distance between an alarm and the last alarm of the episode that it joins. Without
        times, it is a number of rows of the entity: an episode ends after ``gap`` quiet rows. With
        times, it has their unit, or seconds if they are dates.
    cooldown : float, default=0
        Time after the last alarm of an episode in which no new episode opens, in the unit of
        ``gap``. It has an effect only if it is above ``gap``. Alarms in a cool-down are only
        counted, in `n_suppressed`.

    Attributes
    ----------
    n_seen, n_episodes, n_suppressed : int
        Number of rows, of episodes that have opened, and of alarms in a cool-down.

    Examples
    --------
    >>> episodes = Episodes(gap=2)
    >>> p = np.array([0.8, 0.01, 0.001, 0.4, 0.02, 0.9, 0.7, 0.01])
    >>> episodes.update_many(p <= 0.02, p)
    [<Episode: 3 alarms from 1 to 4, worst at 2 (0.001)>]
    >>> episodes.close()
    [<Episode: 1 alarm at 7 (0.01)>]
    """

    def __init__(self, *, gap: float = 1, cooldown: float = 0) -> None:
        if not (is_number(gap) and gap > 0):
            raise ValueError(f"gap must be a finite number above 0; got {gap!r}.")
        if not (is_number(cooldown) and cooldown >= 0):
            raise ValueError(f"cooldown must be a finite number of at least 0; got {cooldown!r}.")
        self.gap, self.cooldown = float(gap), float(cooldown)
        self.n_seen = self.n_episodes = self.n_suppressed = 0
        self._has_times: bool | None = None  # decided by the first rows
        self._latest = -inf
        self._watched: dict[Hashable, _Watched] = {}

    def __repr__(self) -> str:
        return (
            f"<Episodes: {self.n_episodes} in {self.n_seen} rows, {len(self.open_episodes)} open, "
            f"{self.n_suppressed} alarms suppressed>"
        )

    @property
    def open_episodes(self) -> list[Episode]:
        """Episodes that the next rows may extend, by their start."""
        found = [watched.episode for watched in self._watched.values() if watched.is_open]
        return sorted(found, key=lambda episode: episode.start)

    def update_many(
        self,
        is_alarm: ArrayLike,
        scores: ArrayLike | None = None,
        *,
        entities: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> list[Episode]:
        """Take rows in the order of the stream, and return the episodes that have ended.

        If a value is invalid, no row is taken.

        Parameters
        ----------
        is_alarm : array-like of bool, shape (n,)
            Which rows alarm: ``p <= alpha``, ``detector.predict(X) == -1``, or the answer of
            `AlarmBudget`.
        scores : array-like of shape (n,), optional
            The row with the lowest is the worst: p-values, or scores. Scores order the rows that
            share the smallest p-value.
        entities : array-like of str or int, shape (n,), optional
            Entity of each row. By default all rows are of one entity.
        times : array-like of shape (n,), optional
            Time of each row, ascending: numbers, or dates, which become seconds since 1970. By
            default the rows count. Give times in every call or in none.

        Returns
        -------
        ended : list of Episode
            In the order in which they end.
        """
        alarms = checked_alarms(is_alarm)
        n = len(alarms)
        lows = values_of_rows(n, "scores", scores, partial(checked_numbers, "scores"))
        names = values_of_rows(n, "entities", entities, checked_entities)
        clock = values_of_rows(n, "times", times, checked_times)
        if n == 0:
            return []
        self._require_order(clock if times is not None else None)
        ended: list[Episode] = []
        for i, alarm in enumerate(alarms):
            self._take(alarm, lows[i], names[i], clock[i], ended)
        if self._has_times:
            self._pass_time(ended)
        return ended

    def close(self) -> list[Episode]:
        """End all open episodes, for example at the end of a batch. Return them by their start."""
        ended = self.open_episodes
        for episode in ended:
            watched = self._watched[episode.entity]
            watched.is_open = False
            if watched.since + (not self._has_times) > self.cooldown or self.cooldown == 0.0:
                del self._watched[episode.entity]
        return ended

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The stream continues as if not interrupted."""
        watched = [
            {**_plain(asdict(each.episode)), "since": each.since, "is_open": each.is_open}
            for each in self._watched.values()
        ]
        return {
            "kind": "Episodes",
            "version": STATE_VERSION,
            "gap": self.gap,
            "cooldown": self.cooldown,
            "has_times": self._has_times,
            "latest": self._latest if self._has_times else None,
            "n_seen": self.n_seen,
            "n_episodes": self.n_episodes,
            "n_suppressed": self.n_suppressed,
            "watched": watched,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Episodes that continue from a saved `state`.

        Parameters
        ----------
        state : dict
            A result of `state`.

        Returns
        -------
        episodes : Episodes
        """
        read = SavedState.of(state, "Episodes", _STATE_NAMES)
        episodes = cls(gap=state["gap"], cooldown=state["cooldown"])
        episodes.n_seen, episodes.n_episodes = read.count("n_seen"), read.count("n_episodes")
        episodes.n_suppressed, episodes._has_times = read.count("n_suppressed"), state["has_times"]
        if episodes._has_times not in (None, False, True):
            raise ValueError(f"has_times must be true, false or null; got {state['has_times']!r}.")
        if episodes._has_times:
            episodes._latest = checked_numbers("latest", [state["latest"]])[0]
        if not isinstance(state["watched"], list):
            raise ValueError(f"watched must be a list of episodes; got {state['watched']!r}.")
        for saved in state["watched"]:
            watched = _restored(saved, max(episodes.gap, episodes.cooldown))
            episodes._watched[watched.episode.entity] = watched
        if not len(state["watched"]) == len(episodes._watched) <= episodes.n_episodes:
            raise ValueError(
                f"A state with {episodes.n_episodes} episodes cannot watch "
                f"{len(state['watched'])} entities, each once."
            )
        return episodes

    def _require_order(self, times: Sequence[float] | None) -> None:
        """Refuse times that fall, and calls with times among calls without."""
        has_times = times is not None
        if self._has_times not in (None, has_times):
            raise ValueError(
                f"The rows before had {'times' if self._has_times else 'no times'}. Give times in "
                "every call or in none. No row of this call was taken."
            )
        if times is not None:
            before = np.concatenate([[self._latest], times])
            falls = np.diff(before) < 0.0
            if falls.any():
                at = int(falls.argmax())
                raise ValueError(
                    f"times must ascend; the time of row {at} is {times[at]:.15g}, after "
                    f"{before[at]:.15g}. Sort the rows by time. No row of this call was taken."
                )
            self._latest = float(times[-1])
        self._has_times = has_times

    def _take(
        self, alarm: bool, score: Any, entity: Hashable, time: Any, ended: list[Episode]
    ) -> None:
        at = time if self._has_times else self.n_seen
        self.n_seen += 1
        watched = self._watched.get(entity)
        if watched is not None:
            watched.since = at - watched.episode.end if self._has_times else watched.since + 1
            # A quiet row also says that the next row of the entity comes still later.
            self._expire(entity, watched.since + (not alarm and not self._has_times), ended)
            watched = self._watched.get(entity)
        if not alarm:
            return
        if watched is None:
            episode = Episode(entity, at, at, worst=at, lowest=score, n_alarms=1)
            self._watched[entity] = _Watched(episode)
            self.n_episodes += 1
        elif watched.is_open:
            watched.episode, watched.since = _joined(watched.episode, at, score), 0.0
        else:
            self.n_suppressed += 1

    def _pass_time(self, ended: list[Episode]) -> None:
        """End what is long ago, also of entities that send no rows."""
        for entity, watched in list(self._watched.items()):
            watched.since = self._latest - watched.episode.end
            self._expire(entity, watched.since, ended)

    def _expire(self, entity: Hashable, since: float, ended: list[Episode]) -> None:
        """End the episode if its last alarm is too long ago, and then its cool-down."""
        watched = self._watched[entity]
        if watched.is_open and since > self.gap:
            ended.append(watched.episode)
            watched.is_open = False
        if not watched.is_open and since > self.cooldown:
            del self._watched[entity]


def _joined(episode: Episode, at: float, score: float | None) -> Episode:
    """Episode with one more alarm."""
    is_worst = score is not None and (episode.lowest is None or score < episode.lowest)
    worst, lowest = (at, score) if is_worst else (episode.worst, episode.lowest)
    return replace(episode, end=at, worst=worst, lowest=lowest, n_alarms=episode.n_alarms + 1)


def _plain(episode: dict[str, Any]) -> dict[str, Any]:
    """Episode for JSON, which has no infinity, but text that float() reads."""
    lowest = episode["lowest"]
    return episode | {"lowest": lowest if lowest is None or isfinite(lowest) else str(lowest)}


def _restored(saved: Mapping[str, Any], longest: float) -> _Watched:
    """What was saved of an entity, if it is possible."""
    if not isinstance(saved, Mapping):
        raise ValueError(f"watched must be a list of episodes; it holds {saved!r}.")
    names = [field.name for field in fields(Episode)]
    missing = sorted({*names, "since", "is_open"} - set(saved))
    if missing:
        raise ValueError(f"An episode of the state misses {missing}.")
    values = {name: saved[name] for name in names}
    if isinstance(values["lowest"], str):
        values["lowest"] = float(values["lowest"])
    episode, since, is_open = Episode(**values), saved["since"], saved["is_open"]
    is_possible = (
        all(map(is_number, (episode.start, episode.worst, episode.end, since)))
        and episode.start <= episode.worst <= episode.end
        and type(episode.n_alarms) is int
        and episode.n_alarms >= 1
        and type(is_open) is bool
        and 0 <= since <= longest
        and (episode.entity is None or type(episode.entity) in (str, int))
    )
    if not is_possible:
        raise ValueError(
            f"The state holds an impossible episode: {dict(saved)}. Give a whole result of state()."
        )
    return _Watched(episode, since, is_open)
