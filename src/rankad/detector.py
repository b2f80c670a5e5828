"""RankAD: the detector, composed of the stages; `fit` and `_learn` read as Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.model_selection import KFold, check_cv
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from rankad._progress import logger
from rankad._scaling import SCALER_CONSTRAINT, fitted_scaler, scaled, shift_and_scale
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration import (
    CALIBRATION_SIZE_CONSTRAINT,
    CALIBRATIONS,
    CalibratedDetector,
)
from rankad.kernels import KernelExpansion, kmeans_centers, mean_center_distance
from rankad.preferences import PairWeight, PreferenceScheme, require_pairs
from rankad.ranker import RankSVM, fit_ranker, pruned
from rankad.scorer import Scorer, change_in_float32, expansion_scores
from rankad.selection import (
    PAPER_CS,
    candidates,
    cross_validate,
    paper_sigmas,
    rule_C,
    rule_n_centers,
    rule_n_neighbors,
    rule_sigma,
)
from rankad.selection.rules import NARROWEST_SIGMA, n_varying_columns
from rankad.solvers import LOSSES, Solution
from rankad.statistics import (
    STATISTICS,
    MeanNeighborDistance,
    NeighborSearch,
    Statistic,
    named_statistic,
    statistic_values,
)
from rankad.statistics.outlying import outlying

#: Margins of anchor_margin="auto": a narrow one leaves more to the levels, which a few anomalies
#: among the rows hardly move, and less to the anchor, which lifts every row.
_MARGIN = 8.0
_MARGIN_FOR_DIRT = 1.0

#: Rows that train the ranker, for each center and at least: more hardly move so few weights.
_ROWS_PER_CENTER = 250
_LEAST_SAMPLE = 100_000

#: With all rows as centers the ranker needs the full kernel matrix: 8 bytes n^2, in a few copies.
MAX_KERNEL_ROWS = 20_000

#: Share of the rows beyond which outlying ones are taken for a nominal group, by robust.
_MOST_DIRT_IF_CLEAN = 0.1
_MOST_DIRT = 0.5

#: Most that float32 may move a p-value.
_LARGEST_P_VALUE_CHANGE = 1e-3


#: Of what is learned, the scoring function itself.
_SCORING = ("scaler", "expansion")


@dataclass(frozen=True, eq=False)
class LearnedRanker:
    """What `RankAD` learns: a ranker of rows, and how it came about."""

    scaler: Any
    expansion: KernelExpansion
    C: float
    sigma: float
    cv_results: dict[str, Any] | None
    mean_neighbor_distance: float
    n_neighbors: int
    n_outlying: int
    neighbor_search: NeighborSearch
    solution: Solution
    pruning_error: float

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row; higher = more nominal."""
        return expansion_scores(self.expansion, self.scaler, rows, n_jobs)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that trained."""
        return self(rows)

    def attributes(self) -> dict[str, Any]:
        """What a fitted detector lets be known of it, beside the scoring function itself."""
        names = [field.name for field in fields(self) if field.name not in _SCORING]
        if self.cv_results is None:
            names.remove("cv_results")
        known = {f"{name}_": getattr(self, name) for name in names}
        return {**known, "n_iter_": self.solution.n_iter}


class RankAD(CalibratedDetector, BaseEstimator):  # type: ignore[misc]
    """Rank-SVM anomaly detector with calibrated p-values.

    Trained on nominal rows only: their nearest-neighbor distances rank them, a kernel ranker learns
    to reproduce the ranks, and held-out nominal rows turn its score into a p-value. Any false-alarm
    level can then be asked for, and changed, without refitting.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm level of ``predict(X)`` and of ``decision_function``'s zero.
    statistic : str or callable, default="auto"
        What ranks the training rows: minus the mean distance to the K nearest neighbors
        ("mean_knn"; "auto" is this one, unless ``robust=True``), to the nearest of 16 random rows,
        a mean of 100 such draws ("bagged_knn"), the distance to the K-th ("kth_knn"), distances
        about the K-th averaged over halvings ("halved_knn"), the number of neighbors within a
        radius ("epsilon"), a leave-one-out density ("kernel_density"), distances along a neighbor
        graph ("geodesic_knn") or for the local dimension ("dimension_adapted_knn"); or any callable
        from rows to values, higher = more nominal (see `rankad.statistics`).
    n_neighbors : int or "auto", default="auto"
        Neighbors K in a statistic given by name, and in the rule for sigma. "auto" is
        ``n^(4 / (d + 4))`` for n training rows of d columns that vary, at least 5: the rate at
        which neighbor distances estimate a density best. A number is lowered, with a warning, where
        there are not that many rows.
    n_levels : int, "tail" or None, default=10
        Levels that the ranks are quantized to; rows are preferred to those of lower levels. A
        number m makes m equal ones (the paper has 3); "tail" makes two, the least nominal tenth of
        the rows and all others; None gives every distinct rank its own.
    min_rank_gap : float, optional
        Prefer rows whose ranks, between 0 and 1, are larger by at least this, instead of levels
        (``n_levels`` is then not used).
    pair_weight : callable, optional
        Weight of a pair, from the levels of the preferred and of the other row: the w_ij of
        eq. (8). By default 1. Needs a number of levels, at most 100.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of a preference pair; "hinge" is the paper's equation, and slower to solve.
    anchor : float, default=1.0
        Weight of a virtual point at infinity that every training row must outrank, in units of all
        other pairs together. It makes far points anomalous, and brings the far field of `scorer_`.
        0 is the paper: a point far from all data may then get a middling rank.
    anchor_margin : float or "auto", default="auto"
        How far above infinity the training rows are to score, in units of the step between two
        levels: "auto" is 8, and 1 where ``robust=True``. The wider, the less the levels count: gaps
        between dense clusters are found better, and the order within the bulk follows the density
        less.
    C : float, "rule" or "cv", default="rule"
        Weight of the loss. The rule is 32 / n.
    sigma : float, "rule" or "cv", default="rule"
        Width of the kernel ``exp(-|x - y|^2 / sigma^2)``, in scaled columns. The rule is the larger
        of .6 and 3 / d, for d columns, times the mean distance to the K nearest neighbors or, if
        larger, .85 of the mean distance to the nearest center.
    Cs, sigmas : array-like, optional
        Grids for "cv"; by default the paper's 13 values of C and 21 widths, 2^-10 to 2^10 times the
        mean distance to the K nearest neighbors.
    cv : int, cross-validation splitter or iterable of splits, default=4
        Folds for "cv", of the rows that train: splits are of those, not of those held out.
    n_centers : int, "auto" or None, default="auto"
        Most centers of the kernel, and so the cost of scoring. Where there are more training rows,
        k-means chooses the centers and training takes time and memory linear in the rows; "auto"
        is 200 for each column, at most 800. Where the kernel is so wide that fewer do, fewer are
        kept. None takes all training rows, up to 20,000, as candidates; those in no active pair
        drop out. More than 250 rows a center, and more than 100,000, are too many to be worth it: a
        random sample trains.
    outward : float, default=0.0
        Judge a row a little further out than it is: its score is multiplied by
        ``exp(-outward |v|^2 / sigma^2)``, v its distance from the weighted mean of the centers
        around it, for a sigma of .6 of the mean distance to the K nearest neighbors (a wider one
        makes v longer, and the factor allows for it). Rows beside their neighbors, not among them,
        then score lower. 4 is a good value where gaps matter; scoring takes longer (see
        `KernelExpansion`).
    robust : bool or "auto", default="auto"
        How far to distrust the training rows. "auto" leaves out of training what lies far from all
        other training rows and so may be dirt: rows whose mean distance to the nearest of 16 random
        rows is, on a log scale, more than four robust standard deviations above the median, and
        around which the density is at most a quarter of the median row's. They still calibrate.
        True is for rows of which more than a percent may be anomalies: it also ranks by
        "bagged_knn" and takes an ``anchor_margin`` of 1, unless others are given. False trains on
        all rows: set it where a nominal group of up to a tenth of the rows lies far from all
        others, which would be taken for dirt, and the rows are clean. Where "auto" would leave out
        more than a tenth, or True more than half, they leave out none.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale, learned from the training rows.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from. "split" holds rows out, and its false-alarm level is
        guaranteed; "train" is the paper's rank among the training rows, which understates false
        alarms, several-fold with the rule's kernel; "cross" compares with scores of rows
        left out fold by fold: every row both trains and calibrates, and the level is empirical,
        near alpha in experience but not guaranteed.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number.
    dtype : {"float64", "float32"}, default="float64"
        Arithmetic of scoring. float32 is used only if it moves no p-value by 1e-3 (tried on
        training rows moved a little), else it warns and stays with float64. Training is always in
        float64.
    tol : float, default=1e-6
        The solver stops when the gradient's norm is at most this times the ranker's.
    max_iter : int, default=100
        Most Newton steps of one solve.
    n_jobs : int, optional
        Threads for cross-validation, the neighbor search, and scoring large batches.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the folds, the subsamples of ``robust``, the centers, and the rows
        that stand for all where they are very many (see `neighbor_search_`).
    verbose : bool or int, default=False
        Report progress: to the logger "rankad", or on standard error if nobody listens there, on a
        terminal as a bar.

    Attributes
    ----------
    expansion_ : KernelExpansion
        The frozen scoring function. It takes rows as ``fit`` did, or, where `scaler_` is more than
        a shift and a scale of each column, rows that `scaler_` has transformed.
    scorer_ : Scorer
        Scores and p-values without the checks of the methods: one row in microseconds.
    pruning_error_ : float
        The most that a score changed, anywhere within reach of the centers, when some of them were
        left out for a wide kernel; mostly 0.
    scaler_ : transformer
        The fitted scaler.
    reference_ : ReferenceScores
        Sorted scores that p-values compare with.
    calibration_indices_ : ndarray of int
        Rows of ``fit`` whose scores made its reference, ascending: those held out, or all.
        `calibrate` does not change them.
    offset_ : float
        Rows that score below it are anomalies at level ``alpha``.
    C_, sigma_ : float
        Chosen weight of the loss and width of the kernel.
    cv_results_ : dict
        Table of the cross-validation, like `GridSearchCV`'s; only where "cv" was asked. The score
        is the share of held-out pairs ordered rightly.
    mean_neighbor_distance_ : float
        Mean distance of the scaled training rows to their K nearest others; where those are very
        many, to the K nearest of a random sample, as `neighbor_search_` says.
    n_neighbors_ : int
        Neighbors used.
    n_outlying_ : int
        Training rows that were left out as outlying; 0 if ``robust=False``.
    neighbor_search_ : NeighborSearch
        How neighbors were sought for the statistic, or, where that seeks none, for
        `mean_neighbor_distance_`: by k-d tree or brute force, and among all rows or, where those
        are very many, a random sample.
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
    array([0.952, 0.008])
    >>> detector.predict([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], alpha=0.01)
    array([ 1, -1])
    """

    _model: LearnedRanker

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "statistic": [StrOptions({"auto", *STATISTICS}), callable],
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_levels": [Interval(Integral, 2, None, closed="left"), StrOptions({"tail"}), None],
        "min_rank_gap": [Interval(Real, 0, 1, closed="neither"), None],
        "pair_weight": [callable, None],
        "loss": [StrOptions(set(LOSSES))],
        "anchor": [Interval(Real, 0, None, closed="left")],
        "anchor_margin": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "C": [StrOptions({"rule", "cv"}), Interval(Real, 0, None, closed="neither")],
        "sigma": [StrOptions({"rule", "cv"}), Interval(Real, 0, None, closed="neither")],
        "Cs": ["array-like", None],
        "sigmas": ["array-like", None],
        "cv": ["cv_object"],
        "n_centers": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "outward": [Interval(Real, 0, None, closed="left")],
        "robust": [StrOptions({"auto"}), "boolean"],
        "scaler": SCALER_CONSTRAINT,
        "calibration": [StrOptions(set(CALIBRATIONS))],
        "calibration_size": CALIBRATION_SIZE_CONSTRAINT,
        "dtype": [StrOptions({"float64", "float32"}), Options(type, {np.float64, np.float32})],
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
        statistic: str | Statistic = "auto",
        n_neighbors: int | Literal["auto"] = "auto",
        n_levels: int | Literal["tail"] | None = 10,
        min_rank_gap: float | None = None,
        pair_weight: PairWeight | None = None,
        loss: str = "squared_hinge",
        anchor: float = 1.0,
        anchor_margin: float | Literal["auto"] = "auto",
        C: float | Literal["rule", "cv"] = "rule",
        sigma: float | Literal["rule", "cv"] = "rule",
        Cs: ArrayLike | None = None,
        sigmas: ArrayLike | None = None,
        cv: Any = 4,
        n_centers: int | Literal["auto"] | None = "auto",
        outward: float = 0.0,
        robust: bool | Literal["auto"] = "auto",
        scaler: Any = "standard",
        calibration: str = "split",
        calibration_size: float = 0.25,
        dtype: DTypeLike = "float64",
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
        self.pair_weight = pair_weight
        self.loss = loss
        self.anchor = anchor
        self.anchor_margin = anchor_margin
        self.C = C
        self.sigma = sigma
        self.Cs = Cs
        self.sigmas = sigmas
        self.cv = cv
        self.n_centers = n_centers
        self.outward = outward
        self.robust = robust
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
        sigma) cross-validated over the full grid: 13 x 21 cells, 4 folds. The loss is the squared
        hinge of the routine that the paper used; ``loss="hinge"`` is that of its equation.

        >>> RankAD.as_published(random_state=0)
        RankAD(C='cv', anchor=0.0, anchor_margin=1.0, calibration='train',
               n_centers=None, n_levels=3, n_neighbors=10, random_state=0, robust=False,
               scaler=None, sigma='cv')
        """
        published: dict[str, Any] = {
            "n_neighbors": 10,
            "n_levels": 3,
            "anchor": 0.0,
            "anchor_margin": 1.0,
            "C": "cv",
            "sigma": "cv",
            "n_centers": None,
            "robust": False,
            "scaler": None,
            "calibration": "train",
        }
        return cls(**(published | params))

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from nominal rows, and calibrate: Algorithm 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Nominal rows: numpy, pandas, polars or Arrow.
        y : Ignored

        Returns
        -------
        self : object
        """
        # Validate the rows, hold some out, learn from the others, score those held out.
        fitted, ranker = self._calibrated(X, self._learn)
        fitted.__dict__.update(ranker.attributes())
        return self._become(fitted)

    def _learn(
        self, rows: FloatArray, rng: np.random.RandomState, like: LearnedRanker | None
    ) -> LearnedRanker:
        """Learn from the rows that train; a fold of them takes over what ``like`` has chosen."""
        self._require_feasible(rows)
        scaler = fitted_scaler(self.scaler, rows)
        scaled_rows = scaled(scaler, rows)
        kept, n_outlying = self._kept(scaled_rows, rng)
        points = scaled_rows[kept]

        # Steps 1 and 2: the statistic of each point, and its rank.
        logger.info("ranking %d rows of %d columns by their neighbors", *points.shape)
        statistic, n_neighbors = self._statistic(points, rng)
        values = statistic_values(statistic, points)

        # Step 3: pairs of points of different ranks.
        scheme = PreferenceScheme(self.n_levels, self.min_rank_gap, self.pair_weight)
        preferences = scheme(values)
        require_pairs(values, preferences)

        # Step 5 comes first here: C and sigma, by the rule or by cross-validation.
        search, distance = self._mean_neighbor_distance(statistic, n_neighbors, points, values)
        problem = RankSVM(self.anchor, self._margin, self.loss, self.tol, self.max_iter)
        centers = self._centers(points, rng)
        C, sigma, cv_results = self._choose(
            scaled_rows, kept, distance, centers, statistic, scheme, problem, rng, like
        )

        # Step 4: the ranker that prefers them as the pairs do.
        logger.info("training the ranker at C=%.4g, sigma=%.4g", C, sigma)
        ranker = fit_ranker(points, preferences, C=C, sigma=sigma, problem=problem, centers=centers)
        expansion, pruning_error = ranker.expansion, 0.0
        if self.n_centers is not None:
            expansion, pruning_error = pruned(ranker, problem, points)
        if self.outward > 0.0:
            expansion = self._stepped_outward(expansion, distance)
        # Chosen by the rows that train: a score chosen by looking at the held-out ones would no
        # longer treat them and new rows alike.
        if like is None and np.dtype(self.dtype) == np.float32:
            expansion = _in_float32_if_safe(expansion, scaled_rows, distance)
        columns = shift_and_scale(scaler, rows.shape[1])
        return LearnedRanker(
            scaler=scaler,
            expansion=expansion if columns is None else expansion.on_columns(*columns),
            C=C,
            sigma=sigma,
            cv_results=cv_results,
            mean_neighbor_distance=distance,
            n_neighbors=n_neighbors,
            n_outlying=n_outlying,
            neighbor_search=search,
            solution=ranker.solution,
            pruning_error=pruning_error,
        )

    @property
    def expansion_(self) -> KernelExpansion:
        """The frozen scoring function."""
        check_is_fitted(self, "reference_")
        return self._model.expansion

    @property
    def scaler_(self) -> Any:
        """The fitted scaler."""
        check_is_fitted(self, "reference_")
        return self._model.scaler

    @property
    def scorer_(self) -> Scorer:
        """Scores and p-values without the checks, for one row in microseconds."""
        return Scorer(self.expansion_, self.reference_, self.scaler_)

    def _kept(self, points: FloatArray, rng: np.random.RandomState) -> tuple[IntArray, int]:
        """Positions of the points to train on, no more than are worth it; how many are outlying."""
        n_most = max(_ROWS_PER_CENTER * min(self._most_centers(points), len(points)), _LEAST_SAMPLE)
        kept = np.arange(len(points))
        if len(points) > n_most:
            logger.info("training on %d of %d rows, drawn at random", n_most, len(points))
            kept = np.sort(rng.choice(len(points), int(n_most), replace=False))
        if not self.robust:
            return kept, 0
        largest_share = _MOST_DIRT if self._is_for_dirt else _MOST_DIRT_IF_CLEAN
        is_outlying = outlying(
            points[kept], self.n_jobs, rng.randint(2**31 - 1), largest_share=largest_share
        )
        n_outlying = int(is_outlying.sum())
        logger.info("%d of %d rows are outlying: left out", n_outlying, len(kept))
        return kept[~is_outlying], n_outlying

    def _statistic(self, points: FloatArray, rng: np.random.RandomState) -> tuple[Statistic, int]:
        """The statistic, and the number of neighbors that it and the rule for sigma take."""
        n_others = len(points) - 1
        is_auto = self.n_neighbors == "auto"
        n_asked = _auto_n_neighbors(points) if is_auto else int(self.n_neighbors)
        n_neighbors = min(n_asked, n_others)
        if isinstance(self.statistic, type):
            name = self.statistic.__name__
            raise TypeError(f"statistic must be an instance, {name}(), not the class {name}.")
        if callable(self.statistic):
            return self.statistic, n_neighbors
        if n_others < n_asked and not is_auto:
            warn_user(
                f"n_neighbors={self.n_neighbors} lowered to {n_neighbors}: "
                f"there are only {len(points)} training rows."
            )
        statistic = named_statistic(
            str(self._statistic_name),
            n_neighbors=n_neighbors,
            n_jobs=self.n_jobs,
            random_state=rng.randint(2**31 - 1),
        )
        return statistic, n_neighbors

    def _mean_neighbor_distance(
        self, statistic: Statistic, n_neighbors: int, points: FloatArray, values: FloatArray
    ) -> tuple[NeighborSearch, float]:
        """D_K, and how neighbors were sought: by the statistic, or else for D_K."""
        search = _planned_search(statistic, points)
        if self._statistic_name == "mean_knn" and search is not None:
            return search, -float(values.mean())
        distance = MeanNeighborDistance(n_neighbors, self.n_jobs)
        search = search or distance.planned_search(*points.shape)
        return search, -float(distance(points).mean())

    def _stepped_outward(self, expansion: KernelExpansion, distance: float) -> KernelExpansion:
        """The expansion with a step of a length in the data's own unit, however wide the kernel."""
        if distance == 0.0:
            raise ValueError(
                f"outward={self.outward} has no unit: the mean neighbor distance is 0, as most "
                "rows have copies. Raise n_neighbors above their number, or set outward to 0."
            )
        unit = NARROWEST_SIGMA * distance / expansion.sigma
        return replace(expansion, outward=float(self.outward * unit**2))

    def _of_part(self, statistic: Statistic) -> Statistic:
        """The statistic for parts of the points: by the rule, they have fewer neighbors."""
        is_own = callable(self.statistic)
        if is_own or self.n_neighbors != "auto" or not hasattr(statistic, "n_neighbors"):
            return statistic

        def of_part(points: FloatArray, reference: FloatArray | None = None) -> FloatArray:
            n_neighbors = min(_auto_n_neighbors(points), len(points) - 1)
            fewer: Statistic = replace(cast("Any", statistic), n_neighbors=n_neighbors)
            return fewer(points, reference)

        return of_part

    @property
    def _is_for_dirt(self) -> bool:
        return self.robust != "auto" and bool(self.robust)

    @property
    def _statistic_name(self) -> str | None:
        """Name of the statistic; None if it has none."""
        if self.statistic != "auto":
            return None if callable(self.statistic) else self.statistic
        return "bagged_knn" if self._is_for_dirt else "mean_knn"

    @property
    def _margin(self) -> float:
        if self.anchor_margin != "auto":
            return float(self.anchor_margin)
        return _MARGIN_FOR_DIRT if self._is_for_dirt else _MARGIN

    def _centers(self, points: FloatArray, rng: np.random.RandomState) -> FloatArray | None:
        """Centers of the kernels, or None where all rows are candidates."""
        if len(points) <= self._most_centers(points):
            return None
        return self._chosen_centers(points, rng)

    def _chosen_centers(self, points: FloatArray, rng: np.random.RandomState) -> FloatArray:
        n_centers = int(self._most_centers(points))
        logger.info("choosing %d centers among %d rows", n_centers, len(points))
        return kmeans_centers(points, n_centers, rng)

    def _most_centers(self, points: FloatArray) -> float:
        if self.n_centers is None:
            return inf
        is_auto = self.n_centers == "auto"
        return rule_n_centers(n_varying_columns(points)) if is_auto else int(self.n_centers)

    def _require_feasible(self, rows: FloatArray) -> None:
        if self.outward > 0.0 and self.anchor == 0.0:
            raise ValueError(
                f"outward={self.outward} needs an anchor: without one scores have no zero, and "
                "cannot shrink towards it. Set anchor above 0, or outward to 0."
            )
        n_rows = len(rows)
        n_centers = min(n_rows, self._most_centers(rows))
        if n_centers > MAX_KERNEL_ROWS:
            which = "all" if n_centers == n_rows else n_centers
            raise ValueError(
                f"{n_rows} rows to train on, {which} of them centers, need a kernel matrix of "
                f"{8e-9 * n_centers**2:.0f} GB; at most {MAX_KERNEL_ROWS} are taken. Set "
                "n_centers to 'auto' or a smaller number, or fit on a random sample."
            )

    def _choose(
        self,
        scaled_rows: FloatArray,
        kept: IntArray,
        distance: float,
        centers: FloatArray | None,
        statistic: Statistic,
        scheme: PreferenceScheme,
        problem: RankSVM,
        rng: np.random.RandomState,
        like: LearnedRanker | None,
    ) -> tuple[float, float, dict[str, Any] | None]:
        """C and sigma: given, by the rule, or by cross-validation of those marked "cv"; its table.

        Those that ``like`` has cross-validated are taken over.
        """
        points = scaled_rows[kept]
        C, Cs, sigma, sigmas = self.C, self.Cs, self.sigma, self.sigmas
        if like is not None:
            C, Cs = (like.C, None) if C == "cv" else (C, Cs)
            sigma, sigmas = (like.sigma, None) if sigma == "cv" else (sigma, sigmas)
        by_rule = 0.0
        if sigma == "rule":
            to_centers = 0.0 if centers is None else mean_center_distance(points, centers, rng)
            by_rule = rule_sigma(distance, n_varying_columns(points), to_centers)
        paper_grid = paper_sigmas(distance) if sigma == "cv" and sigmas is None else ()
        C_grid = candidates("C", C, rule_C(len(points)), Cs, PAPER_CS)
        sigma_grid = candidates("sigma", sigma, by_rule, sigmas, paper_grid)
        if "cv" not in (C, sigma):
            return float(C_grid[0]), float(sigma_grid[0]), None
        if isinstance(self.cv, Integral):
            splits = KFold(self.cv, shuffle=True, random_state=rng).split(points)
        else:  # of all rows that train, also of those that were left out
            splits = _parts_among(kept, check_cv(self.cv).split(scaled_rows), len(scaled_rows))
        # Where all rows of a fold are its centers, distances among the rows of all folds are taken.
        may_take_all = len(points) <= MAX_KERNEL_ROWS
        choose_centers = self._centers if may_take_all else self._chosen_centers
        chosen = cross_validate(
            points,
            self._of_part(statistic),
            Cs=C_grid,
            sigmas=sigma_grid,
            splits=splits,
            scheme=scheme,
            problem=problem,
            choose_centers=partial(choose_centers, rng=rng),
            n_jobs=self.n_jobs,
        )
        return chosen.C, chosen.sigma, chosen.results


