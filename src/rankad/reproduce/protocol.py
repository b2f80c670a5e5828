"""The paper's protocol: which rows train and which test, in each experiment."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from rankad import datasets
from rankad._typing import BoolArray, FloatArray
from rankad.datasets import Dataset, NormalMixture
from rankad.reproduce import paper

#: Columns as the source has them, as the paper did; or z-scored by each method's training rows.
RAW, STANDARD = COLUMNS = ("raw", "standard")

#: Most rows that a quick run trains on, and most nominal rows and anomalies that it tests on.
_QUICK_TRAINING_ROWS, _QUICK_TEST_ROWS = 1_000, 5_000

#: The seed of Mulcross: one set, as if it had been downloaded.
_MULCROSS_SEED = 0


@dataclass(frozen=True)
class Sizes:
    """How many rows train and test; None takes all there are."""

    n_train: int
    n_nominal: int
    n_anomalies: int | None = None

    def quick(self) -> "Sizes":
        """No more rows than a quick run has time for."""
        n_anomalies = _QUICK_TEST_ROWS if self.n_anomalies is None else self.n_anomalies
        return replace(
            self,
            n_train=min(self.n_train, _QUICK_TRAINING_ROWS),
            n_nominal=min(self.n_nominal, _QUICK_TEST_ROWS),
            n_anomalies=min(n_anomalies, _QUICK_TEST_ROWS),
        )


@dataclass(frozen=True)
class Experiment:
    """A comparison of methods on some sets; of those that are `drawn` ROC curves are kept."""

    name: str
    sizes: dict[str, Sizes]
    columns: tuple[str, ...]
    methods: tuple[str, ...]
    drawn: tuple[str, ...] = ()


TABLE_2_SIZES: Final = {name: Sizes(2_000, 80_000) for name in paper.SETS}

FIG_2_SET: Final = "perpendicular_gaussians"
FIG_2_SIZES: Final = {FIG_2_SET: Sizes(600, 500, 1_000)}

FIG_3_SIZES: Final = {
    "banknote": Sizes(500, 262, 610),
    "magic": Sizes(1_500, 1_000, 3_000),
}


@dataclass(frozen=True, eq=False)
class Split:
    """Nominal rows to train on, and rows to test on; the nominal ones come first."""

    train: FloatArray
    test: FloatArray
    is_anomaly: BoolArray
    nominal_law: NormalMixture | None = None


@lru_cache(maxsize=1)
def load(name: str, seed: int, folder: str | None) -> Dataset:
    """A set by name: real ones from the data folder, Mulcross and Fig. 2's generated.

    Only Fig. 2's is another with another seed. The last set is kept: all methods are measured on it
    before the next.
    """
    if name == "mulcross":
        return datasets.mulcross(random_state=_MULCROSS_SEED)
    if name == FIG_2_SET:
        sizes = FIG_2_SIZES[name]
        return datasets.perpendicular_gaussians(
            sizes.n_train + sizes.n_nominal, sizes.n_anomalies or 0, random_state=seed
        )
    return datasets.load(name, folder)


def split(data: Dataset, sizes: Sizes, seed: int) -> Split:
    """Draw rows to train on from the nominal ones, and rows to test on from the others.

    >>> data = datasets.mulcross(1000, random_state=0)
    >>> drawn = split(data, Sizes(n_train=200, n_nominal=500), seed=0)
    >>> len(drawn.train), len(drawn.test), int(drawn.is_anomaly.sum())
    (200, 600, 100)
    """
    rng = np.random.default_rng(seed)
    nominal = data.nominal[rng.permutation(len(data.nominal))]
    anomalies = data.anomalies[rng.permutation(len(data.anomalies))[: sizes.n_anomalies]]
    train, rest = nominal[: sizes.n_train], nominal[sizes.n_train :][: sizes.n_nominal]
    return Split(
        train=train,
        test=np.concatenate([rest, anomalies]),
        is_anomaly=np.arange(len(rest) + len(anomalies)) >= len(rest),
        nominal_law=data.nominal_law,
    )
