"""Records: the measures of each run of a method on a set, in one JSON file."""

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from rankad import __version__
from rankad._files import replacing
from rankad._progress import logger
from rankad.reproduce.errors import RecordsError

#: The alphas at which false alarms are counted.
ALPHAS = (0.01, 0.05, 0.1)


def rate_name(alpha: float) -> str:
    """Name of the measure: the share of the nominal test rows that alarm at this alpha."""
    return f"false_alarms_{alpha:g}"


#: Names of the rates at `ALPHAS`.
FALSE_ALARMS = tuple(map(rate_name, ALPHAS))

_FORMAT = 2

#: Raised when a measure changes its meaning. Records of different editions do not mix.
_EDITION = 2


class Key(NamedTuple):
    """The run that a record belongs to."""

    experiment: str
    set: str
    columns: str
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.method} on {self.set} ({self.columns} columns), run {self.seed}"


@dataclass(frozen=True)
class Record:
    """The measures of one run of a method on a set.

    Parameters
    ----------
    experiment, set, columns, method, seed
        The run. ``columns`` is "raw" or "standard".
    n_train, n_features : int
        Number of training rows, and of their columns.
    measures : dict
        Figures by name, such as "auc" or "n_reference"; see `rankad.reproduce.measure`. A measure
        that the method does not have is missing.
    guarantee : {"exact", "empirical", "none", ""}
        Guarantee of the false-alarm rate; empty where it was not kept.
    setting : dict
        Parameters chosen from the data, such as C and sigma.
    warnings : list of str
        Warnings of the method.
    roc : list of float or None
        Power at false-alarm rates 0, .005, ... 1; only for methods whose curve is drawn.
    """

    experiment: str
    set: str
    columns: str
    method: str
    seed: int
    n_train: int
    n_features: int
    measures: dict[str, float]
    guarantee: str = ""
    setting: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    roc: list[float] | None = None

    def __post_init__(self) -> None:
        # A file that somebody changed by hand can hold anything.
        for value in dict(self.measures).values():
            float(value)

    @property
    def key(self) -> Key:
        """The run that the record belongs to."""
        return Key(self.experiment, self.set, self.columns, self.method, self.seed)


class RecordFile:
    """Records in a file. The file is complete at every moment, so a stopped run can continue."""

    def __init__(
        self,
        path: Path,
        protocol: str,
        records: Iterable[Record] = (),
        environment: dict[str, Any] | None = None,
    ) -> None:
        self.path = path
        self.protocol = protocol
        self.environment = _environment() if environment is None else environment
        self._records = {record.key: record for record in records}
        self._lines = {key: _line(record) for key, record in self._records.items()}

    @classmethod
    def open(cls, path: Path, protocol: str) -> "RecordFile":
        """Read the records of the file, or start without records where there is no file.

        Raises
        ------
        RecordsError
            If the records have another protocol or version, so that they do not mix with new ones.
        """
        if not path.exists():
            return cls(path, protocol)
        content = _content(path)
        ours_by_name = {"protocol": protocol, "version": __version__, "edition": _EDITION}
        for what, ours in ours_by_name.items():
            theirs = content.get(what)
            if theirs != ours:
                raise RecordsError(
                    f"{path} holds records of {what} {theirs!r}, not {ours!r}. They do not mix. "
                    "Give another output folder, or delete that file."
                )
        environment = content.get("environment")
        if environment != _environment():
            logger.warning(
                "%s holds runs of another machine or other versions (%s): times do not compare",
                path,
                environment,
            )
        return cls(path, protocol, _records(path, content), environment)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: Key) -> bool:
        return key in self._records

    def records(self, keys: Iterable[Key]) -> list[Record]:
        """Records of those runs that have been measured."""
        return [self._records[key] for key in keys if key in self._records]

    def forget(self, keys: Iterable[Key]) -> None:
        """Remove records, so that their runs are made again."""
        for key in keys:
            self._records.pop(key, None)
            self._lines.pop(key, None)

    def add(self, record: Record) -> None:
        """Add a record, and write the file to disk."""
        self._records[record.key] = record
        self._lines[record.key] = _line(record)
        head = {
            "format": _FORMAT,
            "version": __version__,
            "edition": _EDITION,
            "protocol": self.protocol,
            "environment": self.environment,
        }
        lines = ",\n".join(self._lines.values())
        text = json.dumps(head)[:-1] + ', "records": [\n' + lines + "\n]}\n"
        with replacing(self.path) as file:
            file.write(text.encode())


def read_records(path: Path | str) -> list[Record]:
    """The records of a file, whatever their protocol."""
    return _records(Path(path), _content(Path(path)))


def _line(record: Record) -> str:
    """The record as a line of the file."""
    return json.dumps(asdict(record))


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordsError(_no_records(path, str(error))) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise RecordsError(_no_records(path, f"its format is not {_FORMAT}"))
    return content


def _records(path: Path, content: dict[str, Any]) -> list[Record]:
    entries: Sequence[dict[str, Any]] = content.get("records", [])
    try:
        records = [Record(**entry) for entry in entries]
        for record in records:
            hash(record.key)
    except (TypeError, ValueError) as error:
        raise RecordsError(_no_records(path, str(error))) from error
    return records


#: Modules whose name differs from that of their package.
_MODULES = {"scikit-learn": "sklearn"}


def _environment() -> dict[str, Any]:
    """The machine and the versions with which the seconds were measured."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyod")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": joblib.cpu_count(),
        **{
            name: metadata.version(name) for name in packages if find_spec(_MODULES.get(name, name))
        },
    }


def _no_records(path: Path, fault: str) -> str:
    return (
        f"{path} holds no records of a reproduction ({fault}). Give another output folder, or "
        "delete that file."
    )
