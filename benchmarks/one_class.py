"""The one-class protocol on real data: train on nominal rows, test on the rest and anomalies."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Sets with at least 800 nominal rows, so that a quarter of half of them resolves alpha = .01.
LARGE_SETS = (
    *("annthyroid", "cover", "http", "magic", "mammography", "satellite", "shuttle", "smtp"),
    *("aloi", "cardio", "fault", "internetads", "letter", "mnist", "pageblocks", "satimage-2"),
    *("vowels", "waveform", "wilt", "yeast"),
)


@dataclass(frozen=True)
class Split:
    """Rows to train on, and nominal and anomalous rows to test on."""

    train: np.ndarray
    nominal: np.ndarray
    anomalies: np.ndarray

    @property
    def test(self) -> np.ndarray:
        """All rows to test on."""
        return np.concatenate([self.nominal, self.anomalies])

    @property
    def is_nominal(self) -> np.ndarray:
        """Which rows of ``test`` are nominal."""
        return np.arange(len(self.test)) < len(self.nominal)


def set_names(collection: str = "*") -> list[str]:
    """Names of the sets in the data folder: all, or those of one collection in it."""
    return sorted(path.stem for path in _folder().glob(f"{collection}/*.npz"))


def load_split(name: str, seed: int, n_train: int = 2000, n_test: int = 10_000) -> Split:
    """Half of the nominal rows, at most ``n_train``, train; the rest, at most ``n_test``, test."""
    X, y = _labeled_rows(name)
    rng = np.random.default_rng(seed)
    nominal = rng.permutation(np.flatnonzero(y == 0))
    anomalies = rng.permutation(np.flatnonzero(y == 1))[:n_test]
    n_train = min(n_train, len(nominal) // 2)
    return Split(X[nominal[:n_train]], X[nominal[n_train : n_train + n_test]], X[anomalies])


def load_dirty_split(name: str, seed: int, share: float, n_most: int = 2000) -> Split:
    """Some anomalies among the rows that train, and not among those that test."""
    return dirty_split(*_labeled_rows(name), seed, share, n_most)


def dirty_split(X: np.ndarray, y: np.ndarray, seed: int, share: float, n_most: int) -> Split:
    """Half of the nominal rows and a share of that many anomalies, at most half of all, train.

    At most ``n_most`` nominal rows train, and as many of the others and of the anomalies test. The
    nominal rows are the same whatever the share.
    """
    rng = np.random.default_rng(seed)
    nominal = rng.permutation(np.flatnonzero(y == 0))
    anomalies = rng.permutation(np.flatnonzero(y == 1))
    half = len(nominal) // 2
    n_train = min(n_most, half)
    n_dirty = min(round(share * n_train), len(anomalies) // 2)
    train = rng.permutation(np.concatenate([nominal[:n_train], anomalies[:n_dirty]]))
    clean = anomalies[n_dirty:][:n_most]
    return Split(X[train], X[nominal[half:][:n_most]], X[clean])


def _labeled_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    (path,) = _folder().glob(f"*/{name}.npz")
    with np.load(path) as archive:
        return archive["X"], archive["y"]


def _folder() -> Path:
    folder = os.environ.get("RANKAD_DATA")
    if folder is None:
        raise SystemExit("Set RANKAD_DATA to the folder that holds the data sets (*/*.npz).")
    return Path(folder)
