"""The experiments of docs/accuracy.md: measures of methods on sets.

In all of them one thread computes, and columns are z-scored. Real sets are z-scored by all training
rows, before a method gets them.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from law_experiments import FIG_2, ORACLES, SIZES, TRUE_DENSITY, on_fig_2, on_law
from methods import (
    BASE,
    CALIBRATED,
    FOR_DIRT,
    METHODS,
    OF_GROWTH,
    OF_SETS,
    ROBUST_OFF,
    VARIANTS,
)
from one_class import load_dirty_split, load_split, set_names

from rankad.datasets import FURTHER_LAWS, LAST_LAWS, SMOOTH_LAWS, law_anomalies
from rankad.metrics import auc, power
from rankad.reproduce.experiment import Experiment
from rankad.reproduce.fitting import Fitted
from rankad.reproduce.measure import false_alarms, ranking, run_of, timed_scores, warm_up
from rankad.reproduce.protocol import Split
from rankad.reproduce.records import Key, Record

#: Another reading of annthyroid with the same nominal rows, so the set would count twice.
LEFT_OUT = ("annthyroid_6832",)

#: Rows of a timed batch. With fewer rows the time of the call would dominate.
MIN_TIMED, MAX_TIMED = 2_000, 5_000

DIRTY_SETS = (
    *("shuttle", "annthyroid", "mammography", "satellite", "http", "cover", "cardio"),
    *("pageblocks", "vowels", "mnist"),
)
DIRTY_SHARES = (0.0, 0.01, 0.02, 0.05)

SMALL_SETS = (
    *("banknote", "annthyroid", "mammography", "shuttle", "pageblocks", "vowels", "wilt"),
    "cardio",
)
SMALL_SIZES = (30, 60, 100)

#: Rows, columns and sets for the experiment on the number of centers.
GROWTH_COLUMNS, GROWTH_SIZES = (1, 2, 5, 16), (2_000, 20_000)
GROWTH_SETS = ("http", "shuttle", "cover")

STABLE_LAWS = tuple(f"{law} {d}" for d in (2, 8) for law in ("gauss", "two gaussians", "student"))
N_STABLE_ROWS, N_STABLE_STATES = 400, 8


@lru_cache(maxsize=1)
def set_split(name: str, seed: int) -> Split:
    """A split: half of the nominal rows, at most 2,000, train; at most 3,000 of each kind test."""
    return load_split(name, seed, n_train=2_000, n_test=3_000).z_scored()


def on_set(key: Key) -> Record:
    """Accuracy, false alarms and costs on a real set."""
    method = METHODS[key.method]
    warm_up(method)
    run = run_of(key, method, set_split(key.set, key.seed))
    measures = {
        **ranking(run),
        "power": power(run.split.is_anomaly, run.scores, 0.05),
        **false_alarms(run),
        "fit_seconds": run.fit_seconds,
        "score_microseconds": score_microseconds(run.fitted, run.split.test),
    }
    return run.record(measures)


def score_microseconds(fitted: Fitted, rows: np.ndarray) -> float:
    """Microseconds of processor time per row of a batch, median of three."""
    batch = np.tile(rows, (-(-MIN_TIMED // len(rows)), 1))[:MAX_TIMED]
    _, seconds = timed_scores(fitted.score, batch, n_repetitions=3)
    return 1e6 * seconds / len(batch)


def on_dirty_set(key: Key) -> Record:
    """Accuracy with some anomalies among the training rows."""
    name, share = key.set.removesuffix("%").split(", ")
    return _accuracy(key, load_dirty_split(name, key.seed, float(share) / 100.0).z_scored())


def on_few_rows(key: Key) -> Record:
    """Accuracy after training on a given number of rows."""
    name, size = key.set.removesuffix(" rows").split(", ")
    split = load_split(name, key.seed, n_train=max(2_000, int(size)), n_test=2_000)
    return _accuracy(key, replace(split, train=split.train[: int(size)]).z_scored())


def on_growth(key: Key) -> Record:
    """Accuracy on a law or on a set, for a given number of training rows."""
    return on_law(key) if ", n = " in key.set else on_few_rows(key)


def _accuracy(key: Key, split: Split) -> Record:
    run = run_of(key, METHODS[key.method], split)
    return run.record(
        {
            "auc": auc(split.is_anomaly, run.scores),
            "power": power(split.is_anomaly, run.scores, 0.05),
        }
    )


def stable_split(name: str, seed: int) -> Split:
    """A split: 2,000 training rows and 400 test rows, half of them anomalies where possible."""
    n_anomalies = N_STABLE_ROWS // 2
    if name in SMOOTH_LAWS:
        law, rng = SMOOTH_LAWS[name], np.random.RandomState(seed)
        train, nominal = law.sample(2_000, rng), law.sample(N_STABLE_ROWS, rng)
        anomalies = law_anomalies(law, "blurred", n_anomalies, rng, scale=1.0)
        split = Split(train, nominal, anomalies)
    else:
        split = load_split(name, seed, n_train=2_000)
    anomalies = split.anomalies[:n_anomalies]
    nominal = split.nominal[: N_STABLE_ROWS - len(anomalies)]
    return Split(split.train, nominal, anomalies).z_scored()


def on_states(key: Key) -> Record:
    """Standard deviation of p-values over random states, on the same rows."""
    split, method = stable_split(key.set, key.seed), METHODS[key.method]
    runs = [run_of(key._replace(seed=s), method, split) for s in range(N_STABLE_STATES)]
    p_values = [run.fitted.reference.p_values(run.scores) for run in runs]
    return runs[key.seed].record({"scatter": float(np.std(p_values, axis=0, ddof=1).mean())})


def growth_laws() -> list[str]:
    """The laws with the columns of the experiment on centers."""
    return [name for name, law in SMOOTH_LAWS.items() if law.n_features in GROWTH_COLUMNS]


def real_sets() -> list[str]:
    """The real sets, each once."""
    return [name for name in set_names() if name not in LEFT_OUT]


def _of_dirty_set(name: str) -> list[str]:
    """All variants at 0 and 1% dirt; only the variants of ``robust`` at more."""
    is_among = name.endswith((" 0%", " 1%"))
    return [*BASE, *(VARIANTS if is_among else [ROBUST_OFF, FOR_DIRT])]


_EXPERIMENTS = (
    Experiment("sets", real_sets, lambda _: [*BASE, *OF_SETS, *VARIANTS], on_set),
    Experiment(
        "laws", lambda: SMOOTH_LAWS, lambda _: [*BASE, *ORACLES, *VARIANTS], on_law, n_runs=3
    ),
    Experiment(
        "dirt",
        lambda: [f"{name}, {share:.0%}" for name in DIRTY_SETS for share in DIRTY_SHARES],
        _of_dirty_set,
        on_dirty_set,
        n_runs=3,
    ),
    Experiment(
        "small",
        lambda: [f"{name}, {n} rows" for name in SMALL_SETS for n in SMALL_SIZES],
        lambda _: BASE,
        on_few_rows,
    ),
    Experiment("fig2", lambda: [FIG_2], lambda _: [*BASE, TRUE_DENSITY], on_fig_2, n_runs=10),
    Experiment(
        "growth",
        lambda: [
            *(f"{law}, n = {n}" for law in growth_laws() for n in GROWTH_SIZES),
            *(f"{name}, {n} rows" for name in GROWTH_SETS for n in GROWTH_SIZES),
        ],
        lambda _: OF_GROWTH,
        on_growth,
        n_runs=2,
    ),
    Experiment(
        "stability", lambda: [*STABLE_LAWS, *DIRTY_SETS], lambda _: CALIBRATED, on_states, n_runs=1
    ),
    *(
        Experiment(
            name,
            lambda laws=laws: [f"{law}, n = {n}" for law in laws for n in SIZES],
            lambda _: [*BASE, *ORACLES],
            on_law,
            n_runs=3,
        )
        for name, laws in (("further", FURTHER_LAWS), ("last", LAST_LAWS))
    ),
)

EXPERIMENTS = {experiment.name: experiment for experiment in _EXPERIMENTS}
