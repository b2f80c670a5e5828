"""Seconds to fit: the default, and the paper's whole grid, on 2,000 rows of 10 columns.

python benchmarks/fit_time.py
"""

import statistics
import time

import joblib
import numpy as np

from rankad import RankAD


def seconds(detector: RankAD, rows: np.ndarray, repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        detector.fit(rows)
        times.append(time.perf_counter() - started)
    return times


def main() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(1000, 10)), 2 + 0.3 * rng.normal(size=(1000, 10))])
    RankAD(random_state=0).fit(rows[:200])  # compile
    default = seconds(RankAD(random_state=0), rows, repeats=5)
    grid = seconds(RankAD.as_published(random_state=0, n_jobs=-1), rows, repeats=1)
    print(f"{joblib.cpu_count()} cores")
    print(f"default fit: {statistics.median(default):.2f} s (median of {len(default)})")
    print(f"published grid, 13 x 21 cells, 4 folds: {grid[0]:.1f} s")


if __name__ == "__main__":
    main()
