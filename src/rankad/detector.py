"""RankAD: the detector, composed of the stages; `fit` reads as Algorithm 1."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankad._progress import listen, logger
from rankad._typing import FloatArray, IntArray
from rankad._validation import scoring_rows, training_rows
from rankad.calibration import CalibratedDetectorMixin, HeldOutScores, TrainingScores
from rankad.kernels import KernelExpansion
from rankad.preferences import quantized_levels, require_pairs
from rankad.ranker import fit_ranker
from rankad.selection import PAPER_CS, cross_validate, paper_sigmas, rule_C, rule_sigma
from rankad.solvers import Solution
from rankad.statistics import STATISTICS, MeanNeighborDistance, Statistic

#: Named scalers; ``None`` leaves the columns as they are.
_SCALERS: dict[str | None, Any] = {
    "standard": StandardScaler,
    "robust": RobustScaler,
    None: FunctionTransformer,
}

#: The ranker is trained on the full kernel matrix: 8 bytes n^2, and a few of its copies.
MAX_TRAINING_ROWS = 20_000


class RankAD(CalibratedDetectorMixin, BaseEstimator):  # type: ignore[misc]
    """Rank-SVM anomaly detector with calibrated p-values.

    Trained on nominal rows only: their nearest-neighbor distances rank them, a kernel ranker learns
    to reproduce the ranks, and held-out nominal rows turn its score into a p-value. Any false-alarm
    level can then be asked for, and changed, without refitting.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm level of ``predict(X)`` and of ``decision_function``'s zero.
    statistic : {"mean_knn"} or callable, default="mean_knn"
        What ranks the training rows: minus the mean distance to the nearest neighbors, or any
        callable from rows to values, higher = more nominal (see `rankad.statistics.Statistic`).
    n_neighbors : int, default=10
        Neighbors K in the statistic; lowered, with a warning, where there are not that many rows.
    n_levels : int, default=3
        Levels that the ranks are quantized to; rows are preferred to those of lower levels.
    min_rank_gap : None, default=None
        Preference pairs come from levels.
    loss : {"squared_hinge"}, default="squared_hinge"
        Loss of a preference pair.
    anchor : float, default=1.0
        Weight of a virtual point at infinity that every training row must outrank, in units of all
        other pairs together. It makes far points anomalous, and brings the far field of `scorer_`.
        0 is the paper: a point far from all data then gets a middling rank.
    C : float, "rule" or "cv", default="rule"
        Weight of the loss. The rule is 8 / n.
    sigma : float, "rule" or "cv", default="rule"
        Width of the kernel ``exp(-|x - y|^2 / sigma^2)``, in scaled columns. The rule is half the
        mean distance to the K nearest neighbors.
    Cs, sigmas : array-like, optional
        Grids for "cv"; by default the paper's 13 values of C and 21 widths, 2^-10 to 2^10 times the
        mean distance to the K nearest neighbors.
    cv : int or cross-validation splitter, default=4
        Folds for "cv".
    n_centers : {"auto", None}, default="auto"
        Candidates for the kernel's centers: all training rows. Those in no active pair drop out.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale, learned from the training rows.
    calibration : {"split", "train"}, default="split"
        Where the reference scores come from. "split" holds rows out, and its false-alarm level is
        guaranteed; "train" is the paper's rank among the training rows, which understates false
        alarms, threefold and more on small sets.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number.
    dtype : {"float64", "float32"}, default="float64"
        Arithmetic of scoring; training is always in float64.
    tol : float, default=1e-6
        The solver stops when the gradient's norm is at most this times the ranker's.
    max_iter : int, default=100
        Most Newton steps of one solve.
    n_jobs : int, optional
        Processes for cross-validation, threads for the neighbor search.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows and the folds.
    verbose : bool or int, default=False
        Report progress (to the logger "rankad", and on standard error if nobody listens there).

    Attributes
    ----------
    scorer_ : KernelExpansion
        The frozen scoring function, on columns scaled by `scaler_`.
    scaler_ : transformer
        The fitted scaler.
    reference_ : ReferenceScores
        Sorted scores that p-values compare with.
    offset_ : float
        Rows that score below it are anomalies at level ``alpha``.
    C_, sigma_ : float
        Chosen weight of the loss and width of the kernel.
    cv_results_ : dict
        Table of the cross-validation, like `GridSearchCV`'s; only where "cv" was asked. The score
        is the share of held-out pairs ordered rightly.
    mean_neighbor_distance_ : float
        Mean distance of the scaled training rows to their K nearest others.
    n_neighbors_ : int
        Neighbors used, after lowering.
    solution_ : Solution
        Status, iterations, objective and gradient norm of the final solve.
    n_iter_ : int
        Newton steps of the final solve.
    n_features_in_, feature_names_in_
        Columns seen in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
    >>> detector = RankAD(random_state=0).fit(nominal)
    >>> detector.p_values([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]).round(3)
    array([0.849, 0.008])
    >>> detector.predict([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], alpha=0.01)
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "statistic": [StrOptions(set(STATISTICS)), callable],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_levels": [Interval(Integral, 2, None, closed="left")],
        "min_rank_gap": [None],
        "loss": [StrOptions({"squared_hinge"})],
        "anchor": [Interval(Real, 0, None, closed="left")],
        "C": [StrOptions({"rule", "cv"}), Interval(Real, 0, None, closed="neither")],
        "sigma": [StrOptions({"rule", "cv"}), Interval(Real, 0, None, closed="neither")],
        "Cs": ["array-like", None],
        "sigmas": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split", "get_n_splits"])],
        "n_centers": [StrOptions({"auto"}), None],
        "scaler": [StrOptions({"standard", "robust"}), HasMethods(["fit", "transform"]), None],
        "calibration": [StrOptions({"split", "train"})],
        "calibration_size": [
            Interval(Real, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "dtype": [StrOptions({"float64", "float32"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        statistic: str | Statistic = "mean_knn",
        n_neighbors: int = 10,
        n_levels: int = 3,
        min_rank_gap: None = None,
        loss: str = "squared_hinge",
        anchor: float = 1.0,
        C: float | Literal["rule", "cv"] = "rule",
        sigma: float | Literal["rule", "cv"] = "rule",
        Cs: ArrayLike | None = None,
        sigmas: ArrayLike | None = None,
        cv: Any = 4,
        n_centers: Literal["auto"] | None = "auto",
        scaler: Any = "standard",
        calibration: Literal["split", "train"] = "split",
        calibration_size: float = 0.25,
        dtype: Literal["float64", "float32"] = "float64",
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.alpha = alpha
        self.statistic = statistic
        self.n_neighbors = n_neighbors
        self.n_levels = n_levels
        self.min_rank_gap = min_rank_gap
        self.loss = loss
        self.anchor = anchor
        self.C = C
        self.sigma = sigma
        self.Cs = Cs
        self.sigmas = sigmas
        self.cv = cv
        self.n_centers = n_centers
        self.scaler = scaler
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.dtype = dtype
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, **params: Any) -> Self:
        """Build the paper's detector, to the letter; ``params`` set or override parameters.

        No anchor and no far field, ranks among the training rows, columns as they are, and (C,
        sigma) cross-validated over the full grid: 13 x 21 cells, 4 folds.

        >>> RankAD.as_published(random_state=0)
        RankAD(C='cv', anchor=0.0, calibration='train', n_centers=None, random_state=0,
               scaler=None, sigma='cv')
        """
        published: dict[str, Any] = {
            "anchor": 0.0,
            "C": "cv",
            "sigma": "cv",
            "n_centers": None,
            "scaler": None,
            "calibration": "train",
        }
        return cls(**(published | params))

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train the ranker on nominal rows, and calibrate it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Nominal rows: numpy, pandas, polars or Arrow.
        y : Ignored

        Returns
        -------
        self : object
        """
        listen(self.verbose)
        rows = training_rows(self, X)
        rng = check_random_state(self.random_state)
        training, held_out = self._split(rows, rng)
        self.scaler_ = _fitted_scaler(self.scaler, rows[training])
        points = self._scaled(rows[training])
        logger.info("ranking %d rows of %d columns by their neighbors", *points.shape)
        statistic = self._statistic(len(points))
        values = _statistic_values(statistic, points)
        levels = quantized_levels(values, self.n_levels)
        require_pairs(values, levels)
        self.mean_neighbor_distance_ = self._mean_neighbor_distance(statistic, values, points)
        self.C_, self.sigma_ = self._choose(points, statistic, rng)
        logger.info("training the ranker at C=%.4g, sigma=%.4g", self.C_, self.sigma_)
        ranker = fit_ranker(
            points,
            levels,
            C=self.C_,
            sigma=self.sigma_,
            anchor=self.anchor,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.solution_: Solution = ranker.solution
        self.n_iter_ = ranker.solution.n_iter
        self.scorer_: KernelExpansion = ranker.expansion.astype(self.dtype)
        logger.info("calibrating on %d rows", len(held_out))
        reference = HeldOutScores if self.calibration == "split" else TrainingScores
        self._set_reference(reference.of(self._scores(rows[held_out])))
        return self

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row: higher = more nominal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._scores(scoring_rows(self, X))

    def _scores(self, rows: FloatArray) -> FloatArray:
        # float64 whatever the arithmetic, as scikit-learn expects; the order is unchanged.
        return self.scorer_(self._scaled(rows)).astype(np.float64)

    def _split(self, rows: FloatArray, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
        """Indices of the rows that train, and of those that calibrate."""
        n = len(rows)
        if self.calibration == "train":
            training = held_out = np.arange(n)
        else:
            is_share = not isinstance(self.calibration_size, Integral)
            n_held_out = int(
                np.ceil(self.calibration_size * n) if is_share else self.calibration_size
            )
            if n - n_held_out < 2:
                raise ValueError(
                    f"calibration_size={self.calibration_size} leaves {max(n - n_held_out, 0)} of "
                    f"{n} samples to train on; at least 2 are needed. Fit on more rows, or lower "
                    "calibration_size."
                )
            order = rng.permutation(n)
            held_out, training = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
        if len(training) > MAX_TRAINING_ROWS:
            raise ValueError(
                f"{len(training)} rows to train on need a kernel matrix of "
                f"{8e-9 * len(training) ** 2:.0f} GB; at most {MAX_TRAINING_ROWS} are taken. "
                f"Calibrate on more of them (calibration_size={n - 5000} trains on 5000; the rest "
                "sharpens the p-values), or fit on a random sample."
            )
        return training, held_out

    def _scaled(self, rows: FloatArray) -> FloatArray:
        # Rows beyond all measure may overflow here; the scorer cuts infinities off.
        with np.errstate(over="ignore"):
            scaled = np.asarray(self.scaler_.transform(rows), dtype=np.float64)
        if np.isnan(scaled).any():
            raise ValueError(f"The scaler {self.scaler_} turned finite rows into NaN.")
        return scaled

    def _statistic(self, n: int) -> Statistic:
        self.n_neighbors_ = min(self.n_neighbors, n - 1)
        if self.n_neighbors_ < self.n_neighbors and not callable(self.statistic):
            warnings.warn(
                f"n_neighbors={self.n_neighbors} lowered to {self.n_neighbors_}: "
                f"there are only {n} training rows.",
                UserWarning,
                stacklevel=3,
            )
        if callable(self.statistic):
            return self.statistic
        return STATISTICS[self.statistic](n_neighbors=self.n_neighbors_, n_jobs=self.n_jobs)

    def _mean_neighbor_distance(
        self, statistic: Statistic, values: FloatArray, points: FloatArray
    ) -> float:
        """D_K, the length that widths are measured in, whatever the statistic is."""
        if not isinstance(statistic, MeanNeighborDistance):
            values = MeanNeighborDistance(self.n_neighbors_, self.n_jobs)(points)
        return -float(values.mean())

    def _choose(
        self, points: FloatArray, statistic: Statistic, rng: np.random.RandomState
    ) -> tuple[float, float]:
        """C and sigma: given, by the rule, or by cross-validation of those marked "cv"."""
        distance = self.mean_neighbor_distance_
        Cs = _candidates(self.C, rule_C(len(points)), self.Cs, PAPER_CS, "Cs")
        sigmas = _candidates(
            self.sigma, rule_sigma(distance), self.sigmas, paper_sigmas(distance), "sigmas"
        )
        if "cv" not in (self.C, self.sigma):
            return float(Cs[0]), float(sigmas[0])
        folds = self.cv
        if isinstance(folds, Integral):
            folds = KFold(folds, shuffle=True, random_state=rng)
        chosen = cross_validate(
            points,
            statistic,
            Cs=Cs,
            sigmas=sigmas,
            splits=folds.split(points),
            n_levels=self.n_levels,
            anchor=self.anchor,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        self.cv_results_ = chosen.results
        return chosen.C, chosen.sigma


def _fitted_scaler(scaler: Any, rows: FloatArray) -> Any:
    unfitted = _SCALERS[scaler]() if scaler is None or isinstance(scaler, str) else clone(scaler)
    return unfitted.fit(rows)


def _statistic_values(statistic: Statistic, points: FloatArray) -> FloatArray:
    values = np.asarray(statistic(points), dtype=np.float64)
    if values.shape != (len(points),) or not np.isfinite(values).all():
        raise ValueError(
            f"The statistic must give one finite value per row: {len(points)} of them. Got "
            f"shape {values.shape}, {np.isfinite(values).sum()} finite."
        )
    return values


def _candidates(
    asked: float | str, by_rule: float, grid: ArrayLike | None, default_grid: ArrayLike, name: str
) -> FloatArray:
    """Values to choose from: one, unless cross-validation was asked for."""
    if isinstance(asked, str) and asked == "rule":
        return np.array([by_rule])
    if not isinstance(asked, str):
        return np.array([asked], dtype=np.float64)
    values = np.asarray(default_grid if grid is None else grid, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{name} must be a non-empty list of positive numbers; got {grid!r}.")
    return values
