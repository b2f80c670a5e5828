"""AUC of RankAD beside its teacher, the mean-k-NN statistic, and beside the paper to the letter.

    RANKAD_DATA=... python benchmarks/teacher.py [--published]

``--published`` adds the paper's detector with its full grid, which takes some 20 s a fit on two
cores. Beside each detector's AUC stand its false alarms on fresh nominal rows where .05 was asked.
"""

import argparse

import numpy as np
from one_class import load_split
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from rankad import RankAD
from rankad.statistics import MeanNeighborDistance

SETS = ("banknote", "shuttle", "annthyroid", "mammography", "satellite")
SEEDS = (0, 1, 2)


def teacher_auc(name: str, seed: int) -> float:
    """AUC of the mean distance to the 10 nearest of all training rows, z-scored."""
    split = load_split(name, seed)
    scaler = StandardScaler().fit(split.train)
    scores = MeanNeighborDistance(10)(scaler.transform(split.test), scaler.transform(split.train))
    return float(roc_auc_score(split.is_nominal, scores))


def detector_auc_and_false_alarms(name: str, seed: int, detector: RankAD) -> tuple[float, float]:
    """AUC, and false alarms at .05, of a detector given the same rows to train on."""
    split = load_split(name, seed)
    detector.set_params(random_state=seed).fit(split.train)
    auc = roc_auc_score(split.is_nominal, detector.score_samples(split.test))
    return float(auc), float((detector.predict(split.nominal, alpha=0.05) == -1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", action="store_true", help="add the paper's detector")
    arguments = parser.parse_args()
    detectors = {"RankAD": RankAD()}
    if arguments.published:
        detectors["as_published, raw"] = RankAD.as_published(n_jobs=-1)
        detectors["as_published, z-scored"] = RankAD.as_published(n_jobs=-1, scaler="standard")
    print("| set | mean k-NN | " + " | ".join(detectors) + " |")
    print("|---" * (len(detectors) + 2) + "|")
    for name in SETS:
        cells = [f"{np.mean([teacher_auc(name, seed) for seed in SEEDS]):.3f}"]
        for detector in detectors.values():
            runs = [detector_auc_and_false_alarms(name, seed, detector) for seed in SEEDS]
            auc, false_alarms = np.mean(runs, axis=0)
            cells.append(f"{auc:.3f} ({false_alarms:.3f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
