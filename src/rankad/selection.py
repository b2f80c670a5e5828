"""How C and sigma are chosen: by a rule, or by cross-validated disagreement along warm paths."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike

from rankad._progress import track
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.exceptions import ConvergenceWarning
from rankad.kernels import distances_between
from rankad.metrics import pairwise_disagreement
from rankad.preferences import Preferences, PreferenceScheme
from rankad.ranker import RankSVM
from rankad.solvers import Status
from rankad.statistics import Statistic, statistic_values

#: The paper's grid: 13 values of C, and 21 widths in units of the mean neighbor distance D_K.
PAPER_CS = (*(float(f"{digit}e{power}") for power in range(-3, 3) for digit in (1, 3)), 1000.0)
PAPER_RELATIVE_SIGMAS = tuple(2.0**power for power in range(-10, 11))

#: Share of cells, in the corners of a grid, whose solver may stop early without a warning.
_TOLERATED_SHARE = 0.01

#: Cross-validation compares cells; only the winner is solved tightly, when it is fitted.
CV_TOL = 1e-3


def rule_C(n: int) -> float:
    """``C = 8 / n``: safely above the C n at which the anchor loses its grip, whatever n.

    >>> rule_C(800)
    0.01
    """
    return 8.0 / n


def rule_sigma(mean_neighbor_distance: float) -> float:
    """``sigma = D_K / 2``: narrow enough to follow the statistic closely."""
    if mean_neighbor_distance == 0.0:
        raise ValueError(
            "The mean neighbor distance is 0, so the rule gives sigma = 0; give sigma as a number."
        )
    return mean_neighbor_distance / 2.0


def candidates(
    name: str, asked: float | str, by_rule: float, grid: ArrayLike | None, paper_grid: ArrayLike
) -> FloatArray:
    """Values of C or sigma to choose from: one, unless cross-validation was asked for.

    >>> candidates("C", "rule", 0.01, None, PAPER_CS), candidates("C", "cv", 0.01, [1, 10], [])
    (array([0.01]), array([ 1., 10.]))
    """
    if asked != "cv":
        if grid is not None:
            raise ValueError(f"{name}s is a grid for {name}='cv'; got {name}={asked!r}.")
        return np.array([by_rule if asked == "rule" else asked], dtype=np.float64)
    values = np.asarray(paper_grid if grid is None else grid, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{name}s must be a non-empty list of positive numbers; got {grid!r}.")
    return values


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Outcome of a grid: the winner, and a table like `GridSearchCV.cv_results_`."""

    C: float
    sigma: float
    results: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Fold:
    train: IntArray
    test: IntArray
    train_preferences: Preferences
    test_preferences: Preferences

    @property
    def says_something(self) -> bool:
        """Whether there is anything to learn in one part, and to check in the other."""
        return min(self.train_preferences.total_weight, self.test_preferences.total_weight) > 0.0


@dataclass(frozen=True, eq=False)
class _Path:
    """Held-out agreement for each C of a path, the seconds it took, and if the solver converged."""

    agreement: FloatArray
    seconds: FloatArray
    is_converged: IntArray


