"""Where the real sets come from, and how their original files become rows and labels.

A source fetches the files. Pure functions turn text or arrays into rows.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

from rankad._progress import logger
from rankad._typing import FloatArray
from rankad.datasets.dataset import LabeledRows
from rankad.datasets.download import RemoteFile, download

#: Address of the files of the UCI repository.
UCI_URL: Final = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class Classes:
    """Which classes of the original are nominal, and which anomalous. Others are dropped.

    ``anomalous=None`` stands for every class that is not nominal.
    """

    nominal: tuple[str, ...]
    anomalous: tuple[str, ...] | None = None

    def select(self, X: FloatArray, labels: NDArray[np.str_]) -> LabeledRows:
        """The nominal and the anomalous rows, in their order, with labels.

        >>> classes = Classes(nominal=("1",), anomalous=("2", "3"))
        >>> classes.select(np.array([[10.0], [20.0], [40.0]]), np.array(["2", "1", "4"]))
        LabeledRows(X=array([[10.],
               [20.]]), y=array([1, 0], dtype=int8))
        """
        is_nominal = np.isin(labels, self.nominal)
        is_anomaly = ~is_nominal if self.anomalous is None else np.isin(labels, self.anomalous)
        kept = is_nominal | is_anomaly
        return LabeledRows(np.ascontiguousarray(X[kept]), is_anomaly[kept].astype(np.int8))


class Source(Protocol):
    """A way to fetch a data set."""

    def address(self, uci_url: str) -> str:
        """The address of the set, for an error message."""

    def files(self, folder: Path) -> list[Path]:
        """The original files that ``fetch`` downloads into the folder, or finds there."""

    def fetch(self, folder: Path, uci_url: str) -> LabeledRows:
        """Download the missing files and turn all files into rows."""


@dataclass(frozen=True)
class UciFiles:
    """Text files of the UCI repository, one row per line, with the class in the last field.

    Parameters
    ----------
    paths : tuple of str
        Paths of the files below the repository's address. Their rows are joined in this order.
    n_fields : int
        Number of fields in each line, including the class.
    classes : Classes
        Which classes are nominal, and which anomalous.
    columns : tuple of int, optional
        The fields to keep as features. By default all but the class.
    """

    paths: tuple[str, ...]
    n_fields: int
    classes: Classes
    columns: tuple[int, ...] | None = None

    def address(self, uci_url: str) -> str:
        """The addresses of the files."""
        return " and ".join(f"{uci_url}/{path}" for path in self.paths)

    def files(self, folder: Path) -> list[Path]:
        """The text files."""
        return [folder / PurePosixPath(path).name for path in self.paths]

    def fetch(self, folder: Path, uci_url: str) -> LabeledRows:
        """Download the files that are not in the folder, and read them all."""
        files = self.files(folder)
        for path, file in zip(self.paths, files, strict=True):
            if not file.exists():
                download(RemoteFile(f"{uci_url}/{path}"), file)
        return self.rows([file.read_bytes() for file in files])

    def rows(self, contents: Sequence[bytes]) -> LabeledRows:
        """Rows and labels of the files' contents."""
        fields = np.concatenate([text_fields(content, self.n_fields) for content in contents])
        columns = range(self.n_fields - 1) if self.columns is None else self.columns
        X = fields[:, list(columns)].astype(np.float64)
        return self.classes.select(X, fields[:, -1])


@dataclass(frozen=True)
class SklearnFetch:
    """One of scikit-learn's fetchers, which save their downloads in scikit-learn's folder.

    Parameters
    ----------
    fetcher : str
        Name of the function in `sklearn.datasets`.
    arguments : mapping
        The arguments of the call.
    classes : Classes
        Which classes are nominal, and which anomalous.
    n_columns : int, optional
        Number of first columns to keep. By default all.
    """

    fetcher: str
    arguments: Mapping[str, Any]
    classes: Classes
    n_columns: int | None = None

    def address(self, uci_url: str) -> str:
        """The call, as code."""
        arguments = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"sklearn.datasets.{self.fetcher}({arguments})"

    def files(self, folder: Path) -> list[Path]:
        """No files, because scikit-learn saves its files elsewhere."""
        return []

    def fetch(self, folder: Path, uci_url: str) -> LabeledRows:
        """Call the fetcher."""
        logger.info("fetching with %s", self.address(uci_url))
        fetch = getattr(sklearn.datasets, self.fetcher)
        with warnings.catch_warnings():
            # "Retry downloading" does not help the user, because the last failure is raised.
            warnings.filterwarnings("ignore", message="Retry downloading")
            warnings.filterwarnings("ignore", message="A network error occurred")
            X, labels = fetch(return_X_y=True, **self.arguments)
        return self.rows(X, labels)

    def rows(self, X: NDArray[Any], labels: NDArray[Any]) -> LabeledRows:
        """Rows and labels from what the fetcher returns."""
        features = np.asarray(X)[:, : self.n_columns].astype(np.float64)
        return self.classes.select(features, text_labels(np.asarray(labels)))


def text_fields(content: bytes, n_fields: int) -> NDArray[np.str_]:
    r"""The fields of a text file, separated by spaces, tabs or commas, one row per line.

    >>> text_fields(b"1.5,a\n2.5,b\n\n", n_fields=2)
    array([['1.5', 'a'],
           ['2.5', 'b']], dtype='<U3')
    >>> text_fields(b"<html>gone</html>", n_fields=2)
    Traceback (most recent call last):
        ...
    ValueError: line 1 has 1 fields, not 2: '<html>gone</html>'
    """
    lines = content.decode("ascii", errors="replace").splitlines()
    rows = [line.replace(",", " ").split() for line in lines]
    for number, (row, line) in enumerate(zip(rows, lines, strict=True), start=1):
        if row and len(row) != n_fields:
            raise ValueError(f"line {number} has {len(row)} fields, not {n_fields}: {line[:60]!r}")
    return np.array([row for row in rows if row], dtype=np.str_).reshape(-1, n_fields)


def text_labels(labels: NDArray[Any]) -> NDArray[np.str_]:
    """Class labels as text, from numbers, bytes or ARFF's quoted names.

    >>> text_labels(np.array([b"normal.", "'-1'", 3, 4.0], dtype=object))
    array(['normal.', '-1', '3', '4'], dtype='<U7')
    """
    return np.array([_text_label(label) for label in labels.tolist()], dtype=np.str_)


def _text_label(label: Any) -> str:
    if isinstance(label, bytes):
        return label.decode()
    if isinstance(label, float):
        return f"{label:g}"
    return str(label).strip("'\"")
