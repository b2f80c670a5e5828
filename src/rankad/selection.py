"""How C and sigma are chosen: by a rule, or by cross-validated disagreement along warm paths."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike

from rankad._progress import track
from rankad._typing import FloatArray, IntArray
from rankad.kernels import gaussian_gram, squared_distances
from rankad.metrics import pairwise_disagreement
from rankad.preferences import quantized_levels
from rankad.solvers import PairwiseSquaredHinge, minimize
from rankad.statistics import Statistic

#: The paper's grid: 13 values of C, and 21 widths in units of the mean neighbor distance D_K.
PAPER_CS = tuple(float(f"{digit}e{power}") for power in range(-3, 3) for digit in (1, 3)) + (
    1000.0,
)
PAPER_RELATIVE_SIGMAS = tuple(2.0**power for power in range(-10, 11))

#: Cross-validation compares cells; only the winner is solved tightly, when it is fitted.
CV_TOL = 1e-3


def rule_C(n: int) -> float:
    """``C = 8 / n``: the least that lets every training point clear the anchor, whatever n.

    >>> rule_C(800)
    0.01
    """
    return 8.0 / n


def rule_sigma(mean_neighbor_distance: float) -> float:
    """``sigma = D_K / 2``: narrow enough to follow the statistic closely."""
    return mean_neighbor_distance / 2.0


@dataclass(frozen=True)
class CrossValidation:
    """Outcome of a grid: the winner, and a table like `GridSearchCV.cv_results_`."""

    C: float
    sigma: float
    results: dict[str, Any]


@dataclass(frozen=True)
class _Fold:
    train: IntArray
    test: IntArray
    train_levels: IntArray
    test_levels: IntArray


def cross_validate(
    points: FloatArray,
    statistic: Statistic,
    *,
    Cs: ArrayLike,
    sigmas: ArrayLike,
    splits: Iterable[tuple[IntArray, IntArray]],
    n_levels: int = 3,
    anchor: float = 0.0,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Choose (C, sigma) by the pairwise disagreement on held-out points, averaged over the folds.

    Levels are computed within each part: training points among training points, held-out points
    among held-out points. Levels shared by both parts would share their noise, and reward a ranker
    for fitting it. Ties count one half; the anchor's pairs count as in training. Among equal cells
    the smoothest wins: the largest sigma, then the smallest C. A fold in which a part has no pairs
    says nothing, and counts 1/2 for every cell.
    """
    C_grid = np.sort(np.asarray(Cs, dtype=np.float64))
    sigma_grid = np.sort(np.asarray(sigmas, dtype=np.float64))
    folds = [
        _Fold(
            train,
            test,
            _levels_within(points[train], statistic, n_levels),
            _levels_within(points[test], statistic, n_levels),
        )
        for train, test in splits
    ]
    squared = squared_distances(points)
    tasks = [(fold, sigma) for sigma in range(len(sigma_grid)) for fold in range(len(folds))]
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    paths = parallel(
        joblib.delayed(_path)(squared, folds[fold], sigma_grid[sigma], C_grid, anchor, max_iter)
        for fold, sigma in tasks
    )
    scores = np.empty((len(C_grid), len(sigma_grid), len(folds)))
    seconds = np.empty_like(scores)
    for (fold, sigma), path in zip(
        tasks, track(paths, len(tasks), "cross-validation"), strict=True
    ):
        scores[:, sigma, fold], seconds[:, sigma, fold] = path
    return _outcome(C_grid, sigma_grid, scores, seconds)


def _levels_within(points: FloatArray, statistic: Statistic, n_levels: int) -> IntArray:
    if len(points) < 2:
        return np.ones(len(points), dtype=np.intp)
    return quantized_levels(statistic(points), n_levels)


def _path(
    squared: FloatArray,
    fold: _Fold,
    sigma: float,
    Cs: FloatArray,
    anchor: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray]:
    """Held-out agreement and seconds for each C, ascending, each solve starting from the last."""
    agreement = np.full(len(Cs), 0.5)
    seconds = np.zeros(len(Cs))
    if np.ptp(fold.train_levels) == 0 or np.ptp(fold.test_levels) == 0:
        return agreement, seconds
    loss = PairwiseSquaredHinge(fold.train_levels, anchor)
    centered = loss.is_shift_invariant
    gram = gaussian_gram(squared[np.ix_(fold.train, fold.train)], sigma, centered=centered)
    held_out = gaussian_gram(squared[np.ix_(fold.test, fold.train)], sigma, centered=centered)
    start = None
    for index, C in enumerate(Cs):
        started = time.perf_counter()
        solution = minimize(loss, gram, C, start=start, tol=CV_TOL, max_iter=max_iter)
        start = solution.warm_start
        scores = held_out @ solution.warm_start
        agreement[index] = 1.0 - pairwise_disagreement(scores, fold.test_levels, anchor)
        seconds[index] = time.perf_counter() - started
    return agreement, seconds


def _outcome(
    Cs: FloatArray, sigmas: FloatArray, scores: FloatArray, seconds: FloatArray
) -> CrossValidation:
    n_splits = scores.shape[2]
    by_cell = scores.reshape(-1, n_splits)
    mean = by_cell.mean(axis=1)
    cell_C, cell_sigma = (grid.ravel() for grid in np.meshgrid(Cs, sigmas, indexing="ij"))
    # Rounded, so that cells equal but for the order of summation count as equal.
    best = np.lexsort((cell_C, -cell_sigma, -mean.round(12)))[0]
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
        "rank_test_score": _competition_ranks(-mean.round(12)),
    }
    return CrossValidation(C=float(cell_C[best]), sigma=float(cell_sigma[best]), results=results)


def _competition_ranks(losses: FloatArray) -> IntArray:
    """1 for the smallest loss; equal losses share the smaller rank."""
    return np.searchsorted(np.sort(losses), losses, side="left").astype(np.int32) + 1


def paper_sigmas(mean_neighbor_distance: float) -> Sequence[float]:
    """The paper's widths ``2^i D_K``, i = -10..10."""
    return [relative * mean_neighbor_distance for relative in PAPER_RELATIVE_SIGMAS]
