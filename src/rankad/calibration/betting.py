"""Betting against the claim that p-values are uniform: conformal test martingales."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from math import ceil, lgamma, log
from typing import Final, Protocol, TypeAlias

import numpy as np
from scipy.special import gammainc

#: State of the bets: plain numbers, so that they can be saved.
Bets: TypeAlias = tuple[float, ...]


class Betting(Protocol):
    """A strategy of bets against the claim that p-values are independent and uniform.

    The capital starts at 1. Each bet must be fair: its mean over a uniform p is 1.
    """

    def start(self) -> Bets:
        """State before the first p-value."""

    def bet(self, bets: Bets, p: float) -> Bets:
        """State after one more p-value, which is above 0 and at most 1."""

    def log_martingale(self, bets: Bets) -> float:
        """Logarithm of the capital."""


@dataclass(frozen=True)
class MixtureBetting:
    """Vovk's mixture of the power bets ``eps p^(eps - 1)``, over all eps between 0 and 1.

    It bets on small p-values only. So it notices scores that fall, not scores that rise.

    >>> from math import exp
    >>> betting = MixtureBetting()
    >>> bets = betting.bet(betting.bet(betting.start(), 0.01), 0.02)
    >>> round(exp(betting.log_martingale(bets)), 2)
    16.04
    """

    def start(self) -> Bets:
        """Number of p-values and sum of their logarithms: the mixture depends on these alone."""
        return 0.0, 0.0

    def bet(self, bets: Bets, p: float) -> Bets:
        """Count the p-value, and add its logarithm."""
        return bets[0] + 1.0, bets[1] + log(p)

    def log_martingale(self, bets: Bets) -> float:
        """Logarithm of the exact integral of ``eps^n exp(a (1 - eps))``, with ``a = -sum log p``.

        With ``s = n + 1`` it is ``e^a a^-s`` times the lower incomplete gamma function of (s, a).
        Its rounding error is about ``1e-16 s log s``, or 1e-9 after a million p-values.
        """
        s, a = bets[0] + 1.0, -bets[1]
        share = float(gammainc(s, a))
        if share < 1e-290:  # underflow has lost digits
            return _log_mixture_series(s, a)
        return a - s * log(a) + lgamma(s) + log(share)


@dataclass(frozen=True)
class SimpleJumper:
    """Vovk's Simple Jumper: three gamblers, who bet ``1 + e (p - 1/2)`` with e = -1, 0 and 1.

    Before each bet, every gambler puts the share `jump` of its capital into a pot, and the pot is
    divided equally. So the bets turn soon after the p-values turn. It notices scores that fall and
    scores that rise.

    Without drift the gamblers lose 0.4% at each step, and later need as long to recover. With
    `reserve` the capital is kept back at first, and step n releases ``1 / (n (n + 1))`` of it. That
    is a mixture of jumpers that start at each step, and it is always at least ``1 / (n + 1)``. So
    the delay before a late change is found grows with the logarithm of n, not with n.

    >>> from math import exp
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
        """Logarithm of the total capital; shares of the gamblers and the reserve; steps so far."""
        third = 0.0 if self.reserve else 1.0 / 3.0
        return 0.0, third, third, third, float(self.reserve), 0.0

    def bet(self, bets: Bets, p: float) -> Bets:
        """Divide the pot, then let each gambler win or lose."""
        log_capital, low, middle, high, reserve, n = bets
        released = reserve / (n + 2.0)
        kept, given = 1.0 - self.jump, (self.jump * (low + middle + high) + released) / 3.0
        low = (kept * low + given) * (1.5 - p)
        middle = kept * middle + given
        high = (kept * high + given) * (0.5 + p)
        reserve -= released
        # Only the total is a logarithm, and the rest are shares of it. So nothing can overflow.
        growth = low + middle + high + reserve
        shares = low / growth, middle / growth, high / growth, reserve / growth
        return log_capital + log(growth), *shares, n + 1.0

    def log_martingale(self, bets: Bets) -> float:
        """Logarithm of the total capital."""
        return bets[0]


BETTINGS: Final[Mapping[str, Betting]] = {
    "jumper": SimpleJumper(reserve=True),
    "mixture": MixtureBetting(),
}


def betting_strategy(betting: str | Betting) -> Betting:
    """A betting strategy, given by name or as an object."""
    if isinstance(betting, str) and betting not in BETTINGS:
        raise ValueError(f"betting must be one of {list(BETTINGS)} or a Betting; got {betting!r}.")
    return BETTINGS[betting] if isinstance(betting, str) else betting


def betting_label(betting: Betting) -> str:
    """What a saved state says of a strategy: its name, or else its type and parameters.

    >>> betting_label(SimpleJumper(reserve=True)), betting_label(SimpleJumper(jump=0.1))
    ('jumper', 'SimpleJumper(jump=0.1, reserve=False)')
    """
    named = [name for name, known in BETTINGS.items() if known == betting]
    described = repr(betting) if is_dataclass(betting) else type(betting).__qualname__
    return named[0] if named else described


def _log_mixture_series(s: float, a: float) -> float:
    """Logarithm of the mixture as the sum of ``a^k / (s (s + 1) ... (s + k))``, for a below s.

    All terms are positive, and they fall faster than a geometric series.
    """
    n_terms = ceil(40.0 / -log(max(a / (s + 1.0), 1e-300)))
    terms = np.cumprod(a / (s + np.arange(1.0, n_terms + 1.0)))
    return float(np.log1p(terms.sum())) - log(s)
