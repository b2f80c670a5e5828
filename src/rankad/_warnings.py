"""Warnings that point at the line of the user's own code."""

import re
import sys
import warnings
from types import FrameType
from typing import Final

#: Packages whose frames lie between the user's call and the warning.
_INNER_PACKAGES = ("rankad", "sklearn", "joblib")

#: Actions of filters that show a text once for each line, or more rarely.
_ONCE: Final = ("default", "module", "once")

#: Number of texts to remember: texts with numbers could otherwise fill the memory of a stream.
_MAX_SHOWN: Final = 1000

#: Texts that were shown once, with file and line.
_shown: Final[set[tuple[str, int, str]]] = set()


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the innermost frame outside the packages above."""
    depth, _ = _user_frame()
    warnings.warn(message, category, stacklevel=depth)


def warn_user_once(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as `warn_user` does, but once for each line, unless a filter asks for more.

    Python does so itself, but it forgets what it has shown when any library changes the filters, as
    scikit-learn does when it checks rows. Filters that always show, or raise, work as usual.
    """
    depth, frame = _user_frame()
    if _action(message, category, frame) in _ONCE:
        place = (frame.f_code.co_filename, frame.f_lineno, message)
        if place in _shown:
            return
        if len(_shown) == _MAX_SHOWN:
            _shown.clear()
        _shown.add(place)
    warnings.warn(message, category, stacklevel=depth)


def _user_frame() -> tuple[int, FrameType]:
    """The user's frame, and its depth below the caller's, which is 1."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inner(frame):
        depth, frame = depth + 1, frame.f_back
    return depth, frame


def _is_inner(frame: FrameType) -> bool:
    return _module(frame).split(".")[0] in _INNER_PACKAGES


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _action(message: str, category: type[Warning], frame: FrameType) -> str:
    """What the first filter that fits says to do with a warning."""
    for action, text, kind, module, line in warnings.filters:
        fits = _fits(text, message) and _fits(module, _module(frame))
        if fits and issubclass(category, kind) and line in (0, frame.f_lineno):
            return str(action)
    return "default"


def _fits(pattern: str | re.Pattern[str] | None, text: str) -> bool:
    if pattern is None or isinstance(pattern, str):
        return pattern in (None, text)
    return pattern.match(text) is not None
