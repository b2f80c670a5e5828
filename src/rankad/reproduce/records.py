"""What was measured: one record for each run of a method on a set, in one JSON file."""

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

import joblib

from rankad import __version__
from rankad._files import replacing
from rankad.reproduce.errors import RecordsError

#: Levels at which false alarms are counted.
LEVELS = (0.01, 0.05, 0.1)

_FORMAT = 1

#: Raised whenever what is measured changes its meaning: older records do not mix with newer ones.
_EDITION = 2


class Key(NamedTuple):
    """What a record is of."""

    experiment: str
    set: str
    columns: str
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.method} on {self.set} ({self.columns} columns), run {self.seed}"


class Keyed(Protocol):
    """What has a key: a run to be made, or the record of one."""

    @property
    def key(self) -> Key:
        """What it is of."""


#: A kind of records: a frozen dataclass of what JSON can hold.
Kind = TypeVar("Kind", bound=Keyed)


@dataclass(frozen=True)
class Record:
    """One run of a method on a set.

    Parameters
    ----------
    experiment : {"table2", "fig2", "fig3"}
    set, columns, method, seed
        What was run: columns are "raw" or "standard".
    n_train, n_nominal, n_anomalies : int
        Rows to train on, and to test on.
    auc, average_precision, partial_auc : float
        The last is the mean power below 10% false alarms.
    full_power_rate : float
        The least false-alarm rate at which every anomaly is caught.
    false_alarms : list of int
        Nominal test rows that alarm at each of `LEVELS`.
    n_reference : int
        Scores that p-values compare with.
    guarantee : {"exact", "empirical", "none"}
        What stands behind the level.
    fit_seconds, test_seconds : float
        Seconds of the processor, on one thread: to fit, and to score all test rows.
    n_centers : int or None
        Support vectors, centers, or rows among which neighbors are sought.
    setting : dict
        What was chosen by the data.
    warnings : list of str
        What the method complained of.
    roc : list of float or None
        Power at false-alarm rates 0, .005, ... 1; of the figures only.
    """

    experiment: str
    set: str
    columns: str
    method: str
    seed: int
    n_train: int
    n_nominal: int
    n_anomalies: int
    auc: float
    average_precision: float
    partial_auc: float
    full_power_rate: float
    false_alarms: list[int]
    n_reference: int
    guarantee: str
    fit_seconds: float
    test_seconds: float
    n_centers: int | None = None
    setting: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    roc: list[float] | None = None

    def __post_init__(self) -> None:
        float(self.auc)  # of a file that somebody has changed it may be anything

    @property
    def key(self) -> Key:
        """What it is a record of."""
        return Key(self.experiment, self.set, self.columns, self.method, self.seed)


class RecordFile(Generic[Kind]):
    """Records in a file that is at every moment whole, so that a stopped run can go on."""

    def __init__(
        self,
        path: Path,
        protocol: str,
        records: Iterable[Kind] = (),
        environment: dict[str, Any] | None = None,
    ) -> None:
        self.path = path
        self.protocol = protocol
        self.environment = _environment() if environment is None else environment
        self._records = {record.key: record for record in records}
        self._lines = {key: _line(record) for key, record in self._records.items()}

    @overload
    @classmethod
    def open(cls, path: Path, protocol: str) -> "RecordFile[Record]": ...
    @overload
    @classmethod
    def open(cls, path: Path, protocol: str, kind: type[Kind]) -> "RecordFile[Kind]": ...
    @classmethod
    def open(cls, path: Path, protocol: str, kind: type[Any] = Record) -> "RecordFile[Any]":
        """Go on with the file's records, or begin where there is none.

        Raises
        ------
        RecordsError
            Where they are of another protocol or version, and cannot be gone on with.
        """
        if not path.exists():
            return cls(path, protocol)
        content = _content(path)
        ours_by_name = {"protocol": protocol, "version": __version__, "edition": _EDITION}
        for what, ours in ours_by_name.items():
            theirs = content.get(what)
            if theirs != ours:
                raise RecordsError(
                    f"{path} holds records of {what} {theirs!r}, not {ours!r}: they do not mix. "
                    "Give another output folder, or delete that file."
                )
        return cls(path, protocol, _records(path, content, kind), content.get("environment"))

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: Key) -> bool:
        return key in self._records

    def records(self, keys: Iterable[Key]) -> list[Kind]:
        """Those of the keys that have been measured."""
        return [self._records[key] for key in keys if key in self._records]

    def add(self, record: Kind) -> None:
        """Keep a record: when this returns, it is on the disk."""
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


@overload
def read_records(path: Path | str) -> list[Record]: ...
@overload
def read_records(path: Path | str, kind: type[Kind]) -> list[Kind]: ...
def read_records(path: Path | str, kind: type[Any] = Record) -> list[Any]:
    """The records of a file, whatever their protocol."""
    return _records(Path(path), _content(Path(path)), kind)


def _line(record: Any) -> str:
    """The record as it stands in the file."""
    return json.dumps(asdict(record))


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordsError(_no_records(path, str(error))) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise RecordsError(_no_records(path, f"its format is not {_FORMAT}"))
    return content


def _records(path: Path, content: dict[str, Any], kind: type[Kind]) -> list[Kind]:
    entries: Sequence[dict[str, Any]] = content.get("records", [])
    try:
        records = [kind(**entry) for entry in entries]
        for record in records:
            hash(record.key)
    except (TypeError, ValueError) as error:
        raise RecordsError(_no_records(path, str(error))) from error
    return records


#: Modules of packages that are not called like them.
_MODULES = {"scikit-learn": "sklearn"}


def _environment() -> dict[str, Any]:
    """Where the seconds were measured, and by what."""
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
