"""The one-class protocol on real data: nominal rows train, other rows and anomalies test."""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from rankad.datasets import Dataset
from rankad.datasets.files import read_rows
from rankad.reproduce.protocol import Sizes, Split, split

#: Sets with at least 800 nominal rows, so that a quarter of half of them resolves alpha = .01.
LARGE_SETS = (
    *("annthyroid", "cover", "http", "magic", "mammography", "satellite", "shuttle", "smtp"),
    *("aloi", "cardio", "fault", "internetads", "letter", "mnist", "pageblocks", "satimage-2"),
    *("vowels", "waveform", "wilt", "yeast"),
)


def set_names(collection: str = "*") -> list[str]:
    """Names of the sets in the data folder: all, or those of one collection."""
    return sorted(path.stem for path in _folder().glob(f"{collection}/*.npz"))


@lru_cache(maxsize=1)
def load_split(name: str, seed: int, n_train: int = 2000, n_test: int = 10_000) -> Split:
    """A split: half of the nominal rows, at most ``n_train``, train.

    The other nominal rows test, at most ``n_test``, and at most ``n_test`` anomalies.
    """
    data = load_set(name)
    half = len(data.nominal) // 2
    return split(data, Sizes(min(n_train, half), n_test, n_test), seed)


@lru_cache(maxsize=1)
def load_dirty_split(name: str, seed: int, share: float, n_max: int = 2000) -> Split:
    """A split with some anomalies among the training rows; these do not test."""
    return dirty_split(load_set(name), seed, share, n_max)


def dirty_split(data: Dataset, seed: int, share: float, n_max: int) -> Split:
    """A split of a set with dirt: anomalies among the training rows.

    Half of the nominal rows train, at most ``n_max``. The anomalies among them are ``share`` of
    their number, at most half of the set's anomalies. At most ``n_max`` other nominal rows and at
    most ``n_max`` other anomalies test. The nominal rows do not depend on ``share``.
    """
    return labeled_dirty_split(data, seed, share, n_max)[0]


def labeled_dirty_split(
    data: Dataset, seed: int, share: float, n_max: int
) -> tuple[Split, np.ndarray]:
    """A split with dirt, and a mask of the anomalies among its training rows."""
    rng = np.random.default_rng(seed)
    nominal, anomalies = rng.permutation(data.nominal), rng.permutation(data.anomalies)
    half = len(nominal) // 2
    n_train = min(n_max, half)
    n_dirty = min(round(share * n_train), len(anomalies) // 2)
    order = rng.permutation(n_train + n_dirty)
    train = np.concatenate([nominal[:n_train], anomalies[:n_dirty]])[order]
    split = Split(train, nominal[half:][:n_max], anomalies[n_dirty:][:n_max])
    return split, order >= n_train


def load_set(name: str) -> Dataset:
    """A set of the data folder by the name of its file; only its shape is checked."""
    paths = sorted(_folder().glob(f"*/{name}.npz"))
    if len(paths) != 1:
        raise ValueError(
            f"There are {len(paths)} files */{name}.npz in {_folder()}; there must be one."
        )
    return Dataset(name, *read_rows(paths[0]), source=str(paths[0]), license="", difference="")


def _folder() -> Path:
    folder = os.environ.get("RANKAD_DATA")
    if folder is None:
        raise SystemExit("Set RANKAD_DATA to the folder that holds the data sets (*/*.npz).")
    return Path(folder)
