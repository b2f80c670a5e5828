"""Records as tables read them: a measure of a method, by set and seed, and how methods differ."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from runs import Record

from rankad.reproduce.records import Key


@dataclass(frozen=True)
class Difference:
    """Mean difference between two methods, over sets and seeds, and its standard errors.

    ``over_sets`` is that of the sets' means, so of other sets like these; ``over_seeds`` that of
    the seeds' means, so of other runs on the same sets. Of one set or seed there is none (NaN).
    """

    mean: float
    over_sets: float
    over_seeds: float

    @classmethod
    def of(cls, values: np.ndarray) -> "Difference":
        """Of the differences of shape ``(n_sets, n_seeds)``.

        >>> print(Difference.of(np.array([[0.03, 0.05], [0.02, 0.02]])))
        +0.0300 ± 0.0100 / 0.0050
        >>> print(Difference.of(np.array([[0.01], [-0.02]])))
        ~-0.0050 ± 0.0150
        """
        over_sets, over_seeds = (standard_error(values.mean(axis=axis)) for axis in (1, 0))
        return cls(float(values.mean()), over_sets, over_seeds)

    @property
    def standard_error(self) -> float:
        """Over the sets; of one set alone over the seeds."""
        return self.over_seeds if np.isnan(self.over_sets) else self.over_sets

    @property
    def is_clear(self) -> bool:
        """Whether it is at least two standard errors."""
        return bool(abs(self.mean) >= 2.0 * self.standard_error)

    def __str__(self) -> str:
        parts = [f"{'' if self.is_clear else '~'}{self.mean:+.4f}"]
        if not np.isnan(self.standard_error):
            parts.append(f"± {self.standard_error:.4f}")
        if not np.isnan(self.over_sets) and not np.isnan(self.over_seeds):
            parts.append(f"/ {self.over_seeds:.4f}")
        return " ".join(parts)


def standard_error(values: np.ndarray) -> float:
    """Of the mean of some values; NaN of one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


class Results:
    """Records of some sets of an experiment, for all methods and seeds that were asked for."""

    def __init__(self, records: Iterable[Record], keys: Sequence[Key]) -> None:
        self._by_key = {record.key: record for record in records}
        missing = [key for key in keys if key not in self._by_key]
        if missing:
            raise SystemExit(
                f"Not all is measured yet: of {keys[0].experiment}, {len(missing)} of {len(keys)} "
                f"runs are missing, {missing[0]} first."
            )
        self._keys = keys
        self._seeds_of: dict[str, list[int]] = {}
        for key in keys:
            seeds = self._seeds_of.setdefault(key.method, [])
            if key.seed not in seeds:
                seeds.append(key.seed)
        self.sets = list(dict.fromkeys(key.set for key in keys))
        self.methods = list(dict.fromkeys(key.method for key in keys))
        self._first = keys[0]

    def only(self, is_wanted: Callable[[Record], bool]) -> "Results":
        """Those of the sets of which this is true."""
        records = [self._by_key[key] for key in self._keys]
        return Results(records, [record.key for record in records if is_wanted(record)])

    def values(self, method: str, measure: str) -> np.ndarray:
        """A measure of a method, shape ``(n_sets, n_seeds)``; NaN where it has none."""
        seeds = sorted(self._seeds_of[method])
        found = [
            [self._record(method, name, seed).measures.get(measure) for seed in seeds]
            for name in self.sets
        ]
        return np.array(found, dtype=np.float64)

    def by_set(self, method: str, measure: str) -> np.ndarray:
        """A measure of a method on each set: the mean over seeds."""
        return self.values(method, measure).mean(axis=1)

    def mean(self, method: str, measure: str) -> float:
        """A measure of a method, over sets and seeds."""
        return float(self.values(method, measure).mean())

    def median(self, method: str, measure: str) -> float:
        """The same, but the median over sets and seeds, of those that are known."""
        return float(np.nanmedian(self.values(method, measure)))

    def geometric_mean(self, method: str, measure: str) -> float:
        """A positive measure, over sets and seeds."""
        return float(np.exp(np.log(self.values(method, measure)).mean()))

    def difference(self, method: str, baseline: str, measure: str) -> Difference:
        """How much more a method has of a measure than another, over the seeds of both."""
        ours, theirs = self.values(method, measure), self.values(baseline, measure)
        n_seeds = min(ours.shape[1], theirs.shape[1])
        return Difference.of(ours[:, :n_seeds] - theirs[:, :n_seeds])

    def n_train(self) -> np.ndarray:
        """Training rows of each set."""
        return np.array([self._of_set(name).n_train for name in self.sets])

    def n_features(self) -> np.ndarray:
        """Columns of each set."""
        return np.array([self._of_set(name).n_features for name in self.sets])

    def _of_set(self, name: str) -> Record:
        return next(self._by_key[key] for key in self._keys if key.set == name)

    def _record(self, method: str, name: str, seed: int) -> Record:
        return self._by_key[self._first._replace(method=method, set=name, seed=seed)]
