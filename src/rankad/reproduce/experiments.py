"""The experiments of the paper, by its protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from rankad.metrics import partial_auc
from rankad.reproduce import methods
from rankad.reproduce.experiment import Experiment
from rankad.reproduce.measure import (
    Run,
    false_alarms,
    full_power_rate,
    ranking,
    roc,
    run_of,
    warm_up,
)
from rankad.reproduce.protocol import (
    COLUMNS,
    FIG_2_SIZES,
    FIG_3_SIZES,
    RAW,
    TABLE_2_SIZES,
    Sizes,
    Split,
    load,
    split,
)
from rankad.reproduce.records import Key, Record

#: Number of times that the test rows are scored; the record has the median time.
_N_REPETITIONS = 5


@dataclass(frozen=True)
class PaperExperiment:
    """A comparison of methods on some sets. ROC curves are kept for the methods in ``drawn``."""

    name: str
    sizes: Mapping[str, Sizes]
    columns: Sequence[str]
    methods: Sequence[str]
    drawn: Sequence[str] = ()

    def on(self, folder: str | None, quick: bool) -> Experiment:
        """The experiment on the sets of a folder; fewer rows if ``quick``."""
        sizes = {name: of.quick() if quick else of for name, of in self.sizes.items()}
        measure = partial(on_set, sizes=sizes, folder=folder, drawn=self.drawn)
        return Experiment(self.name, lambda: sizes, lambda _: self.methods, measure, self.columns)


def on_set(
    key: Key, sizes: Mapping[str, Sizes], folder: str | None, drawn: Sequence[str]
) -> Record:
    """Accuracy, false alarms and costs of a method, by the paper's protocol."""
    rows = _rows(key.set, key.seed, folder, sizes[key.set])
    if key.method in methods.ORACLES:
        method = methods.ORACLES[key.method](rows)
    else:
        method = methods.METHODS[key.method]
        warm_up(method)
    run = run_of(key, method, rows, _N_REPETITIONS)
    curve = roc(rows.is_anomaly, run.scores) if key.method in drawn else None
    return run.record(_measures(run), curve)


@lru_cache(maxsize=1)
def _rows(name: str, seed: int, folder: str | None, sizes: Sizes) -> Split:
    return split(load(name, seed, folder), sizes, seed)


def _measures(run: Run) -> dict[str, float]:
    is_anomaly, scores = run.split.is_anomaly, run.scores
    return {
        **ranking(run),
        "partial_auc": partial_auc(is_anomaly, scores, max_false_alarms=0.1),
        "full_power_rate": full_power_rate(is_anomaly, scores),
        **false_alarms(run),
        "fit_seconds": run.fit_seconds,
        "test_seconds": run.test_seconds,
    }


TABLE_2: Final = PaperExperiment(
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

FIG_2: Final = PaperExperiment(
    "fig2",
    FIG_2_SIZES,
    (RAW,),
    (*_FIG_2_DRAWN, *methods.SWEEP[1:]),
    drawn=_FIG_2_DRAWN,
)

_FIG_3_DRAWN = (methods.DEFAULT, methods.PUBLISHED, methods.AK_LPE, methods.OC_SVM)

FIG_3: Final = PaperExperiment(
    "fig3",
    FIG_3_SIZES,
    COLUMNS,
    (*_FIG_3_DRAWN, *methods.SWEEP[1:]),
    drawn=_FIG_3_DRAWN,
)
