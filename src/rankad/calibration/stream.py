"""Streams, one at a time: scores become p-values, and p-values become discoveries."""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite, isqrt
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.reference import ReferenceScores

#: Of saved states: one that a later rankad writes may hold more.
_STATE_VERSION: Final = 1


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
        return {"version": _STATE_VERSION, "scores": plain, **numbers}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """p-values that go on where the `state` of others was taken."""
        _require_known_version(state)
        scores = [float(s) for s in state["scores"]]
        return cls(scores, seed=state["seed"], n_drawn=state["n_drawn"])

    def _settle(self, scores: FloatArray) -> None:
        """Keep sorted scores in one array, and the next in a list until it is long.

        A list of about the square root is short to insert into, and long enough that copying the
        array once for all of it costs each score little.
        """
        self._sorted, self._recent = scores, list[float]()
        self._n_room = 64 + isqrt(len(scores))


def held_out_scores(detector: Any) -> FloatArray:
    """Reference scores of a detector, if they are exchangeable with new scores; none of None."""
    if detector is None:
        return np.empty(0)
    if hasattr(detector, "fit"):
        check_is_fitted(detector, "reference_")
    reference = getattr(detector, "reference_", detector)
    if not isinstance(reference, ReferenceScores):
        raise TypeError(f"detector must be a calibrated detector or None; got {detector!r}.")
    if reference.guarantee != "exact":
        raise ValueError(
            f"A stream can only be compared with held-out scores; got {reference!r}. Fit with "
            'calibration="split", or call calibrate() with new rows.'
        )
    if len(reference.scores) < reference.size:
        raise ValueError(
            f"{reference!r} keeps only {len(reference.scores)} of its scores, and those rounded; "
            "compare the stream with HeldOutScores.of() some of them, or with None."
        )
    return reference.scores


def in_order(values: ArrayLike, lowest: float, highest: float) -> list[float]:
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


def _require_known_version(state: Mapping[str, Any]) -> None:
    """Refuse a saved state that another version has written, or that is none."""
    if state.get("version") != _STATE_VERSION:
        raise ValueError(f"This rankad cannot read a state of version {state.get('version')!r}.")


@dataclass(frozen=True)
class _Rule:
    """How a method of online testing spends its error budget.

    A clock ticks at each p-value above `candidate` and at most `discard`. With ``c`` ticks so far,
    ``c_j`` at the j-th discovery, w the initial share of the rate q, and g the `spending`, the next
    level is ``scale (w q g(c + 1) + (1 - w) q g(c + 1 - c_1) + q sum_{j > 1} g(c + 1 - c_j))``, but
    at most `cap`. The papers write the clock differently for each method; it comes to this.
    """

    initial_share: float
    spending: Callable[[FloatArray], FloatArray]
    candidate: float
    discard: float
    scale: float
    cap: float

    def is_tick(self, p: float) -> bool:
        """Whether the clock moves on with this p-value."""
        return self.candidate < p <= self.discard

    def level(self, fdr: float, clock: int, discoveries: FloatArray) -> float:
        """Level of the next test, given the clock now and at each discovery."""
        initial = self.initial_share * fdr
        budgets = np.full(len(discoveries) + 1, fdr)
        budgets[0] = initial
        budgets[1:2] = fdr - initial  # of the first discovery, if there is one
        ticks = clock + 1.0 - np.concatenate([[0.0], discoveries])
        return min(self.cap, self.scale * float(budgets @ self.spending(ticks)))


def _slow_spending(ticks: FloatArray) -> FloatArray:
    """Share of a budget to spend at each tick, nearly 1/t: it sums to less than 1."""
    growth = ticks * np.exp(np.sqrt(np.log(ticks)))
    return np.asarray(0.07720838 * np.log(np.maximum(ticks, 2.0)) / growth)


def _fast_spending(ticks: FloatArray) -> FloatArray:
    """Share of a budget to spend at each tick, ``t^-1.6``: it sums to 1."""
    return np.asarray(0.4374901658 * ticks**-1.6)


_RULES: Final[Mapping[str, _Rule]] = {
    # The clock of LORD++ ticks at every p-value, 0 included.
    "lord": _Rule(0.1, _slow_spending, candidate=-1.0, discard=1.0, scale=1.0, cap=1.0),
    "saffron": _Rule(0.5, _fast_spending, candidate=0.5, discard=1.0, scale=0.5, cap=0.5),
    "addis": _Rule(0.5, _fast_spending, candidate=0.25, discard=0.5, scale=0.25, cap=0.25),
}


