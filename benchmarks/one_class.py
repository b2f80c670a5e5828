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
    (path,) = _folder().glob(f"*/{name}.npz")
    with np.load(path) as archive:
        X, y = archive["X"], archive["y"]
    rng = np.random.default_rng(seed)
    nominal = rng.permutation(np.flatnonzero(y == 0))
    anomalies = rng.permutation(np.flatnonzero(y == 1))[:n_test]
    n_train = min(n_train, len(nominal) // 2)
    return Split(X[nominal[:n_train]], X[nominal[n_train : n_train + n_test]], X[anomalies])


def _folder() -> Path:
    folder = os.environ.get("RANKAD_DATA")
    if folder is None:
        raise SystemExit("Set RANKAD_DATA to the folder that holds the data sets (*/*.npz).")
    return Path(folder)
