"""Experiments: the methods, the sets, and how each run is measured."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rankad.reproduce.protocol import STANDARD
from rankad.reproduce.records import Key, Record


@dataclass(frozen=True)
class Task:
    """A run that is still to make."""

    key: Key
    measure: Callable[[Key], Record]


@dataclass(frozen=True)
class Experiment:
    """A comparison of methods on some sets.

    Parameters
    ----------
    name : str
    sets : callable
        Returns the names of the sets.
    methods : callable
        Returns the names of the methods for a set.
    measure : callable
        Makes a run, also in another process.
    columns : sequence of {"raw", "standard"}
    n_runs : int
        Default number of runs of each method on each set.
    """

    name: str
    sets: Callable[[], Iterable[str]]
    methods: Callable[[str], Iterable[str]]
    measure: Callable[[Key], Record]
    columns: Sequence[str] = (STANDARD,)
    n_runs: int = 5

    def tasks(self, seed: int) -> Iterator[Task]:
        """One run of each method on each set; all methods of a set come one after the other."""
        for name in self.sets():
            for columns in self.columns:
                for method in self.methods(name):
                    yield Task(Key(self.name, name, columns, method, seed), self.measure)


def tasks(experiments: Iterable[Experiment], n_runs: int | None = None) -> Iterator[Task]:
    """All runs of the experiments: the first run of each, then the second run of each.

    So a stopped reproduction has complete runs, and the remaining time is known early.
    """
    some = list(experiments)
    for seed in range(n_runs or max((one.n_runs for one in some), default=0)):
        for experiment in some:
            if n_runs is not None or seed < experiment.n_runs:
                yield from experiment.tasks(seed)
