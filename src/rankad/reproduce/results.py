"""Records as tables and figures read them: by method and set, over the runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import betabinom, randint

from rankad._typing import FloatArray
from rankad.calibration.reference import order_of
from rankad.reproduce.records import LEVELS, Record

#: Chance that an exact detector is found wanting, over all sets, levels and runs.
FAILURE_PROBABILITY = 0.05


class Results:
    """The records of one experiment."""

    def __init__(self, records: Sequence[Record], experiment: str) -> None:
        self._runs: dict[tuple[str, str, str], list[Record]] = {}
        for record in records:
            if record.experiment == experiment:
                key = (record.method, record.set, record.columns)
                self._runs.setdefault(key, []).append(record)

    @property
    def methods(self) -> list[str]:
        """Methods that have been run, in the order of the experiment."""
        return list(dict.fromkeys(method for method, _, _ in self._runs))

    @property
    def drawn(self) -> list[str]:
        """Those of them whose ROC curves were kept."""
        is_kept = {method for (method, _, _), runs in self._runs.items() if runs[0].roc}
        return [method for method in self.methods if method in is_kept]

    @property
    def sets(self) -> list[str]:
        """Sets that they have been run on."""
        return list(dict.fromkeys(name for _, name, _ in self._runs))

    @property
    def columns(self) -> list[str]:
        """Columns that they have been given."""
        return list(dict.fromkeys(columns for _, _, columns in self._runs))

    @property
    def n_runs(self) -> int:
        """Runs of each method on each set."""
        return max(map(len, self._runs.values()), default=0)

    def runs(self, method: str, name: str, columns: str) -> list[Record]:
        """Runs of a method on a set."""
        return self._runs.get((method, name, columns), [])

    def values(
        self, method: str, name: str, columns: str, quantity: Callable[[Record], float]
    ) -> FloatArray:
        """A quantity of each run of a method on a set."""
        return np.array([quantity(record) for record in self.runs(method, name, columns)])

    def mean(self, method: str, columns: str, quantity: Callable[[Record], float]) -> float:
        """A quantity of a method, over runs and then sets."""
        return float(np.mean([self.values(method, s, columns, quantity).mean() for s in self.sets]))

    def median_seconds(self, method: str, name: str, columns: str) -> float:
        """Seconds to test a method on a set: the median over runs."""
        return float(np.median(self.values(method, name, columns, lambda r: r.test_seconds)))

    def mean_false_alarms(self, method: str, columns: str) -> FloatArray:
        """Realised false-alarm rate of a method at each level, over runs and sets."""
        rates = [false_alarm_rates(self.runs(method, name, columns)) for name in self.sets]
        return np.asarray(np.mean(rates, axis=0))


def false_alarm_rates(runs: Sequence[Record]) -> FloatArray:
    """Realised false-alarm rate at each level, mean over the runs."""
    rates = [np.array(run.false_alarms) / run.n_nominal for run in runs]
    return np.asarray(np.mean(rates, axis=0))


def mean_roc(runs: Sequence[Record]) -> FloatArray:
    """Power at each of `ROC_RATES`, mean over the runs."""
    return np.asarray(np.mean([run.roc for run in runs if run.roc is not None], axis=0))


@dataclass(frozen=True)
class Verdict:
    """False alarms of a run at one level, and the counts that an exact detector keeps within."""

    alpha: float
    n_alarms: int
    n_nominal: int
    least: int
    most: int

    @property
    def rate(self) -> float:
        """Share of the nominal test rows that alarm."""
        return self.n_alarms / self.n_nominal

    @property
    def is_within(self) -> bool:
        """Whether the count is one that an exact detector has."""
        return self.least <= self.n_alarms <= self.most


def verdicts(runs: Sequence[Record], n_tests: int) -> list[Verdict]:
    """Compare the false alarms of held-out references with the beta-binomial law.

    With n reference scores and ``j = floor(alpha (n + 1))`` the number of alarms among N nominal
    rows is beta-binomial (N, j, n + 1 - j). The limits are two-sided, and Bonferroni's for so many
    tests.
    """
    found = []
    for run in runs:
        for alpha, n_alarms in zip(LEVELS, run.false_alarms, strict=True):
            n = run.n_reference
            j = order_of(alpha, n)
            tail = FAILURE_PROBABILITY / n_tests / 2
            # Where the reference cannot resolve the level, nothing may alarm.
            law = betabinom(run.n_nominal, j, n + 1 - j) if j > 0 else randint(0, 1)
            least, most = law.ppf([tail, 1.0 - tail])
            found.append(Verdict(alpha, n_alarms, run.n_nominal, int(least), int(most)))
    return found
