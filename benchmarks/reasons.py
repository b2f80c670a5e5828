"""Reasons beside z-scores and a nearest row: which features are blamed, and at what cost.

    python benchmarks/reasons.py              # the tables of docs/reasons.md, a minute or two
    python benchmarks/reasons.py --speed      # seconds for 10,000 alarms of 30 columns

Columns of real nominal rows are changed, so the guilty columns are known. A row counts if it does
not alarm before the change, and alarms after it. The sets' own anomalies have no known guilty
columns. Of them, the share that a few features explain is counted.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from one_class import load_set
from pages import with_table

from rankad import RankAD
from rankad.reproduce.markdown import table

PAGE = Path(__file__).parent.parent / "docs" / "reasons.md"

#: The eight sets with the most rows, of those with at least five columns.
SETS = ("cover", "shuttle", "aloi", "magic", "mammography", "mnist", "annthyroid", "satellite")

ALPHA, MAX_FEATURES = 0.05, 3

#: Nominal rows of a set that train, nominal rows to change, and alarms that are explained.
N_TRAIN, N_CHANGED, N_ALARMS = 5_000, 3_000, 200

#: How far a column is shifted, in its standard deviations.
SHIFT = 4.0


class Kind(NamedTuple):
    """How nominal rows are changed: shifted or swapped, and in how many columns."""

    name: str
    n_columns: int
    is_shift: bool


KINDS = (
    Kind("one shifted", 1, True),
    Kind("one swapped", 1, False),
    Kind("three shifted", 3, True),
    Kind("three swapped", 3, False),
)


class Blamed(NamedTuple):
    """Which features a method blames, and whether the row is nominal when they change."""

    features: np.ndarray
    is_explained: np.ndarray


def changed(
    rows: np.ndarray, train: np.ndarray, kind: Kind, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows after the change, and which of their columns changed.

    A shifted column moves up or down. A swapped column gets the value of another training row.
    Constant columns do not change.
    """
    deviations = train.std(axis=0)
    columns = np.flatnonzero(deviations > 0.0)
    after, is_guilty = rows.copy(), np.zeros(rows.shape, dtype=bool)
    for i in range(len(rows)):
        chosen = rng.choice(columns, min(kind.n_columns, len(columns)), replace=False)
        if kind.is_shift:
            after[i, chosen] += SHIFT * deviations[chosen] * rng.choice([-1.0, 1.0], len(chosen))
        else:
            after[i, chosen] = train[rng.integers(len(train), size=len(chosen)), chosen]
        is_guilty[i, chosen] = after[i, chosen] != rows[i, chosen]
    return after, is_guilty


def by_explain(detector: RankAD, rows: np.ndarray, train: np.ndarray) -> Blamed:
    """The features of `RankAD.explain`."""
    explanation = detector.explain(rows, ALPHA, max_features=MAX_FEATURES)
    blamed = explanation.changed_values != explanation.values
    return Blamed(blamed, explanation.is_explained & ~explanation.in_groups)


def by_groups(detector: RankAD, rows: np.ndarray, train: np.ndarray) -> Blamed:
    """The same. A group of correlated features counts as one."""
    explanation = detector.explain(rows, ALPHA, max_features=MAX_FEATURES)
    blamed = explanation.changed_values != explanation.values
    return Blamed(blamed, explanation.is_explained)


def by_z_scores(detector: RankAD, rows: np.ndarray, train: np.ndarray) -> Blamed:
    """The features farthest from their mean, in deviations. They get the median of the column."""
    far = np.abs(rows - train.mean(axis=0)) / _deviations(train)
    return _one_by_one(detector, rows, far, np.broadcast_to(np.median(train, axis=0), rows.shape))


def by_nearest_row(detector: RankAD, rows: np.ndarray, train: np.ndarray) -> Blamed:
    """The features that differ most from the nearest training row. They get its values."""
    scale, pool = _deviations(train), train[:2_000]
    nearest = np.array([pool[np.square((pool - row) / scale).sum(axis=1).argmin()] for row in rows])
    return _one_by_one(detector, rows, np.abs(rows - nearest) / scale, nearest)


def _deviations(train: np.ndarray) -> np.ndarray:
    deviations = train.std(axis=0)
    return np.where(deviations > 0.0, deviations, 1.0)


def _one_by_one(
    detector: RankAD, rows: np.ndarray, order_by: np.ndarray, values: np.ndarray
) -> Blamed:
    """Change features, those with the largest ``order_by`` first, until the row is nominal."""
    order = np.argsort(-order_by, axis=1)
    blamed, is_explained = np.zeros(rows.shape, dtype=bool), np.zeros(len(rows), dtype=bool)
    for count in range(min(MAX_FEATURES, rows.shape[1])):
        left = np.flatnonzero(~is_explained)
        if not left.size:
            break
        blamed[left, order[left, count]] = True
        after = np.where(blamed[left], values[left], rows[left])
        is_explained[left] = detector.p_values(after) > ALPHA
    return Blamed(blamed, is_explained)


METHODS: dict[str, Callable[[RankAD, np.ndarray, np.ndarray], Blamed]] = {
    "explain": by_explain,
    "z-scores": by_z_scores,
    "nearest row": by_nearest_row,
}


class Parts(NamedTuple):
    """A fitted detector, its training rows, nominal rows that are not alarms, and anomalies."""

    detector: RankAD
    train: np.ndarray
    fresh: np.ndarray
    anomalies: np.ndarray


