"""Streams, one at a time: p-values become discoveries."""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.online_p_values import (
    STATE_VERSION,
    checked_stream,
    require_known_version,
)


@dataclass(frozen=True)
class _Rule:
    """How a method of online testing spends its error budget.

    A clock ticks at each p-value above `candidate` and at most `discard`. With ``c`` ticks so far,
    ``c_j`` at the j-th discovery, w the initial share of the rate q, and g the `spending`, the next
    alpha is ``scale (w q g(c + 1) + (1 - w) q g(c + 1 - c_1) + q sum_{j > 1} g(c + 1 - c_j))``, but
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

    def next_alpha(self, fdr: float, clock: int, discoveries: FloatArray) -> float:
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

    `next_alpha` falls as a stream goes on without discoveries, and rises with each. A conformal
    p-value is never below ``1 / (n_ref + 1)``, a conditional one not even that small: once
    `next_alpha` is below, nothing can be discovered any more. LORD++ starts at
    ``fdr / 187``, SAFFRON at ``fdr / 9``, ADDIS at ``fdr / 18``, and all fall fast. Where anomalies
    are rare, select by batches instead (``det.select``), or start anew for each batch.

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
    next_alpha : float
        Level of the next test: a discovery is a p-value at most as large.
    n_tested, n_discoveries : int

    Examples
    --------
    >>> discoveries = OnlineDiscoveries(fdr=0.1)
    >>> discoveries.test_many([0.0001, 0.7, 0.0004, 0.02])
    array([ True, False,  True, False])
    >>> discoveries.n_discoveries, round(discoveries.next_alpha, 5)
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
        # The clock at each discovery is all of the past that the next alpha depends on.
        self._discovery_clocks = array("q")
        self._set_next_alpha()

    def __repr__(self) -> str:
        return (
            f"<OnlineDiscoveries by {self.method} at fdr={self.fdr}: {self.n_discoveries} of "
            f"{self.n_tested}, next alpha {self.next_alpha:.2g}>"
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
        return np.array(
            [self._test(value) for value in checked_stream(p, 0.0, 1.0)], dtype=np.bool_
        )

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs to go on as if never interrupted, ready for JSON."""
        return {
            "version": STATE_VERSION,
            "fdr": self.fdr,
            "method": self.method,
            "n_tested": self.n_tested,
            "clock": self._clock,
            "discovery_clocks": self._discovery_clocks.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Tests that go on where the `state` of others was taken."""
        require_known_version(state)
        discoveries = cls(state["fdr"], state["method"])
        discoveries.n_tested, discoveries._clock = state["n_tested"], state["clock"]
        discoveries._discovery_clocks.extend(state["discovery_clocks"])
        discoveries._set_next_alpha()
        return discoveries

    def _test(self, p: float) -> bool:
        is_discovery = p <= self.next_alpha
        is_tick = _RULES[self.method].is_tick(p)
        self.n_tested += 1
        self._clock += is_tick
        if is_discovery:
            self._discovery_clocks.append(self._clock)
        if is_discovery or is_tick:
            self._set_next_alpha()
        return is_discovery

    def _set_next_alpha(self) -> None:
        clocks = np.array(self._discovery_clocks, dtype=np.float64)
        self.next_alpha = _RULES[self.method].next_alpha(self.fdr, self._clock, clocks)
