"""Nearest-neighbor detectors: K-LPE, aK-LPE and BP-KNNG."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._base import BaseDetector
from rankad._borrowed import Interval
from rankad._fitting import COMMON_CONSTRAINTS, validated_fit
from rankad._scaling import SCALER_CONSTRAINT, fitted_scaler
from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.models import StatisticAmong
from rankad.statistics import (
    HalvedNeighborDistance,
    KthNeighborDistance,
    Statistic,
    SummedNeighborDistance,
)

#: Constraints of the parameters that all detectors of this module have.
_COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    **COMMON_CONSTRAINTS,
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "scaler": SCALER_CONSTRAINT,
    "n_jobs": [Integral, None],
}


class StatisticDetector(BaseDetector):
    """A detector whose score is a statistic of new rows among the training rows.

    With ``calibration="train"`` the reference is the statistic of each training row among the other
    training rows, as in the papers of these detectors.
    """

    scaler: Any
    n_neighbors: int
    n_jobs: int | None
    _model: StatisticAmong
    _left_out_as_far = 0.1

    @abstractmethod
    def _statistic(self, rng: np.random.RandomState) -> Statistic:
        """The statistic that scores."""

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
        """Keep nominal rows to compare new rows with, and calibrate.

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

    @property
    def scaler_(self) -> Any:
        """The fitted scaler."""
        check_is_fitted(self, "reference_")
        return self._model.scaler

    @property
    def points_(self) -> FloatArray:
        """The scaled training rows."""
        check_is_fitted(self, "reference_")
        return self._model.points

    @property
    def statistic_(self) -> Statistic:
        """The statistic that scores."""
        check_is_fitted(self, "reference_")
        return self._model.statistic

    def _learn(self, rows: FloatArray, rng: np.random.RandomState) -> StatisticAmong:
        if self.n_neighbors >= len(rows):
            warn_user(
                f"n_neighbors={self.n_neighbors} lowered to {len(rows) - 1}: "
                f"there are only {len(rows)} training rows. Fit on more rows, or lower n_neighbors."
            )
        scaler = fitted_scaler(self.scaler, rows)
        return StatisticAmong.from_rows(scaler, rows, self._statistic(rng))


class KLPE(StatisticDetector):
    """K-LPE: p-values from the distance to the K-th neighbor (Zhao and Saligrama, 2009).

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)``.
    n_neighbors : int, default=10
        Number of neighbors K.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale. The paper does not scale them.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from (see `RankAD`). "train" is the published p-value: it
        compares with the statistic of each training row among the other training rows.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number of rows.
    calibration_split : {"random", "time"} or splitter, default="random"
        Which rows "split" holds out (see `RankAD`).
    n_jobs : int, optional
        Number of threads of the neighbor search.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, and the sample that is searched if there are very many rows.

    Attributes
    ----------
    scaler_ : transformer
        The fitted scaler.
    points_ : array of shape (n_training, n_features)
        The scaled training rows.
    statistic_ : Statistic
        The statistic that scores.
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
    >>> KLPE(random_state=0).fit(nominal).predict([[0.0, 0.0], [7.0, 7.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _COMMON_CONSTRAINTS

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        n_neighbors: int = 10,
        scaler: Any = "standard",
        calibration: str = "split",
        calibration_size: float = 0.25,
        calibration_split: Any = "random",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.scaler = scaler
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.calibration_split = calibration_split
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _statistic(self, rng: np.random.RandomState) -> Statistic:
        return KthNeighborDistance(self.n_neighbors, self.n_jobs, rng.randint(2**31 - 1))


class AveragedKLPE(KLPE):
    """aK-LPE: distances about the K-th, averaged over halvings (Qian and Saligrama, 2012).

    Attributes are those of `KLPE`.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)``.
    n_neighbors : int, default=10
        Number of neighbors K.
    n_halvings : int, default=10
        Number B of random halvings that the statistic is averaged over. 0 compares with all rows at
        once.
    nearest : bool, default=False
        Average the distances to neighbors 1 to K, as eq. (7) of the rank-SVM paper does, instead of
        the K distances about the K-th. With ``n_halvings=0`` the score is minus the mean distance
        to the K nearest rows.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from (see `RankAD`).
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number of rows.
    calibration_split : {"random", "time"} or splitter, default="random"
        Which rows "split" holds out (see `RankAD`).
    n_jobs : int, optional
        Number of threads of the neighbor search.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the halvings, and the sample that is searched if there are very
        many rows.

    Examples
    --------
    >>> nominal = np.random.default_rng(0).normal(size=(500, 2))
    >>> AveragedKLPE(random_state=0).fit(nominal).predict([[0.0, 0.0], [7.0, 7.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_COMMON_CONSTRAINTS,
        "n_halvings": [Interval(Integral, 0, None, closed="left")],
        "nearest": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        n_neighbors: int = 10,
        n_halvings: int = 10,
        nearest: bool = False,
        scaler: Any = "standard",
        calibration: str = "split",
        calibration_size: float = 0.25,
        calibration_split: Any = "random",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            n_neighbors=n_neighbors,
            scaler=scaler,
            calibration=calibration,
            calibration_size=calibration_size,
            calibration_split=calibration_split,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.n_halvings = n_halvings
        self.nearest = nearest

    def _statistic(self, rng: np.random.RandomState) -> Statistic:
        return HalvedNeighborDistance(
            self.n_neighbors,
            self.n_halvings,
            self.n_jobs,
            random_state=rng.randint(2**31 - 1),
            nearest=self.nearest,
        )


class BPKNNG(KLPE):
    """BP-KNNG: neighbors in one half, p-values from the other (Sricharan and Hero, 2011).

    The rows are split in two halves. Neighbors are searched in the half that trains, and the
    held-out half gives the reference scores. Attributes are those of `KLPE`.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)``.
    n_neighbors : int, default=10
        Number of neighbors K.
    n_summed : int or None, default=None
        Number s of distances that are summed: those to the K-th neighbor and the s - 1 before it.
        The default is all K.
    power : float, default=1.0
        Power gamma of the distances.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from (see `RankAD`).
    calibration_size : float or int, default=0.5
        Rows that "split" holds out: a share of the rows, or a number of rows.
    calibration_split : {"random", "time"} or splitter, default="random"
        Which rows "split" holds out (see `RankAD`).
    n_jobs : int, optional
        Number of threads of the neighbor search.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, and the sample that is searched if there are very many rows.

    Examples
    --------
    >>> nominal = np.random.default_rng(0).normal(size=(500, 2))
    >>> BPKNNG(random_state=0).fit(nominal).predict([[0.0, 0.0], [7.0, 7.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_COMMON_CONSTRAINTS,
        "n_summed": [Interval(Integral, 1, None, closed="left"), None],
        "power": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        n_neighbors: int = 10,
        n_summed: int | None = None,
        power: float = 1.0,
        scaler: Any = "standard",
        calibration: str = "split",
        calibration_size: float = 0.5,
        calibration_split: Any = "random",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            n_neighbors=n_neighbors,
            scaler=scaler,
            calibration=calibration,
            calibration_size=calibration_size,
            calibration_split=calibration_split,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.n_summed = n_summed
        self.power = power

    def _statistic(self, rng: np.random.RandomState) -> Statistic:
        n_summed = self.n_neighbors if self.n_summed is None else self.n_summed
        if n_summed > self.n_neighbors:
            raise ValueError(f"n_summed={n_summed} must be at most n_neighbors={self.n_neighbors}.")
        seed = rng.randint(2**31 - 1)
        return SummedNeighborDistance(self.n_neighbors, n_summed, self.power, self.n_jobs, seed)
