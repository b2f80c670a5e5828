"""Drift of a stream: conformal test martingales, which take one score at a time."""

from collections import deque
from collections.abc import Mapping
from math import exp, inf, log
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankad._rounding import EXACT, Rounding
from rankad._typing import FloatArray
from rankad.calibration import ReferenceScores
from rankad.calibration.betting import BETTINGS, Betting, betting_strategy
from rankad.calibration.online_p_values import OnlinePValues, checked_stream

#: Version of saved states. A later rankad may write a state with more in it.
_STATE_VERSION: Final = 1


class DriftMonitor:
    """Watches a stream of scores, and alarms when they differ from the scores before.

    Each score becomes a p-value by its rank among the reference scores *and all scores since*. A
    martingale bets against these p-values. The alarm is raised when the martingale reaches
    ``1 / alpha``. If nothing drifts, the probability of an alarm is at most `alpha`, for a stream
    of any length (Ville's inequality). No alarm is no proof: each score joins the scores that later
    ones are compared with, so a small shift that stays unnoticed for long looks normal later.

    The p-values of a detector compare with a *fixed* reference and are not suitable here. Given n
    reference scores they are not quite uniform. A martingale that bets on that can gain about
    ``1 / n`` in logarithm at each step. So in a long stream it alarms although nothing drifts.

    Parameters
    ----------
    detector : fitted detector or ReferenceScores, optional
        Its held-out reference scores (``calibration="split"``) come before the stream. Other
        reference scores are refused, because new scores have another distribution. By default the
        stream is compared with itself alone.
    betting : {"jumper", "mixture"} or Betting, default="jumper"
        "jumper" is `SimpleJumper` with a reserve. It notices scores that fall or rise. "mixture" is
        `MixtureBetting`. It is faster if scores fall at once, and slow to find a later change.
    alpha : float, default=0.01
        Largest probability of an alarm on a stream without drift.
    history_size : int, default=0
        How many of the last values of `log_martingale` to keep in `history`.
    random_state : int, RandomState or None
        Decides the order of tied scores.

    Attributes
    ----------
    n_seen : int
        Number of scores that the monitor has taken.
    alarmed_at : int or None
        `n_seen` at the alarm, or None without an alarm.

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
            raise ValueError(f"alpha must be a number between 0 and 1, exclusive; got {alpha}.")
        self.alpha, self.n_seen = float(alpha), 0
        self.alarmed_at: int | None = None
        self._betting = betting_strategy(betting)
        self._bets = self._betting.start()
        self._history = deque[float](maxlen=history_size)
        seed = int(check_random_state(random_state).randint(2**32, dtype=np.uint64))
        self._p_values = OnlinePValues(
            held_out_scores(detector), seed=seed, rounding=_rounding_of(detector)
        )

    def __repr__(self) -> str:
        alarm = f"alarm at {self.alarmed_at}" if self.is_alarm else "no alarm"
        return f"<DriftMonitor: {alarm}, {self.n_seen} scores, martingale {self.martingale:.3g}>"

    @property
    def log_martingale(self) -> float:
        """Logarithm of the martingale: 0 at the start."""
        return self._betting.log_martingale(self._bets)

    @property
    def martingale(self) -> float:
        """Evidence of drift. It is 1 at the start, and infinity if it is too large for a float."""
        return exp(self.log_martingale) if self.log_martingale < 709.0 else inf

    @property
    def is_alarm(self) -> bool:
        """Whether the martingale has reached ``1 / alpha``, also if it has fallen since."""
        return self.alarmed_at is not None

    @property
    def history(self) -> FloatArray:
        """The last values of `log_martingale`, one for each score, at most ``history_size``."""
        return np.array(self._history, dtype=np.float64)

    def update(self, score: float) -> bool:
        """Take one score of the stream, and return whether there is an alarm.

        Parameters
        ----------
        score : float
            The next score.

        Returns
        -------
        is_alarm : bool
        """
        return self.update_many([score])

    def update_many(self, scores: ArrayLike) -> bool:
        """Take scores in the order of the stream, and return whether there is an alarm.

        Parameters
        ----------
        scores : array-like of shape (n,)
            The next scores. If one is NaN, none is taken.

        Returns
        -------
        is_alarm : bool
        """
        for score in checked_stream(scores, -inf, inf):
            self._bet(self._p_values.next_p_value(score))
        return self.is_alarm

    def update_p(self, p: float) -> bool:
        """Take one p-value that you have computed, and return whether there is an alarm.

        Without drift, the p-values must be independent and uniform, so none is 0. A rank that does
        not count the row itself can be 0, and is refused. Even clipped it would raise false alarms.

        Parameters
        ----------
        p : float
            A p-value, above 0 and at most 1.

        Returns
        -------
        is_alarm : bool
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(f"p must be above 0 and at most 1; got {p!r}.")
        return self._bet(float(p))

    def restart(self, detector: Any = None) -> Self:
        """Set the martingale back to 1, and clear the alarm.

        Without a detector the scores so far are kept. If nothing has drifted, later p-values do not
        depend on earlier ones, and the bound on false alarms holds again. If something has drifted,
        the monitor alarms again.

        Parameters
        ----------
        detector : fitted detector or ReferenceScores, optional
            Its reference scores replace the scores so far. Give a detector that was calibrated
            after the drift.

        Returns
        -------
        self : DriftMonitor
        """
        if detector is not None:
            scores = held_out_scores(detector)
            self._p_values = self._p_values.restarted(scores, _rounding_of(detector))
        self._bets, self.alarmed_at = self._betting.start(), None
        self._history.clear()
        return self

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The monitor continues as if not interrupted."""
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
        """Monitor that continues from a saved `state`, bit for bit.

        Parameters
        ----------
        state : dict
            A result of `state`.
        betting : Betting, optional
            The strategy of the saved monitor, if it is not "jumper" or "mixture": a strategy
            without a name is not saved.

        Returns
        -------
        monitor : DriftMonitor
        """
        found = state.get("kind"), state.get("version")
        if found != ("DriftMonitor", _STATE_VERSION):
            raise ValueError(
                f"This is not a state of a DriftMonitor, version {_STATE_VERSION}; got {found}."
            )
        if betting is None and state["betting"] is None:
            raise ValueError("The saved betting strategy has no name. Give it again as betting.")
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
    """Reference scores of a detector. They must be exchangeable with new scores. None has none."""
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
            "calibration='split', or call calibrate() with new nominal rows."
        )
    if len(reference.scores) < reference.size:
        raise ValueError(
            f"{reference!r} keeps only {len(reference.scores)} of its scores, but a stream "
            "needs all of them. Compare it with HeldOutScores.from_scores() of fewer scores, or "
            "with None."
        )
    return reference.scores


def _rounding_of(detector: Any) -> Rounding:
    """Rounding of the scores of a detector, so that rounded copies of a row tie."""
    rounding = getattr(getattr(detector, "reference_", detector), "rounding", EXACT)
    return rounding if isinstance(rounding, Rounding) else EXACT
