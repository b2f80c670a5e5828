"""RankAD: the detector, composed of the stages. `fit` reads as Algorithm 1."""

from __future__ import annotations

from math import inf
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._base import BaseDetector
from rankad._borrowed import Interval, StrOptions
from rankad._fitting import COMMON_CONSTRAINTS, validated_fit
from rankad._scaling import SCALER_CONSTRAINT, fitted_scaler, rounding_of_rows, scaled
from rankad._typing import FloatArray
from rankad.kernels import KernelExpansion
from rankad.models import LearnedRanker, RankerScores
from rankad.models.finishing import learned_ranker
from rankad.options import MAX_LEVELS, Pairs, RankSVM
from rankad.preferences import require_pairs
from rankad.ranker import RankProblem, fit_ranker
from rankad.scorer import Scorer
from rankad.statistics import STATISTICS, Statistic
from rankad.tuning import CenterRule, StatisticRule, TrainingSample, Tuning

#: Default margins of the anchor. The anchor lifts every training row, also an anomaly. With a
#: narrow margin it counts less and the levels count more, which a few anomalies change little.
_MARGIN = 8.0
_MARGIN_IF_ROBUST = 1.0

#: Largest share of outlying rows, for each value of ``robust``. More are taken for a nominal group.
_MAX_OUTLYING_SHARE = {False: 0.0, "auto": 0.1, True: 0.5}


