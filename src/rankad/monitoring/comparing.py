"""What a monitor compares a stream with: reference scores, and single scores or blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankad._rounding import EXACT
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration import ReferenceScores, TimeScores
from rankad.calibration.betting import BETTINGS, Bets, Betting, betting_label
from rankad.calibration.block_p_values import MIN_BLOCKS, BlockPValues
from rankad.calibration.online_p_values import OnlinePValues
from rankad.calibration.serial import is_serially_dependent
from rankad.calibration.states import STATE_VERSION, SavedState
from rankad.exceptions import CalibrationWarning
from rankad.monitoring.watching import DependenceWatch

#: "auto" tests for serial dependence and adapts, None bets on single scores, and a number is the
#: length of the blocks.
Dependence: TypeAlias = Literal["auto"] | int | None

#: The first run of a sequence that has no others.
_ONE_RUN: Final[IntArray] = np.zeros(1, dtype=np.int64)
_NO_SCORES: Final[FloatArray] = np.empty(0)

#: Fewest scores of a reference to test for dependence.
_MIN_TESTED: Final = 128

_KINDS: Final[Mapping[str, type[OnlinePValues] | type[BlockPValues]]] = {
    "OnlinePValues": OnlinePValues,
    "BlockPValues": BlockPValues,
}
_ENTRIES: Final = ("seed", "reference", "p_values", "watch")


@dataclass
class Comparison:
    """p-values of the stream so far, the watch for dependence, and which reference came before.

    Parameters
    ----------
    p_values : OnlinePValues or BlockPValues
        p-values of single scores or of blocks.
    watch : DependenceWatch or None
        Watches whether single scores depend on each other, if it may turn to blocks.
    reference : str or None
        Digest of the reference scores.
    seed : int
        Seed of the random numbers that break ties.
    """

    p_values: OnlinePValues | BlockPValues
    watch: DependenceWatch | None
    reference: str | None
    seed: int

    @classmethod
    def begin(cls, detector: Any, dependence: Dependence, seed: int, n_drawn: int = 0) -> Self:
        """Compare with the reference scores of a detector, if there is one."""
        reference = stream_reference(detector)
        digest = None if reference is None else _digest(reference)
        in_order, starts = _NO_SCORES, _ONE_RUN
        if isinstance(reference, TimeScores):
            in_order, starts = reference.in_order, reference.run_starts
        is_auto = dependence == "auto"
        known = is_auto and len(in_order) >= _MIN_TESTED and is_serially_dependent(in_order, starts)
        if dependence is None or (is_auto and not known):
            scores = _NO_SCORES if reference is None else reference.scores
            rounding = EXACT if reference is None else reference.rounding
            singles = OnlinePValues(scores, seed=seed, n_drawn=n_drawn, rounding=rounding)
            return cls(singles, DependenceWatch() if is_auto else None, digest, seed)
        length = dependence if isinstance(dependence, int) else None
        blocks = BlockPValues(in_order, starts, length, seed=seed)
        if len(in_order) and blocks.block_length is None:
            warn_user(
                f"The reference has {len(in_order)} scores in the order of time. That is too few "
                f"for {MIN_BLOCKS} blocks, so the monitor also learns from the stream. Until it "
                "has learned, it cannot alarm. Calibrate with more rows.",
                CalibrationWarning,
            )
        return cls(blocks, None, digest, seed)

    @property
    def block_length(self) -> int | None:
        """Scores of a bet: 1, or the length of the blocks, or None while it is learned."""
        return self.p_values.block_length if isinstance(self.p_values, BlockPValues) else 1

    def learn_blocks(self, recent: FloatArray) -> None:
        """Turn to blocks, and learn them from the latest scores and the next ones."""
        self.p_values, self.watch = BlockPValues(recent, _ONE_RUN, seed=self.seed), None

    def watch_anew(self) -> None:
        """Forget what the watch has seen, if there is one."""
        self.watch = None if self.watch is None else DependenceWatch()

    def require_reference_of(self, detector: Any) -> None:
        """Refuse a detector that has another reference."""
        reference = stream_reference(detector)
        found = None if reference is None else _digest(reference)
        if found != self.reference or not hasattr(detector, "score_samples"):
            raise ValueError(
                f"{detector!r} is not the detector of the saved monitor: its reference scores "
                "differ. If it was calibrated since, leave detector out, and give its scores to "
                "update_many, or the detector to restart."
            )

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON."""
        return {
            "kind": "Comparison",
            "version": STATE_VERSION,
            "seed": self.seed,
            "reference": self.reference,
            "p_values": self.p_values.state(),
            "watch": None if self.watch is None else self.watch.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Comparison that continues from a saved `state`. What does not fit is refused."""
        saved = SavedState.of(state, "Comparison", _ENTRIES)
        kind = saved.kind_of("p_values", _KINDS)
        p_values = _KINDS[kind].from_state(state["p_values"])
        watch = None if state["watch"] is None else DependenceWatch.from_state(state["watch"])
        if watch is not None and kind != "OnlinePValues":
            raise saved.refuse("watch", "None for blocks")
        reference = None if state["reference"] is None else saved.text("reference")
        return cls(p_values, watch, reference, saved.count("seed"))


def checked_dependence(dependence: object) -> Dependence:
    """A valid choice of ``dependence``."""
    if dependence is None:
        return None
    if isinstance(dependence, str) and dependence == "auto":
        return "auto"
    if isinstance(dependence, int | np.integer) and dependence >= 2:  # no boolean is
        return int(dependence)
    raise ValueError(
        f"dependence must be 'auto', None, or the length of blocks, at least 2; got {dependence!r}."
    )


def stream_reference(detector: Any) -> ReferenceScores | None:
    """Reference of a detector. Its scores must be exchangeable with new scores. None has none."""
    if detector is None:
        return None
    if hasattr(detector, "fit") and hasattr(detector, "p_values"):
        check_is_fitted(detector, "reference_")
    reference = getattr(detector, "reference_", detector)
    if not isinstance(reference, ReferenceScores):
        raise TypeError(
            "detector must be a fitted detector of rankad, reference scores or None; got "
            f"{detector!r}. Of a pipeline, give the last step, pipe[-1], and rows that "
            "pipe[:-1].transform has made."
        )
    if reference.guarantee not in ("exact", "time"):
        raise ValueError(
            f"A stream can only be compared with held-out scores; got {reference!r}. Fit with"
            " calibration='split' and without groups, or call calibrate(X, replace=True) "
            "with new nominal rows."
        )
    if len(reference.scores) < reference.size:
        raise ValueError(
            f"{reference!r} keeps only {len(reference.scores)} of its scores, but a stream "
            "needs all of them. Compare it with HeldOutScores.from_scores() of fewer scores, or "
            "with None."
        )
    return reference


def saved_betting(saved: SavedState, betting: Betting | None) -> str | Betting:
    """The strategy of a saved monitor: its name, or the strategy given again."""
    label = saved.text("betting")
    if betting is None:
        if label not in BETTINGS:
            raise ValueError(
                f"The saved betting strategy {label} has no name. Give it again as betting."
            )
        return label
    if betting_label(betting) != label:
        raise ValueError(
            f"The saved monitor bets by {label}; got betting={betting!r}, whose bets have another "
            "meaning. Give the strategy of the saved monitor."
        )
    return betting


def saved_bets(saved: SavedState, betting: Betting) -> Bets:
    """The bets of a saved monitor: as many numbers as its strategy has."""
    bets, n_bets = saved.numbers("bets"), len(betting.start())
    if len(bets) != n_bets:
        raise saved.refuse("bets", f"{n_bets} numbers for this strategy")
    return tuple(bets)


def _digest(reference: ReferenceScores) -> str:
    return sha256(np.ascontiguousarray(reference.scores).tobytes()).hexdigest()[:16]
