"""The best AUC over all cells of the paper's grid of (C, sigma), on raw columns.

    RANKAD_DATA=... python benchmarks/best_cell.py

The cell is chosen by the labels of the test rows, which no detector may see. Where this AUC is well
below the paper's figure, no choice of a cell reaches that figure on this copy of the data. There is
one split, that of the first run of Table 2. annthyroid is in both readings.
"""

import argparse
import warnings

from running import FOLDER, kept_runs

from rankad import RankAD
from rankad._threads import one_thread_each
from rankad.exceptions import ConvergenceWarning
from rankad.metrics import auc
from rankad.reproduce import paper
from rankad.reproduce.experiment import tasks
from rankad.reproduce.experiments import PaperExperiment
from rankad.reproduce.markdown import mean_and_deviation, table
from rankad.reproduce.methods import METHODS, OF_PAPER
from rankad.reproduce.protocol import RAW, TABLE_2_SIZES, load, split
from rankad.reproduce.results import Results
from rankad.statistics import MeanNeighborDistance
from rankad.tuning import PAPER_CS, paper_sigmas

#: Sets, with the name of their line in Table 2; annthyroid in both readings.
SETS = {
    "annthyroid": "annthyroid",
    "annthyroid_6832": "annthyroid",
    "mammography": "mammography",
}


#: The paper's methods on the other reading of annthyroid, by the protocol of Table 2.
OTHER_READING = PaperExperiment(
    "other reading", {"annthyroid_6832": TABLE_2_SIZES["annthyroid"]}, [RAW], OF_PAPER
)


def best_cell(name: str, published: str) -> list[str]:
    """The best cell of a set, as a row of the table."""
    rows = split(load(name, 0, None), TABLE_2_SIZES[published], seed=0)
    distance = -float(MeanNeighborDistance(10)(rows.train).mean())
    cells = []
    for sigma in paper_sigmas(distance):
        for C in PAPER_CS:
            detector = RankAD.as_published(C=C, sigma=sigma, random_state=0).fit(rows.train)
            cells.append((auc(rows.is_anomaly, detector.score_samples(rows.test)), C, sigma))
    best, C, sigma = max(cells)
    figure = paper.AUC[published, paper.RANKAD]
    return [name, f"{best:.3f}", f"{C:g}", f"{sigma / distance:g} D_K", f"{figure:.3f}"]


def other_reading(n_jobs: int) -> str:
    """AUC of the paper's methods on annthyroid_6832, raw columns, mean of five splits."""
    runs = list(tasks([OTHER_READING.on(None, quick=False)]))
    records = kept_runs(runs, FOLDER / "best_cell.json", "best cell 1", n_jobs)
    results = Results(records, OTHER_READING.name)
    rows = [
        [
            name,
            mean_and_deviation(results.values(name, "auc", RAW)[0]),
            f"{paper.AUC['annthyroid', METHODS[name].paper]:.3f}",
        ]
        for name in OF_PAPER
    ]
    return table(["annthyroid_6832, raw", "AUC", "paper"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes for the other reading of annthyroid"
    )
    n_jobs = parser.parse_args().jobs
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{other_reading(n_jobs)}\n")
    heads = ["set, raw", "best AUC of 273 cells", "its C", "its sigma", "paper's rankAD"]
    with one_thread_each():
        print(table(heads, [best_cell(*names) for names in SETS.items()]))


if __name__ == "__main__":
    main()
