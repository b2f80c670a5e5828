"""After a change of the nominal rows: recalibrate or fit again? A table of docs/guarantees.md.

    RANKAD_DATA=... python benchmarks/recalibration.py [--seeds 20]     # some minutes

The rows of three laws and six real sets change: not at all, in level, or in scale. Anomalies change
alike. A detector that was fitted before is used as it is, is calibrated on new nominal rows with
replace=True, or is fitted again on the same new rows.
"""

import argparse
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from one_class import load_split
from pages import with_table

from rankad import RankAD
from rankad.datasets import law_anomalies, laws
from rankad.reproduce.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "guarantees.md"

LAWS = ("two gaussians 2", "student 3", "gauss 5")
SETS = ("annthyroid", "magic", "mammography", "pageblocks", "satellite", "shuttle")

N_TRAIN, N_TEST, ALPHA = 2_000, 3_000, 0.05
SIZES = (100, 300, 1_000)

Rows = np.ndarray
Change = Callable[[Rows, Rows], Rows]


def raised(rows: Rows, before: Rows, by: float) -> Rows:
    """Every other column rises by so many standard deviations."""
    is_moved = np.arange(rows.shape[1]) % 2 == 0
    return rows + by * before.std(axis=0) * is_moved


def spread(rows: Rows, before: Rows) -> Rows:
    """The distances from the means double."""
    center = before.mean(axis=0)
    return center + 2.0 * (rows - center)


CHANGES: dict[str, Change] = {
    "none": lambda rows, before: rows,
    "level, 2 sd": partial(raised, by=2.0),
    "level, 5 sd": partial(raised, by=5.0),
    "scale, twice": spread,
}

WAYS = ("nothing", "`calibrate(X, replace=True)`", "`fit(X)`")


def rows_of(name: str, seed: int) -> tuple[Rows, Rows, Rows]:
    """Nominal rows before the change, nominal rows after it, and anomalies."""
    if name in SETS:
        split = load_split(name, seed, n_train=N_TRAIN)
        return split.train, split.nominal, split.anomalies[:N_TEST]
    law, rng = laws()[name], np.random.RandomState(seed)
    nominal = law.sample(N_TRAIN + max(SIZES) + N_TEST, rng)
    anomalies = law_anomalies(law, "blurred", N_TEST, rng)
    return nominal[:N_TRAIN], nominal[N_TRAIN:], anomalies


def measured(name: str, seed: int) -> np.ndarray:
    """Rate and power by change, number of new rows and way."""
    warnings.simplefilter("ignore")
    before, after, anomalies = rows_of(name, seed)
    found = np.empty((len(CHANGES), len(SIZES), len(WAYS), 2))
    old = RankAD(random_state=seed).fit(before)
    for i, change in enumerate(CHANGES.values()):
        nominal, bad = change(after, before), change(anomalies, before)
        fresh = nominal[max(SIZES) :][:N_TEST]
        for j, n_new in enumerate(SIZES):
            kept = deepcopy(old).calibrate(nominal[:n_new], replace=True)
            again = RankAD(random_state=seed).fit(nominal[:n_new])
            for k, detector in enumerate((old, kept, again)):
                shares = [(detector.predict(rows, ALPHA) == -1).mean() for rows in (fresh, bad)]
                found[i, j, k] = shares
    return found


def recalibration_table(n_seeds: int, n_jobs: int) -> str:
    """Mean rate and power over laws and sets, and the range of the means of single ones."""
    names = (*LAWS, *SETS)
    runs = [(name, seed) for name in names for seed in range(n_seeds)]
    outcomes = Parallel(n_jobs=n_jobs)(delayed(measured)(*run) for run in runs)
    shape = (len(names), n_seeds, len(CHANGES), len(SIZES), len(WAYS), 2)
    of_names = np.reshape(outcomes, shape).mean(axis=1)
    lines = []
    for i, change in enumerate(CHANGES):
        for j, n_new in enumerate(SIZES):
            values = of_names[:, i, j]
            cells = [_cell(values[:, k, what]) for what in range(2) for k in range(len(WAYS))]
            lines.append([change, f"{n_new:,}", *cells])
    heads = [f"{what}: {way}" for what in ("rate", "power") for way in WAYS]
    return table(["change", "new rows", *heads], lines)


def _cell(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ({values.min():.2f} to {values.max():.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    made = recalibration_table(asked.seeds, asked.jobs)
    PAGE.write_text(with_table(PAGE.read_text(), "recalibration", made))


if __name__ == "__main__":
    main()
