"""The rows of a fit or of a calibration, and the tests of whether they are independent draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration.copies import (
    COPIES_LEVEL,
    HashArray,
    KnownRows,
    first_occurrences,
    has_copies,
    repeated_share,
    row_hashes,
)
from rankad.calibration.dependence import DEPENDENCE_LEVEL, memory, serial_p_value
from rankad.exceptions import CalibrationWarning

#: With rows worth fewer independent ones, a hold-out in time gives no rate near alpha.
MIN_EFFECTIVE_SIZE: Final = 200


@dataclass(frozen=True)
class SampleTest:
    """A test of the rows that was made before they were used.

    Parameters
    ----------
    name : str
        What was tested.
    level : float
        Probability that independent draws fail the test.
    is_passed : bool
        Whether the rows passed.
    finding : str
        What was found, in one sentence.
    """

    name: str
    level: float
    is_passed: bool
    finding: str

    def as_dict(self) -> dict[str, Any]:
        """Name, level, outcome and finding, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows in the order of the file, without copies, and the groups that they are in.

    Parameters
    ----------
    rows : array of shape (n, d)
        The rows.
    indices : array of int, shape (n,)
        Position of each row in the file. Copies were left out.
    hashes : array of uint64, shape (n_in_file,)
        Hash of each row of the file.
    labels : list, optional
        Distinct labels of the groups, ascending. None if the rows are in no groups.
    groups : array of int, shape (n,), optional
        Position of the group of each row among the labels.
    tests : tuple of SampleTest
        What the tests of the rows found.
    """

    rows: FloatArray
    indices: IntArray
    hashes: HashArray
    labels: Sequence[Any] | None
    groups: IntArray | None
    tests: tuple[SampleTest, ...]

    @classmethod
    def plain(cls, rows: FloatArray) -> Self:
        """All rows as they are, untested."""
        return cls(rows, np.arange(len(rows)), row_hashes(rows), None, None, ())

    @classmethod
    def tested(cls, rows: FloatArray, groups: ArrayLike | None = None) -> Self:
        """The rows without copies. Test whether they are independent draws, or their groups are."""
        labels, numbers = (None, None) if groups is None else numbered_groups(groups, len(rows))
        hashes = row_hashes(rows)
        is_copied = has_copies(_multiplicities(hashes, numbers))
        indices = first_occurrences(hashes) if is_copied else np.arange(len(rows))
        if is_copied:
            rows, numbers = rows[indices], None if numbers is None else numbers[indices]
        if numbers is not None and is_copied:  # a group of copies only is gone
            present, numbers = np.unique(numbers, return_inverse=True)
            labels = [labels[group] for group in present] if labels is not None else None
        tests = (
            _test_of_copies(len(hashes), len(indices), is_copied),
            _test_of_order(rows, numbers),
        )
        return cls(rows, indices, hashes, labels, numbers, tests)

    @property
    def row_labels(self) -> list[Any] | None:
        """Label of the group of each row."""
        if self.groups is None or self.labels is None:
            return None
        return [self.labels[group] for group in self.groups]

    def of(self, indices: IntArray) -> HashArray:
        """Hashes of some of the rows."""
        return self.hashes[self.indices[indices]]

    def known(self, indices: IntArray) -> KnownRows:
        """Memory of some of the rows."""
        return KnownRows.from_hashes(self.of(indices), self._repeated)

    @cached_property
    def _repeated(self) -> float:
        return repeated_share(np.unique(self.hashes, return_counts=True)[1])

    def warn(self, *, in_order_of_time: bool) -> None:
        """Warn of failed tests, with the remedy. Rows in the order of time may depend."""
        copies, order = self.tests
        if not copies.is_passed:
            warn_user(
                f"{copies.finding} So each distinct row counts once, and what is promised holds "
                "for new rows that are no copies. Remove the copies to silence this warning.",
                CalibrationWarning,
            )
        if in_order_of_time:
            self._warn_if_too_short()
        elif not order.is_passed:
            warn_user(f"{order.finding} {_advice(self.groups)}", CalibrationWarning)

    def effective_size(self) -> float:
        """Number of independent rows that the rows are worth, if they are in the order of time."""
        return len(self.rows) / memory(self.rows)

    def _warn_if_too_short(self) -> None:
        size = self.effective_size()
        if size < MIN_EFFECTIVE_SIZE:
            warn_user(
                f"The {len(self.rows)} rows depend on the rows before them. They are worth about "
                f"{_two_digits(size)} independent rows. With fewer than {MIN_EFFECTIVE_SIZE}, "
                "false alarms can be much more frequent than alpha. Fit on rows of a longer time.",
                CalibrationWarning,
            )


def numbered_groups(groups: ArrayLike, n: int) -> tuple[list[Any], IntArray]:
    """Distinct labels of the groups, and the number of the group of each row.

    >>> numbered_groups(["b", "a", "b"], 3)
    (['a', 'b'], array([1, 0, 1]))
    """
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must have one label for each of the {n} rows; got shape {labels.shape}."
        )
    is_missing = labels != labels if labels.dtype.kind in "fcO" else np.zeros(n, dtype=bool)
    if labels.dtype.kind == "O":
        is_missing = is_missing | np.array([label is None for label in labels])
    if labels.dtype.kind in "mM":
        is_missing = np.isnat(labels)
    if np.any(is_missing):
        raise ValueError(
            f"groups has no label for {int(np.sum(is_missing))} rows, the first of them row "
            f"{int(np.argmax(is_missing))}. Give each row a group."
        )
    try:
        distinct, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"groups must have labels of one type, such as text: {error}.") from error
    return distinct.tolist(), numbers.reshape(-1)


def _multiplicities(hashes: HashArray, groups: IntArray | None) -> IntArray:
    """How often each distinct row occurs, or in how many groups: copies in one group may be."""
    if groups is None:
        return np.unique(hashes, return_counts=True)[1]
    pairs = np.unique(np.stack([hashes, groups.astype(np.uint64)], axis=1), axis=0)
    return np.unique(pairs[:, 0], return_counts=True)[1]


def _test_of_copies(n: int, n_kept: int, is_copied: bool) -> SampleTest:
    finding = "Rows are not copied more often than independent draws repeat."
    if is_copied:
        finding = (
            f"The {n} rows are copies of {n_kept} distinct rows, more than independent draws have."
        )
    return SampleTest("copies", COPIES_LEVEL, not is_copied, finding)


def _test_of_order(rows: FloatArray, groups: IntArray | None) -> SampleTest:
    units, tested = "Rows", rows
    if groups is not None:
        units, tested = "Groups", _means_in_order(rows, groups)
    p = serial_p_value(tested)
    is_passed = p > DEPENDENCE_LEVEL
    are = "are not more alike than others" if is_passed else "are alike"
    finding = f"{units} that are near each other in the file {are} ({_p_text(p)})."
    return SampleTest("order", DEPENDENCE_LEVEL, is_passed, finding)


def _means_in_order(rows: FloatArray, groups: IntArray) -> FloatArray:
    """Mean of the rows of each group, in the order in which the groups begin."""
    _, starts, numbers, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(starts), rows.shape[1]))
    np.add.at(sums, numbers, rows)
    return np.asarray((sums / sizes[:, None])[np.argsort(starts)])


def _advice(groups: IntArray | None) -> str:
    if groups is not None:
        return (
            "So groups are no independent draws, and false alarms can be more frequent than alpha. "
            "Give larger groups. If independent groups were sorted, shuffle them first."
        )
    return (
        "So a random hold-out understates false alarms: new rows can alarm several times as often "
        "as alpha. If the rows are in the order of time, set calibration_split='time'. If they are "
        "in groups, such as machines or patients, call fit(X, groups=...). If they are independent "
        "draws that were sorted, shuffle them first."
    )


def _p_text(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-99 else "p < 1e-99"


def _two_digits(value: float) -> str:
    """The value with two digits.

    >>> _two_digits(20.3), _two_digits(143.0)
    ('20', '140')
    """
    return f"{float(f'{value:.2g}'):.0f}" if value >= 10.0 else f"{value:.1f}"
