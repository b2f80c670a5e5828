"""Checks of what comes with the rows of a stream: alarms, numbers, entities and times."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankad._dates import holds_dates, seconds_since_1970
from rankad.calibration.online_p_values import checked_stream


def checked_alarms(is_alarm: ArrayLike) -> list[bool]:
    """Booleans of shape (n,), as a list."""
    alarms = np.asarray(is_alarm)
    if alarms.size == 0 and alarms.ndim == 1:
        return []
    if alarms.dtype != np.bool_ or alarms.ndim != 1:
        raise ValueError(
            f"is_alarm must be booleans of shape (n,); got {alarms.dtype} of shape {alarms.shape}. "
            "Give p <= alpha, or detector.predict(X) == -1."
        )
    found: list[bool] = alarms.tolist()
    return found


def checked_entities(entities: ArrayLike) -> list[Hashable]:
    """Names of entities: text or whole numbers."""
    names = np.asarray(entities)
    found: list[Hashable] = names.tolist() if names.ndim == 1 else []
    if names.ndim != 1 or any(type(name) not in (str, int) for name in found):
        other = next((name for name in found if type(name) not in (str, int)), names.shape)
        raise ValueError(
            f"entities must be text or whole numbers of shape (n,); got {other!r}. Name each "
            "entity by a text. No row of this call was taken."
        )
    return found


def checked_times(times: ArrayLike) -> list[float]:
    """Times as finite numbers; dates become seconds since 1970."""
    largest = float(np.finfo(np.float64).max)
    seconds = seconds_since_1970(times) if holds_dates(times) else times
    return checked_numbers("times", seconds, largest)


def checked_numbers(name: str, values: ArrayLike, largest: float = inf) -> list[float]:
    """Numbers of a stream, as a list, with errors in the name of the parameter."""
    try:
        return [float(value) for value in checked_stream(values, -largest, largest)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers of shape (n,). {error}") from error


def values_of_rows(
    n: int, name: str, values: ArrayLike | None, checked: Callable[[ArrayLike], list[Any]]
) -> list[Any]:
    """One checked value for each row, or None for each."""
    if values is None:
        return [None] * n
    found = checked(values)
    if len(found) != n:
        raise ValueError(
            f"{name} must have one value for each of the {n} rows; got {len(found)}. No row of "
            "this call was taken."
        )
    return found


def is_number(value: Any) -> bool:
    """Whether a parameter is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
