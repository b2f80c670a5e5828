"""The one-class protocol on real data: train on nominal rows, test on the rest and anomalies."""

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
    """Names of the sets in the data folder: all, or those of one collection in it."""
    return sorted(path.stem for path in _folder().glob(f"{collection}/*.npz"))


@lru_cache(maxsize=1)
def load_split(name: str, seed: int, n_train: int = 2000, n_test: int = 10_000) -> Split:
    """Half of the nominal rows, at most ``n_train``, train; the rest, at most ``n_test``, test.

    So do the anomalies, at most as many.
    """
    data = load_set(name)
    half = len(data.nominal) // 2
    return split(data, Sizes(min(n_train, half), n_test, n_test), seed)


@lru_cache(maxsize=1)
def load_dirty_split(name: str, seed: int, share: float, n_max: int = 2000) -> Split:
    """Some anomalies among the rows that train, and not among those that test."""
    return dirty_split(load_set(name), seed, share, n_max)


def dirty_split(data: Dataset, seed: int, share: float, n_max: int) -> Split:
    """Half of the nominal rows and a share of that many anomalies, at most half of all, train.

    At most ``n_max`` nominal rows train, and as many of the others and of the anomalies test. The
    nominal rows are the same whatever the share.
    """
    rng = np.random.default_rng(seed)
    nominal, anomalies = rng.permutation(data.nominal), rng.permutation(data.anomalies)
    half = len(nominal) // 2
    n_train = min(n_max, half)
    n_dirty = min(round(share * n_train), len(anomalies) // 2)
    train = rng.permutation(np.concatenate([nominal[:n_train], anomalies[:n_dirty]]))
    return Split(train, nominal[half:][:n_max], anomalies[n_dirty:][:n_max])


def load_set(name: str) -> Dataset:
    """A set of the data folder by the name of its file; nothing but its shape is checked."""
    paths = sorted(_folder().glob(f"*/{name}.npz"))
    if len(paths) != 1:
        raise ValueError(f"{len(paths)} files */{name}.npz in {_folder()}: there must be one.")
    return Dataset(name, *read_rows(paths[0]), source=str(paths[0]), license="", difference="")


def _folder() -> Path:
    folder = os.environ.get("RANKAD_DATA")
    if folder is None:
        raise SystemExit("Set RANKAD_DATA to the folder that holds the data sets (*/*.npz).")
    return Path(folder)
