"""Choice of C and sigma by cross-validated disagreement."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankad._progress import track
from rankad._threads import in_threads
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.exceptions import ConvergenceWarning
from rankad.kernels import center_distances, distances_between
from rankad.kernels.gram import submatrix
from rankad.metrics import pairwise_disagreement
from rankad.preferences import Preferences
from rankad.ranker import RankProblem
from rankad.solvers import Solution, Status
from rankad.statistics import Statistic, statistic_values
from rankad.tuning.bases import Basis, CenterBasis, PointBasis

#: Largest share of fits whose solver may stop early without a warning. These are usually at the
#: corners of the grid.
_TOLERATED_SHARE = 0.01

#: Tolerance to which every cell is solved at first. At a tolerance of .05, good cells still rise by
#: up to 3e-3 when solved tightly, and a constant in the scores may hide their order.
CV_TOL = 1e-2

#: Function that makes preference pairs from the values of a statistic.
PairRule = Callable[[FloatArray], Preferences]

#: Function that chooses centers for points, or returns None for all points.
CenterChoice = Callable[[FloatArray], FloatArray | None]

#: Cells within this of the best agreement are always solved tightly.
_MIN_SLACK = 1e-3


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The best C and sigma of a grid, and a table like ``GridSearchCV.cv_results_``."""

    C: float
    sigma: float
    results: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Fold:
    train: IntArray
    test: IntArray
    train_preferences: Preferences
    test_preferences: Preferences
    centers: FloatArray | None

    @property
    def has_pairs(self) -> bool:
        """Whether both parts have preference pairs."""
        return min(self.train_preferences.total_weight, self.test_preferences.total_weight) > 0.0


@dataclass(frozen=True, eq=False)
class _Task:
    """Some cells of one fold and one sigma, as indices into the folds and the grids."""

    fold: int
    sigma: int
    Cs: IntArray


@dataclass(frozen=True, eq=False)
class _Fit:
    """What is kept of the solution of one cell in one fold.

    The coefficients as a start for a tight solution, whether the solver converged, the held-out
    agreement, and the time in seconds.
    """

    warm_start: FloatArray
    is_converged: bool
    agreement: float
    seconds: float


