"""The call `reproduce`: it makes the runs of tables and figures, and writes their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rankad._files import replacing, sole_writer
from rankad._progress import logger, progress_shown, quiet
from rankad._threads import one_thread_each
from rankad.datasets import (
    CorruptDatasetError,
    Dataset,
    DownloadError,
    MissingDatasetError,
)
from rankad.reproduce import paper
from rankad.reproduce.errors import ReproductionError
from rankad.reproduce.experiment import tasks
from rankad.reproduce.experiments import FIG_2, FIG_3, TABLE_2, PaperExperiment
from rankad.reproduce.methods import ECOD
from rankad.reproduce.protocol import load
from rankad.reproduce.records import Record, RecordFile
from rankad.reproduce.results import Results
from rankad.reproduce.runner import run
from rankad.reproduce.summary import summary
from rankad.reproduce.tables import roc_table, table_1, table_2

#: Number of runs in the paper, and in a quick reproduction.
N_RUNS, N_QUICK_RUNS = 5, 1

RECORDS_NAME: Final = "records.json"

#: Names and contents of files.
Files = Iterator[tuple[str, bytes]]


@dataclass(frozen=True)
class Reproduction:
    """All records of a reproduction, and the files that it wrote."""

    records: list[Record]
    files: list[Path]

    def __repr__(self) -> str:
        return f"<Reproduction of {len(self.records)} runs: {', '.join(map(str, self.files))}>"


@dataclass(frozen=True)
class _Request:
    """The input from which the files of a target are made."""

    records: list[Record]
    folder: str | None
    command: str

    def results(self, experiment: PaperExperiment) -> Results:
        return Results(self.records, experiment.name)


def _table_1_files(request: _Request) -> Files:
    sets: Iterator[Dataset] = (load(name, 0, request.folder) for name in paper.SETS)
    yield "table1.md", table_1(sets).encode()


def _table_2_files(request: _Request) -> Files:
    from rankad.reproduce import figures

    results = request.results(TABLE_2)
    yield "table2.md", table_2(results, request.command).encode()
    yield "summary.md", summary(results, request.command).encode()
    yield from _image_files("false_alarms", figures.images(figures.false_alarms(results)))
    yield from _image_files("auc_and_time", figures.images(figures.auc_and_time(results)))


def _fig_1_files(request: _Request) -> Files:
    from rankad.reproduce import figures

    yield from _image_files("fig1", figures.images(figures.fig_1()))


def _fig_2_files(request: _Request) -> Files:
    from rankad.reproduce import figures

    results = request.results(FIG_2)
    yield "fig2.md", roc_table(results, "Fig. 2", request.command).encode()
    yield from _image_files("fig2", figures.images(figures.fig_2(results)))


def _fig_3_files(request: _Request) -> Files:
    from rankad.reproduce import figures

    results = request.results(FIG_3)
    yield "fig3.md", roc_table(results, "Fig. 3", request.command).encode()
    yield from _image_files("fig3", figures.images(figures.fig_3(results)))


def _image_files(name: str, images: dict[str, bytes]) -> Files:
    for ending, content in images.items():
        yield f"{name}.{ending}", content


@dataclass(frozen=True)
class _Target:
    """A table or figure: its experiment, if any, its files and its sets."""

    experiment: PaperExperiment | None
    files: Callable[[_Request], Files]
    sets: Sequence[str] = ()


_TARGETS: Final = {
    "table1": _Target(None, _table_1_files, paper.SETS),
    "table2": _Target(TABLE_2, _table_2_files, tuple(TABLE_2.sizes)),
    "fig1": _Target(None, _fig_1_files),
    "fig2": _Target(FIG_2, _fig_2_files, tuple(FIG_2.sizes)),
    "fig3": _Target(FIG_3, _fig_3_files, tuple(FIG_3.sizes)),
}

#: Names of the tables and figures; "all" is all of them.
TARGETS: Final = tuple(_TARGETS)


def reproduce(
    targets: Sequence[str] = ("all",),
    *,
    runs: int | None = None,
    quick: bool = False,
    n_jobs: int | None = -1,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    verbose: bool | int = False,
) -> Reproduction:
    """Make tables and figures of the paper, by its protocol.

    Each run of a method on a set is kept in ``records.json`` in the output folder as soon as it
    ends. So an interrupted reproduction continues where it stopped when it is called again. Each
    file is written completely or not at all.

    Parameters
    ----------
    targets : sequence of str, default=("all",)
        Some of `TARGETS`, or "all".
    runs : int, optional
        Number of random splits; by default the paper's 5, or 1 if ``quick``.
    quick : bool, default=False
        Train on at most 1,000 rows of each set, and test on at most 5,000 nominal rows and 5,000
        anomalies. The methods are the same. Quick records do not mix with others, so they need an
        output folder of their own.
    n_jobs : int, default=-1
        Number of processes, each with one thread; -1 is one for each core.
    out : path, optional
        Folder for records, tables (Markdown) and figures (PNG and SVG); by default
        ``reproduction``, or ``reproduction-quick``.
    data : path, optional
        Folder that holds the real sets; by default ``RANKAD_DATA``, the cache folder, or a
        download (see `rankad.datasets.load`).
    verbose : bool or int, default=False
        Show progress.

    Returns
    -------
    Reproduction
        Records of the targets, and the files written.

    Raises
    ------
    ReproductionError
        If a target is unknown, matplotlib is missing, a method fails, or the folder holds records
        that do not mix with the new ones.
    MissingDatasetError, CorruptDatasetError, DownloadError
        If a data set is missing. This is checked before the first run.
    OSError
        If a file cannot be written. Files written before it stay.
    """
    names = _names(targets)
    if runs is not None and runs < 1:
        raise ReproductionError(f"runs={runs} must be at least 1. Leave it out for the default.")
    if n_jobs == 0:
        raise ReproductionError(
            "n_jobs=0 is no process. Give the number of processes, or -1 for one for each core."
        )
    _require_matplotlib(names)
    n_runs = (N_QUICK_RUNS if quick else N_RUNS) if runs is None else runs
    folder = None if data is None else os.fspath(data)
    path = output_folder(out, quick)
    with progress_shown(verbose), _alone_in(path):
        if "table2" in names and ECOD not in TABLE_2.methods:
            logger.warning("PyOD is not installed, so Table 2 leaves out %s", ECOD)
        records = _records(names, n_runs, quick, folder, path, n_jobs)
        request = _Request(records, folder, _command(names, n_runs, quick))
        files = [file for name in names for file in _written(name, request, path)]
    return Reproduction(records, files)


def output_folder(out: str | os.PathLike[str] | None, quick: bool) -> Path:
    """The folder for records, tables and figures."""
    return Path(out or ("reproduction-quick" if quick else "reproduction"))


def _records(
    names: Sequence[str],
    n_runs: int,
    quick: bool,
    data: str | None,
    folder: Path,
    n_jobs: int | None,
) -> list[Record]:
    """Records of all runs that the targets need; missing runs are made."""
    experiments = [e for name in names if (e := _TARGETS[name].experiment) is not None]
    if not experiments:
        _require_data(names, data)
        return []
    file = RecordFile.open(folder / RECORDS_NAME, "quick" if quick else "full")
    if len(file):
        logger.info("continuing from %d records in %s", len(file), folder)
    _require_data(names, data)
    runs = list(tasks([experiment.on(data, quick) for experiment in experiments], n_runs))
    return run(runs, file, n_jobs)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Make sure that no other reproduction uses the folder, and that files can be written there."""
    existed = folder.exists()
    try:
        with sole_writer(folder / RECORDS_NAME, wait=False):
            with replacing(folder / ".writable") as file:
                file.write(b"")
            (folder / ".writable").unlink()
            try:
                yield
            finally:
                if not existed and not any(folder.iterdir()):
                    folder.rmdir()
    except BlockingIOError:
        raise ReproductionError(
            f"Another reproduction is at work in {folder}. Wait until it ends, or give another "
            "folder."
        ) from None


