"""Rows whose order matters, or that are copies: training rows, and the nominal rows after them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from one_class import load_set
from streams import N_COLUMNS, autoregressive

Rows = np.ndarray

#: New rows of every stream, and of a real set at most.
N_NEW = 20_000

#: Rows of a day, if a row comes every five minutes.
DAY = 288

GROUP_SIZE = 10

#: Share of the variance that the rows of a group have in common.
COMMON = 0.8


@dataclass(frozen=True)
class OrderedRows:
    """Training rows, the new nominal rows, and the labels of the groups of the training rows.

    A fault can shift one of the first ``n_shiftable`` columns.
    """

    train: Rows
    new: Rows
    n_shiftable: int
    groups: np.ndarray | None = None


def in_time(
    make: Callable[[int, np.random.Generator], Rows], n: int, rng: np.random.Generator
) -> OrderedRows:
    """The first n rows of a stream train. The next ones are new."""
    rows = make(n + N_NEW, rng)
    return OrderedRows(rows[:n], rows[n:], N_COLUMNS)


def daily_cycle(n: int, rng: np.random.Generator, *, has_hours: bool = False) -> Rows:
    """A cycle of a day and AR(.95) noise, and the sine and cosine of the hour if asked."""
    angle = 2.0 * np.pi * (np.arange(n) + rng.integers(DAY)) / DAY
    rows = np.sin(angle)[:, None] + 0.5 * autoregressive(0.95, n, rng)
    return np.column_stack([rows, np.sin(angle), np.cos(angle)]) if has_hours else rows


def random_walk(n: int, rng: np.random.Generator) -> Rows:
    """Sums of independent steps: not stationary."""
    return np.cumsum(rng.normal(size=(n, N_COLUMNS)), axis=0)


def in_groups(n: int, rng: np.random.Generator) -> OrderedRows:
    """Groups of ten rows with a common effect. The new rows are rows of new groups."""
    groups = np.arange(n + N_NEW) // GROUP_SIZE
    effects = rng.normal(0.0, np.sqrt(COMMON), (groups[-1] + 1, N_COLUMNS))
    rows = effects[groups] + rng.normal(0.0, np.sqrt(1.0 - COMMON), (n + N_NEW, N_COLUMNS))
    return OrderedRows(rows[:n], rows[n:], N_COLUMNS, groups[:n])


def copied(times: int, n: int, rng: np.random.Generator) -> OrderedRows:
    """Every training row occurs several times, in random places. The new rows are no copies."""
    distinct = rng.normal(size=(n // times, N_COLUMNS))
    train = rng.permutation(np.repeat(distinct, times, axis=0))
    return OrderedRows(train, rng.normal(size=(N_NEW, N_COLUMNS)), N_COLUMNS)


SOURCES: dict[str, Callable[[int, np.random.Generator], OrderedRows]] = {
    "independent rows": partial(in_time, partial(autoregressive, 0.0)),
    "AR(.5)": partial(in_time, partial(autoregressive, 0.5)),
    "AR(.9)": partial(in_time, partial(autoregressive, 0.9)),
    "AR(.99)": partial(in_time, partial(autoregressive, 0.99)),
    "daily cycle": partial(in_time, daily_cycle),
    "daily cycle, hour columns": partial(in_time, partial(daily_cycle, has_hours=True)),
    "random walk": partial(in_time, random_walk),
    "groups of ten": in_groups,
    "each row twice": partial(copied, 2),
    "each row five times": partial(copied, 5),
}


def n_training(n_nominal: int, at_most: int) -> int:
    """Number of training rows of a real set: at most half of its nominal rows."""
    return min(at_most, n_nominal // 2)


@lru_cache(maxsize=1)
def nominal_in_file_order(name: str) -> Rows:
    """The nominal rows of a real set, in the order of its file."""
    return load_set(name).nominal


def of_file(name: str, at_most: int) -> OrderedRows:
    """The first nominal rows of the file train. The next ones are new."""
    rows = nominal_in_file_order(name)
    n = n_training(len(rows), at_most)
    return OrderedRows(rows[:n], rows[n : n + N_NEW], rows.shape[1])
