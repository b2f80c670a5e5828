"""Loading the paper's real sets by name: from a data folder, or by download."""

from __future__ import annotations

import difflib
import os
import zlib
from http.client import HTTPException
from pathlib import Path

from sklearn.datasets import get_data_home

from rankad._progress import logger
from rankad.datasets.dataset import Dataset, LabeledRows
from rankad.datasets.errors import (
    CorruptDatasetError,
    DownloadError,
    MissingDatasetError,
    UnknownDatasetError,
)
from rankad.datasets.files import corrupt_message, read_rows, write_rows
from rankad.datasets.registry import REAL_SETS, RealSet
from rankad.datasets.sources import UCI_URL

#: Environment variable: the folder that holds the data files.
DATA_VARIABLE = "RANKAD_DATA"

#: Environment variable: the folder where downloads are kept.
CACHE_VARIABLE = "RANKAD_CACHE"

#: What fetching may raise: no network, a broken transfer, not enough memory, or wrong contents.
_FETCH_FAILURES = (OSError, HTTPException, EOFError, zlib.error, MemoryError, ValueError)


def names() -> list[str]:
    """Names of the real sets.

    >>> names()
    ['annthyroid', 'annthyroid_6832', 'banknote', 'cover', 'http', 'magic', 'mammography',
     'satellite', 'shuttle', 'smtp']
    """
    return sorted(REAL_SETS)


def cache_folder() -> Path:
    """Where downloads are kept: ``RANKAD_CACHE``, or ``rankad`` in the user's cache folder."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "rankad"


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
    *,
    uci_url: str = UCI_URL,
) -> Dataset:
    """Load one of the paper's real sets.

    The file ``<name>.npz`` (arrays ``X`` float64 and ``y`` int8, 1 = anomaly) is looked for in
    `folder`, in the folder ``RANKAD_DATA`` and in the cache folder (``RANKAD_CACHE``, else
    ``~/.cache/rankad``), and one level below each. Where it is in none of them it is downloaded
    into the cache folder. However it came, its size and the digest of its rows are checked: that
    takes about half a second for the largest set.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path, optional
        Folder to look in first.
    download : bool, default=True
        Whether to download a set that is not there.
    uci_url : str, optional
        Address of a mirror of the UCI repository's ``machine-learning-databases``.

    Returns
    -------
    Dataset
        Rows, labels, source, license, and the difference from the paper's version.

    Raises
    ------
    UnknownDatasetError, MissingDatasetError, CorruptDatasetError, DownloadError
        Each with a message that says what to do.

    Notes
    -----
    http and smtp are read by scikit-learn's ``fetch_kddcup99`` out of 4.9 million connections held
    in memory at once, which takes more than 10 GB the first time.

    Examples
    --------
    >>> load("magik")
    Traceback (most recent call last):
        ...
    rankad.datasets.errors.UnknownDatasetError: No data set is called 'magik'; did you mean
    'magic'? The names are annthyroid, annthyroid_6832, banknote, cover, http, magic, mammography,
    satellite, shuttle, smtp.
    """
    entry = _entry(name)
    folders = _folders(folder)
    paths = _find(name, folders)
    if paths:
        return entry.dataset(_first_verified(entry, paths))
    if not download:
        raise MissingDatasetError(
            f"No {name}.npz in {', '.join(map(str, folders))}. Download it with "
            f"load({name!r}, download=True), or {_by_hand(entry)}."
        )
    return entry.dataset(_downloaded(entry, uci_url))


def _entry(name: str) -> RealSet:
    if isinstance(name, str) and name in REAL_SETS:
        return REAL_SETS[name]
    near = difflib.get_close_matches(str(name).lower(), REAL_SETS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownDatasetError(
        f"No data set is called {name!r}{hint} The names are {', '.join(names())}."
    )


def _folders(folder: str | os.PathLike[str] | None) -> list[Path]:
    """Where to look, in this order; the folder that the user names must exist."""
    named = {"folder": folder} if folder else {DATA_VARIABLE: os.environ.get(DATA_VARIABLE)}
    folders = []
    for what, value in named.items():
        if value:
            folders.append(Path(value).expanduser())
            if not folders[-1].is_dir():
                raise MissingDatasetError(f"{what}={str(value)!r} is not a folder.")
    return [*folders, cache_folder()]


def _find(name: str, folders: list[Path]) -> list[Path]:
    """The set's files, or namesakes, in the first folder that has any, or one level below."""
    for folder in folders:
        found = [*sorted(folder.glob(f"{name}.npz")), *sorted(folder.glob(f"*/{name}.npz"))]
        if found:
            return found
    return []


def _first_verified(entry: RealSet, paths: list[Path]) -> LabeledRows:
    """Rows of the first file that is the set; where none is, what is wrong with the first."""
    faults = []
    for path in paths:
        try:
            return _verified(entry, path)
        except CorruptDatasetError as error:
            faults.append(error)
    raise faults[0]


def _verified(entry: RealSet, path: Path) -> LabeledRows:
    rows = read_rows(path)
    if fault := entry.fault(rows):
        raise CorruptDatasetError(corrupt_message(path, fault))
    logger.info("%s: read from %s", entry.name, path)
    return rows


def _downloaded(entry: RealSet, uci_url: str) -> LabeledRows:
    """Fetch the set, check it, and keep it in the cache folder."""
    cache = cache_folder()
    try:
        rows = _fetched(entry, cache / "downloads", uci_url)
        write_rows(cache / f"{entry.name}.npz", rows)
    except _FETCH_FAILURES as error:
        raise DownloadError(
            f"The data set {entry.name!r} could not be downloaded from "
            f"{entry.source.address(uci_url)}: {_sentence(error)} "
            f"If this machine is offline, {_by_hand(entry)}."
        ) from error
    logger.info("%s: kept in %s", entry.name, cache)
    return rows


def _sentence(error: BaseException) -> str:
    """The error's own words, or its class where it has none."""
    return f"{str(error).rstrip('.') or type(error).__name__}."


def _fetched(entry: RealSet, folder: Path, uci_url: str) -> LabeledRows:
    """Rows fetched and checked; original files that turn out wrong are not kept."""
    by_hand = [file for file in entry.source.files(folder) if file.exists()]
    try:
        rows = entry.source.fetch(folder, uci_url)
        if fault := entry.fault(rows):
            raise ValueError(f"{fault}.")
    except ValueError as error:
        for file in set(entry.source.files(folder)) - set(by_hand):
            file.unlink(missing_ok=True)
        if not entry.source.files(folder):
            home = get_data_home()
            raise ValueError(f"{error} If a copy in {home} is bad, delete it there.") from error
        if not by_hand:
            raise
        found = ", ".join(map(str, by_hand))
        raise ValueError(f"{error} Delete what was found in {found}, or replace it.") from error
    return rows


def _by_hand(entry: RealSet) -> str:
    """How to do without a download, as the end of a sentence."""
    cache = cache_folder()
    files = entry.source.files(cache / "downloads")
    originals = f" or the original files as {' and '.join(map(str, files))}" if files else ""
    return (
        f"get the set from {entry.page} and put it by hand as {cache / entry.name}.npz (arrays X "
        f"float64 and y int8, 1 = anomaly){originals}, or set {DATA_VARIABLE} to a folder that "
        f"holds {entry.name}.npz"
    )
