"""The tables and pictures of docs/accuracy.md, from the records of benchmarks/accuracy.py.

    RANKAD_DATA=... python benchmarks/accuracy_page.py [TABLE ...] [--seeds N] [--print]

Each table of the page is between two marks, ``<!-- name -->`` and ``<!-- /name -->``. The command
replaces the tables and leaves the words around them. At the end it prints the targets and whether
they are met. ``--print`` prints the tables and leaves the page alone. ``--seeds`` uses only the
first seeds.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import accuracy_tables as tables
from accuracy import RECORDS, tasks
from accuracy_checks import as_table
from accuracy_figures import draw_costs, draw_laws
from experiments import EXPERIMENTS
from pages import with_table

from rankad.reproduce.records import Record, read_records
from rankad.reproduce.results import Results

DOCS = Path(__file__).parents[1] / "docs"

TABLES: dict[str, Callable[[tables.ByExperiment], str]] = {
    "sets-summary": tables.sets_summary,
    "sets-by-set": tables.sets_by_set,
    "laws-summary": tables.laws_summary,
    "laws-by-law": tables.laws_by_law,
    "ranking-adds": tables.ranking_adds,
    "centers": tables.centers,
    "growth": tables.growth,
    "dirt": tables.dirt,
    "small": tables.small,
    "stability": tables.stability,
    "fig2": tables.fig_2,
    "further-summary": tables.further_summary,
    "last-summary": tables.last_summary,
}

FIGURES = {"accuracy_costs.png": draw_costs, "accuracy_laws.png": draw_laws}


class Experiments(Mapping[str, Results]):
    """Results by the name of the experiment. Each is made at first use, so some may be missing."""

    def __init__(self, records: Sequence[Record], n_seeds: int | None = None) -> None:
        self._records = {record.key: record for record in records}
        self._n_seeds = n_seeds
        self._known: dict[str, Results] = {}

    def __getitem__(self, name: str) -> Results:
        if name not in self._known:
            n_seeds = EXPERIMENTS[name].n_runs
            n_seeds = n_seeds if self._n_seeds is None else min(n_seeds, self._n_seeds)
            keys = [task.key for task in tasks([name], n_seeds)]
            if missing := [key for key in keys if key not in self._records]:
                raise SystemExit(
                    f"{len(missing)} of {len(keys)} runs of {name} are missing, the first is "
                    f"{missing[0]}. Run benchmarks/accuracy.py {name}."
                )
            self._known[name] = Results([self._records[key] for key in keys], name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(EXPERIMENTS)

    def __len__(self) -> int:
        return len(EXPERIMENTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument(
        "--seeds", type=int, help="use only this number of seeds, from the first on"
    )
    parser.add_argument(
        "--print", action="store_true", help="print the tables, leave the page alone"
    )
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE")
    asked = parser.parse_args()
    names = asked.tables or [*TABLES]
    if unknown := {*names} - {*TABLES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(TABLES)}")
    if not asked.records.exists():
        raise SystemExit(f"There is no {asked.records}: run benchmarks/accuracy.py first.")
    of = Experiments(read_records(asked.records), asked.seeds)
    made = {name: TABLES[name](of) for name in names}
    if asked.print:
        print("\n\n".join(f"## {name}\n\n{table}" for name, table in made.items()))
        return
    page = (DOCS / "accuracy.md").read_text()
    for name, table in made.items():
        page = with_table(page, name, table)
    (DOCS / "accuracy.md").write_text(page)
    if not asked.tables:
        for name, draw in FIGURES.items():
            draw(of, DOCS / "images" / name)
        print(as_table(of))


if __name__ == "__main__":
    main()
