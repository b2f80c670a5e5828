"""Records as tables and figures read them: measures by method, set and run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.reproduce.errors import RecordsError
from rankad.reproduce.protocol import STANDARD
from rankad.reproduce.records import FALSE_ALARMS, Record


@dataclass(frozen=True)
class Difference:
    """Mean difference between two methods, over sets and runs, and its standard errors.

    ``over_sets`` is the standard error of the means of the sets: for other sets like these.
    ``over_runs`` is that of the means of the runs: for other runs on the same sets. With one set or
    one run it is NaN.
    """

    mean: float
    over_sets: float
    over_runs: float

    @classmethod
    def of(cls, values: FloatArray) -> "Difference":
        """From differences of shape ``(n_sets, n_runs)``.

        >>> print(Difference.of(np.array([[0.03, 0.05], [0.02, 0.02]])))
        +0.0300 ± 0.0100 / 0.0050
        >>> print(Difference.of(np.array([[0.01], [-0.02]])))
        ~-0.0050 ± 0.0150
        """
        over_sets, over_runs = (_standard_error(values.mean(axis=axis)) for axis in (1, 0))
        return cls(float(values.mean()), over_sets, over_runs)

    @property
    def standard_error(self) -> float:
        """Standard error over the sets; with one set, over the runs."""
        return self.over_runs if np.isnan(self.over_sets) else self.over_sets

    @property
    def is_clear(self) -> bool:
        """Whether the difference is at least two standard errors."""
        return bool(abs(self.mean) >= 2.0 * self.standard_error)

    def __str__(self) -> str:
        parts = [f"{'' if self.is_clear else '~'}{self.mean:+.4f}"]
        if not np.isnan(self.standard_error):
            parts.append(f"± {self.standard_error:.4f}")
        if not np.isnan(self.over_sets) and not np.isnan(self.over_runs):
            parts.append(f"/ {self.over_runs:.4f}")
        return " ".join(parts)


def _standard_error(values: FloatArray) -> float:
    """Standard error of the mean of some values; NaN for one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


class Results:
    """The records of one experiment."""

    def __init__(self, records: Iterable[Record], experiment: str) -> None:
        self._experiment = experiment
        self._runs: dict[tuple[str, str, str], list[Record]] = {}
        for record in records:
            if record.experiment == experiment:
                key = (record.method, record.set, record.columns)
                self._runs.setdefault(key, []).append(record)

    def only(self, is_wanted: Callable[[Record], bool]) -> "Results":
        """Results of the records for which ``is_wanted`` returns True."""
        records = [record for runs in self._runs.values() for record in runs if is_wanted(record)]
        return Results(records, self._experiment)

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the experiment."""
        return list(dict.fromkeys(method for method, _, _ in self._runs))

    @property
    def drawn(self) -> list[str]:
        """Names of the methods whose ROC curves were kept."""
        is_kept = {method for (method, _, _), runs in self._runs.items() if runs[0].roc}
        return [method for method in self.methods if method in is_kept]

    @property
    def sets(self) -> list[str]:
        """Names of the sets."""
        return list(dict.fromkeys(name for _, name, _ in self._runs))

    @property
    def columns(self) -> list[str]:
        """Kinds of columns: "raw", "standard" or both."""
        return list(dict.fromkeys(columns for _, _, columns in self._runs))

    @property
    def n_runs(self) -> int:
        """Number of runs of each method on each set."""
        return max(map(len, self._runs.values()), default=0)

    def n_train(self) -> IntArray:
        """Number of training rows of each set."""
        return np.array([self._first_run(name).n_train for name in self.sets])

    def n_features(self) -> IntArray:
        """Number of columns of each set."""
        return np.array([self._first_run(name).n_features for name in self.sets])

    def _first_run(self, of: str) -> Record:
        return next(runs[0] for (_, name, _), runs in self._runs.items() if name == of)

    def runs(self, method: str, name: str, columns: str = STANDARD) -> list[Record]:
        """Records of the runs of a method on a set."""
        return self._runs.get((method, name, columns), [])

    def values(self, method: str, measure: str, columns: str = STANDARD) -> FloatArray:
        """A measure of a method, shape ``(n_sets, n_runs)``; NaN where it is missing.

        Raises
        ------
        RecordsError
            If the method has more runs on one set than on another.
        """
        runs = {name: self.runs(method, name, columns) for name in self.sets}
        n_runs = {name: len(of_set) for name, of_set in runs.items()}
        if len({*n_runs.values()}) != 1 or 0 in n_runs.values():
            counts = ", ".join(f"{n} on {name}" for name, n in n_runs.items())
            raise RecordsError(
                f"Runs of {method} are missing in {self._experiment}, {columns} columns: there "
                f"are {counts or 'none'}."
            )
        return np.array([of_runs(of_set, measure) for of_set in runs.values()])

    def by_set(self, method: str, measure: str, columns: str = STANDARD) -> FloatArray:
        """A measure of a method on each set, mean over runs."""
        return np.asarray(self.values(method, measure, columns).mean(axis=1))

    def mean(self, method: str, measure: str, columns: str = STANDARD) -> float:
        """A measure of a method, mean over sets and runs."""
        return float(self.values(method, measure, columns).mean())

    def median(self, method: str, measure: str, columns: str = STANDARD) -> float:
        """A measure of a method, median over sets and runs, NaN left out."""
        return float(np.nanmedian(self.values(method, measure, columns)))

    def geometric_mean(self, method: str, measure: str, columns: str = STANDARD) -> float:
        """A positive measure of a method, geometric mean over sets and runs."""
        return float(np.exp(np.log(self.values(method, measure, columns)).mean()))

    def difference(
        self, method: str, baseline: str, measure: str, columns: str = STANDARD
    ) -> Difference:
        """A measure of a method minus that of the baseline, over the runs of both."""
        ours, theirs = (self.values(of, measure, columns) for of in (method, baseline))
        n_runs = min(ours.shape[1], theirs.shape[1])
        return Difference.of(ours[:, :n_runs] - theirs[:, :n_runs])

    def median_seconds(self, method: str, name: str, columns: str) -> float:
        """Seconds to test a method on a set, median over runs."""
        return float(np.median(of_runs(self.runs(method, name, columns), "test_seconds")))

    def mean_false_alarms(self, method: str, columns: str) -> FloatArray:
        """False-alarm rate of a method at each of ``ALPHAS``, mean over runs and sets."""
        return np.array([self.mean(method, measure, columns) for measure in FALSE_ALARMS])


def of_runs(runs: Sequence[Record], measure: str) -> FloatArray:
    """A measure of each run; NaN where it is missing."""
    return np.array([run.measures.get(measure, np.nan) for run in runs], dtype=np.float64)


def false_alarm_rates(runs: Sequence[Record]) -> FloatArray:
    """False-alarm rate at each of ``ALPHAS``, mean over the runs."""
    return np.array([of_runs(runs, measure).mean() for measure in FALSE_ALARMS])


def mean_roc(runs: Sequence[Record]) -> FloatArray:
    """Power at each of `ROC_RATES`, mean over the runs."""
    return np.asarray(np.mean([run.roc for run in runs if run.roc is not None], axis=0))
