"""Training speed: the published grid, one solve against scikit-survival, growth with the rows."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from peers import nominal_rows
from report import Finding, Section
from sksurv.svm import FastKernelSurvivalSVM
from threadpoolctl import threadpool_limits
from timing import timed

from rankad import RankAD
from rankad.kernels import distances_between, gaussian_gram
from rankad.preferences import level_preferences
from rankad.ranker import RankProblem, fit_ranker
from rankad.statistics import MeanNeighborDistance

N_ROWS, N_FEATURES = 2_000, 10

#: C, and sigma in mean neighbor distances, of the solve that is compared.
_C, _RELATIVE_SIGMA = 0.01, 1.0

_PAPER = RankProblem(anchor=0.0)


def grid_and_default(repeats: int) -> Section:
    """Time of whole fits on 2,000 rows."""
    rows = nominal_rows(N_ROWS, N_FEATURES)
    published = RankAD.as_published(n_jobs=2, random_state=0)
    default = RankAD(n_jobs=2, random_state=0)
    timings = timed(
        {"grid": lambda: published.fit(rows), "default": lambda: default.fit(rows)}, repeats
    )
    return Section(
        "Fitting 2,000 rows",
        f"{N_ROWS:,} rows of {N_FEATURES} columns, two cores, medians of {repeats}. The published "
        "grid has 13 values of C, 21 of sigma and 4 folds. That is 1,092 solves, and one more for "
        "the chosen cell.",
        [
            Finding("the whole published grid", timings.median("grid"), " s", 10, at_most=True),
            Finding("default `RankAD().fit`", timings.median("default"), " s", 1.5, at_most=True),
        ],
    )


def one_solve(repeats: int, n_rows: int = 500) -> Section:
    """One solve from zero, against scikit-survival's kernel ranker on the same problem.

    Pairs, loss, C and sigma are the same. scikit-survival has no levels and breaks ties at random,
    so every rank is a level of its own.
    """
    points = nominal_rows(n_rows, N_FEATURES)
    statistic = MeanNeighborDistance(10)(points)
    ranks = np.argsort(np.argsort(statistic)) + 1
    preferences = level_preferences(ranks)
    outcome = np.array(
        [(True, float(rank)) for rank in ranks], dtype=[("event", bool), ("time", float)]
    )
    sigma = -_RELATIVE_SIGMA * float(statistic.mean())
    # Its objective is 1/2 |w|^2 + alpha/2 times the sum of squared hinges, so alpha is 2 C.
    survival = FastKernelSurvivalSVM(
        alpha=2.0 * _C, rank_ratio=1.0, kernel="rbf", gamma=1.0 / sigma**2, tol=1e-5, max_iter=100
    )

    def ours() -> float:
        ranker = fit_ranker(points, preferences, C=_C, sigma=sigma, problem=_PAPER)
        return ranker.solution.objective

    gram = gaussian_gram(distances_between(points, points), sigma)
    with threadpool_limits(1):
        timings = timed({"ours": ours, "survival": lambda: survival.fit(points, outcome)}, repeats)
    scores = gram @ survival.coef_
    loss = _PAPER.loss_of(preferences).at(scores).value
    theirs = 0.5 * float(survival.coef_ @ scores) + _C * loss
    return Section(
        "One cold solve",
        f"The kernel ranker on all pairs of {n_rows:,} ranked rows: all rows as centers, no "
        f"anchor, C = {_C}, sigma = D_K (the mean neighbor distance). It starts from zero, and "
        "its time includes the kernel matrix. The peer is scikit-survival's "
        "`FastKernelSurvivalSVM` on the same problem. Both have one thread. They reach the "
        f"objectives {ours():.4f} and {theirs:.4f}, in medians of {repeats} of "
        f"{1e3 * timings.median('ours'):.0f} ms and {timings.median('survival'):.1f} s.",
        [Finding("scikit-survival, against rankad", timings.ratio("survival", "ours"), "x", 40)],
    )


#: Target: the most seconds for a million rows, by the number of columns.
_MILLION_ROWS = {2: 60, 3: 60, 10: 60, 30: 120}


def growth(repeats: int, sizes: tuple[int, ...]) -> Section:
    """Time of default fits by the number of rows, each in its own process."""
    runs = {n: [fit_in_process(n, N_FEATURES) for _ in range(repeats)] for n in sizes}
    seconds = {n: _median_seconds(of_n) for n, of_n in runs.items()}
    exponent = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
    return Section(
        "Fitting more rows",
        f"Default `RankAD(n_jobs=2).fit` of rows with {N_FEATURES} columns, two cores, each fit in "
        f"a process of its own. Medians of {repeats}.",
        [
            *(Finding(f"{n:,} rows", seconds[n], " s") for n in sizes),
            Finding(f"growth exponent, {min(sizes):,} to {max(sizes):,}", exponent, "", 1.1, True),
        ],
    )


def a_million_rows(repeats: int) -> Section:
    """Time and memory of default fits of a million rows, by the number of columns."""
    section = Section(
        "Fitting a million rows",
        f"The same for a million rows. Times are medians of {repeats}; memory is the largest peak "
        "of them. In few columns there are many neighbors. In many columns the search for a "
        "neighbor takes longer.",
    )
    for n_features, target in _MILLION_ROWS.items():
        runs = [fit_in_process(1_000_000, n_features) for _ in range(repeats)]
        memory = max(run["gibibytes"] for run in runs)
        section.findings += [
            Finding(f"{n_features} columns", _median_seconds(runs), " s", target, True),
            Finding(f"{n_features} columns, memory", memory, " GiB", 4, True),
        ]
    return section


def _median_seconds(runs: list[dict[str, float]]) -> float:
    return float(np.median([run["seconds"] for run in runs]))


def fit_in_process(n_rows: int, n_features: int) -> dict[str, float]:
    """Seconds and peak memory (GiB) of one default fit in a process of its own."""
    command = [sys.executable, str(Path(__file__)), str(n_rows), str(n_features)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def _fit_here(n_rows: int, n_features: int) -> None:
    RankAD(random_state=0).fit(nominal_rows(3_000, n_features))  # load the compiled code
    rows = nominal_rows(n_rows, n_features)
    started = time.perf_counter()
    RankAD(n_jobs=2, random_state=0).fit(rows)
    seconds = time.perf_counter() - started
    gibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": seconds, "gibibytes": gibibytes}))


if __name__ == "__main__":
    _fit_here(*map(int, sys.argv[1:]))
