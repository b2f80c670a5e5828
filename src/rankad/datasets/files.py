"""Labeled rows in ``.npz`` files, which are written completely or not at all."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from rankad._files import replacing
from rankad.datasets.dataset import LabeledRows
from rankad.datasets.errors import CorruptDatasetError

#: Errors that reading may raise if a file is damaged or is not an archive.
_READ_FAILURES = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_rows(path: Path) -> LabeledRows:
    """The arrays ``X`` (float64, the rows) and ``y`` (int8, 1 = anomaly) of the file.

    Raises
    ------
    CorruptDatasetError
        If the file cannot be read or has other arrays. The message names the file.
    """
    try:
        # Opened here, because np.load does not close the file if the archive is damaged. Without
        # pickles, because a file from a stranger must not run code.
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array")
            with archive:
                X = np.ascontiguousarray(archive["X"], dtype=np.float64)
                y = np.ascontiguousarray(archive["y"], dtype=np.int8)
    except _READ_FAILURES as error:
        raise CorruptDatasetError(
            corrupt_message(path, f"it is not a .npz file with the arrays X and y ({error})")
        ) from error
    if X.ndim != 2 or y.shape != X.shape[:1]:
        fault = f"X has shape {X.shape} and y {y.shape}, but they must be (n, d) and (n,)"
        raise CorruptDatasetError(corrupt_message(path, fault))
    return LabeledRows(X, y)


def write_rows(path: Path, rows: LabeledRows) -> None:
    """Write the arrays to the file. Even after a failure it is absent, old or complete."""
    with replacing(path) as file:
        np.savez_compressed(file, X=rows.X, y=rows.y)


def corrupt_message(path: Path, fault: str) -> str:
    """Message that names the file, its fault, and what to do."""
    return (
        f"The data file {path} is not usable: {fault}. Replace it with a good copy, or delete it "
        "and load the set again to download it."
    )
