"""massAD: mass estimation in one dimension at a time (Ting, Zhou, Liu and Tan, 2010)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._base import BaseDetector
from rankad._borrowed import Interval
from rankad._fitting import COMMON_CONSTRAINTS, validated_fit
from rankad._typing import FloatArray
from rankad.models import MassOfColumn, MeanMass


class MassAD(BaseDetector):
    """massAD: the mean mass of a row over random columns of random subsamples.

    A row with a low mean mass is anomalous. Scaling the columns changes nothing. Equal values count
    as one value with a multiplicity. The original method breaks ties by tiny random numbers, and
    then the smallest or largest value can fall outside its own range if it is repeated.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)``.
    n_estimators : int, default=100
        Number t of subsamples. Each has one random column.
    max_samples : int, default=256
        Number psi of rows in a subsample, if there are that many.
    depth : int, default=1
        Depth h of the mass: how many random splits it averages over. The cost grows as psi^h.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from (see `RankAD`).
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number of rows.
    calibration_split : {"random", "time"} or splitter, default="random"
        Which rows "split" holds out (see `RankAD`).
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the subsamples and the columns.

    Attributes
    ----------
    reference_ : ReferenceScores
        Sorted scores that p-values compare with.
    calibration_indices_ : ndarray of int
        Rows of ``fit`` whose scores are its reference, ascending: the held-out rows, or all rows.
    calibration_record_ : CalibrationRecord
        What is promised, on which rows, and what was tested.
    strata_ : StrataScores
        Reference scores of each stratum. It exists after a fit or a calibration with strata.
    offset_ : float
        Rows that score below it are anomalies at the false-alarm rate ``alpha``.

    Examples
    --------
    >>> nominal = np.random.default_rng(0).normal(size=(500, 2))
    >>> MassAD(random_state=0).fit(nominal).predict([[0.0, 0.0], [7.0, 7.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "depth": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        n_estimators: int = 100,
        max_samples: int = 256,
        depth: int = 1,
        calibration: str = "split",
        calibration_size: float = 0.25,
        calibration_split: Any = "random",
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.depth = depth
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.calibration_split = calibration_split
        self.random_state = random_state

    @validated_fit
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        groups: ArrayLike | None = None,
        strata: object = None,
        keep_rows: bool = True,
    ) -> Self:
        """Estimate the mass from nominal rows, and calibrate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Nominal rows.
        y : Ignored
        groups : array-like of shape (n_samples,), optional
            Group of each row. Whole groups are held out, and each counts once (see `RankAD.fit`).
        strata : array-like of shape (n_samples,), optional
            Stratum of each row, as for `calibrate`. The held-out rows of each stratum become its
            reference, `strata_`.
        keep_rows : bool, default=True
            Keep at most 2,000 of the rows that train, because `explain` proposes their values. A
            saved detector then holds them. With False, `explain` needs ``rows``.

        Returns
        -------
        self : object
            This detector.
        """
        return self._fit(X, self._learn, groups, strata, keep_rows)

    def _learn(self, rows: FloatArray, rng: np.random.RandomState) -> MeanMass:
        n_sampled = min(self.max_samples, len(rows))
        columns = []
        for _ in range(self.n_estimators):
            sample = rows[rng.choice(len(rows), n_sampled, replace=False)]
            column = int(rng.randint(rows.shape[1]))
            columns.append(MassOfColumn.from_values(sample[:, column], column, self.depth))
        return MeanMass(columns)
