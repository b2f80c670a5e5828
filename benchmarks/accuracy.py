"""Accuracy of RankAD and its peers: makes the records for docs/accuracy.md.

    RANKAD_DATA=... python benchmarks/accuracy.py [EXPERIMENT ...] [--seeds N] [--jobs 2]

By default all experiments run except ``further`` and ``last``. Those are on laws set aside for a
last test, and run only when they are named. Each experiment, set, method and seed has one record in
benchmarks/records/accuracy.json, so a stopped run continues where it stopped. ``--again`` forgets
the records of the runs that are asked for; use it after a change of the detector.
benchmarks/accuracy_page.py makes the page from the records.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments import EXPERIMENTS
from running import FOLDER, kept_runs

from rankad.reproduce.experiment import Task
from rankad.reproduce.experiment import tasks as tasks_of

RECORDS = FOLDER / "accuracy.json"

#: Name of the protocol. Records of different protocols do not mix.
PROTOCOL = "accuracy 1"

#: Experiments that run only when they are named.
SET_ASIDE = ("further", "last")


def tasks(
    experiments: Sequence[str],
    n_seeds: int | None = None,
    methods: Sequence[str] = (),
    sets: Sequence[str] = (),
) -> list[Task]:
    """The runs of some experiments: all, or those of the given methods and sets."""
    return [
        task
        for task in tasks_of([EXPERIMENTS[name] for name in experiments], n_seeds)
        if _is_asked_for(task.key.set, sets) and _is_asked_for(task.key.method, methods)
    ]


def _is_asked_for(name: str, parts: Sequence[str]) -> bool:
    """Whether a part is in the name. A part that ends with "." must match the end of the name.

    >>> _is_asked_for("RankAD, tail", ["RankAD"]), _is_asked_for("RankAD, tail", ["RankAD."])
    (True, False)
    """
    return not parts or any(part in f"{name}." for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    parser.add_argument("--seeds", type=int, help="instead of each experiment's own number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--methods",
        nargs="*",
        default=(),
        metavar="PART",
        help="only methods whose name contains one of these",
    )
    parser.add_argument(
        "--sets",
        nargs="*",
        default=(),
        metavar="PART",
        help="only sets whose name contains one of these",
    )
    parser.add_argument("--again", action="store_true", help="run again what has a record")
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE")
    asked = parser.parse_args()
    names = asked.experiments or [name for name in EXPERIMENTS if name not in SET_ASIDE]
    if unknown := {*names} - {*EXPERIMENTS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(EXPERIMENTS)}")
    runs = tasks(names, asked.seeds, asked.methods, asked.sets)
    kept_runs(runs, asked.records, PROTOCOL, asked.jobs, again=asked.again)


if __name__ == "__main__":
    main()