def cross_validate(
    points: FloatArray,
    statistic: Statistic,
    *,
    Cs: ArrayLike,
    sigmas: ArrayLike,
    splits: Iterable[tuple[IntArray, IntArray]],
    scheme: PreferenceScheme | None = None,
    problem: RankSVM | None = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Choose (C, sigma) by the pairwise disagreement on held-out points, averaged over the folds.

    Preferences are formed within each part: training points among training points, held-out points
    among held-out points. Those formed once on all points would share their noise, and reward a
    ranker for fitting it. Ties count one half; the anchor's pairs count as in training. Among equal
    cells the smoothest wins: the largest sigma, then the smallest C. A fold in which a part has no
    pairs says nothing, and counts 1/2 for every cell.
    """
    scheme = PreferenceScheme() if scheme is None else scheme
    problem = replace(RankSVM() if problem is None else problem, tol=CV_TOL)
    C_grid = np.sort(np.asarray(Cs, dtype=np.float64))
    sigma_grid = np.sort(np.asarray(sigmas, dtype=np.float64))
    folds = [
        _Fold(
            train,
            test,
            _preferences_within(points[train], statistic, scheme),
            _preferences_within(points[test], statistic, scheme),
        )
        for train, test in splits
    ]
    if not any(fold.says_something for fold in folds):
        warn_user(
            f"Cross-validation says nothing: none of the {len(folds)} folds has pairs to compare "
            "in both of its parts. Use fewer folds, more rows, or the rule."
        )
    distances = distances_between(points, points)
    tasks = [(fold, sigma) for sigma in range(len(sigma_grid)) for fold in range(len(folds))]
    paths = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_path)(distances, folds[fold], sigma_grid[sigma], C_grid, problem)
        for fold, sigma in tasks
    )
    scores = np.empty((len(C_grid), len(sigma_grid), len(folds)))
    seconds = np.empty_like(scores)
    n_unfinished = 0
    for (fold, sigma), path in zip(
        tasks, track(paths, len(tasks), "cross-validation"), strict=True
    ):
        scores[:, sigma, fold], seconds[:, sigma, fold] = path.agreement, path.seconds
        n_unfinished += int((~path.is_converged).sum())
    if n_unfinished > _TOLERATED_SHARE * scores.size:
        warn_user(
            f"The solver stopped early in {n_unfinished} of {scores.size} cross-validation fits; "
            "raise max_iter, or leave out extreme values of C and sigma.",
            ConvergenceWarning,
        )
    return _outcome(C_grid, sigma_grid, scores, seconds)


def _preferences_within(
    points: FloatArray, statistic: Statistic, scheme: PreferenceScheme
) -> Preferences:
    values = statistic_values(statistic, points) if len(points) > 1 else np.zeros(len(points))
    return scheme(values)


def _path(
    distances: FloatArray, fold: _Fold, sigma: float, Cs: FloatArray, problem: RankSVM
) -> _Path:
    """Fits along ascending C, each solve starting from the last."""
    path = _Path(np.full(len(Cs), 0.5), np.zeros(len(Cs)), np.ones(len(Cs), dtype=bool))
    if not fold.says_something:
        return path
    gram = problem.gram(distances[np.ix_(fold.train, fold.train)], sigma)
    to_centers = distances[np.ix_(fold.test, fold.train)]
    held_out, nearest = problem.gram(to_centers, sigma), to_centers.min(axis=1) / sigma
    start = None
    for index, C in enumerate(Cs):
        started = time.perf_counter()
        solution = problem.solved(fold.train_preferences, gram, C, start)
        start = solution.warm_start
        sums = held_out @ solution.coefficients
        path.agreement[index] = 1.0 - _disagreement(
            sums, nearest, solution.coefficients, fold, problem
        )
        path.seconds[index] = time.perf_counter() - started
        path.is_converged[index] = solution.status is Status.CONVERGED
    return path


def _disagreement(
    sums: FloatArray, nearest: FloatArray, weights: FloatArray, fold: _Fold, problem: RankSVM
) -> float:
    """Share of held-out pairs that the deployed scores order wrongly, the anchor's included.

    A held-out point violates the anchor's pair where the kernel sum has not lifted it above 0.
    """
    far_field = problem.far_field(weights)
    scores = sums if far_field is None else far_field.applied(sums, nearest)
    wrong = pairwise_disagreement(scores, fold.test_preferences)
    below_infinity = float(np.mean((sums < 0.0) + 0.5 * (sums == 0.0)))
    return (wrong + problem.anchor * below_infinity) / (1.0 + problem.anchor)


def _outcome(
    Cs: FloatArray, sigmas: FloatArray, scores: FloatArray, seconds: FloatArray
) -> CrossValidation:
    n_splits = scores.shape[2]
    by_cell = scores.reshape(-1, n_splits)
    mean = by_cell.mean(axis=1)
    cell_C, cell_sigma = (grid.ravel() for grid in np.meshgrid(Cs, sigmas, indexing="ij"))
    # Rounded, so that cells equal but for the order of summation count as equal.
    losses = -mean.round(12)
    best = np.lexsort((cell_C, -cell_sigma, losses))[0]
    results: dict[str, Any] = {
        "mean_fit_time": seconds.reshape(-1, n_splits).mean(axis=1),
        "std_fit_time": seconds.reshape(-1, n_splits).std(axis=1),
        "param_C": np.ma.array(cell_C),
        "param_sigma": np.ma.array(cell_sigma),
        "params": [
            {"C": C, "sigma": sigma}
            for C, sigma in zip(cell_C.tolist(), cell_sigma.tolist(), strict=True)
        ],
        **{f"split{fold}_test_score": by_cell[:, fold] for fold in range(n_splits)},
        "mean_test_score": mean,
        "std_test_score": by_cell.std(axis=1),
        "rank_test_score": np.searchsorted(np.sort(losses), losses).astype(np.int32) + 1,
    }
    return CrossValidation(C=float(cell_C[best]), sigma=float(cell_sigma[best]), results=results)


def paper_sigmas(mean_neighbor_distance: float) -> FloatArray:
    """The paper's widths ``2^i D_K``, i = -10..10."""
    return np.array(PAPER_RELATIVE_SIGMAS) * mean_neighbor_distance
