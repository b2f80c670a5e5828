"""Rows with labels, and their source."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.datasets.mixture import NormalMixture


class LabeledRows(NamedTuple):
    """Rows and their labels: True (or 1) = anomaly."""

    X: FloatArray
    y: IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set of the paper.

    Parameters
    ----------
    name : str
        Its name for `rankad.datasets.load`, or the name of the generator.
    X : ndarray of shape (n, d)
        Rows in the units of the source, not rescaled. Real sets are in the order of their source,
        often one class after the other, so shuffle them before splitting.
    y : ndarray of shape (n,)
        Labels: True (or 1) = anomaly, 0 = nominal.
    source : str
        Where the rows come from.
    license : str
        The terms of the source.
    difference : str
        How the set differs from the paper's version.
    nominal_law : NormalMixture, optional
        The true law of the nominal rows, if it is known. Its density is the score of the Bayes
        detector.
    """

    name: str
    X: FloatArray
    y: IntArray
    source: str
    license: str
    difference: str
    nominal_law: NormalMixture | None = None

    @property
    def nominal(self) -> FloatArray:
        """The nominal rows."""
        return np.asarray(self.X[self.y == 0])

    @property
    def anomalies(self) -> FloatArray:
        """The anomalous rows."""
        return np.asarray(self.X[self.y == 1])

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<Dataset {self.name}: {n} rows, {d} columns, {int(self.y.sum())} anomalies>"