def _in_float32_if_safe(
    expansion: KernelExpansion, points: FloatArray, distance: float
) -> KernelExpansion:
    """The expansion in float32, if that moves no p-value."""
    # Moved about as far as their neighbors are, training rows score like new ones: where they lie,
    # whole levels of them tie.
    noise = np.random.RandomState(0).normal(size=points.shape)
    change = change_in_float32(expansion, points + distance / np.sqrt(points.shape[1]) * noise)
    if change < _LARGEST_P_VALUE_CHANGE:
        return expansion.astype(np.float32)
    warn_user(
        f"Scoring stays in float64: float32 would move p-values by up to {change:.2g}. A "
        "smaller C or sigma, or scaled columns, make float32 safer."
    )
    return expansion


def _auto_n_neighbors(points: FloatArray) -> int:
    """K by the rule for these points; there may be fewer."""
    return rule_n_neighbors(len(points), n_varying_columns(points))


def _parts_among(
    kept: IntArray, splits: Iterable[tuple[Any, Any]], n_rows: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Splits of all rows, given as positions or masks, as positions among those that are kept."""
    place = np.full(n_rows, -1)
    place[kept] = np.arange(len(kept))
    n_folds = 0
    for train, test in splits:
        try:
            places = place[train], place[test]
        except IndexError as error:
            raise ValueError(
                f"cv gives rows that are not among the {n_rows} that train; its splits are of "
                "those, not of those held out."
            ) from error
        of_train, of_test = (part[part >= 0] for part in places)
        if of_train.size > 0 and of_test.size > 0:  # else all of a part was left out
            n_folds += 1
            yield of_train, of_test
    if n_folds == 0:
        raise ValueError("cv gives no split in which rows that train stand in both parts.")


def _planned_search(statistic: Statistic, points: FloatArray) -> NeighborSearch | None:
    """How one of our statistics seeks neighbors; of other callables nothing is known."""
    plan = getattr(statistic, "planned_search", None)
    return None if plan is None else plan(*points.shape)
