"""Drift of a stream: conformal test martingales, which take scores or rows."""

from collections import deque
from collections.abc import Mapping
from math import exp, inf, isnan, log
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.calibration.betting import Betting, betting_label, betting_strategy
from rankad.calibration.online_p_values import checked_stream
from rankad.calibration.states import STATE_VERSION, SavedState
from rankad.exceptions import CalibrationWarning
from rankad.monitoring.comparing import (
    Comparison,
    Dependence,
    checked_dependence,
    saved_bets,
    saved_betting,
)
from rankad.monitoring.frozen_model import FrozenModel
from rankad.monitoring.watching import DependenceWatch, Verdict

#: Scores to rank at once: few, so that memory does not grow with a batch.
_PIECE: Final = 4096

#: What a person should do.
_AFTER_AN_ALARM: Final = (
    "If the rows are nominal at a new level, fit again on about 300 or more of the new rows. With "
    "fewer, calibrate(X, replace=True) restores the false-alarm rate, but not the power."
)

_ENTRIES: Final = (
    *("alpha", "n_seen", "alarmed_at", "betting", "bets", "history_size", "history"),
    *("dependence", "comparison"),
)


class DriftMonitor:
    """Watches a stream of scores or rows, and alarms when they differ from those before.

    Each score becomes a p-value by its rank among the reference scores *and all scores since*. A
    martingale bets against these p-values. The alarm is raised when the martingale reaches
    ``1 / alpha``. If the scores are exchangeable, for example independent draws of one law, that
    happens with a probability of at most `alpha`, for a stream of any length (Ville's inequality).

    **Streams with memory.** In most streams in time a score is like the scores just before. Bets on
    single scores then alarm although nothing drifts. So the monitor bets on *blocks* of scores,
    eight times as long as the memory of the stream, and compares a block with those before. The
    rate of false alarms is then near `alpha`: measured, not proved. The memory is learned from the
    reference if its rows are in the order of time (``calibration_split="time"``). Other references
    have no order. Then the monitor tests the stream itself, at 128, 256, 512, ... scores and before
    an alarm. If it finds dependence, it warns, starts anew, and learns the memory from the stream.

    **After an alarm.** If the rows are nominal at a new level, fit again on 300 or more of the new
    rows. With fewer rows call ``calibrate(X, replace=True)``: it restores the false-alarm rate, but
    not the power. Then `restart` the monitor with the detector.

    **What it cannot see.** Each score joins the scores that later ones are compared with. So a
    small or slow shift that stays unnoticed for long looks normal later. A shift that does not move
    the score is never seen. A cycle or a memory longer than what the monitor has learned from looks
    like a drift.

    The p-values of a detector compare with a *fixed* reference and are not suitable here. Given n
    reference scores they are not quite uniform. A martingale that bets on that can gain about
    ``1 / n`` in logarithm at each step. So in a long stream it alarms although nothing drifts.

    Parameters
    ----------
    detector : fitted detector or ReferenceScores, optional
        Its held-out reference scores come before the stream. Other reference scores are refused,
        because new scores have another distribution. By default the stream is compared with itself
        alone. A detector also scores the rows of `update_rows`.
    betting : {"jumper", "mixture"} or Betting, default="jumper"
        "jumper" is `SimpleJumper` with a reserve. It notices scores that fall or rise. "mixture" is
        `MixtureBetting`. It is faster if scores fall at once, and slow to find a later change.
    alpha : float, default=0.01
        Largest probability of an alarm on a stream without drift.
    dependence : "auto", int or None, default="auto"
        "auto" bets on blocks if scores depend on those just before, and else on single scores. Its
        tests call independent scores dependent with a probability of about 0.002. No alarm comes
        before 64 scores of the stream. None always bets on single scores. A number, at least 2, is
        the length of the blocks. The monitor learns from the first 10 blocks, and does not bet on
        them. They come from the reference if it is in the order of time, else from the stream.
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
        dependence: Dependence = "auto",
        history_size: int = 0,
        random_state: Any = None,
    ) -> None:
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be a number between 0 and 1, exclusive; got {alpha}.")
        self.alpha, self.n_seen = float(alpha), 0
        self.alarmed_at: int | None = None
        self.dependence = checked_dependence(dependence)
        self._betting = betting_strategy(betting)
        self._bets = self._betting.start()
        self._history = deque[float](maxlen=history_size)
        seed = int(check_random_state(random_state).randint(2**32, dtype=np.uint64))
        self._detector = _scored_by(detector)
        self._comparison = Comparison.begin(detector, self.dependence, seed)

    def __repr__(self) -> str:
        """The state in a line; after an alarm also what to do."""
        alarm = f"alarm at {self.alarmed_at}" if self.is_alarm else "no alarm"
        length = self.block_length
        blocks = ", learning" if length is None else f", blocks of {length}" if length > 1 else ""
        martingale = f"martingale {self.martingale:.3g}"
        advice = f". {_AFTER_AN_ALARM}" if self.is_alarm else ""
        return f"<DriftMonitor: {alarm}, {self.n_seen} scores, {martingale}{blocks}{advice}>"

    @property
    def block_length(self) -> int | None:
        """Scores of a bet: 1, or the length of the blocks, or None while it is learned."""
        return self._comparison.block_length

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
        left = checked_stream(scores, -inf, inf)
        while len(left):
            left = left[self._take(left[:_PIECE]) :]
        return self.is_alarm

    def update_rows(self, X: ArrayLike) -> bool:
        """Take rows in the order of the stream, and return whether there is an alarm.

        The detector that the monitor was made with scores them. It is refused if it was fitted
        again since.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The next rows. If one is invalid, none is taken.

        Returns
        -------
        is_alarm : bool
        """
        if self._detector is None:
            raise ValueError(
                "This monitor has no detector, so it cannot score rows. Make it with "
                "DriftMonitor(detector) or from_state(state, detector=detector), or give scores "
                "to update_many."
            )
        return self.update_many(self._detector.scores(X))

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
        if self._is_enough_after(float(p)) and not self.is_alarm:
            self.alarmed_at = self.n_seen
        return self.is_alarm

    def restart(self, detector: Any = None) -> Self:
        """Set the martingale back to 1, and clear the alarm.

        Without a detector the scores so far are kept. If nothing has drifted, later p-values do not
        depend on earlier ones, and the bound on false alarms holds again. If something has drifted,
        the monitor alarms again.

        Parameters
        ----------
        detector : fitted detector or ReferenceScores, optional
            Its reference scores replace the scores so far. Give a detector that was fitted or
            calibrated after the drift.

        Returns
        -------
        self : DriftMonitor
        """
        if detector is None:
            self._comparison.watch_anew()
        else:
            seed = self._comparison.seed
            self._comparison = Comparison.begin(detector, self.dependence, seed, self.n_seen)
            self._detector = _scored_by(detector)
        self._bets, self.alarmed_at = self._betting.start(), None
        self._history.clear()
        return self

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The monitor continues as if not interrupted.

        The detector is not saved.
        """
        return {
            "kind": "DriftMonitor",
            "version": STATE_VERSION,
            "alpha": self.alpha,
            "n_seen": self.n_seen,
            "alarmed_at": self.alarmed_at,
            "betting": betting_label(self._betting),
            "bets": list(self._bets),
            "history_size": self._history.maxlen,
            "history": list(self._history),
            "dependence": self.dependence,
            "comparison": self._comparison.state(),
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], *, betting: Betting | None = None, detector: Any = None
    ) -> Self:
        """Monitor that continues from a saved `state`, bit for bit. What does not fit is refused.

        Parameters
        ----------
        state : dict
            A result of `state`.
        betting : Betting, optional
            The strategy of the saved monitor, if it is not "jumper" or "mixture": a strategy
            without a name is not saved.
        detector : fitted detector, optional
            The detector of the saved monitor, for `update_rows`.

        Returns
        -------
        monitor : DriftMonitor
        """
        saved = SavedState.of(state, "DriftMonitor", _ENTRIES)
        monitor = cls(
            betting=saved_betting(saved, betting),
            alpha=saved.number("alpha"),
            dependence=state["dependence"],
            history_size=saved.count("history_size"),
            random_state=0,
        )
        monitor.n_seen = saved.count("n_seen")
        monitor.alarmed_at = saved.count_or_none("alarmed_at", least=1, most=monitor.n_seen)
        monitor._bets = saved_bets(saved, monitor._betting)
        history = saved.numbers("history")
        if len(history) > min(monitor.n_seen, saved.count("history_size")):
            raise saved.refuse("history", "no longer than history_size and n_seen")
        monitor._history.extend(history)
        monitor._comparison = Comparison.from_state(state["comparison"])
        if detector is not None:
            monitor._comparison.require_reference_of(detector)
            monitor._detector = _scored_by(detector)
        return monitor

    def _take(self, scores: FloatArray) -> int:
        """Take the first of these scores, at least one. Returns how many."""
        watch = self._comparison.watch
        if watch is not None:
            scores = scores[: watch.n_to_check]
        p_values = self._comparison.p_values.p_values(scores)
        for n_taken, p in enumerate(p_values.tolist(), start=1):
            if not self._is_enough_after(p) or self.is_alarm:
                continue
            verdict = Verdict.ALARM if watch is None else watch.verdict(scores[:n_taken])
            if verdict is Verdict.ALARM:
                self.alarmed_at = self.n_seen
            elif watch is not None and verdict is Verdict.DEPENDENT:
                watch.take(scores[:n_taken])
                self._bet_on_blocks(watch)
                return n_taken
        if watch is not None and watch.take(scores) and not self.is_alarm:
            self._bet_on_blocks(watch)
        return len(scores)

    def _is_enough_after(self, p: float) -> bool:
        """Count a score, and bet on its p-value if it is a number. Whether evidence is enough."""
        if not isnan(p):
            self._bets = self._betting.bet(self._bets, p)
        self.n_seen += 1
        log_martingale = self.log_martingale
        self._history.append(log_martingale)
        return log_martingale >= -log(self.alpha)

    def _bet_on_blocks(self, watch: DependenceWatch) -> None:
        """Start anew with blocks, because the scores depend on each other."""
        self._comparison.learn_blocks(watch.recent)
        self._bets = self._betting.start()
        warn_user(
            f"After {self.n_seen} scores the monitor sees that each score is like those just "
            "before. Bets on single scores would alarm without a drift. So it starts anew, learns "
            "the memory of the stream from the next scores, and then bets on blocks. Until then it "
            "cannot alarm. To learn from the reference instead, fit the detector with "
            'calibration_split="time". Or set dependence to the length of the blocks.',
            CalibrationWarning,
        )


def _scored_by(detector: Any) -> FrozenModel | None:
    """What scores the rows of a stream, if the detector can."""
    if not hasattr(detector, "score_samples"):
        return None
    return FrozenModel.of(detector, "Call restart(detector).")
