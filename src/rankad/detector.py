"""RankAD: the detector, composed of the stages; `fit` reads as Algorithm 1."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._base import COMMON_CONSTRAINTS, BaseDetector, validated_fit
from rankad._borrowed import Interval, StrOptions
from rankad._progress import progress_shown
from rankad._scaling import SCALER_CONSTRAINT, fitted_scaler, scaled, shift_and_scale
from rankad._typing import FloatArray
from rankad._validation import feature_names, scoring_rows
from rankad.explanations import Explanation, explained
from rankad.kernels import KernelExpansion
from rankad.models import LearnedRanker
from rankad.models.scoring_function import scoring_function
from rankad.options import Pairs, RankSVM
from rankad.preferences import require_pairs
from rankad.ranker import RankProblem, fit_ranker, pruned
from rankad.scorer import Scorer
from rankad.statistics import STATISTICS, Statistic
from rankad.tuning import CenterRule, StatisticRule, TrainingSample, WidthAndWeight

#: Margins of the anchor by default: a narrow one leaves more to the levels, which a few anomalies
#: among the rows hardly move, and less to the anchor, which lifts every row.
_MARGIN = 8.0
_MARGIN_FOR_DIRT = 1.0

#: Share of the rows beyond which outlying ones are taken for a nominal group, by robust.
_MAX_OUTLYING_SHARE = {False: 0.0, "auto": 0.1, True: 0.5}


class RankAD(BaseDetector):
    """Rank-SVM anomaly detector with calibrated p-values.

    Trained on nominal rows only: their nearest-neighbor distances rank them, a kernel ranker learns
    to reproduce the ranks, and held-out nominal rows turn its score into a p-value. Any false-alarm
    level can then be asked for, and changed, without refitting.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)`` and of ``decision_function``'s zero.
    statistic : str or callable, default="auto"
        What ranks the training rows. By name: minus the mean distance to the K nearest neighbors
        ("mean_knn"; "auto" is this one, unless ``robust=True``); minus the distance to the nearest
        of 16 random rows, averaged over 100 draws ("bagged_knn"); the distance to the K-th neighbor
        ("kth_knn"); distances about the K-th, averaged over halvings ("halved_knn"); the number of
        neighbors within a radius ("epsilon"); a leave-one-out density ("kernel_density"); distances
        along a neighbor graph ("geodesic_knn") or for the local dimension
        ("dimension_adapted_knn"). Or any callable from rows to values, higher = more nominal (see
        `rankad.statistics`).
    n_neighbors : int or "auto", default="auto"
        Neighbors K in a statistic given by name, and in the rule for sigma. "auto" is
        ``n^(4 / (d + 4))`` for n training rows of d columns that vary, at least 5: the rate at
        which neighbor distances estimate a density best. A number is lowered, with a warning, where
        there are not that many rows.
    n_centers : int, "auto" or None, default="auto"
        Largest number of centers of the kernel, and so the cost of scoring. Where there are more
        training rows, k-means chooses the centers, and training takes time and memory linear in the
        rows. "auto" is 200 for each column, at most 800. Where the kernel is so wide that fewer
        suffice, fewer are kept. None takes all training rows, up to 20,000, as candidates; those in
        no active pair drop out. The ranker trains on at most 250 rows a center or 100,000 rows,
        whichever is more, drawn at random.
    pairs : int or Pairs, default=10
        Levels that the ranks are quantized to: the ranker learns to score rows of a higher level
        above those of a lower one (the paper has 3). `rankad.options.Pairs` has the other choices:
        gaps between ranks, and weights.
    anchor : float or (float, float), default=1.0
        Weight of a virtual point at infinity that every training row must outrank, in units of all
        pairs together. It makes far points anomalous, and brings the far field of `scorer_`. 0 is
        the paper: a point far from all data may then get a middling rank. A pair is (weight,
        margin). The margin is how far above infinity the training rows are to score, in units of
        the step between two levels; by default 8, and 1 where ``robust=True``. With a wider margin
        the levels count less: gaps between dense clusters are found better, and the order within
        the bulk follows the density less.
    C : float, "auto", "published" or array-like, default="auto"
        Weight of the loss. "auto" is the rule 32 / n. A list is a grid, from which cross-validation
        chooses; "published" is the paper's grid of 13 values.
    sigma : float, "auto", "published" or array-like, default="auto"
        Width of the kernel ``exp(-|x - y|^2 / sigma^2)``, in scaled columns. "auto" is a rule: the
        larger of .6 and 3 / d, for d columns, times the mean distance to the K nearest neighbors;
        or, if larger, .85 of the mean distance to the nearest center. A list is a grid; "published"
        is the paper's, 2^-10 to 2^10 times the mean distance to the K nearest neighbors.
    ranker : RankSVM, optional
        How the ranker is trained and how it computes: loss, tolerance, iterations, folds for a
        grid, the outward step, float32. See `rankad.options.RankSVM`.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale, learned from the training rows.
    robust : bool or "auto", default="auto"
        How far to distrust the training rows. "auto" leaves out of training what lies far from all
        other training rows and so may be dirt: rows whose mean distance to the nearest of 16 random
        rows is, on a log scale, more than four robust standard deviations above the median, and
        around which the density is at most a quarter of the median row's. They still calibrate.
        True is for rows of which more than a percent may be anomalies: it also ranks by
        "bagged_knn" and takes a margin of 1, unless others are given. False trains on all rows. Set
        it where the rows are clean and a nominal group, of up to a tenth of the rows, lies far from
        all others: it would be taken for dirt. Where "auto" would leave out more than a tenth, or
        True more than half, they leave out none.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from. "split" holds rows out; its false-alarm rate is
        guaranteed. "train" is the paper's rank among the training rows, which understates false
        alarms several-fold with the rule's kernel. "cross" compares with scores of rows left out
        fold by fold: every row both trains and calibrates, and the rate is empirical, near alpha in
        experience but not guaranteed.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number.
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
        Table of the cross-validation, like `GridSearchCV`'s; only where a grid was given. The score
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
        **COMMON_CONSTRAINTS,
        "statistic": [StrOptions({"auto", *STATISTICS}), callable],
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_centers": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "pairs": [Interval(Integral, 2, None, closed="left"), Pairs],
        "anchor": [Interval(Real, 0, None, closed="left"), tuple],
        "C": [
            StrOptions({"auto", "published"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "sigma": [
            StrOptions({"auto", "published"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "ranker": [RankSVM, None],
        "scaler": SCALER_CONSTRAINT,
        "robust": [StrOptions({"auto"}), "boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        statistic: str | Statistic = "auto",
        n_neighbors: int | Literal["auto"] = "auto",
        n_centers: int | Literal["auto"] | None = "auto",
        pairs: int | Pairs = 10,
        anchor: float | tuple[float, float] = 1.0,
        C: float | Literal["auto", "published"] | ArrayLike = "auto",
        sigma: float | Literal["auto", "published"] | ArrayLike = "auto",
        ranker: RankSVM | None = None,
        scaler: Any = "standard",
        robust: bool | Literal["auto"] = "auto",
        calibration: str = "split",
        calibration_size: float = 0.25,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.alpha = alpha
        self.statistic = statistic
        self.n_neighbors = n_neighbors
        self.n_centers = n_centers
        self.pairs = pairs
        self.anchor = anchor
        self.C = C
        self.sigma = sigma
        self.ranker = ranker
        self.scaler = scaler
        self.robust = robust
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, **params: Any) -> Self:
        """Build the paper's detector, to the letter; ``params`` set or override parameters.

        No anchor and no far field, ranks among the training rows, columns as they are, and (C,
        sigma) cross-validated over the full grid: 13 x 21 cells, 4 folds. The loss is the squared
        hinge of the routine that the paper used; ``ranker=RankSVM(loss="hinge")`` takes that of its
        equation.

        >>> RankAD.as_published(random_state=0)
        RankAD(C='published', anchor=0.0, calibration='train', n_centers=None,
               n_neighbors=10, pairs=3, random_state=0, robust=False, scaler=None,
               sigma='published')
        """
        published: dict[str, Any] = {
            "n_neighbors": 10,
            "n_centers": None,
            "pairs": 3,
            "anchor": 0.0,
            "C": "published",
            "sigma": "published",
            "scaler": None,
            "robust": False,
            "calibration": "train",
        }
        return cls(**(published | params))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``pairs__levels=3`` or ``ranker__tol=1e-4`` reach into the objects.

        Where ``pairs`` is a number or ``ranker`` is None, the object with its other values at their
        defaults is made first.
        """
        nested = {name: value for name, value in params.items() if "__" in name}
        super().set_params(**{name: params[name] for name in params.keys() - nested.keys()})
        owners = {name.partition("__")[0] for name in nested}
        if "pairs" in owners:
            self.pairs = self._pairs
        if "ranker" in owners:
            self.ranker = self._ranker
        return super().set_params(**nested)  # type: ignore[no-any-return]

    @validated_fit
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
        fitted, rows, rng, holdout = self._begin_fit(X)  # validated, and some held out
        pairs, options, problem = self._pairs, self._ranker, self._problem
        statistic_rule, center_rule = self._statistic_rule, CenterRule(self.n_centers)

        def learn(rows: FloatArray, like: LearnedRanker | None = None) -> LearnedRanker:
            """Learn from rows; a fold of them takes over what was chosen for all, ``like``."""
            center_rule.require_feasible(rows)
            scaler = fitted_scaler(self.scaler, rows)
            sample = self._sample(scaled(scaler, rows), center_rule, rng)
            points = sample.points

            # Steps 1 and 2: the statistic G of each point, which ranks it.
            ranked = statistic_rule.ranked(points, rng)

            # Step 3: pairs of points of different ranks.
            preferences = pairs(ranked.values)
            require_pairs(ranked.values, preferences)

            # Step 5 comes first here: C and sigma, by the rule or by cross-validation.
            centers = center_rule.centers(points, rng)
            chosen = self._width_and_weight.taking_over(
                None if like is None else like.chosen
            ).choose(
                sample,
                ranked,
                centers,
                statistic=statistic_rule.for_parts(ranked.statistic),
                pairs=pairs,
                problem=problem,
                center_rule=center_rule,
                rng=rng,
            )

            # Step 4: the ranker that scores the first point of each pair above the second.
            C, sigma = chosen.C, chosen.sigma
            ranker = fit_ranker(
                points, preferences, C=C, sigma=sigma, problem=problem, centers=centers
            )
            expansion, pruning_error = ranker.expansion, 0.0
            if self.n_centers is not None:
                expansion, pruning_error = pruned(ranker, problem, points)
            expansion = scoring_function(
                expansion,
                options,
                sample.all_points,
                ranked.mean_neighbor_distance,
                is_final=like is None,
            )
            columns = shift_and_scale(scaler, rows.shape[1])
            return LearnedRanker(
                scaler=scaler,
                expansion=expansion if columns is None else expansion.on_columns(*columns),
                chosen=chosen,
                ranked=ranked,
                n_outlying=sample.n_outlying,
                solution=ranker.solution,
                pruning_error=pruning_error,
            )

        model = learn(rows[holdout.training])
        fitted.__dict__.update(model.attributes())
        # The scores that become the reference: of the rows held out.
        return self._end_fit(fitted, model, holdout, holdout.reference(model, learn, rows))

    def explain(
        self, X: ArrayLike, *, rows: ArrayLike | None = None, n_nearest: int = 3
    ) -> Explanation:
        """Explain the score of each row: which feature, changed alone, raises its p-value most.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to explain.
        rows : array-like of shape (n_rows, n_features), optional
            Nominal rows, such as those of ``fit``, among which to look for the nearest; by default,
            the centers of the expansion.
        n_nearest : int, default=3
            How many of them; all, where there are fewer.

        Returns
        -------
        explanation : Explanation
            See `rankad.explanations.Explanation`.

        Notes
        -----
        A feature's nominal values are those of the centers of the kernel sum. All of them are tried
        by the closed form of the kernel sum. The best one of each feature is then scored by the
        detector itself: gains and p-values are what it says of the changed row. Where no single
        feature raises the p-value, the row is anomalous in several together; its nearest nominal
        rows then tell more.

        The scaler must shift and scale each column for itself: "standard", "robust", None, a
        `StandardScaler` or a `RobustScaler`.

        Examples
        --------
        >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
        >>> detector = RankAD(random_state=0).fit(nominal)
        >>> explanation = detector.explain([[0.0, 9.0, 0.0]])
        >>> explanation
        row 0: p = 0.00794; x1 9 -> 0.241943 would give p = 0.96
        >>> explanation.top(0, n=1)[0].name
        'x1'
        """
        check_is_fitted(self, "reference_")
        with progress_shown(self.verbose):
            return explained(
                self.scorer_,
                scoring_rows(self, X),
                feature_names(self),
                among=None if rows is None else scoring_rows(self, rows),
                n_nearest=n_nearest,
                n_jobs=self.n_jobs,
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

    @property
    def _pairs(self) -> Pairs:
        """The parameter ``pairs`` as an object."""
        return self.pairs if isinstance(self.pairs, Pairs) else Pairs(self.pairs)

    @property
    def _ranker(self) -> RankSVM:
        """The parameter ``ranker`` as an object."""
        return RankSVM() if self.ranker is None else self.ranker

    @property
    def _anchor(self) -> tuple[float, float]:
        """Weight and margin of the point at infinity."""
        if not isinstance(self.anchor, tuple):
            return float(self.anchor), _MARGIN_FOR_DIRT if self._is_for_dirt else _MARGIN
        are_numbers = all(isinstance(part, Real) for part in self.anchor)
        if len(self.anchor) != 2 or not are_numbers or self.anchor[0] < 0 or self.anchor[1] <= 0:
            raise ValueError(
                "anchor must be a weight of at least 0, or a pair (weight, margin) with a margin "
                f"above 0; got {self.anchor!r}."
            )
        return float(self.anchor[0]), float(self.anchor[1])

    @property
    def _is_for_dirt(self) -> bool:
        return self.robust != "auto" and bool(self.robust)

    @property
    def _problem(self) -> RankProblem:
        """The problem that the ranker solves."""
        weight, margin = self._anchor
        options = self._ranker
        options.validate()
        self._pairs.validate()
        if options.outward > 0.0 and weight == 0.0:
            raise ValueError(
                f"outward={options.outward} needs an anchor: without one scores have no zero, and "
                "cannot shrink towards it. Set anchor above 0, or outward to 0."
            )
        return options.problem(weight, margin)

    @property
    def _statistic_rule(self) -> StatisticRule:
        return StatisticRule(self.statistic, self.n_neighbors, self._is_for_dirt, self.n_jobs)

    @property
    def _width_and_weight(self) -> WidthAndWeight:
        return WidthAndWeight(self.C, self.sigma, self._ranker.cv, self.n_jobs)

    def _sample(
        self, points: FloatArray, center_rule: CenterRule, rng: np.random.RandomState
    ) -> TrainingSample:
        """The scaled rows that train."""
        return TrainingSample.drawn(
            points,
            max_centers=center_rule.max_centers(points),
            max_outlying_share=_MAX_OUTLYING_SHARE[self.robust],
            n_jobs=self.n_jobs,
            rng=rng,
        )
