"""What is measured for docs/accuracy.md: experiments, each some measures of methods on some sets.

In all of them columns are z-scored by the training rows, one thread computes, and warnings that a
set is small are not heard.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from law_experiments import FIG_2, ORACLES, SIZES, TRUE_DENSITY, on_fig_2, on_law
from methods import (
    BASE,
    FOR_DIRT,
    METHODS,
    OF_GROWTH,
    OF_SETS,
    RANKAD,
    ROBUST_OFF,
    VARIANTS,
)
from one_class import Split, load_dirty_split, load_split, set_names
from runs import Record, Task, record_of
from sklearn.preprocessing import StandardScaler

from rankad import RankAD
from rankad._progress import quiet
from rankad._threads import one_thread_each
from rankad.baselines import KLPE
from rankad.datasets.law_catalog import FURTHER_LAWS, LAST_LAWS, SMOOTH_LAWS, law_anomalies
from rankad.metrics import auc, average_precision, power
from rankad.reproduce.errors import ReproductionError
from rankad.reproduce.methods import Fitted
from rankad.reproduce.records import Key

#: Another reading of annthyroid, with the same nominal rows: it would count twice.
LEFT_OUT = ("annthyroid_6832",)

LEVELS = (0.01, 0.05, 0.1)

#: Rows of a batch whose scoring is timed: fewer would time the call more than the scoring.
LEAST_TIMED, MOST_TIMED = 2_000, 5_000

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

#: Where the number of centers is looked at as rows and columns grow.
GROWTH_COLUMNS, GROWTH_SIZES = (1, 2, 5, 16), (2_000, 20_000)
GROWTH_SETS = ("http", "shuttle", "cover")

STABLE_LAWS = tuple(f"{law} {d}" for d in (2, 8) for law in ("gauss", "two gaussians", "student"))
N_STABLE_ROWS, N_STABLE_STATES = 400, 8
K_LPE = "K-LPE, k = 5"


@dataclass(frozen=True)
class Rows:
    """Rows to train on and to test on, z-scored."""

    train: np.ndarray
    nominal: np.ndarray
    anomalies: np.ndarray

    @classmethod
    def of(cls, split: Split) -> "Rows":
        """The rows of a split, as float64 whatever the source."""
        scale = StandardScaler().fit(split.train.astype(np.float64)).transform
        parts = (split.train, split.nominal, split.anomalies)
        return cls(*(scale(part.astype(np.float64)) for part in parts))

    @property
    def test(self) -> np.ndarray:
        """All rows to test on."""
        return np.concatenate([self.nominal, self.anomalies])

    @property
    def is_anomaly(self) -> np.ndarray:
        """Which of them are anomalies."""
        return np.arange(len(self.nominal) + len(self.anomalies)) >= len(self.nominal)


@lru_cache(maxsize=1)
def set_rows(name: str, seed: int) -> Rows:
    """Half of the nominal rows, at most 2,000, train; at most 3,000 others and anomalies test."""
    return Rows.of(load_split(name, seed, n_train=2_000, n_test=3_000))


def on_set(key: Key) -> Record:
    """Accuracy, false alarms and costs on a real set."""
    rows = set_rows(key.set, key.seed)
    fit = METHODS[key.method]
    warm_up(key.method)
    started = time.process_time()
    fitted = fit(rows.train, key.seed)
    fit_seconds = time.process_time() - started
    scores = fitted.score(rows.test)
    nominal_scores = scores[~rows.is_anomaly]
    measures = {
        "auc": auc(rows.is_anomaly, scores),
        "average_precision": average_precision(rows.is_anomaly, scores),
        "power": power(rows.is_anomaly, scores, 0.05),
        **{
            f"false_alarms_{alpha:g}": (nominal_scores < fitted.reference.threshold(alpha)).mean()
            for alpha in LEVELS
        },
        "fit_seconds": fit_seconds,
        "score_microseconds": score_microseconds(fitted, rows.test),
    }
    if fitted.n_centers is not None:
        measures["n_centers"] = fitted.n_centers
    return record_of(key, rows.train, measures)


@cache
def warm_up(method: str) -> None:
    """Whatever compiles, compiles now; rows enough for k-means, columns for both searches."""
    for n_features in (3, 20):
        rows = np.random.default_rng(0).normal(size=(1_200, n_features))
        METHODS[method](rows, 0).score(rows[:10])


def score_microseconds(fitted: Fitted, rows: np.ndarray) -> float:
    """Microseconds of the processor for each row of a batch: the median of three."""
    batch = np.tile(rows, (-(-LEAST_TIMED // len(rows)), 1))[:MOST_TIMED]
    times = []
    for _ in range(3):
        started = time.process_time()
        fitted.score(batch)
        times.append(time.process_time() - started)
    return 1e6 * float(np.median(times)) / len(batch)


@lru_cache(maxsize=1)
def dirty_rows(name: str, seed: int) -> Rows:
    set_name, share = name.removesuffix("%").split(", ")
    return Rows.of(load_dirty_split(set_name, seed, float(share) / 100.0))


def on_dirty_set(key: Key) -> Record:
    """Accuracy where some anomalies are among the rows that train."""
    return _accuracy(key, dirty_rows(key.set, key.seed))


@lru_cache(maxsize=1)
def few_rows(name: str, seed: int) -> Rows:
    set_name, size = name.removesuffix(" rows").split(", ")
    split = load_split(set_name, seed, n_train=max(2_000, int(size)), n_test=2_000)
    return Rows.of(replace(split, train=split.train[: int(size)]))


def on_few_rows(key: Key) -> Record:
    """Accuracy of what was learned from so many rows."""
    return _accuracy(key, few_rows(key.set, key.seed))


def on_growth(key: Key) -> Record:
    """Accuracy on a law or on a set, for so many rows."""
    return on_law(key) if ", n = " in key.set else on_few_rows(key)


def _accuracy(key: Key, rows: Rows) -> Record:
    scores = METHODS[key.method](rows.train, key.seed).score(rows.test)
    measures = {
        "auc": auc(rows.is_anomaly, scores),
        "power": power(rows.is_anomaly, scores, 0.05),
    }
    return record_of(key, rows.train, measures)


#: Detectors whose p-values are drawn again and again; with one state they hold out the same rows.
CALIBRATED: dict[str, Callable[[int], RankAD | KLPE]] = {
    RANKAD: lambda state: RankAD(random_state=state),
    K_LPE: lambda state: KLPE(n_neighbors=5, calibration="split", random_state=state),
}


def stable_rows(name: str, seed: int) -> Rows:
    """2,000 rows to train on, and 400 to test on: if there are so many, half of them anomalies."""
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
    return Rows.of(Split(split.train, nominal, anomalies))


def on_states(key: Key) -> Record:
    """How much p-values scatter with the random state alone."""
    rows = stable_rows(key.set, key.seed)
    p_values = [
        CALIBRATED[key.method](state).fit(rows.train).p_values(rows.test)
        for state in range(N_STABLE_STATES)
    ]
    return record_of(key, rows.train, {"scatter": np.std(p_values, axis=0, ddof=1).mean()})


@dataclass(frozen=True)
class Experiment:
    """Sets, methods of each of them, seeds, and what is measured of a method on a set."""

    measure: Callable[[Key], Record]
    n_seeds: int
    sets: Callable[[], Iterable[str]]
    methods: Callable[[str], Sequence[str]]


def growth_laws() -> list[str]:
    """The laws of a few numbers of columns."""
    return [name for name, law in SMOOTH_LAWS.items() if law.n_features in GROWTH_COLUMNS]


def real_sets() -> list[str]:
    """The real sets, each once."""
    return [name for name in set_names() if name not in LEFT_OUT]


def _of_dirty_set(name: str) -> list[str]:
    """All variants where few rows are dirty; those for dirt where more are."""
    is_among = name.endswith((" 0%", " 1%"))
    return [*BASE, *(VARIANTS if is_among else [ROBUST_OFF, FOR_DIRT])]


EXPERIMENTS: dict[str, Experiment] = {
    "sets": Experiment(on_set, 5, real_sets, lambda _: [*BASE, *OF_SETS, *VARIANTS]),
    "laws": Experiment(on_law, 3, lambda: SMOOTH_LAWS, lambda _: [*BASE, *ORACLES, *VARIANTS]),
    "dirt": Experiment(
        on_dirty_set,
        3,
        lambda: [f"{name}, {share:.0%}" for name in DIRTY_SETS for share in DIRTY_SHARES],
        _of_dirty_set,
    ),
    "small": Experiment(
        on_few_rows,
        5,
        lambda: [f"{name}, {n} rows" for name in SMALL_SETS for n in SMALL_SIZES],
        lambda _: [*BASE],
    ),
    "fig2": Experiment(on_fig_2, 10, lambda: [FIG_2], lambda _: [*BASE, TRUE_DENSITY]),
    "growth": Experiment(
        on_growth,
        2,
        lambda: [
            *(f"{law}, n = {n}" for law in growth_laws() for n in GROWTH_SIZES),
            *(f"{name}, {n} rows" for name in GROWTH_SETS for n in GROWTH_SIZES),
        ],
        lambda _: [*OF_GROWTH],
    ),
    "stability": Experiment(
        on_states, 1, lambda: [*STABLE_LAWS, *DIRTY_SETS], lambda _: [*CALIBRATED]
    ),
    "further": Experiment(
        on_law,
        3,
        lambda: [f"{name}, n = {n}" for name in FURTHER_LAWS for n in SIZES],
        lambda _: [*BASE, *ORACLES],
    ),
    "last": Experiment(
        on_law,
        3,
        lambda: [f"{name}, n = {n}" for name in LAST_LAWS for n in SIZES],
        lambda _: [*BASE, *ORACLES],
    ),
}


def measured(task: Task) -> Record:
    """Make a run: one thread, no warnings."""
    try:
        with quiet(), one_thread_each(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return EXPERIMENTS[task.key.experiment].measure(task.key)
    except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
        raise ReproductionError(f"{task.key} failed: {error}") from error