class RankAD(BaseDetector):
    """Rank-SVM anomaly detector with calibrated p-values.

    It is trained on nominal rows only. Their nearest-neighbor distances rank them. A kernel ranker
    learns to reproduce the ranks, and held-out nominal rows turn its score into a p-value. You can
    ask for any false-alarm rate, and change it, without a new fit.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm rate of ``predict(X)`` and of ``decision_function(X)``.
    statistic : str or callable, default="auto"
        What ranks the training rows. A callable takes rows and returns a value for each row, higher
        = more nominal (see `rankad.statistics`). The names are:

        - "auto": "bagged_knn" if ``robust=True``, else "mean_knn"
        - "mean_knn": minus the mean distance to the K nearest neighbors
        - "kth_knn": minus the distance to the K-th neighbor
        - "halved_knn": minus the mean of the K distances about the K-th, averaged over halvings
        - "bagged_knn": minus the distance to the nearest of 16 random rows, averaged over 100 draws
        - "epsilon": the number of neighbors within a radius
        - "kernel_density": the logarithm of a leave-one-out kernel density
        - "geodesic_knn": minus the neighbor distances along a neighbor graph
        - "dimension_adapted_knn": neighbor distances, adapted to the local dimension
    n_neighbors : int or "auto", default="auto"
        Number of neighbors K, for a statistic given by name and for the rule of sigma. "auto" is
        ``n^(4 / (d + 4))`` for n training rows with d columns that vary, and at least 5. At this
        rate, neighbor distances estimate a density best. A number is lowered, with a warning, if
        there are too few rows.
    n_centers : int, "auto" or None, default="auto"
        Largest number of centers of the kernel. It sets the cost of scoring. If there are more
        training rows, k-means chooses the centers, and training takes time and memory linear in the
        rows. "auto" is 200 for each column, at most 800. Fewer centers are kept if the kernel is so
        wide that fewer suffice. None takes all training rows as candidates, up to 20,000, and drops
        those that are in no active pair. The ranker trains on a random sample of the rows if there
        are more than 250 for each center and more than 100,000.
    pairs : int or Pairs, default=10
        Number of levels of the ranks. The ranker learns to score rows of a higher level above rows
        of a lower level (the paper has 3 levels). `rankad.options.Pairs` has the other choices:
        gaps between ranks, and weights.
    anchor : float or (float, float), default=1.0
        Weight of a virtual point at infinity that every training row must outrank, in units of all
        pairs together. It makes far points anomalous, and adds the far field of `scorer_`. 0 is the
        paper's method: there a point far from all data may get a middle rank. A pair is (weight,
        margin). The margin is how far above infinity the training rows must score, in units of the
        step between two levels. The default margin is 8, and 1 if ``robust=True``. With a wider
        margin the levels count less: gaps between dense clusters are found better, and the order
        inside the bulk follows the density less.
    C : float, "auto", "published" or array-like, default="auto"
        Weight of the loss. "auto" is the rule 32 / n. A list is a grid for cross-validation.
        "published" is the paper's grid of 13 values.
    sigma : float, "auto", "published" or array-like, default="auto"
        Width of the kernel ``exp(-|x - y|^2 / sigma^2)``, in scaled columns. "auto" is the larger
        of two values. The first is the mean distance to the K nearest neighbors, times the larger
        of .6 and 3 / d for d columns. The second is .85 of the mean distance to the nearest center.
        A list is a grid for cross-validation. "published" is the paper's grid, 2^-10 to 2^10 times
        the mean distance to the K nearest neighbors.
    ranker : RankSVM, optional
        How the ranker is trained and how it scores: loss, tolerance, iterations, folds for a grid,
        the outward step, float32. See `rankad.options.RankSVM`.
    scaler : {"standard", "robust"}, transformer or None, default="standard"
        How columns are brought to a common scale. It is fitted to the training rows. If a column
        has a single value there, ``fit`` warns. With a scaler given by name (and an anchor) a row
        with another value there is then far from all others, so it gets one of the smallest
        p-values. With None or a transformer it need not alarm.
    robust : bool or "auto", default="auto"
        What to do about anomalies among the training rows.

        "auto" does not train on outlying rows, which lie far from all other training rows. A row is
        outlying if two conditions hold. Its mean distance to the nearest of 16 random rows is, on a
        log scale, more than four robust standard deviations above the median. And the density
        around it is at most a quarter of the density around the median row. If more than a tenth
        of the rows are outlying, "auto" trains on all rows.

        True is for rows with more than a percent of anomalies. It also ranks by "bagged_knn" and
        takes a margin of 1, unless you give others. If more than half of the rows are outlying,
        True trains on all rows.

        False trains on all rows. Set it if the rows are clean and a nominal group of up to a tenth
        of the rows lies far from all others, because "auto" would leave that group out.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from. "split" holds rows out, and its false-alarm rate is
        guaranteed if the rows are independent draws. "train" is the paper's rank among the training
        rows. With the default sigma it gives several times more false alarms than alpha. "cross"
        scores each row by a ranker that was trained without its fold. Then every row trains and
        calibrates, without a guarantee. On rows without repeats the measured rate is near alpha. If
        rows repeat (counts, codes), it can be several times alpha, and ``fit`` warns.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out: a share of the rows, or a number of rows. With ``groups`` it
        is a share of the groups, or a number of groups.
    calibration_split : {"random", "time"} or splitter, default="random"
        Which rows "split" holds out. "random" is for rows that are independent draws, and for
        groups. "time" is for rows in the order of time: it holds out ten runs of consecutive rows,
        with gaps around them (see `rankad.calibration.TimeBlocks`). The false-alarm rate is then
        near alpha if the rows span many times the memory of the stream; `fit` warns if they do not.
        A splitter of scikit-learn decides by its first split. Without groups, its held-out rows
        count as runs of consecutive rows.
    n_jobs : int, optional
        Number of threads for cross-validation, the neighbor search, and scoring of large batches.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the folds, the subsamples of ``robust``, the centers, and the
        sample of rows if there are very many (see `neighbor_search_`).
    verbose : bool or int, default=False
        Report progress to the logger "rankad". If that logger has no handler, progress goes to
        standard error, as a bar if that is a terminal.

    Attributes
    ----------
    expansion_ : KernelExpansion
        The frozen scoring function. It takes rows as ``fit`` does. If `scaler_` is more than a
        shift and a scale of each column, it takes rows that `scaler_` has transformed.
    scorer_ : Scorer
        Scores and p-values without the checks of the methods. It scores one row in microseconds.
    pruning_error_ : float
        Upper bound on how much any score changed, within reach of the centers, when centers of a
        wide kernel were dropped. It is 0 if none were dropped.
    scaler_ : transformer
        The fitted scaler.
    reference_ : ReferenceScores
        Sorted scores that p-values compare with.
    calibration_indices_ : ndarray of int
        Rows of ``fit`` whose scores are its reference, ascending: the held-out rows, or all rows.
        `calibrate` does not change them.
    calibration_record_ : CalibrationRecord
        What is promised, on which rows, and what was tested.
    strata_ : StrataScores
        Reference scores of each stratum. It exists after a fit or a calibration with strata.
    offset_ : float
        Rows that score below it are anomalies at the false-alarm rate ``alpha``.
    C_, sigma_ : float
        Chosen weight of the loss and chosen width of the kernel.
    cv_results_ : dict
        Table of the cross-validation, like that of `GridSearchCV`. It exists only if C or sigma was
        a grid. The score is the share of held-out pairs in the right order.
    mean_neighbor_distance_ : float
        Mean distance of the scaled training rows to their K nearest other rows. If there are very
        many rows, only a random sample of them is searched, as `neighbor_search_` says.
    n_neighbors_ : int
        Number of neighbors K that was used.
    n_outlying_ : int
        Number of outlying rows that did not train. It is 0 if ``robust=False``.
    neighbor_search_ : NeighborSearch
        How neighbors were searched for the statistic: by k-d tree or by brute force, among all rows
        or, if there are very many, among a random sample. If the statistic searches none, it is the
        search for `mean_neighbor_distance_`.
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

    _model: RankerScores
    _left_out_as_far = 0.1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "statistic": [StrOptions({"auto", *STATISTICS}), callable],
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_centers": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "pairs": [Interval(Integral, 2, MAX_LEVELS, closed="both"), Pairs],
        "anchor": [Interval(Real, 0, None, closed="left"), tuple, list],
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
        calibration_split: Any = "random",
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
        self.calibration_split = calibration_split
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, **params: Any) -> Self:
        """Build the paper's detector, with all its choices.

        It has no anchor and no far field. It ranks among the training rows and does not scale the
        columns. (C, sigma) is cross-validated over the full grid: 13 x 21 cells, 4 folds. The loss
        is the squared hinge of the routine that the paper used. For the loss of the paper's
        equation, set ``ranker=RankSVM(loss="hinge")``.

        Parameters
        ----------
        **params
            Parameters of `RankAD` to set or to override.

        Returns
        -------
        detector : RankAD

        Examples
        --------
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
        """Set parameters. ``pairs__levels=3`` and ``ranker__tol=1e-4`` reach into the objects.

        If ``pairs`` is a number or ``ranker`` is None, the object is made first, with defaults for
        its other values. An object that two detectors share is changed for both of them; ``clone``
        separates them.

        Parameters
        ----------
        **params
            Parameters and their values.

        Returns
        -------
        self : object
            This detector.
        """
        nested = {name: value for name, value in params.items() if "__" in name}
        super().set_params(**{name: params[name] for name in params if name not in nested})
        owners = {name.partition("__")[0] for name in nested}
        before = self.pairs, self.ranker
        if "pairs" in owners:
            self.pairs = self._pairs
        if "ranker" in owners:
            self.ranker = self._ranker
        try:
            return super().set_params(**nested)  # type: ignore[no-any-return]
        except ValueError:
            self.pairs, self.ranker = before
            raise

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
        """Learn from nominal rows, and calibrate (Algorithm 1).

        Two tests of the rows come first. Are they copies of one another? Are rows that are near
        each other in the file alike? Independent draws fail each test with a probability of at most
        .001. If a test fails, a warning says what to do. If the rows are copies, as in a table
        where every row stands twice, each distinct row counts once.

        The tests do not see everything. Rows pass if only some of them were copied, at random, or
        if the rows of each customer are scattered over the file. New rows can then alarm more often
        than alpha. So if you know of copies, remove them, and if you know of groups, give them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Nominal rows: an array, or a frame of pandas, polars or Arrow.
        y : Ignored
        groups : array-like of shape (n_samples,), optional
            Group of each row, if rows of one machine, patient or session are like one another.
            Whole groups are held out, and each counts once. A p-value is then that of a new row *of
            a new group*.
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
        pairs, tuning = self._pairs, self._tuning
        # Validate the rows, and hold some out.
        start = self._begin_fit(X, groups, strata, keep_rows)
        rows, rng, holdout = start.rows, start.rng, start.holdout

        def learn(rows: FloatArray, full_model: LearnedRanker | None = None) -> LearnedRanker:
            """Learn from rows. A fold takes over the choices of the model of all rows."""
            scaler = fitted_scaler(self.scaler, rows)
            sample = self._sample(scaled(scaler, rows), tuning.center_rule, rng)

            # Steps 1 and 2: the statistic G of each point, which ranks it.
            ranked = tuning.statistic_rule.ranked(sample.points, rng)

            # Step 3: pairs of points of different ranks.
            preferences = pairs(ranked.values)
            require_pairs(ranked.values, preferences)

            # Step 5 before step 4: C and sigma, by the rule or by cross-validation.
            centers = tuning.center_rule.centers(sample.points, rng)
            before = None if full_model is None else full_model.chosen
            chosen = tuning.chosen(sample, ranked, centers, rng, before=before)

            # Step 4: the ranker that scores the first point of each pair above the second.
            ranker = fit_ranker(
                sample.points,
                preferences,
                C=chosen.C,
                sigma=chosen.sigma,
                problem=tuning.problem,
                centers=centers,
            )
            parts = ranker, scaler, sample, ranked, chosen
            is_fold = full_model is not None
            return learned_ranker(
                *parts,
                tuning=tuning,
                options=self._ranker,
                is_fold=is_fold,
                row_rounding=rounding_of_rows(scaler, rows),
            )

        model = learn(rows[holdout.training])
        # The reference: scores of the held-out rows, or as `calibration` asks.
        reference = holdout.reference(model, learn, rows)
        return self._end_fit(start, model.for_scoring(), reference, **model.attributes())

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
        """Scores and p-values without the checks: one row in microseconds."""
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
        if not isinstance(self.anchor, (tuple, list)):
            return float(self.anchor), _MARGIN_IF_ROBUST if self._is_robust else _MARGIN
        are_numbers = all(isinstance(part, Real) for part in self.anchor)
        weight, margin = self.anchor if are_numbers and len(self.anchor) == 2 else (-1.0, -1.0)
        if not (0.0 <= weight < inf and 0.0 < margin < inf):
            raise ValueError(
                "anchor must be a weight of at least 0, or a pair (weight, margin) with a margin "
                f"above 0, both finite; got {self.anchor!r}."
            )
        return float(weight), float(margin)

    @property
    def _is_robust(self) -> bool:
        """Whether ``robust=True``: more than a percent of the rows may be anomalies."""
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
                f"outward={options.outward} needs an anchor: without an anchor, scores have no "
                "zero to shrink to. Set anchor above 0, or outward to 0."
            )
        return options.problem(weight, margin)

    @property
    def _tuning(self) -> Tuning:
        """The rules for the statistic, the centers, C and sigma."""
        return Tuning(
            self.C,
            self.sigma,
            cv=self._ranker.cv,
            pairs=self._pairs,
            problem=self._problem,
            statistic_rule=StatisticRule(
                self.statistic, self.n_neighbors, self._is_robust, self.n_jobs
            ),
            center_rule=CenterRule(self.n_centers),
            n_jobs=self.n_jobs,
        )

    def _sample(
        self, points: FloatArray, center_rule: CenterRule, rng: np.random.RandomState
    ) -> TrainingSample:
        """The scaled rows, and which of them train."""
        center_rule.require_feasible(points)
        return TrainingSample.drawn(
            points,
            max_centers=center_rule.max_centers(points),
            max_outlying_share=_MAX_OUTLYING_SHARE[self.robust],
            n_jobs=self.n_jobs,
            rng=rng,
        )
