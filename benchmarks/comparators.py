"""AUC of the paper's comparators on raw columns, with independently checked figures.

    RANKAD_DATA=... python benchmarks/comparators.py

2,000 nominal rows train. All anomalies and at most 20,000 other nominal rows test. There are three
seeds. massAD has ten, because its hundred random columns make single runs vary (standard deviation
.03 on cover).
"""

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
from one_class import load_split
from running import FOLDER, kept_runs

from rankad.baselines import BPKNNG, AveragedKLPE
from rankad.reproduce.experiment import Experiment, tasks
from rankad.reproduce.fitting import Method, by_neighbors
from rankad.reproduce.markdown import table
from rankad.reproduce.measure import ranking, run_of
from rankad.reproduce.methods import METHODS as REPRODUCED
from rankad.reproduce.methods import by_name
from rankad.reproduce.protocol import RAW
from rankad.reproduce.records import Key, Record
from rankad.reproduce.results import of_runs

SETS = ("annthyroid", "cover", "http", "mammography", "satellite", "shuttle", "smtp")

#: AUC by other implementations on the same copies of the data; None where there is no figure.
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

METHODS = by_name(
    (
        replace(REPRODUCED["aK-LPE"], name="mean k-NN, k = 10"),
        Method(
            "aK-LPE, 6 to 15, all rows",
            "no halves",
            by_neighbors(partial(AveragedKLPE, n_halvings=0, calibration="train")),
        ),
        replace(REPRODUCED["aK-LPE, halved"], name="aK-LPE, 6 to 15, halved"),
        replace(REPRODUCED["BP-KNNG"], name="BP-KNNG, s = 10"),
        Method("BP-KNNG, s = 1", "the 10th distance", by_neighbors(partial(BPKNNG, n_summed=1))),
        REPRODUCED["massAD"],
        replace(REPRODUCED["OC-SVM"], name="one-class SVM, nu = .5"),
        replace(REPRODUCED["OC-SVM, nu = 0.05"], name="one-class SVM, nu = .05"),
    )
)


def on_set(key: Key) -> Record:
    """AUC and average precision of a method on a set."""
    run = run_of(key, METHODS[key.method], load_split(key.set, key.seed, n_test=20_000))
    return run.record(ranking(run))


def experiment(method: str, name: str) -> Experiment:
    """The experiment of one method on one set."""
    n_runs = 10 if method == "massAD" else 3
    return Experiment("comparators", lambda: [name], lambda _: [method], on_set, [RAW], n_runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    n_jobs = parser.parse_args().jobs
    wanted = [task for name in SETS for m in CHECKED for task in tasks([experiment(m, name)])]
    records = kept_runs(wanted, FOLDER / "comparators.json", "comparators 1", n_jobs)

    def cell(method: str, name: str, checked: float | None) -> str:
        runs = [record for record in records if (record.method, record.set) == (method, name)]
        other = "" if checked is None else f" ({checked:.3f})"
        return f"{np.mean(of_runs(runs, 'auc')):.3f}{other}"

    rows = [
        [method, *(cell(method, name, value) for name, value in zip(SETS, checked, strict=True))]
        for method, checked in CHECKED.items()
    ]
    print(table(["method", *SETS], rows))


if __name__ == "__main__":
    main()
