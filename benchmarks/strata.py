"""Levels per stratum: the table of docs/guarantees.md, made by ``guarantees.py --only strata``."""

import numpy as np

from rankad import RankAD
from rankad.reproduce.markdown import table

#: Reference rows of each machine, and how widely its rows spread.
MACHINES = {5: 2.0, 19: 1.0, 50: 2.0, 100: 1.5, 300: 2.0, 1_000: 0.7, 5_000: 1.0}

#: Machines with fewer rows share a reference in the column of ``pool_below``.
POOL_BELOW = 99

#: Training rows, and fresh nominal rows and shifted rows of each machine.
N_TRAIN, N_FRESH = 2_000, 2_000

COLUMNS = ("common", "own .01", "own .05", "pooled", "power")


def strata_table(n_seeds: int = 40) -> str:
    """False-alarm rates of each machine: mean and standard error over detectors."""
    rates = np.array([_rates(seed) for seed in range(n_seeds)])  # (seeds, machines, columns)
    sizes = np.array(list(MACHINES))
    small = sizes < POOL_BELOW
    together = np.average(rates[:, small, 3], axis=1, weights=sizes[small])
    means, errors = rates.mean(axis=0), rates.std(axis=0, ddof=1) / np.sqrt(n_seeds)
    rows = []
    for size, mean, error in zip(sizes, means, errors, strict=True):
        cells = [_cell(*pair) for pair in zip(mean, error, strict=True)]
        rows.append([f"{size:,}", f"{MACHINES[int(size)]:g}", *cells])
    both = _cell(together.mean(), together.std(ddof=1) / np.sqrt(n_seeds))
    rows.append([f"below {POOL_BELOW}, together", "", "", "", "", both, ""])
    heads = [
        "reference rows of the machine",
        "spread",
        "common reference, asked .05",
        "by stratum, asked .01",
        "by stratum, asked .05",
        f"pool_below={POOL_BELOW}, asked .05",
        "power by stratum at .05",
    ]
    return table(heads, rows)


def _rates(seed: int) -> np.ndarray:
    """Rates of one detector: a row for each machine, by ``COLUMNS``."""
    rng = np.random.default_rng(seed)
    sizes, spreads = np.array(list(MACHINES)), np.array(list(MACHINES.values()))
    shares = sizes / sizes.sum()
    detector = RankAD(random_state=seed)
    detector.fit(_rows(rng, spreads[rng.choice(len(sizes), N_TRAIN, p=shares)]))
    machines = np.repeat(sizes, sizes)
    rows = _rows(rng, np.repeat(spreads, sizes))
    detector.calibrate(rows, strata=machines, replace=True)
    of_fresh, spread = np.repeat(sizes, N_FRESH), np.repeat(spreads, N_FRESH)
    fresh = _rows(rng, spread)
    shifted = _rows(rng, spread) + 3.0 * spread[:, None]
    own = detector.strata_
    alarms = [
        detector.predict(fresh, 0.05),
        detector.predict(fresh, 0.01, strata=of_fresh),
        detector.predict(fresh, 0.05, strata=of_fresh),
    ]
    detector.strata_ = own.pooled(POOL_BELOW)
    alarms.append(detector.predict(fresh, 0.05, strata=of_fresh))
    detector.strata_ = own
    alarms.append(detector.predict(shifted, 0.05, strata=of_fresh))
    return (np.array(alarms) == -1).reshape(len(COLUMNS), len(sizes), N_FRESH).mean(axis=2).T


def _rows(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    return rng.normal(size=(len(spread), 2)) * spread[:, None]


def _cell(mean: float, error: float) -> str:
    return "0" if mean == error == 0.0 else f"{mean:.3f} ± {error:.3f}"
