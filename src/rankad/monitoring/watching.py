"""Watching a stream of scores for serial dependence, while a monitor bets on single scores."""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, Self

import numpy as np
from scipy.stats import norm

from rankad._typing import FloatArray
from rankad.calibration.serial import WINDOW, SerialTest
from rankad.calibration.states import STATE_VERSION, SavedState, plain_scores

#: Most scores to keep, so that the memory can be learned from them.
_N_RECENT: Final = 4096

#: An alarm waits for this many windows, and for a test of dependence at this level.
_MIN_WINDOWS: Final = 2
_Z_AT_ALARM: Final = float(norm.isf(0.01))

_ENTRIES: Final = ("n_windows", "total", "rest", "recent")


class Verdict(Enum):
    """What to do when the evidence of drift is enough for an alarm."""

    ALARM = "the scores look independent"
    WAIT = "too few scores to tell"
    DEPENDENT = "the scores depend on the scores just before"


class DependenceWatch:
    """Tests whether scores depend on the scores just before, and keeps the latest ones.

    `n_to_check` is the number of scores until the next check.

    >>> watch = DependenceWatch()
    >>> watch.take(np.random.default_rng(0).normal(size=128).cumsum())
    True
    """

    def __init__(
        self,
        test: SerialTest | None = None,
        rest: Sequence[float] = (),
        recent: Sequence[float] = (),
    ) -> None:
        self._test, self._rest = test or SerialTest(), list(rest)
        self._recent = deque[float](recent, maxlen=_N_RECENT)
        self._begin_next_check()

    @property
    def recent(self) -> FloatArray:
        """The latest scores, in the order of time."""
        return np.array(self._recent, dtype=np.float64)

    def take(self, scores: FloatArray) -> bool:
        """Take scores, at most `n_to_check`. Whether a check that is now due finds dependence."""
        values = scores.tolist()
        self._rest += values
        self._recent.extend(values)
        self.n_to_check -= len(values)
        if len(self._rest) < WINDOW:
            return False
        self._test = self._test.after(np.array(self._rest))
        del self._rest[: len(self._rest) // WINDOW * WINDOW]
        if self.n_to_check:
            return False
        self._begin_next_check()
        return self._test.is_dependent

    def verdict(self, scores: FloatArray) -> Verdict:
        """What to do with an alarm after these scores, which are not taken yet."""
        test = self._test.after(np.concatenate([self._rest, scores]))
        if test.n_windows < _MIN_WINDOWS:
            return Verdict.WAIT
        return Verdict.DEPENDENT if test.z > _Z_AT_ALARM else Verdict.ALARM

    def _begin_next_check(self) -> None:
        n_windows = self._test.next_check - self._test.n_windows
        self.n_to_check = n_windows * WINDOW - len(self._rest)

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON."""
        return {
            "kind": "DependenceWatch",
            "version": STATE_VERSION,
            "n_windows": self._test.n_windows,
            "total": self._test.total,
            "rest": plain_scores(self._rest),
            "recent": plain_scores(list(self._recent)),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Watch that continues from a saved `state`. What does not fit is refused."""
        saved = SavedState.of(state, "DependenceWatch", _ENTRIES)
        rest, recent = saved.scores("rest"), saved.scores("recent")
        if len(rest) >= WINDOW:
            raise saved.refuse("rest", f"shorter than {WINDOW}")
        if len(recent) > _N_RECENT:
            raise saved.refuse("recent", f"at most {_N_RECENT} scores")
        return cls(SerialTest(saved.count("n_windows"), saved.number("total")), rest, recent)
