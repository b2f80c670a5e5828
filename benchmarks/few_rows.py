"""Fewer than 100 rows: a table of docs/guarantees.md, by ``guarantees.py --only few-rows``."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.reproduce.markdown import table

#: Rows of ``fit``, and columns.
SIZES = (20, 40, 60, 80)
N_COLUMNS = 3

#: Fresh nominal rows and anomalies of each detector, and how far an anomaly is shifted.
N_FRESH = 1_000
SHIFT = 4.0

ALPHAS = (0.05, 0.1, 0.2)

#: Held-out rows that resolve alpha = .05. Other rows must be left to train.
N_HELD_OUT = 19

Make = Callable[[int], Any]
DETECTORS: dict[str, Make] = {
    "split": lambda seed: RankAD(random_state=seed),
    f"split, `calibration_size={N_HELD_OUT}`": lambda seed: RankAD(
        calibration_size=N_HELD_OUT, random_state=seed
    ),
    "cross": lambda seed: RankAD(calibration="cross", random_state=seed),
    "train": lambda seed: RankAD(calibration="train", random_state=seed),
    f"K-LPE, `calibration_size={N_HELD_OUT}`": lambda seed: KLPE(
        n_neighbors=3, calibration_size=N_HELD_OUT, random_state=seed
    ),
    "K-LPE, cross": lambda seed: KLPE(n_neighbors=3, calibration="cross", random_state=seed),
}


def few_rows_table(n_detectors: int = 400, sizes: Iterable[int] = SIZES) -> str:
    """By number of rows and detector: the smallest alpha, and rates and power at each alpha."""
    rows = []
    for n in sizes:
        for name, make in DETECTORS.items():
            if n - N_HELD_OUT < N_HELD_OUT and str(N_HELD_OUT) in name:
                continue
            drawn = [alarms(make, n, seed) for seed in range(n_detectors)]
            smallest = drawn[0][0]
            by_alpha = np.array([shares for _, shares in drawn]).transpose(1, 0, 2)
            cells = [_cell(shares) for shares in by_alpha]
            rows.append([str(n), name, f"{smallest:.3f}" if smallest else "none", *cells])
    heads = [f"at {alpha:g}" for alpha in ALPHAS]
    return table(["rows of `fit`", "calibration", "smallest alpha", *heads], rows)


def alarms(make: Make, n: int, seed: int) -> tuple[float, list[tuple[float, float]]]:
    """Smallest alpha, and the shares of fresh rows and of anomalies that alarm at each alpha."""
    rng = np.random.default_rng(seed)
    train, fresh, anomalies = (rng.normal(size=(m, N_COLUMNS)) for m in (n, N_FRESH, N_FRESH))
    directions = rng.normal(size=anomalies.shape)
    anomalies += SHIFT * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    detector = make(seed).fit(train)
    p, p_anomalous = detector.p_values(fresh), detector.p_values(anomalies)
    shares = [
        (float((p <= alpha).mean()), float((p_anomalous <= alpha).mean())) for alpha in ALPHAS
    ]
    return detector.reference_.smallest_alpha, shares


def _cell(shares: np.ndarray) -> str:
    """Mean rate with its standard error, standard deviation of the rate, and mean power."""
    rates, powers = shares.T
    if not rates.any():
        return "nothing alarms"
    deviation = rates.std(ddof=1)
    error = deviation / np.sqrt(len(rates))
    return f"{rates.mean():.3f} ± {error:.3f} ({deviation:.2f}), {powers.mean():.2f}"
