"""The paper's protocol: the training rows and the test rows of each experiment."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from sklearn.preprocessing import StandardScaler

from rankad import datasets
from rankad._typing import BoolArray, FloatArray
from rankad.datasets import Dataset, Law
from rankad.reproduce import paper

#: Columns as in the source, like the paper; or z-scored by the training rows of each method.
RAW, STANDARD = COLUMNS = ("raw", "standard")

#: Most training rows of a quick run, and most nominal rows and most anomalies that test.
_QUICK_TRAINING_ROWS, _QUICK_TEST_ROWS = 1_000, 5_000

#: The seed of Mulcross. All runs have the same set, as if it had been downloaded.
_MULCROSS_SEED = 0


@dataclass(frozen=True)
class Sizes:
    """Numbers of training rows and test rows; None takes all rows."""

    n_train: int
    n_nominal: int
    n_anomalies: int | None = None

    def quick(self) -> "Sizes":
        """The sizes of a quick run."""
        n_anomalies = _QUICK_TEST_ROWS if self.n_anomalies is None else self.n_anomalies
        return replace(
            self,
            n_train=min(self.n_train, _QUICK_TRAINING_ROWS),
            n_nominal=min(self.n_nominal, _QUICK_TEST_ROWS),
            n_anomalies=min(n_anomalies, _QUICK_TEST_ROWS),
        )


TABLE_2_SIZES: Final = {name: Sizes(2_000, 80_000) for name in paper.SETS}

FIG_2_SET: Final = "perpendicular_gaussians"
FIG_2_SIZES: Final = {FIG_2_SET: Sizes(600, 500, 1_000)}

FIG_3_SIZES: Final = {
    "banknote": Sizes(500, 262, 610),
    "magic": Sizes(1_500, 1_000, 3_000),
}


@dataclass(frozen=True, eq=False)
class Split:
    """Nominal rows that train, and nominal rows and anomalies that test.

    ``law`` is the law of the nominal rows, where it is known.
    """

    train: FloatArray
    nominal: FloatArray
    anomalies: FloatArray
    law: Law | None = None

    @cached_property
    def test(self) -> FloatArray:
        """All test rows; the nominal ones come first."""
        return np.concatenate([self.nominal, self.anomalies])

    @property
    def is_anomaly(self) -> BoolArray:
        """Mask of the anomalies among the test rows."""
        return np.arange(len(self.test)) >= len(self.nominal)

    def z_scored(self) -> "Split":
        """The same rows, z-scored by the training rows; their law is not known.

        >>> rows = Split(np.array([[1.0], [3.0]]), np.array([[2.0]]), np.array([[5.0]])).z_scored()
        >>> rows.train[:, 0], rows.test[:, 0]
        (array([-1.,  1.]), array([0., 3.]))
        """
        scale = StandardScaler().fit(self.train).transform
        return Split(scale(self.train), scale(self.nominal), scale(self.anomalies))


@lru_cache(maxsize=1)
def load(name: str, seed: int, folder: str | None) -> Dataset:
    """A set by name: real sets from the data folder; Mulcross and the set of Fig. 2 are generated.

    ``seed`` changes only the set of Fig. 2. The last set is kept in memory, because all methods are
    measured on one set before the next.
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
    """Draw the training rows from the nominal rows, and the test rows from the others.

    >>> data = datasets.mulcross(1000, random_state=0)
    >>> drawn = split(data, Sizes(n_train=200, n_nominal=500), seed=0)
    >>> len(drawn.train), len(drawn.test), int(drawn.is_anomaly.sum())
    (200, 600, 100)
    """
    rng = np.random.default_rng(seed)
    nominal = data.nominal[rng.permutation(len(data.nominal))]
    anomalies = data.anomalies[rng.permutation(len(data.anomalies))[: sizes.n_anomalies]]
    rest = nominal[sizes.n_train :][: sizes.n_nominal]
    return Split(nominal[: sizes.n_train], rest, anomalies, data.nominal_law)
