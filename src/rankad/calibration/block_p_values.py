"""Streams with memory: blocks of scores become p-values, one for each block."""

from collections.abc import Mapping
from typing import Any, Final, Self

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.calibration.online_p_values import OnlinePValues
from rankad.calibration.serial import block_length, runs_of
from rankad.calibration.states import STATE_VERSION, SavedState, plain_scores

#: Bets begin after this many blocks, which later ones are compared with.
MIN_BLOCKS: Final = 10

#: Scores at the first check of the memory, and the most to learn it from.
FIRST_CHECK: Final = 1_000
MAX_LEARNING: Final = 64_000

#: Most scores to keep for the ranks of rows.
_MAX_KNOTS: Final = 1024

_ENTRIES: Final = (
    *("asked_length", "block_length", "learning", "run_starts", "knots"),
    *("partial_sum", "partial_size", "p_values"),
)


class BlockPValues:
    """p-values of blocks of consecutive scores, for a stream whose scores depend on each other.

    The first scores are only learned from, until they make 10 blocks. They give the length of the
    blocks, if it is not given. After that, each score is ranked among them, and the sum of ranks of
    a block is its value. The p-value of a block compares its value with those of all blocks so far.

    If the values of blocks are exchangeable, their p-values are independent and uniform. Blocks of
    eight times the memory of the stream are nearly exchangeable, and not exactly.

    Parameters
    ----------
    in_order : array of shape (n_scores,)
        Scores to learn from, in the order of time.
    run_starts : array of int
        Positions in ``in_order`` where a run of consecutive scores begins.
    length : int, optional
        Scores of a block. By default eight times the memory of the stream, checked at each doubling
        of the scores, until 10 blocks are known.
    seed : int
        Seed of the random numbers that break ties.

    Attributes
    ----------
    block_length : int or None
        Scores of a block. It is None while the monitor learns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stream = np.convolve(rng.normal(size=2009), np.ones(10), mode="valid")
    >>> blocks = BlockPValues(stream[:1000], np.array([0]), seed=0)
    >>> blocks.block_length
    70
    >>> p_values = blocks.p_values(stream[1000:])
    >>> np.flatnonzero(np.isfinite(p_values))[:3]
    array([ 69, 139, 209])
    """

    def __init__(
        self, in_order: FloatArray, run_starts: IntArray, length: int | None = None, *, seed: int
    ) -> None:
        self._asked_length = length
        self.block_length: int | None = None
        self._learning: FloatArray = in_order
        self._run_starts: IntArray = run_starts
        self._knots: FloatArray = in_order[:0]
        self._partial_sum, self._partial_size = 0, 0
        self._p_values = OnlinePValues(seed=seed)
        self._learn()
        if len(self._learning):
            self._run_starts = np.append(run_starts, len(in_order))  # the stream is another run

    @property
    def n_learned(self) -> int:
        """Number of scores that it has learned from so far, while it learns."""
        return len(self._learning)

    def p_values(self, scores: FloatArray) -> FloatArray:
        """The p-value of a block at its last score, and NaN at all other scores."""
        p = np.full(len(scores), np.nan)
        n_done = 0
        while self.block_length is None and n_done < len(scores):
            n_more = self._next_check() - len(self._learning)
            new = scores[n_done : n_done + n_more]
            self._learning = np.concatenate([self._learning, new])
            n_done += len(new)
            if len(new) == n_more:
                self._learn()
        if self.block_length is not None and n_done < len(scores):
            self._rank_blocks(scores[n_done:], p[n_done:], self.block_length)
        return p

    def _next_check(self) -> int:
        """Number of scores to learn from at the next check."""
        n_learned = len(self._learning)
        if self._asked_length is None:
            return FIRST_CHECK << (n_learned // FIRST_CHECK).bit_length()
        in_stream = n_learned - int(self._run_starts[-1])
        n_before = self._n_blocks(self._asked_length) - in_stream // self._asked_length
        return int(self._run_starts[-1]) + self._asked_length * (MIN_BLOCKS - n_before)

    def _learn(self) -> None:
        """Begin with the blocks, if enough scores are known."""
        n_learned = len(self._learning)
        length = self._asked_length
        if length is None and n_learned >= FIRST_CHECK:
            length = block_length(self._learning, self._run_starts)
            if n_learned >= MAX_LEARNING:
                length = min(length, n_learned // (MIN_BLOCKS + len(self._run_starts)))
        if length is None or self._n_blocks(length) < MIN_BLOCKS:
            return
        self.block_length = length
        kept = np.linspace(0, n_learned - 1, min(n_learned, _MAX_KNOTS)).astype(np.int64)
        self._knots = np.sort(self._learning)[kept]
        values = [
            self._ranks(run[: len(run) - len(run) % length]).reshape(-1, length).sum(axis=1)
            for run in runs_of(self._learning, self._run_starts)
        ]
        self._p_values = self._p_values.restarted(np.concatenate(values))
        self._learning, self._run_starts = self._learning[:0], self._run_starts[:1]

    def _n_blocks(self, length: int) -> int:
        return sum(len(run) // length for run in runs_of(self._learning, self._run_starts))

    def _rank_blocks(self, scores: FloatArray, p: FloatArray, length: int) -> None:
        """Write the p-value of each block that ends within these scores."""
        totals = self._partial_sum + np.cumsum(self._ranks(scores))
        ends = np.arange(length - self._partial_size - 1, len(scores), length)
        values = np.diff(totals[ends], prepend=0)
        p[ends] = self._p_values.p_values(values.astype(np.float64))
        self._partial_sum = int(totals[-1] - (totals[ends[-1]] if len(ends) else 0))
        self._partial_size = (self._partial_size + len(scores)) % length

    def _ranks(self, scores: FloatArray) -> IntArray:
        """Twice the rank of each score among the knots: an integer, so that sums are exact."""
        n_below = np.searchsorted(self._knots, scores)
        return np.asarray(n_below + np.searchsorted(self._knots, scores, side="right"))

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The stream continues as if not interrupted."""
        return {
            "kind": "BlockPValues",
            "version": STATE_VERSION,
            "asked_length": self._asked_length,
            "block_length": self.block_length,
            "learning": plain_scores(self._learning.tolist()),
            "run_starts": self._run_starts.tolist(),
            "knots": plain_scores(self._knots.tolist()),
            "partial_sum": self._partial_sum,
            "partial_size": self._partial_size,
            "p_values": self._p_values.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """p-values that continue from a saved `state`. What does not fit is refused."""
        saved = SavedState.of(state, "BlockPValues", _ENTRIES)
        blocks = cls.__new__(cls)
        blocks._asked_length = saved.count_or_none("asked_length", least=2)
        blocks.block_length = saved.count_or_none("block_length", least=2)
        blocks._learning = np.array(saved.scores("learning"), dtype=np.float64)
        blocks._run_starts = np.array(saved.counts("run_starts"), dtype=np.int64)
        blocks._knots = np.array(saved.scores("knots"), dtype=np.float64)
        blocks._p_values = OnlinePValues.from_state(state["p_values"])
        starts, is_learning = blocks._run_starts, blocks.block_length is None
        if not len(starts) or starts[0] or (np.diff(starts) <= 0).any():
            raise saved.refuse("run_starts", "ascending from 0")
        if starts[-1] > len(blocks._learning):
            raise saved.refuse("run_starts", "at most the number of scores in 'learning'")
        if (len(blocks._knots) == 0) != is_learning or (np.diff(blocks._knots) < 0).any():
            raise saved.refuse("knots", "ascending, and empty only while block_length is None")
        length = blocks.block_length or 1
        blocks._partial_size = saved.count("partial_size", most=length - 1)
        most = 2 * len(blocks._knots) * blocks._partial_size
        blocks._partial_sum = saved.count("partial_sum", most=most)
        return blocks
