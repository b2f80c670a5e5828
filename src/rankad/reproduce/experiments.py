"""The experiments: which methods run on which sets."""

from collections.abc import Iterator, Sequence
from typing import Final

from rankad.reproduce import methods
from rankad.reproduce.measure import Task
from rankad.reproduce.protocol import (
    COLUMNS,
    FIG_2_SIZES,
    FIG_3_SIZES,
    RAW,
    TABLE_2_SIZES,
    Experiment,
)
from rankad.reproduce.records import Key

TABLE_2: Final = Experiment(
    "table2",
    TABLE_2_SIZES,
    COLUMNS,
    tuple(
        name
        for name in (
            *methods.OF_PAPER,
            *methods.SWEEP[1:],
            *methods.OF_TODAY,
            *methods.REMEDIES,
        )
        if name in methods.METHODS
    ),
)

_FIG_2_DRAWN = (
    *(methods.BAYES, methods.DEFAULT, methods.PUBLISHED),
    *(methods.ANCHORED, methods.OC_SVM),
)

FIG_2: Final = Experiment(
    "fig2",
    FIG_2_SIZES,
    (RAW,),
    (*_FIG_2_DRAWN, *methods.SWEEP[1:]),
    drawn=_FIG_2_DRAWN,
)

_FIG_3_DRAWN = (methods.DEFAULT, methods.PUBLISHED, methods.AK_LPE, methods.OC_SVM)

FIG_3: Final = Experiment(
    "fig3",
    FIG_3_SIZES,
    COLUMNS,
    (*_FIG_3_DRAWN, *methods.SWEEP[1:]),
    drawn=_FIG_3_DRAWN,
)


def tasks(
    experiments: Sequence[Experiment], n_runs: int, quick: bool, folder: str | None
) -> Iterator[Task]:
    """All runs of the experiments: the first of each, then the second, and so on.

    So a stopped reproduction has whole runs, and how long the rest will take is soon known.
    """
    for seed in range(n_runs):
        for experiment in experiments:
            for name, sizes in experiment.sizes.items():
                for columns in experiment.columns:
                    for method in experiment.methods:
                        yield Task(
                            Key(experiment.name, name, columns, method, seed),
                            sizes.quick() if quick else sizes,
                            folder,
                            with_roc=method in experiment.drawn,
                        )
