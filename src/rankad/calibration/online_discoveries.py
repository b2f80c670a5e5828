"""Streams: p-values become discoveries, one at a time."""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.online_p_values import checked_stream
from rankad.calibration.states import STATE_VERSION, SavedState


@dataclass(frozen=True)
class _Rule:
    """How a method of online testing spends its error budget.

    A clock ticks at each p-value above `candidate` and at most `discard`. Let c be the ticks so
    far, c_j the ticks at the j-th discovery, w the initial share of the rate q, and g the
    `spending`. Then the next alpha is
    ``scale (w q g(c + 1) + (1 - w) q g(c + 1 - c_1) + q sum_{j > 1} g(c + 1 - c_j))``, but at most
    `cap`. The papers write the clock in a different form for each method, with the same result.
    """

    initial_share: float
    spending: Callable[[FloatArray], FloatArray]
    candidate: float
    discard: float
    scale: float
    cap: float

    def is_tick(self, p: float) -> bool:
        """Whether the clock ticks at this p-value."""
        return self.candidate < p <= self.discard

    def next_alpha(self, fdr: float, clock: int, discoveries: FloatArray) -> float:
        """Alpha of the next test, given the clock now and at each discovery."""
        initial = self.initial_share * fdr
        budgets = np.full(len(discoveries) + 1, fdr)
        budgets[0] = initial
        budgets[1:2] = fdr - initial  # budget of the first discovery, if there is one
        ticks = clock + 1.0 - np.concatenate([[0.0], discoveries])
        return min(self.cap, self.scale * float(budgets @ self.spending(ticks)))


def _slow_spending(ticks: FloatArray) -> FloatArray:
    """Share of a budget to spend at each tick. It falls nearly like 1/t; the sum is below 1."""
    growth = ticks * np.exp(np.sqrt(np.log(ticks)))
    return np.asarray(0.07720838 * np.log(np.maximum(ticks, 2.0)) / growth)


def _fast_spending(ticks: FloatArray) -> FloatArray:
    """Share of a budget to spend at each tick: proportional to ``t^-1.6``, with the sum 1."""
    return np.asarray(0.4374901658 * ticks**-1.6)


_RULES: Final[Mapping[str, _Rule]] = {
    # The clock of LORD++ ticks at every p-value, also at 0.
    "lord": _Rule(0.1, _slow_spending, candidate=-1.0, discard=1.0, scale=1.0, cap=1.0),
    "saffron": _Rule(0.5, _fast_spending, candidate=0.5, discard=1.0, scale=0.5, cap=0.5),
    "addis": _Rule(0.5, _fast_spending, candidate=0.25, discard=0.5, scale=0.25, cap=0.25),
}


_ENTRIES: Final = ("fdr", "method", "n_tested", "clock", "discovery_clocks")


class OnlineDiscoveries:
    """Tests p-values one at a time, with few false discoveries.

    At any time, the expected share of false discoveries among the discoveries so far is at most
    `fdr`. That needs independent p-values. **Conformal p-values with one shared reference are not
    independent**: an unlucky reference makes all of them too small together. Use p-values with a
    confidence instead, ``det.p_values(X, confidence=0.95)``. Given the reference they are
    independent, and with the confidence they are valid. Then the expected share is at most
    ``fdr + (1 - confidence)``.

    It finds much only if anomalies are frequent. `next_alpha` falls while there are no discoveries,
    and rises with each discovery. A conformal p-value is at least ``1 / (n_ref + 1)``, and one with
    a confidence is larger. So nothing can be discovered once `next_alpha` is below that. LORD++
    starts at ``fdr / 187``, SAFFRON at ``fdr / 9``, ADDIS at ``fdr / 18``, and all fall fast. On
    streams with 1% of anomalies they find nearly nothing.

    Do not start a new object for each batch of a stream. Each new object has a budget of its own,
    and the promise holds for each alone. Over all batches together the share of false discoveries
    is larger: at ``fdr=.1`` with 1% of anomalies it was a fifth to a third, and it grows if
    anomalies are rarer. If anomalies are rare, use ``predict`` with a budget of false alarms, and
    ``det.true_alarms`` of a batch.

    Parameters
    ----------
    fdr : float, default=0.1
        False-discovery rate.
    method : {"lord", "saffron", "addis"}, default="lord"
        "lord" is LORD++ (Ramdas et al. 2017). "saffron" (2018) spends no budget on p-values up to
        1/2, and finds more if anomalies are many. "addis" (Tian and Ramdas 2019) spends none on
        p-values up to 1/4 or above 1/2, and finds more if nominal p-values are uniformly
        conservative. It is not known whether p-values with a confidence are that. So "addis"
        guarantees no rate for them.

    Attributes
    ----------
    next_alpha : float
        Alpha of the next test: a p-value that is at most this is a discovery.
    n_tested, n_discoveries : int
        Number of p-values and number of discoveries so far.

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
        # The next alpha depends on the past only by the clock at each discovery.
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
        """Test one p-value, and return whether it is a discovery.

        Parameters
        ----------
        p : float
            A p-value, from 0 to 1.

        Returns
        -------
        is_discovery : bool
        """
        return bool(self.test_many([p])[0])

    def test_many(self, p: ArrayLike) -> BoolArray:
        """Test p-values in the order of the stream. If one is invalid, none is taken.

        Parameters
        ----------
        p : array-like of shape (n,)
            p-values, from 0 to 1.

        Returns
        -------
        is_discovery : ndarray of bool, shape (n,)
        """
        return np.array(
            [self._test(value) for value in checked_stream(p, 0.0, 1.0).tolist()], dtype=np.bool_
        )

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The stream continues as if not interrupted."""
        return {
            "kind": "OnlineDiscoveries",
            "version": STATE_VERSION,
            "fdr": self.fdr,
            "method": self.method,
            "n_tested": self.n_tested,
            "clock": self._clock,
            "discovery_clocks": self._discovery_clocks.tolist(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Tests that continue from a saved `state`.

        Parameters
        ----------
        state : dict
            A result of `state`. What does not fit is refused.

        Returns
        -------
        discoveries : OnlineDiscoveries
        """
        saved = SavedState.of(state, "OnlineDiscoveries", _ENTRIES)
        discoveries = cls(saved.number("fdr"), saved.text("method"))
        discoveries.n_tested = saved.count("n_tested")
        discoveries._clock = saved.count("clock", most=discoveries.n_tested)
        clocks = saved.counts("discovery_clocks")
        is_ascending = clocks == sorted(clocks) and max(clocks, default=0) <= discoveries._clock
        if not is_ascending or len(clocks) > discoveries.n_tested:
            raise saved.refuse("discovery_clocks", "ascending, at most the clock, one for each")
        discoveries._discovery_clocks.extend(clocks)
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
