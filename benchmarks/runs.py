"""A run of a method on a set, to be made or made."""

from dataclasses import dataclass

import numpy as np

from rankad.reproduce.records import Key


@dataclass(frozen=True)
class Record:
    """What one method did in one experiment on one set, for one seed."""

    experiment: str
    set: str
    columns: str
    method: str
    seed: int
    n_train: int
    n_features: int
    measures: dict[str, float]

    @property
    def key(self) -> Key:
        """What it is a record of."""
        return Key(self.experiment, self.set, self.columns, self.method, self.seed)


@dataclass(frozen=True)
class Task:
    """A run to be made."""

    key: Key


def record_of(key: Key, train: np.ndarray, measures: dict[str, float]) -> Record:
    """Six digits of each measure, which are more than a run repeats: records stay short."""
    rounded = {name: float(f"{value:.6g}") for name, value in measures.items()}
    return Record(*key, *train.shape, measures=rounded)
