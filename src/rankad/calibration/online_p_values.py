"""Streams: scores become p-values, one at a time."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from math import isfinite, isqrt
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._rounding import EXACT, Rounding
from rankad._typing import FloatArray

#: Version of saved states. A later rankad may write a state with more in it.
STATE_VERSION: Final = 1


class OnlinePValues:
    """Rank of each new score among all scores so far, with ties broken at random.

    ``p_t = (#{i <= t: s_i < s_t} + U #{i <= t: s_i = s_t}) / t``, U uniform above 0 and at most 1.
    The count includes the score itself. As long as all scores are exchangeable, these p-values are
    independent and exactly uniform, and never 0. Every score is kept, in 8 bytes. A new score costs
    two searches, and from time to time a merge.

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        Scores before the first one of the stream.
    seed : int
        Seed of the random numbers. Every score uses one, tied or not.
    n_drawn : int, default=0
        Number of random numbers to skip, because they were used before an interruption.
    rounding : Rounding, optional
        Scores that differ by at most this count as ties. By default only equal scores do.

    Examples
    --------
    >>> p_values = OnlinePValues([0.1, 0.3, 0.4], seed=0)
    >>> 0.25 < p_values.next_p_value(0.2) <= 0.5
    True
    """

    def __init__(
        self,
        scores: ArrayLike = (),
        *,
        seed: int,
        n_drawn: int = 0,
        rounding: Rounding = EXACT,
    ) -> None:
        self.seed, self.n_drawn, self.rounding = seed, n_drawn, rounding
        self._uniform = np.random.Generator(np.random.PCG64(seed).advance(n_drawn))
        self._store_sorted(np.sort(np.asarray(scores, dtype=np.float64), kind="stable"))

    def next_p_value(self, score: float) -> float:
        """p-value of the next score, which then joins the others."""
        tie = self.rounding.absolute + self.rounding.relative * abs(score) if isfinite(score) else 0
        low, high = score - tie, score + tie
        n_below = int(self._sorted.searchsorted(low)) + bisect_left(self._recent, low)
        n_at_most = int(self._sorted.searchsorted(high, side="right"))
        n_at_most += bisect_right(self._recent, high)
        n_scores = len(self._sorted) + len(self._recent) + 1
        insort(self._recent, score)
        if len(self._recent) >= self._max_recent:
            self._store_sorted(self.scores)
        self.n_drawn += 1
        uniform = 1.0 - self._uniform.random()  # random() may be 0, but is never 1
        return (n_below + uniform * (n_at_most - n_below + 1)) / n_scores

    @property
    def scores(self) -> FloatArray:
        """All scores so far, sorted."""
        return np.sort(np.concatenate([self._sorted, self._recent]), kind="stable")

    def restarted(self, scores: ArrayLike, rounding: Rounding = EXACT) -> "OnlinePValues":
        """p-values among other scores, with the next random numbers."""
        return OnlinePValues(scores, seed=self.seed, n_drawn=self.n_drawn, rounding=rounding)

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The stream continues as if not interrupted."""
        # JSON has no infinity, but it has text that float() reads.
        plain = [s if isfinite(s) else str(s) for s in self.scores.tolist()]
        rounding = [self.rounding.absolute, self.rounding.relative]
        numbers = {"seed": self.seed, "n_drawn": self.n_drawn, "rounding": rounding}
        return {"version": STATE_VERSION, "scores": plain, **numbers}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """p-values that continue from a saved `state`."""
        require_known_version(state)
        scores = [float(s) for s in state["scores"]]
        rounding = Rounding(*state.get("rounding", ()))
        return cls(scores, seed=state["seed"], n_drawn=state["n_drawn"], rounding=rounding)

    def _store_sorted(self, scores: FloatArray) -> None:
        """Keep sorted scores in an array, and the next scores in a list until it is long.

        A list of about the square root of the array is short to insert into. It is also long enough
        that copying the array once per list costs each score little.
        """
        self._sorted, self._recent = scores, list[float]()
        self._max_recent = 64 + isqrt(len(scores))


def checked_stream(values: ArrayLike, lowest: float, highest: float) -> list[float]:
    """Valid numbers as a list. If one is invalid, none is returned."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(
            f"Scores or p-values of a stream must have shape (n,); got {numbers.shape}."
        )
    is_valid = (numbers >= lowest) & (numbers <= highest)
    if not is_valid.all():
        at = int(is_valid.argmin())
        raise ValueError(
            f"Value {at} is {numbers[at]}, not a number from {lowest} to {highest}. No value of "
            "this call was taken."
        )
    return [float(number) for number in numbers]


def require_known_version(state: Mapping[str, Any]) -> None:
    """Refuse a saved state that another version has written, or that is no state."""
    if state.get("version") != STATE_VERSION:
        raise ValueError(
            f"This rankad cannot read a state of version {state.get('version')!r}. Give a state of "
            f"version {STATE_VERSION}."
        )
