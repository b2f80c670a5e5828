"""Scoring speed: batches and single rows, against the peers and the limit of the hardware."""

from collections.abc import Callable

import numpy as np
from machine import peaks
from peers import nominal_rows, one_class_svm, scorers
from report import Finding, Section
from sklearn.ensemble import IsolationForest
from threadpoolctl import threadpool_limits
from timing import Timings, repeated, timed

from rankad import RankAD
from rankad.kernels import FarField, KernelExpansion
from rankad.options import RankSVM
from rankad.tuning import rule_n_centers

N_FEATURES, N_TRAINING, N_POINTS = 10, 2_000, 80_000
N_CENTERS = rule_n_centers(N_FEATURES)

#: Fewer centers, for users who need more speed.
N_FEW_CENTERS = 200


def detector(n_centers: int = N_CENTERS, dtype: str = "float64", **params: object) -> RankAD:
    """RankAD with this number of centers, trained on the same number of rows as the peers.

    The rows that calibrate it come on top.
    """
    n_calibration = N_TRAINING // 3
    rows = nominal_rows(N_TRAINING + n_calibration, N_FEATURES)
    fitted = RankAD(
        n_centers=n_centers,
        ranker=RankSVM(dtype=dtype),
        calibration_size=n_calibration,
        random_state=0,
        **params,
    ).fit(rows)
    expansion, n_trained = (
        fitted.expansion_,
        fitted.neighbor_search_.n_rows + fitted.n_outlying_,
    )
    if (expansion.n_centers, n_trained) != (n_centers, N_TRAINING):
        raise RuntimeError(
            f"The detector has {expansion.n_centers} centers and {n_trained} training rows."
        )
    if expansion.centers.dtype != dtype:
        raise RuntimeError("The detector fell back to float64.")
    return fitted


def batches(repeats: int, n_points: int, n_threads: int) -> Section:
    """Time of each peer on one large batch, against RankAD."""
    points = nominal_rows(n_points, N_FEATURES, seed=1)
    ours = {
        "RankAD": detector(n_jobs=n_threads).score_samples,
        "RankAD, float32": detector(n_jobs=n_threads, dtype="float32").score_samples,
        "RankAD, 200 centers": detector(N_FEW_CENTERS, n_jobs=n_threads).score_samples,
    }
    peers = scorers(nominal_rows(N_TRAINING, N_FEATURES), N_CENTERS, n_jobs=n_threads)
    functions = {name: _call(score, points) for name, score in (ours | peers).items()}
    with threadpool_limits(n_threads):
        timings = timed(functions, repeats)
    threads = {1: "one thread each", 2: "two threads each where the method can use them"}[n_threads]
    section = Section(
        f"Scoring a batch, {threads.split(' where')[0]}",
        f"{n_points:,} rows of {N_FEATURES} columns through the public methods, {threads}. "
        f"RankAD has {N_CENTERS} centers, its default. OneClassSVM has about {N_CENTERS} support "
        f"vectors, Nystroem {N_CENTERS} components. The last column is RankAD with "
        f"{N_FEW_CENTERS} centers. All methods are trained on {N_TRAINING:,} rows. A cell is the "
        f"time of the method divided by the time of RankAD: the median of {repeats} ratios. "
        f"RankAD itself scores {_million_per_second(timings, 'RankAD', n_points)} million rows "
        "per second in float64 and "
        f"{_million_per_second(timings, 'RankAD, float32', n_points)} million in float32.",
    )
    for name in peers:
        for ours_name in ours:
            target = _TARGETS.get((name, ours_name)) if n_threads == 2 else None
            ratio = timings.ratio(name, ours_name)
            section.findings.append(Finding(name, ratio, "x", target, against=ours_name))
    return section


_TARGETS = {
    ("OneClassSVM", "RankAD"): 30,
    ("OneClassSVM", "RankAD, float32"): 60,
    ("mean k-NN, brute force", "RankAD"): 5,
    ("mean k-NN, k-d tree", "RankAD"): 5,
}


