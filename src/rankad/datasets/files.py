"""Labeled rows in `.npz` files: read with every fault named, written whole or not at all."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from rankad._files import replacing
from rankad.datasets.dataset import LabeledRows
from rankad.datasets.errors import CorruptDatasetError

#: What reading an archive that is damaged, or is none, may raise.
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
    """The arrays ``X`` (float64, one row each) and ``y`` (int8, 1 = anomaly) of the file.

    Raises
    ------
    CorruptDatasetError
        Where the file cannot be read or its arrays are not such; the message names the file.
    """
    try:
        # Opened here, because np.load leaves its file open where the archive is damaged; without
        # pickles, because a file put there by a stranger must not run code.
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array")
            with archive:
                X = np.ascontiguousarray(archive["X"], dtype=np.float64)
                y = np.ascontiguousarray(archive["y"], dtype=np.int8)
    except _READ_FAILURES as error:
        raise CorruptDatasetError(
            corrupt_message(path, f"it is no .npz file with the arrays X and y ({error})")
        ) from error
    if X.ndim != 2 or y.shape != X.shape[:1]:
        fault = f"X has shape {X.shape} and y {y.shape} where (n, d) and (n,) are needed"
        raise CorruptDatasetError(corrupt_message(path, fault))
    return LabeledRows(X, y)


def write_rows(path: Path, rows: LabeledRows) -> None:
    """Write the arrays to the file; whatever happens, it is either absent, old, or complete."""
    with replacing(path) as file:
        np.savez_compressed(file, X=rows.X, y=rows.y)


def corrupt_message(path: Path, fault: str) -> str:
    """What is wrong with the file, and what to do about it."""
    return (
        f"The data file {path} is not usable: {fault}. Replace it by a good copy, or delete it "
        f"and load the set again to download it."
    )
