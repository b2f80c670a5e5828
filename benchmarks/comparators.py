"""AUC of the methods the paper compares with, on raw columns, beside independently checked figures.

    RANKAD_DATA=... python benchmarks/comparators.py

2,000 nominal rows train, all anomalies and at most 20,000 other nominal rows test; three seeds, ten
for massAD, whose hundred random columns make single runs vary (standard deviation .03 on cover).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from one_class import load_split

from rankad.baselines import BPKNNG, AveragedKLPE
from rankad.metrics import auc
from rankad.reproduce.methods import METHODS as REPRODUCED
from rankad.reproduce.protocol import Split

SETS = ("annthyroid", "cover", "http", "mammography", "satellite", "shuttle", "smtp")

#: Checked with other implementations on the same copies of the data; None where there is none.
CHECKED = {
    "mean k-NN, k = 10": (0.732, 0.917, 0.999, 0.870, 0.876, 0.996, 0.911),
    "aK-LPE, 6 to 15, all rows": (None, 0.857, None, None, None, None, None),
    "aK-LPE, 6 to 15, halved": (None,) * 7,
    "BP-KNNG, s = 10": (0.715, 0.865, 0.999, 0.867, 0.871, 0.996, 0.909),
    "BP-KNNG, s = 1": (0.694, 0.796, 0.996, 0.863, 0.868, 0.996, 0.901),
    "massAD": (0.849, 0.926, 0.996, 0.896, 0.693, 0.998, 0.880),
    "one-class SVM, nu = .5": (0.694, 0.795, None, 0.865, 0.796, 0.997, 0.832),
    "one-class SVM, nu = .05": (0.613, 0.966, None, 0.777, 0.757, 0.997, 0.905),
}


def by_detector(detector: Any) -> Callable[[Split, int], np.ndarray]:
    def scores(split: Split, seed: int) -> np.ndarray:
        return detector.set_params(random_state=seed).fit(split.train).score_samples(split.test)

    return scores


def by_reproduction(name: str) -> Callable[[Split, int], np.ndarray]:
    """A method as the paper's tables are reproduced with it."""

    def scores(split: Split, seed: int) -> np.ndarray:
        return REPRODUCED[name].fit(split.train, False, seed).score(split.test)

    return scores


METHODS: dict[str, Callable[[Split, int], np.ndarray]] = {
    "mean k-NN, k = 10": by_reproduction("aK-LPE"),
    "aK-LPE, 6 to 15, all rows": by_detector(
        AveragedKLPE(n_halvings=0, scaler=None, calibration="train")
    ),
    "aK-LPE, 6 to 15, halved": by_reproduction("aK-LPE, halved"),
    "BP-KNNG, s = 10": by_reproduction("BP-KNNG"),
    "BP-KNNG, s = 1": by_detector(BPKNNG(scaler=None, n_summed=1)),
    "massAD": by_reproduction("massAD"),
    "one-class SVM, nu = .5": by_reproduction("OC-SVM"),
    "one-class SVM, nu = .05": by_reproduction("OC-SVM, nu = 0.05"),
}


def mean_auc(method: str, name: str) -> float:
    """Mean AUC of a method on a set, over the seeds."""
    values = []
    for seed in range(10 if method == "massAD" else 3):
        split = load_split(name, seed, n_test=20_000)
        values.append(auc(split.is_anomaly, METHODS[method](split, seed)))
    return float(np.mean(values))


def main() -> None:
    print("| method | " + " | ".join(SETS) + " |\n" + "|---" * (1 + len(SETS)) + "|")
    for method, checked in CHECKED.items():
        cells = [
            f"{mean_auc(method, name):.3f}" + (f" ({figure:.3f})" if figure is not None else "")
            for name, figure in zip(SETS, checked, strict=True)
        ]
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
