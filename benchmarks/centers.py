"""AUC against the number of centers, on the sets of ADBench.

    RANKAD_DATA=... python benchmarks/centers.py

Beside RankAD stands its teacher, the mean distance to the 10 nearest of the same rows. Rankers are
trained on all of these rows (``calibration="train"``), so that both have seen the same.
"""

import numpy as np
from one_class import load_split, set_names
from teacher import detector_auc_and_false_alarms, teacher_auc

from rankad import RankAD

N_CENTERS = (50, 100, 200, 400, None)
SEED = 0


def aucs(name: str) -> list[float]:
    rankers = [RankAD(n_centers=n, calibration="train") for n in N_CENTERS]
    by_rankers = [detector_auc_and_false_alarms(name, SEED, ranker)[0] for ranker in rankers]
    return [teacher_auc(name, SEED), *by_rankers]


def main() -> None:
    head = ["set", "rows", "mean k-NN", *(f"{n or 'all'} centers" for n in N_CENTERS)]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    table = []
    for name in set_names("adbench"):
        table.append(aucs(name))
        n_rows = len(load_split(name, SEED).train)
        print(f"| {name} | {n_rows} | {' | '.join(f'{a:.3f}' for a in table[-1])} |", flush=True)
    print(f"| **mean** | | {' | '.join(f'**{a:.3f}**' for a in np.mean(table, axis=0))} |")


if __name__ == "__main__":
    main()