class OnlineDiscoveries:
    """Decides on p-values as they come, so that few of the discoveries are false.

    At any time the expected share of false ones among the discoveries so far is at most `fdr`.
    That needs independent p-values. **Conformal p-values that share one reference set are not**:
    an unlucky reference makes all of them too small together. The remedy is calibration-conditional
    p-values (`conditional_p_values`): given the reference they are independent, and but for a
    probability that you choose they are valid; the share is then at most `fdr` plus that.

    Levels fall as a stream goes on without discoveries, and rise with each. A conformal p-value is
    never below ``1 / (n_ref + 1)``, a conditional one not even that small: once `level` is below,
    nothing can be discovered any more. LORD++ starts at ``fdr / 187``, SAFFRON at ``fdr / 9``,
    ADDIS at ``fdr / 18``, and all fall fast. Where anomalies are rare, select by batches instead
    (`benjamini_hochberg`), or start anew for each batch.

    Parameters
    ----------
    fdr : float, default=0.1
        False discovery rate.
    method : {"lord", "saffron", "addis"}, default="lord"
        LORD++ (Ramdas et al. 2017); SAFFRON (2018), which spends nothing on the p-values up to 1/2
        and gains where anomalies are many; ADDIS (Tian and Ramdas 2019), which also passes over
        those above 1/2 and gains where nominal p-values are conservative, and uniformly so: that
        conditional ones are is not known, so their rate is then not promised.

    Attributes
    ----------
    level : float
        Level of the next test: a discovery is a p-value at most as large.
    n_tested, n_discoveries : int

    Examples
    --------
    >>> discoveries = OnlineDiscoveries(fdr=0.1)
    >>> discoveries.test_many([0.0001, 0.7, 0.0004, 0.02])
    array([ True, False,  True, False])
    >>> discoveries.n_discoveries, round(discoveries.level, 5)
    (2, 0.00198)
    """

    def __init__(self, fdr: float = 0.1, method: str = "lord") -> None:
        if not 0.0 < fdr < 1.0:
            raise ValueError(f"fdr must be a number between 0 and 1, exclusive; got {fdr!r}.")
        if method not in _RULES:
            raise ValueError(f"method must be one of {sorted(_RULES)}; got {method!r}.")
        self.fdr, self.method = float(fdr), method
        self.n_tested = 0
        self._clock = 0
        # The clock at each discovery is all of the past that the levels depend on.
        self._discovery_clocks = array("q")
        self._set_level()

    def __repr__(self) -> str:
        return (
            f"<OnlineDiscoveries by {self.method} at fdr={self.fdr}: {self.n_discoveries} of "
            f"{self.n_tested}, next level {self.level:.2g}>"
        )

    @property
    def n_discoveries(self) -> int:
        """Number of discoveries so far."""
        return len(self._discovery_clocks)

    def test(self, p: float) -> bool:
        """Take one p-value; say whether it is a discovery."""
        return bool(self.test_many([p])[0])

    def test_many(self, p: ArrayLike) -> BoolArray:
        """Take p-values in the order of the stream, or none if one is invalid.

        Returns
        -------
        is_discovery : ndarray of bool
        """
        return np.array([self._test(value) for value in in_order(p, 0.0, 1.0)], dtype=np.bool_)

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs to go on as if never interrupted, ready for JSON."""
        return {
            "version": _STATE_VERSION,
            "fdr": self.fdr,
            "method": self.method,
            "n_tested": self.n_tested,
            "clock": self._clock,
            "discovery_clocks": self._discovery_clocks.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Tests that go on where the `state` of others was taken."""
        _require_known_version(state)
        discoveries = cls(state["fdr"], state["method"])
        discoveries.n_tested, discoveries._clock = state["n_tested"], state["clock"]
        discoveries._discovery_clocks.extend(state["discovery_clocks"])
        discoveries._set_level()
        return discoveries

    def _test(self, p: float) -> bool:
        is_discovery = p <= self.level
        is_tick = _RULES[self.method].is_tick(p)
        self.n_tested += 1
        self._clock += is_tick
        if is_discovery:
            self._discovery_clocks.append(self._clock)
        if is_discovery or is_tick:
            self._set_level()
        return is_discovery

    def _set_level(self) -> None:
        clocks = np.array(self._discovery_clocks, dtype=np.float64)
        self.level = _RULES[self.method].level(self.fdr, self._clock, clocks)