def parts_of(name: str, seed: int) -> Parts:
    """A split of a set. At most half of the nominal rows train."""
    rng = np.random.default_rng(seed)
    data = load_set(name)
    nominal = rng.permutation(data.nominal)
    n_train = min(N_TRAIN, len(nominal) // 2)
    detector = RankAD(random_state=seed).fit(nominal[:n_train])
    train = np.delete(nominal[:n_train], detector.calibration_indices_, axis=0)
    fresh = nominal[n_train : n_train + N_CHANGED]
    anomalies = rng.permutation(data.anomalies)
    fresh = fresh[detector.p_values(fresh) > ALPHA]
    return Parts(detector, train, fresh, _alarms(detector, anomalies[:N_CHANGED]))


def _alarms(detector: RankAD, rows: np.ndarray) -> np.ndarray:
    return rows[detector.p_values(rows) <= ALPHA][:N_ALARMS]


def measures_of(name: str, seed: int) -> dict[tuple[str, str], dict[str, float]]:
    """Measures of each method and each kind of change, and of the set's own anomalies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant columns
        detector, train, fresh, anomalies = parts_of(name, seed)
    rng = np.random.default_rng(seed + 1_000)
    found = {}
    for kind in KINDS:
        rows, is_guilty = changed(fresh, train, kind, rng)
        at = np.flatnonzero(detector.p_values(rows) <= ALPHA)[:N_ALARMS]
        for method, blame in METHODS.items():
            blamed = blame(detector, rows[at], train)
            found[kind.name, method] = {"n": float(at.size), **_rates(blamed, is_guilty[at])}
    for method, blame in {**METHODS, "explain, groups": by_groups}.items():
        before = time.perf_counter()
        blamed = blame(detector, anomalies, train)
        seconds = time.perf_counter() - before
        found["anomalies", method] = {
            "n": float(len(anomalies)),
            "explained": float(blamed.is_explained.mean()),
            "ms": 1e3 * seconds / len(anomalies),
        }
    return found


def _rates(blamed: Blamed, is_guilty: np.ndarray) -> dict[str, float]:
    """Mean precision and recall of the blamed sets. A row without a blamed feature has none."""
    n_right = (blamed.features & is_guilty).sum(axis=1)
    return {
        "precision": float((n_right / np.maximum(1, blamed.features.sum(axis=1))).mean()),
        "recall": float((n_right / np.maximum(1, is_guilty.sum(axis=1))).mean()),
        "explained": float(blamed.is_explained.mean()),
    }


Measures = dict[str, list[dict[tuple[str, str], dict[str, float]]]]


def planted_table(measures: Measures) -> str:
    """Precision and recall, set by set, and their means."""
    lines = []
    for kind in KINDS:
        for method in METHODS:
            rates = np.array([_mean_rates(runs, kind, method) for runs in measures.values()])
            cells = [_pair(rate) for rate in (*rates, rates.mean(axis=0))]
            lines.append([kind.name, method, *cells])
    return table(["changed columns", "method", *measures, "mean"], lines)


def _mean_rates(
    runs: list[dict[tuple[str, str], dict[str, float]]], kind: Kind, method: str
) -> list[float]:
    """Precision and recall, mean over the runs of a set."""
    of_kind = [run[kind.name, method] for run in runs]
    return [float(np.mean([run[part] for run in of_kind])) for part in ("precision", "recall")]


def _pair(rate: np.ndarray) -> str:
    return f"{rate[0]:.2f} / {rate[1]:.2f}"


def anomalies_table(measures: Measures) -> str:
    """Share of the alarmed anomalies that are explained, and the milliseconds for each."""
    lines = []
    for method in ("explain", "explain, groups", "z-scores", "nearest row"):
        runs = [[run["anomalies", method] for run in of_set] for of_set in measures.values()]
        shares = [np.mean([run["explained"] for run in of_set]) for of_set in runs]
        cost = np.median([run["ms"] for of_set in runs for run in of_set])
        lines.append([method, *(f"{share:.0%}" for share in shares), f"{cost:.2g}"])
    return table(["method", *measures, "ms for an alarm"], lines)


def print_speed(n_rows: int = 10_000, n_columns: int = 30) -> None:
    """Print the seconds that many alarms take on all cores, three times."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(n_columns, n_columns))
    nominal = rng.normal(size=(20_000, n_columns)) @ mixing
    detector = RankAD(random_state=0, n_jobs=-1, verbose=True).fit(nominal)
    rows = rng.normal(size=(n_rows, n_columns)) @ mixing
    for i, row in enumerate(rows):
        columns = rng.choice(n_columns, 1 + i % 5, replace=False)
        row[columns] += 8.0 * nominal[:, columns].std(axis=0)
    for _ in range(3):
        before = time.perf_counter()
        explanation = detector.explain(rows)
        seconds = time.perf_counter() - before
        n_alarms, n_explained = explanation.is_alarm.sum(), explanation.is_explained.sum()
        print(f"{n_alarms} alarms, {n_explained} explained: {seconds:.1f} s")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    if asked.speed:
        return print_speed()
    pairs = [(name, seed) for name in SETS for seed in range(1, asked.seeds + 1)]
    runs = Parallel(asked.jobs)(delayed(measures_of)(*pair) for pair in pairs)
    measures: Measures = {}
    for (name, _), run in zip(pairs, runs, strict=True):
        measures.setdefault(name, []).append(run)
    for name, made in (
        ("planted", planted_table(measures)),
        ("anomalies", anomalies_table(measures)),
    ):
        print(made, "\n")
        PAGE.write_text(with_table(PAGE.read_text(), name, made))
    return None


if __name__ == "__main__":
    main()
