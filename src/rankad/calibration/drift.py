"""Has the stream drifted? Conformal test martingales, fed one score at a time."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp, inf, lgamma, log
from typing import Any, Final, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc
from sklearn.utils import check_random_state

from rankad._typing import FloatArray
from rankad.calibration.stream import OnlinePValues, held_out_scores, in_order

#: Where the bets stand: plain numbers, so that they can be saved.
Bets: TypeAlias = tuple[float, ...]

#: Of saved states: one that a later rankad writes may hold more.
_STATE_VERSION: Final = 1


class Betting(Protocol):
    """How to bet against p-values that claim to be independent and uniform.

    The capital starts at 1, and each bet must be fair: its mean over a uniform p is 1.
    """

    def start(self) -> Bets:
        """Bets before the first p-value."""

    def bet(self, bets: Bets, p: float) -> Bets:
        """Bets after one more p-value, above 0 and at most 1."""

    def log_martingale(self, bets: Bets) -> float:
        """Logarithm of the capital."""


@dataclass(frozen=True)
class MixtureBetting:
    """Vovk's mixture of the power bets ``eps p^(eps - 1)``, over all eps between 0 and 1.

    It bets on small p-values only: on scores that fall, never on scores that rise.

    >>> betting = MixtureBetting()
    >>> bets = betting.bet(betting.bet(betting.start(), 0.01), 0.02)
    >>> round(exp(betting.log_martingale(bets)), 2)
    16.04
    """

    def start(self) -> Bets:
        """No p-values, and no sum of their logarithms: all that the mixture depends on."""
        return 0.0, 0.0

    def bet(self, bets: Bets, p: float) -> Bets:
        """Count the p-value, and add its logarithm."""
        return bets[0] + 1.0, bets[1] + log(p)

    def log_martingale(self, bets: Bets) -> float:
        """Logarithm of the exact integral of ``eps^n exp(a (1 - eps))``, with ``a = -sum log p``.

        With ``s = n + 1`` it is ``e^a a^-s`` times the lower incomplete gamma function of (s, a).
        Its rounding error is about ``1e-16 s log s``: 1e-9 after a million p-values.
        """
        s, a = bets[0] + 1.0, -bets[1]
        share = float(gammainc(s, a))
        if share < 1e-290:  # digits lost to underflow
            return _log_mixture_series(s, a)
        return a - s * log(a) + lgamma(s) + log(share)


@dataclass(frozen=True)
class SimpleJumper:
    """Vovk's Simple Jumper: three gamblers, who bet ``1 + e (p - 1/2)`` with e = -1, 0 and 1.

    Before each bet every gambler gives the share `jump` of what he has, to be divided equally: so
    the bets turn soon after the p-values do. It notices scores that fall and scores that rise.

    While nothing drifts the gamblers lose 0.4% at each step, and then take as long to recover. With
    `reserve` the capital is kept back at first, and the n-th step releases ``1 / (n (n + 1))`` of
    it. That is a mixture of jumpers that start at each step, never below ``1 / (n + 1)``: the delay
    before a late change is found grows with the logarithm of n, not with n.

    >>> betting = SimpleJumper()
    >>> bets = betting.bet(betting.bet(betting.start(), 0.01), 0.02)
    >>> round(exp(betting.log_martingale(bets)), 2)
    1.16
    """

    jump: float = 0.01
    reserve: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.jump <= 1.0:
            raise ValueError(f"jump must be a number from 0 to 1; got {self.jump!r}.")

    def start(self) -> Bets:
        """Logarithm of the whole capital; shares of the gamblers and the reserve; steps so far."""
        third = 0.0 if self.reserve else 1.0 / 3.0
        return 0.0, third, third, third, float(self.reserve), 0.0

    def bet(self, bets: Bets, p: float) -> Bets:
        """Divide a part of the capital, then let each gambler win or lose."""
        log_capital, low, middle, high, reserve, n = bets
        released = reserve / (n + 2.0)
        kept, given = 1.0 - self.jump, (self.jump * (low + middle + high) + released) / 3.0
        low = (kept * low + given) * (1.5 - p)
        middle = kept * middle + given
        high = (kept * high + given) * (0.5 + p)
        reserve -= released
        # Shares of the whole, and only the whole in logarithms: nothing can overflow.
        growth = low + middle + high + reserve
        shares = low / growth, middle / growth, high / growth, reserve / growth
        return log_capital + log(growth), *shares, n + 1.0

    def log_martingale(self, bets: Bets) -> float:
        """Logarithm of the whole capital."""
        return bets[0]


BETTINGS: Final[Mapping[str, Betting]] = {
    "jumper": SimpleJumper(reserve=True),
    "mixture": MixtureBetting(),
}


class DriftMonitor:
    """Watches a stream of scores, and alarms when they stop being like those before.

    Each score becomes a p-value by its place among the reference scores *and all scores since*
    (`OnlinePValues`). A martingale bets against these p-values, and the alarm is raised when it
    reaches ``1 / alarm_level``. While nothing drifts, that ever happens, however long the stream,
    with probability at most `alarm_level` (Ville's inequality). No alarm is no proof: each score
    joins those that later scores are compared with, so a small shift that goes unnoticed for long
    comes to look normal.

    The p-values of a detector, against its *fixed* reference, will not do. Given n reference scores
    they are not quite uniform; betting on that, the martingale's logarithm can gain on the order of
    ``1 / n`` at each step, and in a long stream it alarms though nothing drifts.

    Parameters
    ----------
    detector : fitted detector or ReferenceScores, optional
        Whose held-out reference scores (``calibration="split"``) come first; others are refused,
        as new scores are not like them. By default the stream is compared with itself alone.
    betting : {"jumper", "mixture"} or Betting, default="jumper"
        "jumper" is `SimpleJumper` with a reserve, and notices scores that fall or rise. "mixture"
        is `MixtureBetting`; it is quicker where scores fall at once, slow to find a later change.
    alarm_level : float, default=0.01
        Bound on the probability that a stream without drift ever alarms.
    history_size : int, default=0
        How many of the last values of `log_martingale` to keep in `history`.
    random_state : int, RandomState or None
        For the order of tied scores.

    Attributes
    ----------
    n_seen : int
        Number of scores since the monitor was made.
    alarmed_at : int or None
        `n_seen` at the alarm.

    Examples
    --------
    >>> from rankad.calibration import HeldOutScores
    >>> rng = np.random.default_rng(0)
    >>> monitor = DriftMonitor(HeldOutScores.of(rng.normal(size=500)), random_state=0)
    >>> monitor.update_many(rng.normal(size=1000))
    False
    >>> monitor.update_many(rng.normal(size=200) - 1.0), monitor.alarmed_at
    (True, 1047)
    """

    def __init__(
        self,
        detector: Any = None,
        *,
        betting: str | Betting = "jumper",
        alarm_level: float = 0.01,
        history_size: int = 0,
        random_state: Any = None,
    ) -> None:
        if not 0.0 < alarm_level < 1.0:
            raise ValueError(f"alarm_level must be between 0 and 1, exclusive; got {alarm_level}.")
        self.alarm_level, self.n_seen = float(alarm_level), 0
        self.alarmed_at: int | None = None
        self._betting = _betting_of(betting)
        self._bets = self._betting.start()
        self._history = deque[float](maxlen=history_size)
        seed = int(check_random_state(random_state).randint(2**32, dtype=np.uint64))
        self._p_values = OnlinePValues(held_out_scores(detector), seed=seed)

    def __repr__(self) -> str:
        alarm = f"alarm at {self.alarmed_at}" if self.is_alarm else "no alarm"
        return f"<DriftMonitor: {alarm}, {self.n_seen} scores, martingale {self.martingale:.3g}>"

    @property
    def log_martingale(self) -> float:
        """Logarithm of the martingale: 0 at the start."""
        return self._betting.log_martingale(self._bets)

    @property
    def martingale(self) -> float:
        """Evidence of drift, 1 at the start; infinite where no number is large enough."""
        return exp(self.log_martingale) if self.log_martingale < 709.0 else inf

    @property
    def is_alarm(self) -> bool:
        """Whether the martingale has reached ``1 / alarm_level``, even if it fell since."""
        return self.alarmed_at is not None

    @property
    def history(self) -> FloatArray:
        """The last values of `log_martingale`, one for each score, at most ``history_size``."""
        return np.array(self._history, dtype=np.float64)

    def update(self, score: float) -> bool:
        """Take one score of the stream; say whether there is an alarm."""
        return self.update_many([score])

    def update_many(self, scores: ArrayLike) -> bool:
        """Take scores in the order of the stream, or none if one is NaN; say whether to alarm."""
        for score in in_order(scores, -inf, inf):
            self._bet(self._p_values.of_next(score))
        return self.is_alarm

    def update_p(self, p: float) -> bool:
        """Take one p-value of your own making; say whether there is an alarm.

        Without drift, the p-values must be independent and uniform: then none is 0. A rank without
        the point itself may be. It is refused, as even clipped it would raise a false alarm.
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(f"A p-value must be above 0 and at most 1; got {p!r}.")
        return self._bet(float(p))

    def restart(self, detector: Any = None) -> Self:
        """Set the martingale back to 1 and clear the alarm.

        Without a detector the scores so far are kept. If nothing has drifted, the p-values to come
        do not depend on those before, and the bound on false alarms holds anew; if something has,
        it alarms again. With a detector calibrated since, its reference scores take their place.
        """
        if detector is not None:
            self._p_values = self._p_values.restarted(held_out_scores(detector))
        self._bets, self.alarmed_at = self._betting.start(), None
        self._history.clear()
        return self

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs to go on as if never interrupted, ready for JSON."""
        names = [name for name, betting in BETTINGS.items() if betting == self._betting]
        return {
            "kind": "DriftMonitor",
            "version": _STATE_VERSION,
            "alarm_level": self.alarm_level,
            "n_seen": self.n_seen,
            "alarmed_at": self.alarmed_at,
            "betting": names[0] if names else None,
            "bets": list(self._bets),
            "history_size": self._history.maxlen,
            "history": list(self._history),
            "p_values": self._p_values.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, betting: Betting | None = None) -> Self:
        """Monitor that goes on where another's `state` was taken, bit for bit.

        A betting strategy that has no name is not saved: pass it again.
        """
        found = state.get("kind"), state.get("version")
        if found != ("DriftMonitor", _STATE_VERSION):
            raise ValueError(
                f"This is no state of a DriftMonitor, version {_STATE_VERSION}: it says {found}."
            )
        if betting is None and state["betting"] is None:
            raise ValueError("The betting strategy has no name; pass it again, as betting.")
        monitor = cls(
            betting=betting or state["betting"],
            alarm_level=state["alarm_level"],
            history_size=state["history_size"],
            random_state=0,
        )
        monitor.n_seen, monitor.alarmed_at = state["n_seen"], state["alarmed_at"]
        monitor._bets = tuple(state["bets"])
        monitor._history.extend(state["history"])
        monitor._p_values = OnlinePValues.from_state(state["p_values"])
        return monitor

    def _bet(self, p: float) -> bool:
        self._bets = self._betting.bet(self._bets, p)
        self.n_seen += 1
        log_martingale = self.log_martingale
        self._history.append(log_martingale)
        if not self.is_alarm and log_martingale >= -log(self.alarm_level):
            self.alarmed_at = self.n_seen
        return self.is_alarm


def _betting_of(betting: str | Betting) -> Betting:
    if isinstance(betting, str) and betting not in BETTINGS:
        raise ValueError(f"betting must be one of {list(BETTINGS)} or a Betting; got {betting!r}.")
    return BETTINGS[betting] if isinstance(betting, str) else betting


def _log_mixture_series(s: float, a: float) -> float:
    """Logarithm of the mixture as the sum of ``a^k / (s (s + 1) ... (s + k))``, for a below s.

    All terms are positive, and fall faster than a geometric series.
    """
    n_terms = ceil(40.0 / -log(max(a / (s + 1.0), 1e-300)))
    terms = np.cumprod(a / (s + np.arange(1.0, n_terms + 1.0)))
    return float(np.log1p(terms.sum())) - log(s)
