"""An axis that features with different units share.

The usual range of every feature goes from 0 to 1. So a glance shows on which side of it a value
lies, and how far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.explanations import Change

#: Ends of the axis. Values beyond them are drawn there, with another marker.
LEFT, RIGHT = -2.0, 3.0

#: Distance between two values that are both beyond the same end.
_GAP = 0.5

#: A usual range of a single value is in the middle: half its width, and the place of the farther
#: value. No width says what far is, so this value has the same distance for every such feature.
_HALF_WIDTH, _FAR = 0.03, 1.5


class Places(NamedTuple):
    """Where some features are drawn.

    The rows of ``x`` and ``side`` are the row's values and the nominal values. ``side`` is -1 or 1
    for a value beyond the left or the right end. ``usual`` has the ends of the usual ranges.
    """

    x: FloatArray
    side: IntArray
    usual: FloatArray


def places(changes: tuple[Change, ...]) -> Places:
    """Places of values and of usual ranges.

    >>> drawn = places((Change("flow", 15.0, 4.0, (0.0, 10.0)), Change("heat", 99.0, 1.0, (0, 2))))
    >>> drawn.x
    array([[1.5, 3. ],
           [0.4, 0.5]])
    >>> drawn.side
    array([[0, 1],
           [0, 0]])
    """
    # Quarters, because the difference of two of them is always finite.
    pairs = [(change.value, change.nominal_value) for change in changes]
    values = np.reshape(pairs, (-1, 2)).T / 4.0
    low, high = np.reshape([change.usual for change in changes], (-1, 2)).T / 4.0
    is_point = high == low
    with np.errstate(over="ignore"):
        x = (values - low) / np.where(is_point, 1.0, high - low)
    x = np.where(is_point, _around_a_point(values - low), x)
    side = np.where(x > RIGHT, 1, np.where(x < LEFT, -1, 0))
    half = np.where(is_point, _HALF_WIDTH, 0.5)
    return Places(_kept_apart(x, values), side, np.array([0.5 - half, 0.5 + half]))


def _around_a_point(differences: FloatArray) -> FloatArray:
    farthest = np.abs(differences).max(axis=0)
    return np.asarray(0.5 + _FAR * (differences / np.where(farthest == 0.0, 1.0, farthest)))


def _kept_apart(x: FloatArray, values: FloatArray) -> FloatArray:
    """Bring all to the axis. Of two that are beyond the same end, the nearer one is moved more."""
    right, left = np.full_like(x, RIGHT), np.full_like(x, LEFT)
    right[_are_all(x > RIGHT) & (values == values.min(axis=0))] -= _GAP
    left[_are_all(x < LEFT) & (values == values.max(axis=0))] += _GAP
    return np.clip(x, left, right)


def _are_all(is_beyond: BoolArray) -> BoolArray:
    return np.broadcast_to(is_beyond.all(axis=0), is_beyond.shape)
