"""Choice of C and sigma: as given, by the rule, or by cross-validation over a grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import KFold, check_cv

from rankad._typing import FloatArray, IntArray
from rankad.kernels import mean_center_distance
from rankad.ranker import RankProblem
from rankad.tuning.center_rule import MAX_KERNEL_ROWS, CenterRule
from rankad.tuning.cross_validation import PairRule, cross_validate
from rankad.tuning.rules import (
    PAPER_CS,
    n_varying_columns,
    paper_sigmas,
    rule_C,
    rule_sigma,
)
from rankad.tuning.statistic_rule import RankedPoints, StatisticRule
from rankad.tuning.training_rows import TrainingSample

#: The parameter C or sigma: a number, "auto" for the rule, "published" for the paper's grid, or a
#: grid of numbers.
Asked = float | str | ArrayLike


@dataclass(frozen=True, eq=False)
class Chosen:
    """C and sigma, and the table of the cross-validation, if there was one."""

    C: float
    sigma: float
    cv_results: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Tuning:
    """The parameters ``C`` and ``sigma``, and all that a cross-validation of them needs."""

    C: Asked
    sigma: Asked
    cv: Any
    n_jobs: int | None
    pairs: PairRule
    problem: RankProblem
    statistic_rule: StatisticRule
    center_rule: CenterRule

    def chosen(
        self,
        sample: TrainingSample,
        ranked: RankedPoints,
        centers: FloatArray | None,
        rng: np.random.RandomState,
        *,
        before: Chosen | None = None,
    ) -> Chosen:
        """C and sigma for the sample. In place of a grid, the values chosen ``before`` are kept."""
        if before is not None:
            C = before.C if is_grid(self.C) else self.C
            sigma = before.sigma if is_grid(self.sigma) else self.sigma
            return replace(self, C=C, sigma=sigma).chosen(sample, ranked, centers, rng)
        points = sample.points
        Cs = self._Cs(len(points))
        sigmas = self._sigmas(points, ranked.mean_neighbor_distance, centers, rng)
        if not (is_grid(self.C) or is_grid(self.sigma)):
            return Chosen(float(Cs[0]), float(sigmas[0]))
        # If all rows of a fold may be centers, the distances between all rows are computed. With
        # more rows than MAX_KERNEL_ROWS that is impossible, so each fold gets its own centers.
        may_take_all = len(points) <= MAX_KERNEL_ROWS
        rule = self.center_rule
        choose_centers = rule.centers if may_take_all else rule.chosen_centers
        found = cross_validate(
            points,
            self.statistic_rule.for_parts(ranked.statistic),
            Cs=Cs,
            sigmas=sigmas,
            splits=self._splits(sample, rng),
            pairs=self.pairs,
            problem=self.problem,
            choose_centers=partial(choose_centers, rng=rng),
            n_jobs=self.n_jobs,
        )
        return Chosen(found.C, found.sigma, found.results)

    def _Cs(self, n: int) -> FloatArray:
        if isinstance(self.C, str):
            return np.array([rule_C(n)] if self.C == "auto" else PAPER_CS)
        return _positive_numbers("C", self.C)

    def _sigmas(
        self,
        points: FloatArray,
        distance: float,
        centers: FloatArray | None,
        rng: np.random.RandomState,
    ) -> FloatArray:
        if not isinstance(self.sigma, str):
            return _positive_numbers("sigma", self.sigma)
        if self.sigma == "published":
            return paper_sigmas(distance)
        to_centers = 0.0 if centers is None else mean_center_distance(points, centers, rng)
        return np.array([rule_sigma(distance, n_varying_columns(points), to_centers)])

    def _splits(
        self, sample: TrainingSample, rng: np.random.RandomState
    ) -> Iterable[tuple[IntArray, IntArray]]:
        if isinstance(self.cv, Integral):
            if int(self.cv) > len(sample.points):
                raise ValueError(
                    f"cv={self.cv} folds need as many training rows; got {len(sample.points)}. Fit "
                    "on more rows, lower cv (ranker=RankSVM(cv=...)), or set C and sigma to 'auto'."
                )
            folds: Iterable[tuple[IntArray, IntArray]] = KFold(
                int(self.cv), shuffle=True, random_state=rng
            ).split(sample.points)
            return folds
        # The user's splits are of all training rows, including those that were left out.
        return _parts_of_sample(sample, check_cv(self.cv).split(sample.all_points))


def is_grid(asked: Asked) -> bool:
    """Whether the parameter is a grid, so that cross-validation has to choose.

    >>> [is_grid(asked) for asked in (1.0, "auto", "published", [1.0, 10.0])]
    [False, False, True, True]
    """
    return asked == "published" if isinstance(asked, str) else not isinstance(asked, Real)


def _positive_numbers(name: str, asked: Any) -> FloatArray:
    """The number or the numbers of a parameter, as an array.

    >>> _positive_numbers("C", 0.5), _positive_numbers("C", [1, 10])
    (array([0.5]), array([ 1., 10.]))
    """
    try:
        values = np.atleast_1d(np.asarray(asked, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(
            f"{name} must be a positive number, or a non-empty list of them; got {asked!r}."
        )
    return values


def _parts_of_sample(
    sample: TrainingSample, splits: Iterable[tuple[Any, Any]]
) -> Iterator[tuple[IntArray, IntArray]]:
    """Splits of the sample as positions in it, given splits of all rows as positions or masks."""
    n_rows = len(sample.all_points)
    place = np.full(n_rows, -1)
    place[sample.positions] = np.arange(len(sample.positions))
    n_splits, n_folds = 0, 0
    for train, test in splits:
        n_splits += 1
        try:
            places = place[train], place[test]
        except IndexError as error:
            raise ValueError(
                f"cv gives rows that are not among the {n_rows} that train. Give splits of the "
                "training rows, without the rows held out for calibration."
            ) from error
        of_train, of_test = (part[part >= 0] for part in places)
        if of_train.size > 0 and of_test.size > 0:  # else all rows of a part were left out
            n_folds += 1
            yield of_train, of_test
    if n_splits == 0:
        raise ValueError(
            "cv gives no split. A generator gives its splits only once: give a list of them."
        )
    if n_folds == 0:
        raise ValueError(
            "cv gives no split with training rows in both parts. Outlying rows are left out of the "
            "training rows. Give splits with more rows in each part."
        )
