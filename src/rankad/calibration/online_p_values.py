"""Streams: scores become p-values, one at a time."""

from collections.abc import Mapping
from math import ceil, log2
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._rounding import EXACT, Rounding
from rankad._typing import FloatArray
from rankad.calibration.online_ranks import MAX_KEYS, MIN_KEYS, OnlineRanks, keys_of, scores_of
from rankad.calibration.states import STATE_VERSION, SavedState, plain_scores

_ENTRIES: Final = ("seed", "n_drawn", "max_keys", "n_dropped", "rounding", "scores", "counts")

#: Cells of the grid of scores, in units of their rounding, and where a cell begins. Few scores then
#: lie so near to a border that rounding carries them over it.
_CELL: Final = 1024.0
_SHIFT: Final = 0.381966


class OnlinePValues:
    """Rank of each new score among all scores so far, with ties broken at random.

    ``p_t = (#{i <= t: s_i < s_t} + U #{i <= t: s_i = s_t}) / t``, U uniform above 0 and at most 1.
    The count includes the score itself. As long as all scores are exchangeable, these p-values are
    independent and exactly uniform, and never 0.

    At most `max_keys` different scores are kept, with counts. Where there are more, scores are
    rounded to fewer bits, and those that become equal are ties. All scores so far, the new one
    included, decide alike how many bits are kept. So the p-values stay exactly uniform.

    Parameters
    ----------
    scores : array-like of shape (n_scores,)
        Scores before the first one of the stream.
    seed : int
        Seed of the random numbers. Every score uses one, tied or not.
    n_drawn : int, default=0
        Number of random numbers to skip, because they were used before an interruption.
    max_keys : int, default=65536
        Largest number of different scores to keep.
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
        max_keys: int = MAX_KEYS,
        rounding: Rounding = EXACT,
    ) -> None:
        if max_keys < MIN_KEYS:
            raise ValueError(f"max_keys must be at least {MIN_KEYS}; got {max_keys}.")
        self.rounding = rounding
        before = self._on_grid(np.asarray(scores, dtype=np.float64))
        ranks = OnlineRanks.of(before, max_keys, _n_uncertain_bits(rounding))
        self._begin(ranks, len(before), seed, n_drawn)

    def _begin(self, ranks: OnlineRanks, n_scores: int, seed: int, n_drawn: int) -> None:
        self.seed, self.n_drawn, self.n_scores = seed, n_drawn, n_scores
        self._ranks = ranks
        self._uniform = np.random.Generator(np.random.PCG64(seed).advance(n_drawn))

    def next_p_value(self, score: float) -> float:
        """p-value of the next score, which then joins the others."""
        return float(self.p_values(np.array([score]))[0])

    def p_values(self, scores: FloatArray) -> FloatArray:
        """p-values of the next scores, each among all scores up to itself."""
        n_below, n_equal = self._ranks.take(self._on_grid(scores))
        n_scores = self.n_scores + np.arange(1, len(scores) + 1)
        self.n_scores += len(scores)
        self.n_drawn += len(scores)
        uniform = 1.0 - self._uniform.random(len(scores))  # random() may be 0, but is never 1
        return np.asarray((n_below + uniform * n_equal) / n_scores)

    def _on_grid(self, scores: FloatArray) -> FloatArray:
        """Scores on a grid that is coarse beside their rounding, so that copies of a row tie.

        The grid does not depend on the scores, so the p-values stay exactly uniform.
        """
        unit = _CELL * self.rounding.absolute
        return scores if unit == 0.0 else np.floor(scores / unit + _SHIFT) * unit

    @property
    def scores(self) -> FloatArray:
        """All scores so far, sorted and perhaps rounded."""
        ranks = self._ranks.merged()
        return np.repeat(scores_of(ranks.keys, ranks.n_dropped), ranks.counts)

    def restarted(self, scores: ArrayLike, rounding: Rounding = EXACT) -> "OnlinePValues":
        """p-values among other scores, with the next random numbers."""
        kept = self._ranks.max_keys
        return OnlinePValues(
            scores, seed=self.seed, n_drawn=self.n_drawn, max_keys=kept, rounding=rounding
        )

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The stream continues as if not interrupted."""
        ranks = self._ranks.merged()
        return {
            "kind": "OnlinePValues",
            "version": STATE_VERSION,
            "seed": self.seed,
            "n_drawn": self.n_drawn,
            "max_keys": ranks.max_keys,
            "n_dropped": ranks.n_dropped,
            "rounding": [self.rounding.absolute, self.rounding.relative],
            "scores": plain_scores(scores_of(ranks.keys, ranks.n_dropped).tolist()),
            "counts": ranks.counts.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """p-values that continue from a saved `state`. What does not fit is refused."""
        saved = SavedState.of(state, "OnlinePValues", _ENTRIES)
        n_dropped = saved.count("n_dropped", most=52)
        max_keys = saved.count("max_keys", least=MIN_KEYS)
        keys = keys_of(np.array(saved.scores("scores"), dtype=np.float64)) >> n_dropped
        if len(keys) > max_keys or (np.diff(keys) <= 0).any():
            raise saved.refuse("scores", "ascending, and at most max_keys")
        counts = np.array(saved.counts("counts", least=1), dtype=np.int64)
        if len(counts) != len(keys):
            raise saved.refuse("counts", f"as many as the {len(keys)} scores")
        rounding = saved.numbers("rounding")
        if len(rounding) != 2 or min(rounding) < 0.0:
            raise saved.refuse("rounding", "two numbers of at least 0")
        p_values = cls.__new__(cls)
        p_values.rounding = Rounding(*rounding)
        p_values._begin(
            OnlineRanks(max_keys, n_dropped, keys, counts),
            int(counts.sum()),
            seed=saved.count("seed"),
            n_drawn=saved.count("n_drawn"),
        )
        return p_values


def _n_uncertain_bits(rounding: Rounding) -> int:
    """Bits of a score to drop, so that what is left is coarse beside its relative rounding.

    >>> _n_uncertain_bits(EXACT), _n_uncertain_bits(Rounding.in_precision("float64"))
    (0, 18)
    """
    if rounding.relative == 0.0:
        return 0
    return max(0, 52 + ceil(log2(_CELL * rounding.relative)))


def checked_stream(values: ArrayLike, lowest: float, highest: float) -> FloatArray:
    """Valid numbers as an array. If one is invalid, none is returned."""
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
    return numbers
