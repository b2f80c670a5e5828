"""The stratum of each row, as a user gives it: arrays, lists, frames, as keys and codes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankad._typing import IntArray

#: Number of keys or positions that a message names.
N_NAMED = 5


@dataclass(frozen=True, eq=False)
class StratumLabels:
    """The strata of rows: their keys, and which of them each row has.

    Numbers of Python and of NumPy are the same key if they are equal. A number and its text are
    different keys.

    Parameters
    ----------
    keys : tuple of hashable
        The different strata, in the order of their first rows.
    codes : array of int, shape (n_rows,)
        Position of each row's stratum in ``keys``.

    Examples
    --------
    >>> labels = StratumLabels.from_values(np.array([7, 3, 7]))
    >>> labels.keys, labels.codes, [rows.tolist() for rows in labels.rows_of_keys()]
    ((7, 3), array([0, 1, 0]), [[0, 2], [1]])
    """

    keys: tuple[Hashable, ...]
    codes: IntArray

    @classmethod
    def from_values(cls, values: object, name: str = "strata") -> Self:
        """Labels of one value per row. A frame or an array with several columns crosses them.

        ``name`` is that of the parameter, for messages.
        """
        if isinstance(values, cls):
            return values
        labels = _as_list(values, name)
        try:
            keys = list(dict.fromkeys(labels))
        except TypeError as error:
            raise TypeError(
                f"{name} must be hashable values, such as text, numbers or tuples of these; got "
                f"values of which one is not ({error}). To cross labels, give a frame with several "
                "columns, or a list of tuples."
            ) from error
        numbers = {key: number for number, key in enumerate(keys)}
        codes = np.fromiter(map(numbers.__getitem__, labels), np.intp, count=len(labels))
        _refuse_missing(keys, codes, name)
        return cls(tuple(key.item() if isinstance(key, np.generic) else key for key in keys), codes)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def require_rows(self, n_rows: int, name: str = "strata") -> None:
        """Refuse labels of another number of rows."""
        if len(self) != n_rows:
            raise ValueError(
                f"{name} must have one value for each of the {n_rows} rows of X; got {len(self)} "
                "values."
            )

    def of_rows(self, rows: IntArray) -> Self:
        """Labels of some rows. Only the keys of these rows stay."""
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        return type(self)(tuple(self.keys[code] for code in present), codes.reshape(-1))

    def rows_of_keys(self) -> list[IntArray]:
        """Positions of the rows of each key, ascending."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(self.counts())
        return np.split(order, ends[:-1]) if self.keys else []

    def counts(self) -> IntArray:
        """Number of rows of each key."""
        return np.bincount(self.codes, minlength=len(self.keys))


def named(keys: Sequence[Any]) -> str:
    """The first keys or positions, for a message.

    >>> named(["a", 1]), named(range(7))
    ("'a', 1", '0, 1, 2, 3, 4 and 2 more')
    """
    shown = ", ".join(repr(key) for key in keys[:N_NAMED])
    return shown if len(keys) <= N_NAMED else f"{shown} and {len(keys) - N_NAMED} more"


def _as_list(values: Any, name: str) -> list[Any]:
    """The labels of rows as a list. A row of several columns is a tuple."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is not None:
        return _crossed([_as_list(values[column], name) for column in names])
    if isinstance(values, (list, tuple, range)):  # np.asarray would turn [1, "a"] into text
        return list(values)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__array__"):
        raise TypeError(
            f"{name} must be a list, an array, a series or a frame with one value per row; got "
            f"{type(values).__name__}."
        )
    array = np.asarray(values)
    if array.dtype.kind == "M":  # nanoseconds would become plain numbers
        array = array.astype("datetime64[us]")
    if array.ndim == 2:
        return _crossed(array.T.tolist())
    if array.ndim != 1:
        raise ValueError(
            f"{name} must have shape (n_samples,) or (n_samples, n_columns); got {array.shape}."
        )
    return list(array.tolist())


def _crossed(columns: list[list[Any]]) -> list[Any]:
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _refuse_missing(keys: list[Any], codes: IntArray, name: str) -> None:
    missing = [number for number, key in enumerate(keys) if _is_missing(key)]
    if missing:
        rows = np.flatnonzero(np.isin(codes, missing))
        raise ValueError(
            f"{name} must not be missing; got None or NaN at positions {named(rows.tolist())}. "
            "Give these rows a label, for example 'unknown'."
        )


def _is_missing(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(map(_is_missing, key))
    try:
        return key is None or bool(key != key)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True
