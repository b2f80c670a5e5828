"""Has the stream drifted? Conformal test martingales, fed one score at a time."""

from collections import deque
from collections.abc import Mapping
from math import exp, inf, log
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankad._typing import FloatArray
from rankad.calibration import ReferenceScores
from rankad.calibration.betting import BETTINGS, Betting, betting_strategy
from rankad.calibration.online_p_values import OnlinePValues, checked_stream

#: Of saved states: one that a later rankad writes may hold more.
_STATE_VERSION: Final = 1


class DriftMonitor:
    """Watches a stream of scores, and alarms when they stop being like those before.

    Each score becomes a p-value by its place among the reference scores *and all scores since*
    (`OnlinePValues`). A martingale bets against these p-values, and the alarm is raised when it
    reaches ``1 / alpha``. While nothing drifts, that ever happens, however long the stream,
    with probability at most `alpha` (Ville's inequality). No alarm is no proof: each score
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
    alpha : float, default=0.01
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
    >>> monitor = DriftMonitor(HeldOutScores.from_scores(rng.normal(size=500)), random_state=0)
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
        alpha: float = 0.01,
        history_size: int = 0,
        random_state: Any = None,
    ) -> None:
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be between 0 and 1, exclusive; got {alpha}.")
        self.alpha, self.n_seen = float(alpha), 0
        self.alarmed_at: int | None = None
        self._betting = betting_strategy(betting)
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
        """Whether the martingale has reached ``1 / alpha``, even if it fell since."""
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
        for score in checked_stream(scores, -inf, inf):
            self._bet(self._p_values.next_p_value(score))
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
            "alpha": self.alpha,
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
            alpha=state["alpha"],
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
        if not self.is_alarm and log_martingale >= -log(self.alpha):
            self.alarmed_at = self.n_seen
        return self.is_alarm


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
            "compare the stream with HeldOutScores.from_scores() some of them, or with None."
        )
    return reference.scores