def _names(targets: Sequence[str]) -> list[str]:
    asked = [targets] if isinstance(targets, str) else list(targets)
    unknown = [name for name in asked if name not in (*TARGETS, "all")]
    if unknown or not asked:
        which = f"{unknown[0]!r} is not a table or figure" if unknown else "targets is empty"
        raise ReproductionError(f"{which}. Choose from {', '.join(TARGETS)} or all.")
    return [name for name in TARGETS if name in asked or "all" in asked]


def _require_matplotlib(names: Sequence[str]) -> None:
    if names != ["table1"] and find_spec("matplotlib") is None:
        raise ReproductionError(
            "The figures need matplotlib, and it is not installed. Install it: "
            "pip install 'rankad[plot]'"
        )


def _require_data(names: Sequence[str], folder: str | None) -> None:
    """Load all sets before the first run, or name the missing ones."""
    faults, missing = [], []
    for name in dict.fromkeys(name for target in names for name in _TARGETS[target].sets):
        logger.info("reading %s", name)
        try:
            load(name, 0, folder)
        except (MissingDatasetError, CorruptDatasetError, DownloadError) as error:
            faults.append(error)
            missing.append(name)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        where = "RANKAD_DATA" if folder is None else f"the data folder {folder}"
        raise MissingDatasetError(
            f"{len(faults)} data sets are missing: {', '.join(missing)}. Put each as <name>.npz "
            "(arrays X float64 and y int8, 1 = anomaly) into one folder or a folder in it. Name "
            f"that folder by --data or RANKAD_DATA. Searched: {where} and the cache folder. Error "
            f"of the first set: {faults[0]}"
        )


def _command(names: Sequence[str], n_runs: int, quick: bool) -> str:
    """The command line of the same reproduction."""
    which = "all" if names == list(TARGETS) else " ".join(names)
    is_default = n_runs == (N_QUICK_RUNS if quick else N_RUNS)
    runs = "" if is_default else f" --runs {n_runs}"
    return f"rankad reproduce {which}{runs}" + (" --quick" if quick else "")


def _written(name: str, request: _Request, folder: Path) -> Iterator[Path]:
    logger.info("writing %s", name)
    # The fits for the figures are small. More BLAS threads would only wait for one another.
    with quiet(), one_thread_each():
        files = list(_TARGETS[name].files(request))
    for file_name, content in files:
        path = folder / file_name
        with replacing(path) as file:
            file.write(content)
        yield path