def cross_validate(
    points: FloatArray,
    statistic: Statistic,
    *,
    Cs: ArrayLike,
    sigmas: ArrayLike,
    splits: Iterable[tuple[IntArray, IntArray]],
    pairs: PairRule,
    problem: RankProblem | None = None,
    choose_centers: CenterChoice | None = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Choose (C, sigma) by the mean pairwise disagreement on the held-out points of the folds.

    Preference pairs are formed within each part: training points among training points, held-out
    points among held-out points. Pairs formed once on all points would share their noise, and
    reward a ranker that fits the noise. Ties count one half. The pairs of the anchor count, too.
    Among equal cells the smoothest is chosen: the largest sigma, then the smallest C. If a part of
    a fold has no pairs, the fold counts 1/2 for every cell.

    The centers are the training points of each fold, or those that ``choose_centers`` chooses for
    them. Splits are positions of points, or masks. All cells are solved roughly. Then the best
    cells are solved again at the problem's tolerance, see `_Grid`.
    """
    positions = np.arange(len(points))  # indexed by a split of any form, this gives positions
    folds = [
        _fold(points, positions[train], positions[test], statistic, pairs, choose_centers)
        for train, test in splits
    ]
    if not any(fold.has_pairs for fold in folds):
        warn_user(
            f"Cross-validation cannot choose C and sigma: none of the {len(folds)} folds has "
            "preference pairs in both of its parts. Use fewer folds, fit on more rows, or set C "
            "and sigma to 'auto'."
        )
    grid = _Grid(
        np.sort(np.asarray(Cs, dtype=np.float64)),
        np.sort(np.asarray(sigmas, dtype=np.float64)),
        folds,
        points,
        RankProblem() if problem is None else problem,
        n_jobs,
    )
    grid.solve_roughly()
    grid.refine_contenders()
    _warn_of_early_stops(grid.is_converged)
    return _outcome(grid.Cs, grid.sigmas, grid.scores, grid.seconds)


def _warn_of_early_stops(is_converged: BoolArray) -> None:
    n_unfinished = int((~is_converged).sum())
    if n_unfinished > _TOLERATED_SHARE * is_converged.size:
        warn_user(
            f"The solver stopped early in {n_unfinished} of {is_converged.size} cross-validation "
            "fits. Raise max_iter, or leave out extreme values of C and sigma.",
            ConvergenceWarning,
        )


class _Grid:
    """Held-out agreement of every cell and fold: rough for all cells, tight for the best ones.

    The agreement depends only on the order of held-out scores, which converges long before the
    scores do. At the tolerance `CV_TOL` the agreement is off by 1e-4 to 3e-4. So every cell is
    first solved to `CV_TOL`, along ascending C. Then the contenders, all cells within a slack of
    the best, are solved again at the tolerance of the final fit. The slack is twice the largest
    rise of any cell by that, and at least ``_MIN_SLACK``. If the slack grows or the best falls, new
    contenders are solved, too.
    """

    def __init__(
        self,
        Cs: FloatArray,
        sigmas: FloatArray,
        folds: list[_Fold],
        points: FloatArray,
        problem: RankProblem,
        n_jobs: int | None,
    ) -> None:
        self.Cs, self.sigmas, self.folds = Cs, sigmas, folds
        self.points, self.problem, self.n_jobs = points, problem, n_jobs
        # Computed here once, and not by each thread.
        self._distances: FloatArray = np.empty((0, 0))
        if any(fold.centers is None for fold in folds):
            self._distances = distances_between(points, points)
        self._to_centers = [
            np.empty(0)
            if fold.centers is None
            else center_distances(points[fold.test], fold.centers)
            for fold in folds
        ]
        shape = (len(Cs), len(sigmas), len(folds))
        self.scores, self.seconds = np.full(shape, 0.5), np.zeros(shape)
        self.is_converged = np.ones(shape, dtype=bool)
        self.starts: dict[tuple[int, int, int], FloatArray] = {}

    def solve_roughly(self) -> None:
        """Solve all cells along ascending C, each started from the solution before."""
        every_cell = np.ones(self.scores.shape[:2], dtype=bool)
        self._solve(self._rough_fits, every_cell, "cross-validation")

    def refine_contenders(self) -> None:
        """Solve the contenders tightly, until there are no new ones."""
        is_refined = np.zeros(self.scores.shape[:2], dtype=bool)
        slack = _MIN_SLACK
        while True:
            means = self.scores.mean(axis=2)
            is_contender = (means >= means.max() - slack) & ~is_refined
            if not is_contender.any():
                return
            self._solve(self._tight_fits, is_contender, "solving the best cells again")
            is_refined |= is_contender
            rise = (self.scores.mean(axis=2) - means).max()
            slack = max(slack, 2.0 * float(rise))

    def _solve(
        self, fits: Callable[[_Task], Iterator[_Fit]], is_asked: BoolArray, label: str
    ) -> None:
        tasks = [
            _Task(fold, int(sigma), np.flatnonzero(is_asked[:, sigma]))
            for sigma in np.flatnonzero(is_asked.any(axis=0))
            for fold in range(len(self.folds))
            if self.folds[fold].has_pairs
        ]
        with closing(in_threads(fits, tasks, self.n_jobs)) as paths:
            for task, path in zip(tasks, track(paths, len(tasks), label), strict=True):
                for C, fit in zip(task.Cs, path, strict=True):
                    self._record((int(C), task.sigma, task.fold), fit)

    def _record(self, cell: tuple[int, int, int], fit: _Fit) -> None:
        self.scores[cell] = fit.agreement
        self.seconds[cell] += fit.seconds
        self.is_converged[cell] = fit.is_converged
        self.starts[cell] = fit.warm_start

    def _basis(self, task: _Task, problem: RankProblem) -> Basis:
        fold, sigma = self.folds[task.fold], float(self.sigmas[task.sigma])
        if fold.centers is not None:
            parts = self.points[fold.train], self.points[fold.test]
            nearest = self._to_centers[task.fold] / sigma
            return CenterBasis(problem, *parts, fold.centers, sigma, nearest)
        among_centers = submatrix(self._distances, fold.train, fold.train)
        to_centers = submatrix(self._distances, fold.test, fold.train)
        return PointBasis(problem, among_centers, to_centers, sigma)

    def _rough_fits(self, task: _Task) -> Iterator[_Fit]:
        basis = self._basis(task, replace(self.problem, tol=max(CV_TOL, self.problem.tol)))
        preferences = self.folds[task.fold].train_preferences
        yield from self._judged(task, basis, basis.solved_along(preferences, self.Cs[task.Cs]))

    def _tight_fits(self, task: _Task) -> Iterator[_Fit]:
        basis = self._basis(task, self.problem)
        preferences = self.folds[task.fold].train_preferences
        starts = [(self.Cs[C], self.starts[int(C), task.sigma, task.fold]) for C in task.Cs]
        solutions = (basis.solved(preferences, C, start) for C, start in starts)
        yield from self._judged(task, basis, solutions)

    def _judged(self, task: _Task, basis: Basis, solutions: Iterator[Solution]) -> Iterator[_Fit]:
        """What is kept of the solution for each C of a task.

        Whole solutions, with their scores, would take memory until all cells are solved.
        """
        fold = self.folds[task.fold]
        started = time.perf_counter()
        for solution in solutions:
            wrong = _disagreement(basis, solution, fold, self.problem)
            finished = time.perf_counter()
            is_converged = solution.status is Status.CONVERGED
            yield _Fit(solution.warm_start, is_converged, 1.0 - wrong, finished - started)
            started = time.perf_counter()


def _fold(
    points: FloatArray,
    train: IntArray,
    test: IntArray,
    statistic: Statistic,
    pairs: PairRule,
    choose_centers: CenterChoice | None,
) -> _Fold:
    return _Fold(
        train,
        test,
        _preferences_within(points[train], statistic, pairs),
        _preferences_within(points[test], statistic, pairs),
        None if choose_centers is None else choose_centers(points[train]),
    )


def _preferences_within(points: FloatArray, statistic: Statistic, pairs: PairRule) -> Preferences:
    values = statistic_values(statistic, points) if len(points) > 1 else np.zeros(len(points))
    return pairs(values)


def _disagreement(basis: Basis, solution: Solution, fold: _Fold, problem: RankProblem) -> float:
    """Share of held-out pairs that the final scores order wrongly, the anchor's pairs included.

    A held-out point violates its pair with the anchor if its kernel sum is not above 0. The pairs
    of a strong anchor count no more than all others together, because they would dominate.
    """
    sums = basis.held_out_sums(solution)
    far_field = problem.far_field(basis.weights(solution))
    scores = sums if far_field is None else far_field.applied(sums, basis.nearest)
    wrong = pairwise_disagreement(scores, fold.test_preferences)
    below_infinity = float(np.mean((sums < 0.0) + 0.5 * (sums == 0.0)))
    anchor = min(problem.anchor, 1.0)
    return (wrong + anchor * below_infinity) / (1.0 + anchor)


def _outcome(
    Cs: FloatArray, sigmas: FloatArray, scores: FloatArray, seconds: FloatArray
) -> CrossValidation:
    n_splits = scores.shape[2]
    by_cell = scores.reshape(-1, n_splits)
    mean = by_cell.mean(axis=1)
    cell_C, cell_sigma = (grid.ravel() for grid in np.meshgrid(Cs, sigmas, indexing="ij"))
    # Rounded, so that cells that differ only by the order of summation count as equal.
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
