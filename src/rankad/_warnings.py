"""Warnings that point at the line of the user's own code."""

import sys
import warnings
from types import FrameType

#: Packages whose frames lie between the user's call and the warning.
_INNER_PACKAGES = ("rankad", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the innermost frame outside the packages above."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inner(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


def _is_inner(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).split(".")[0] in _INNER_PACKAGES
