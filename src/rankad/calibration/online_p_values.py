"""Streams, one at a time: scores become p-values."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from math import isfinite, isqrt
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray

#: Of saved states: one that a later rankad writes may hold more.
STATE_VERSION: Final = 1


class OnlinePValues:
    """Place of each new score among all so far, itself included, with ties broken at random.

    ``p_t = (#{i <= t: s_i < s_t} + U #{i <= t: s_i = s_t}) / t``, U uniform above 0 and at most 1.
    As long as all scores are exchangeable, these are independent and exactly uniform, and never 0.
    Every score is kept, in 8 bytes; a new one costs two searches and, now and then, a merge.

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        Scores that come before the first.
    seed : int
        Of the random numbers, one for each score whether it is tied or not.
    n_drawn : int, default=0
        How many of them to skip: those used before an interruption.

    Examples
    --------
    >>> p_values = OnlinePValues([0.1, 0.3, 0.4], seed=0)
    >>> 0.25 < p_values.of_next(0.2) <= 0.5
    True
    """

    def __init__(self, scores: ArrayLike = (), *, seed: int, n_drawn: int = 0) -> None:
        self.seed, self.n_drawn = seed, n_drawn
        self._uniform = np.random.Generator(np.random.PCG64(seed).advance(n_drawn))
        self._settle(np.sort(np.asarray(scores, dtype=np.float64), kind="stable"))

    def of_next(self, score: float) -> float:
        """p-value of a score, which then joins the others."""
        n_below = int(self._sorted.searchsorted(score)) + bisect_left(self._recent, score)
        n_at_most = int(self._sorted.searchsorted(score, side="right"))
        n_at_most += bisect_right(self._recent, score)
        n_scores = len(self._sorted) + len(self._recent) + 1
        insort(self._recent, score)
        if len(self._recent) >= self._n_room:
            self._settle(self.scores)
        self.n_drawn += 1
        uniform = 1.0 - self._uniform.random()  # random() may be 0, and never is 1
        return (n_below + uniform * (n_at_most - n_below + 1)) / n_scores

    @property
    def scores(self) -> FloatArray:
        """All scores so far, sorted."""
        return np.sort(np.concatenate([self._sorted, self._recent]), kind="stable")

    def restarted(self, scores: ArrayLike) -> "OnlinePValues":
        """p-values among other scores, with the random numbers not used so far."""
        return OnlinePValues(scores, seed=self.seed, n_drawn=self.n_drawn)

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs to go on as if never interrupted, ready for JSON."""
        # JSON has no infinity, but it has text that float() reads.
        plain = [s if isfinite(s) else str(s) for s in self.scores.tolist()]
        numbers = {"seed": self.seed, "n_drawn": self.n_drawn}
        return {"version": STATE_VERSION, "scores": plain, **numbers}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """p-values that go on where the `state` of others was taken."""
        require_known_version(state)
        scores = [float(s) for s in state["scores"]]
        return cls(scores, seed=state["seed"], n_drawn=state["n_drawn"])

    def _settle(self, scores: FloatArray) -> None:
        """Keep sorted scores in one array, and the next in a list until it is long.

        A list of about the square root is short to insert into, and long enough that copying the
        array once for all of it costs each score little.
        """
        self._sorted, self._recent = scores, list[float]()
        self._n_room = 64 + isqrt(len(scores))


def checked_stream(values: ArrayLike, lowest: float, highest: float) -> list[float]:
    """Numbers to be taken one by one, once all of them are known to be valid."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(
            f"A stream is of scores or p-values, one for each row; got shape {numbers.shape}."
        )
    is_valid = (numbers >= lowest) & (numbers <= highest)
    if not is_valid.all():
        at = int(is_valid.argmin())
        raise ValueError(
            f"Value {at} is {numbers[at]}, not a number from {lowest} to {highest}; none was taken."
        )
    return [float(number) for number in numbers]


def require_known_version(state: Mapping[str, Any]) -> None:
    """Refuse a saved state that another version has written, or that is none."""
    if state.get("version") != STATE_VERSION:
        raise ValueError(f"This rankad cannot read a state of version {state.get('version')!r}.")