def _call(score: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> Callable[[], object]:
    return lambda: score(points)


def _million_per_second(timings: Timings, name: str, n_points: int) -> str:
    return f"{n_points / timings.median(name) / 1e6:.1f}"


def single_rows(repeats: int) -> Section:
    """Time to score one row, the case of a service."""
    rows = nominal_rows(N_TRAINING, N_FEATURES)
    row = rows[0].copy()
    fitted = detector()
    scorer, svm = fitted.scorer_, one_class_svm(rows, N_CENTERS)
    forest = IsolationForest(n_estimators=100, max_samples=256, random_state=0).fit(rows)
    # Each function is repeated until it takes milliseconds.
    with threadpool_limits(1):
        timings = timed(
            {
                "score": repeated(lambda: scorer.score(row), 5_000),
                "p_value": repeated(lambda: scorer.p_value(row), 5_000),
                "p_values": repeated(lambda: fitted.p_values(row[None]), 50),
                "svm": repeated(lambda: svm.decision_function(row[None]), 50),
                "forest": repeated(lambda: forest.score_samples(row[None]), 5),
            },
            repeats,
        )
    microseconds = {
        name: timings.median(name) / times * 1e6
        for name, times in {
            "score": 5_000,
            "p_value": 5_000,
            "p_values": 50,
            "svm": 50,
            "forest": 5,
        }.items()
    }
    return Section(
        "Scoring one row",
        "`scorer.score(row)` and `scorer.p_value(row)`, one thread, "
        f"{N_CENTERS} centers, {N_FEATURES} columns. The times leave out `scorer = det.scorer_`, "
        "which is taken once before. Each access to `det.scorer_` makes a new scorer and takes "
        "about 3 us more. The peers score the same row: `OneClassSVM.decision_function` "
        f"({microseconds['svm']:.0f} us) and `IsolationForest.score_samples` "
        f"({microseconds['forest']:,.0f} us). All times are medians of {repeats}.",
        [
            Finding("score", microseconds["score"], " us"),
            Finding("p-value", microseconds["p_value"], " us"),
            Finding("p-value with all checks, `det.p_values`", microseconds["p_values"], " us"),
            Finding(
                "OneClassSVM, in units of the score", timings.ratio("svm", "score") * 100, "x", 30
            ),
            Finding(
                "IsolationForest, in units of the score",
                timings.ratio("forest", "score") * 1_000,
                "x",
                500,
            ),
        ],
    )


def share_of_limit(repeats: int, n_points: int) -> Section:
    """Speed of the kernel sum as a share of the most that the processor can do."""
    section = Section("", "")
    measured = []
    with threadpool_limits(1):
        for dtype, target in (("float64", 50), ("float32", 40)):
            peak = peaks(dtype)
            measured.append(
                f"{peak['fma'] / 1e9:.1f} G multiply-adds and {peak['exp'] / 1e9:.2f} G "
                f"exponentials per second in {dtype}"
            )
            for n_centers in (N_FEW_CENTERS, 1_000):
                expansion = random_expansion(n_centers, N_FEATURES, dtype)
                points = np.random.default_rng(1).normal(size=(n_points, N_FEATURES))
                timings = timed(
                    {
                        "one": lambda g=expansion, x=points: g(x, n_jobs=1),
                        "two": lambda g=expansion, x=points: g(x, n_jobs=2),
                    },
                    repeats,
                )
                limit = 1.0 / n_centers / (N_FEATURES / peak["fma"] + 1.0 / peak["exp"])
                share = n_points / timings.median("one") / limit
                label = f"{dtype}, {n_centers} centers"
                section.findings += [
                    Finding(f"share of the limit, {label}", 100 * share, "%", target),
                    Finding(
                        f"second thread's gain, {label}", timings.ratio("one", "two"), "x", 1.8
                    ),
                ]
    section.title = "The limit"
    section.how = (
        f"`KernelExpansion` on {n_points:,} points of {N_FEATURES} columns, one core. The limit "
        "is 1 / (d / FMA + 1 / exp) kernels per second, for d columns. FMA and exp are the "
        f"highest rates measured on this core: {'; '.join(measured)}."
    )
    return section


def random_expansion(n_centers: int, n_features: int, dtype: str = "float64") -> KernelExpansion:
    """An expansion whose kernels are neither all 0 nor all 1."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=n_centers)
    return KernelExpansion(
        rng.normal(size=(n_centers, n_features)),
        weights,
        sigma=np.sqrt(n_features / 2.0),
        far_field=FarField.below(weights),
    ).astype(dtype)
