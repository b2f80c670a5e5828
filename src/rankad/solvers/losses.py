"""The losses by name, and losses of one's own."""

from typing import Final

import numpy as np

from rankad.preferences import Preferences
from rankad.solvers.hinge import PairwiseHinge
from rankad.solvers.objective import Loss, LossMaker
from rankad.solvers.pairwise import PairwiseSquaredHinge

#: The losses by name. Each takes the preferences, the anchor and the anchor's margin.
LOSSES: Final[dict[str, LossMaker]] = {
    "squared_hinge": PairwiseSquaredHinge,
    "hinge": PairwiseHinge,
}

#: What `Loss` and `LossAt` have.
_OF_LOSS: Final = ("is_shift_invariant", "stages", "sampled", "at")
_OF_LOSS_AT: Final = ("value", "gradient", "is_active", "hessian_product", "projected_hessian")


def made_loss(
    loss: str | LossMaker, preferences: Preferences, anchor: float, anchor_margin: float
) -> Loss:
    """The loss of these preferences: one by name, or by a class or function. Refuse what is none.

    >>> from rankad.preferences import level_preferences
    >>> pairs = level_preferences(np.array([1, 2]))
    >>> made_loss(PairwiseSquaredHinge, pairs, 0.0, 1.0).at(np.zeros(2)).value
    1.0
    """
    if isinstance(loss, str):
        return LOSSES[loss](preferences, anchor, anchor_margin)
    name = getattr(loss, "__name__", repr(loss))
    try:
        made = loss(preferences, anchor, anchor_margin)
    except TypeError as error:
        raise TypeError(
            f"loss={name} must be a class or a function that can be called with (preferences, "
            f"anchor, anchor_margin). This call failed: {error}"
        ) from error
    _require_members(made, _OF_LOSS, f"loss={name}")
    _require_values(made, name, preferences.n)
    return made


def _require_values(loss: Loss, name: str, n_points: int) -> None:
    """Refuse a loss whose value or gradient at zero scores has the wrong shape, or is no number."""
    local = loss.at(np.zeros(n_points))
    _require_members(local, _OF_LOSS_AT, f"loss={name}, by its method at(scores),")
    shapes = np.shape(local.value), np.shape(local.gradient), np.shape(local.is_active)
    if shapes != ((), (n_points,), (n_points,)):
        raise ValueError(
            f"loss={name}: at(scores) must have a value of shape (), and a gradient and is_active "
            f"of shape ({n_points},), one entry for each point; got shapes {shapes}."
        )
    if not (np.isfinite(local.value) and np.isfinite(local.gradient).all()):
        raise ValueError(
            f"loss={name}: its value and gradient must be finite; at zero scores the value is "
            f"{local.value}. Write it so that it does not overflow."
        )


def _require_members(made: object, names: tuple[str, ...], what: str) -> None:
    missing = [name for name in names if not hasattr(made, name)]
    if missing:
        raise TypeError(
            f"{what} gives {type(made).__name__}, which has no {', '.join(missing)}. A loss needs "
            "all members of Loss and LossAt (rankad/solvers/objective.py); CONTRIBUTING has an "
            "example."
        )
