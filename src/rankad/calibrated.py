"""Calibrated p-values for any other detector."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankad._base import BaseDetector
from rankad._borrowed import HasMethods
from rankad._fitting import COMMON_CONSTRAINTS, FittingDetector, validated_fit
from rankad._typing import FloatArray
from rankad.models import ForeignScores


class Calibrated(BaseDetector):
    """Another library's detector, with p-values and a stated false-alarm rate.

    It takes the detectors of scikit-learn and PyOD that can score a row by itself. ``fit`` refuses
    PyOD's SOD, COF and LMDD, because they cannot. PyOD's ROD and ABOD fail on some tables.

    Parameters
    ----------
    detector : estimator
        A detector with ``fit`` and ``score_samples`` or ``decision_function``, alone or at the end
        of a pipeline. Its scores follow scikit-learn (higher = more nominal) or PyOD (higher = more
        anomalous). The detector is cloned. Its own threshold and its ``contamination`` are not
        used. It gets rows as a float64 array without column names, missing values or text.
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)``.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from (see `RankAD`).
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number of rows.
    calibration_split : {"random", "time"} or splitter, default="random"
        Which rows "split" holds out (see `RankAD`).
    random_state : int, RandomState or None, default=None
        Draws the held-out rows. It also seeds the detector if its own ``random_state`` is None.

    Attributes
    ----------
    detector_ : estimator
        The fitted detector.
    scores_rows_alone_ : bool
        Whether rows are scored one at a time, because the detector's scores depend on the batch.
        PyOD's ECOD and COPOD, for example, rank a row among the training rows and its batch.
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
    >>> from sklearn.svm import OneClassSVM
    >>> nominal = np.random.default_rng(0).normal(size=(500, 2))
    >>> calibrated = Calibrated(OneClassSVM(), random_state=0).fit(nominal)
    >>> calibrated.predict([[0.0, 0.0], [7.0, 7.0]], alpha=0.01)
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "detector": [HasMethods(["fit"])],
    }

    _model: ForeignScores

    def __init__(
        self,
        detector: Any,
        *,
        alpha: float = 0.05,
        calibration: str = "split",
        calibration_size: float = 0.25,
        calibration_split: Any = "random",
        random_state: Any = None,
    ) -> None:
        self.detector = detector
        self.alpha = alpha
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
        """Fit the detector to nominal rows, and calibrate.

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
    def detector_(self) -> Any:
        """The fitted detector."""
        check_is_fitted(self, "reference_")
        return self._model.raw.detector

    @property
    def scores_rows_alone_(self) -> bool:
        """Whether rows are scored one at a time."""
        check_is_fitted(self, "reference_")
        return self._model.scores_rows_alone

    def _learn(self, rows: FloatArray, rng: np.random.RandomState) -> ForeignScores:
        detector = clone(self.detector)
        unseeded = [
            name
            for name, value in sorted(detector.get_params(deep=True).items())
            if name.split("__")[-1] == "random_state" and value is None
        ]
        detector.set_params(**{name: rng.randint(2**31 - 1) for name in unseeded})
        # This detector keeps its own rows for `explain`.
        options = {"keep_rows": False} if isinstance(detector, FittingDetector) else {}
        detector.fit(rows, **options)
        return ForeignScores.from_fitted(detector, rows)
