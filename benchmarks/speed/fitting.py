"""Training: the published grid, one solve beside scikit-survival's, and growth with the rows."""

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
from rankad.ranker import RankSVM, fit_ranker
from rankad.statistics import MeanNeighborDistance

N_ROWS, N_FEATURES = 2_000, 10

#: C and sigma, in units of the mean neighbor distance, of the solve that is compared.
_C, _RELATIVE_SIGMA = 0.01, 1.0

_PAPER = RankSVM(anchor=0.0)


def grid_and_default(repeats: int) -> Section:
    """Whole fits of 2,000 rows."""
    rows = nominal_rows(N_ROWS, N_FEATURES)
    published = RankAD.as_published(n_jobs=2, random_state=0)
    default = RankAD(n_jobs=2, random_state=0)
    timings = timed(
        {"grid": lambda: published.fit(rows), "default": lambda: default.fit(rows)}, repeats
    )
    return Section(
        "Fitting 2,000 rows",
        f"{N_ROWS:,} rows of {N_FEATURES} columns, two cores, medians of {repeats}. The published "
        "grid is 13 values of C, 21 of sigma and 4 folds: 1,092 solves, then the winner's.",
        [
            Finding("the whole published grid", timings.median("grid"), " s", 10, at_most=True),
            Finding("default `RankAD().fit`", timings.median("default"), " s", 1.5, at_most=True),
        ],
    )


def one_solve(repeats: int, n_rows: int = 500) -> Section:
    """The same pairs, loss, C and sigma, from cold, by scikit-survival's kernel ranker.

    It knows no levels, and breaks ties at random: so every rank is a level of its own.
    """
    points = nominal_rows(n_rows, N_FEATURES)
    statistic = MeanNeighborDistance(10)(points)
    ranks = np.argsort(np.argsort(statistic)) + 1
    preferences = level_preferences(ranks)
    outcome = np.array(
        [(True, float(rank)) for rank in ranks], dtype=[("event", bool), ("time", float)]
    )
    sigma = -_RELATIVE_SIGMA * float(statistic.mean())
    # Its objective is 1/2 |w|^2 + alpha/2 times the sum of squared hinges: alpha is twice our C.
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
        f"The kernel ranker of all pairs of {n_rows:,} ranked rows, all rows as centers, no "
        f"anchor, C = {_C}, sigma = D_K, from zero, kernel matrix included, one thread, beside "
        "scikit-survival's `FastKernelSurvivalSVM`, the same problem: the objectives reached are "
        f"{ours():.4f} and {theirs:.4f}. Medians of {repeats}: "
        f"{1e3 * timings.median('ours'):.0f} ms and {timings.median('survival'):.1f} s.",
        [Finding("scikit-survival, in units of ours", timings.ratio("survival", "ours"), "x", 40)],
    )


#: Seconds that a million rows of so many columns may take.
_MILLION_ROWS = {2: 60, 3: 60, 10: 60, 30: 120}


def growth(repeats: int, sizes: tuple[int, ...]) -> Section:
    """Default fits of ever more rows, each in its own process for its peak of memory."""
    runs = {n: [fit_in_process(n, N_FEATURES) for _ in range(repeats)] for n in sizes}
    seconds = {n: _median_seconds(of_n) for n, of_n in runs.items()}
    exponent = float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
    return Section(
        "Fitting ever more rows",
        f"Default `RankAD(n_jobs=2).fit` of rows with {N_FEATURES} columns, two cores, a process "
        f"each; medians of {repeats}.",
        [
            *(Finding(f"{n:,} rows", seconds[n], " s") for n in sizes),
            Finding(f"growth exponent, {min(sizes):,} to {max(sizes):,}", exponent, "", 1.1, True),
        ],
    )


def a_million_rows(repeats: int) -> Section:
    """Default fits of a million rows, of few columns and of many."""
    section = Section(
        "Fitting a million rows",
        f"The same for a million rows; medians of {repeats}, memory the most of them. In few "
        "columns the neighbors are many, in many columns far to seek.",
    )
    for n_features, asked in _MILLION_ROWS.items():
        runs = [fit_in_process(1_000_000, n_features) for _ in range(repeats)]
        memory = max(run["gibibytes"] for run in runs)
        section.findings += [
            Finding(f"{n_features} columns", _median_seconds(runs), " s", asked, True),
            Finding(f"{n_features} columns, memory", memory, " GiB", 4, True),
        ]
    return section


def _median_seconds(runs: list[dict[str, float]]) -> float:
    return float(np.median([run["seconds"] for run in runs]))


def fit_in_process(n_rows: int, n_features: int) -> dict[str, float]:
    """Seconds and peak memory of one default fit, in a process of its own."""
    command = [sys.executable, str(Path(__file__)), str(n_rows), str(n_features)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def _fit_here(n_rows: int, n_features: int) -> None:
    RankAD(random_state=0).fit(nominal_rows(3_000, n_features))  # load what was compiled
    rows = nominal_rows(n_rows, n_features)
    started = time.perf_counter()
    RankAD(n_jobs=2, random_state=0).fit(rows)
    seconds = time.perf_counter() - started
    gibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": seconds, "gibibytes": gibibytes}))


if __name__ == "__main__":
    _fit_here(*map(int, sys.argv[1:]))
