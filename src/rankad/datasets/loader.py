"""Load the paper's real sets by name, from a data folder or by download."""

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

#: Environment variable with the folder of the data files.
DATA_VARIABLE = "RANKAD_DATA"

#: Environment variable with the folder of the downloads.
CACHE_VARIABLE = "RANKAD_CACHE"

#: Errors of fetching: no network, a broken transfer, not enough memory, or wrong contents.
_FETCH_FAILURES = (OSError, HTTPException, EOFError, zlib.error, MemoryError, ValueError)


def names() -> list[str]:
    """Names of the real sets.

    >>> names()
    ['annthyroid', 'annthyroid_6832', 'banknote', 'cover', 'http', 'magic', 'mammography',
     'satellite', 'shuttle', 'smtp']
    """
    return sorted(REAL_SETS)


def cache_folder() -> Path:
    """The folder of the downloads: ``RANKAD_CACHE``, or ``rankad`` in the user's cache folder.

    The user's cache folder is ``XDG_CACHE_HOME``, or ``~/.cache`` if that is not set.
    """
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

    The file ``<name>.npz`` holds the arrays ``X`` (float64) and ``y`` (int8, 1 = anomaly). These
    folders are searched in this order, each together with its direct subfolders:

    1. ``folder`` if it is given, else the folder that the environment variable ``RANKAD_DATA``
       names, if it is set. With ``folder``, ``RANKAD_DATA`` is not searched.
    2. The cache folder: ``RANKAD_CACHE``, else ``rankad`` in ``XDG_CACHE_HOME``, else
       ``~/.cache/rankad``.

    The first folder with such a file is used. If there is none, the set is downloaded into the
    cache folder. The size and the digest of the rows are always checked, which takes about half a
    second for the largest set.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path, optional
        Folder to search in place of ``RANKAD_DATA``. It must exist.
    download : bool, default=True
        Whether to download a set that is in none of the folders.
    uci_url : str, optional
        Address of a mirror of the UCI repository's ``machine-learning-databases``.

    Returns
    -------
    Dataset
        Rows, labels, source, license, and the difference from the paper's version.

    Raises
    ------
    UnknownDatasetError, MissingDatasetError, CorruptDatasetError, DownloadError
        The message says what to do.

    Notes
    -----
    http and smtp are part of 4.9 million connections that scikit-learn's ``fetch_kddcup99`` holds
    in memory at once. So their download takes more than 10 GB of memory.

    Examples
    --------
    >>> load("magik")
    Traceback (most recent call last):
        ...
    rankad.datasets.errors.UnknownDatasetError: No data set has the name 'magik'; did you mean
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
            f"load({name!r}, download=True), or {_manual_steps(entry)}."
        )
    return entry.dataset(_downloaded(entry, uci_url))


def _entry(name: str) -> RealSet:
    if isinstance(name, str) and name in REAL_SETS:
        return REAL_SETS[name]
    near = difflib.get_close_matches(str(name).lower(), REAL_SETS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise UnknownDatasetError(
        f"No data set has the name {name!r}{hint} The names are {', '.join(names())}."
    )


def _folders(folder: str | os.PathLike[str] | None) -> list[Path]:
    """Folders to search, in this order. The one that the user names must exist."""
    named = {"folder": folder} if folder else {DATA_VARIABLE: os.environ.get(DATA_VARIABLE)}
    folders = []
    for what, value in named.items():
        if value:
            folders.append(Path(value).expanduser())
            if not folders[-1].is_dir():
                raise MissingDatasetError(
                    f"{what}={str(value)!r} is not a folder. Name an existing folder, or none."
                )
    return [*folders, cache_folder()]


def _find(name: str, folders: list[Path]) -> list[Path]:
    """Files of this name in the first folder that has any, or in its direct subfolders."""
    for folder in folders:
        found = [*sorted(folder.glob(f"{name}.npz")), *sorted(folder.glob(f"*/{name}.npz"))]
        if found:
            return found
    return []


def _first_verified(entry: RealSet, paths: list[Path]) -> LabeledRows:
    """Rows of the first file that holds the set. If none does, raise the first file's error."""
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
            f"If this machine is offline, {_manual_steps(entry)}."
        ) from error
    logger.info("%s: saved in %s", entry.name, cache)
    return rows


def _sentence(error: BaseException) -> str:
    """The error's message, or its class if it has no message, with a full stop."""
    return f"{str(error).rstrip('.') or type(error).__name__}."


def _fetched(entry: RealSet, folder: Path, uci_url: str) -> LabeledRows:
    """Rows, fetched and checked. Wrong original files are deleted if they were fetched here."""
    found_there = [file for file in entry.source.files(folder) if file.exists()]
    try:
        rows = entry.source.fetch(folder, uci_url)
        if fault := entry.fault(rows):
            raise ValueError(f"{fault}.")
    except ValueError as error:
        for file in set(entry.source.files(folder)) - set(found_there):
            file.unlink(missing_ok=True)
        if not entry.source.files(folder):
            home = get_data_home()
            raise ValueError(
                f"{error} A copy in {home} may be bad: delete it there and try again."
            ) from error
        if not found_there:
            raise
        found = ", ".join(map(str, found_there))
        raise ValueError(f"{error} Delete or replace {found}.") from error
    return rows


def _manual_steps(entry: RealSet) -> str:
    """How to get the set without a download, as the end of a sentence."""
    cache = cache_folder()
    files = entry.source.files(cache / "downloads")
    originals = f" or the original files as {' and '.join(map(str, files))}" if files else ""
    return (
        f"get the set from {entry.page} and save it as {cache / entry.name}.npz (arrays X float64 "
        f"and y int8, 1 = anomaly){originals}, or set {DATA_VARIABLE} to a folder that holds "
        f"{entry.name}.npz"
    )
