"""The rows of a fit or of a calibration, and the tests of whether they are independent draws."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration.copies import (
    COPIES_LEVEL,
    HashArray,
    KnownRows,
    copied_times,
    group_hashes,
    row_hashes,
)
from rankad.calibration.dependence import DEPENDENCE_LEVEL, memory, serial_p_value
from rankad.calibration.stratum_labels import StratumLabels
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
    level : float or None
        Probability that independent draws fail the test. None if it is no test of independence.
    is_passed : bool
        Whether the rows passed.
    finding : str
        What was found, in one sentence.
    """

    name: str
    level: float | None
    is_passed: bool
    finding: str


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
    draws : array of int, shape (n,)
        How often each row was drawn, as far as its copies tell.
    groups : StratumLabels, optional
        Group of each row. None if the rows are in no groups.
    tests : tuple of SampleTest
        What the tests of the rows found.
    """

    rows: FloatArray
    indices: IntArray
    hashes: HashArray
    draws: IntArray
    groups: StratumLabels | None
    tests: tuple[SampleTest, ...]

    @classmethod
    def plain(cls, rows: FloatArray, groups: object = None) -> Self:
        """All rows as they are, untested."""
        n = len(rows)
        labels = _group_labels(groups, n)
        return cls(rows, np.arange(n), row_hashes(rows), np.ones(n, dtype=np.int64), labels, ())

    @classmethod
    def tested(
        cls, rows: FloatArray, groups: object = None, strata: StratumLabels | None = None
    ) -> Self:
        """The rows without copies. Test whether they are independent draws, or their groups are.

        With strata, the order is tested within each stratum: a file may be sorted by them.
        """
        sample = cls.plain(rows, groups)
        units = sample.hashes
        if sample.groups is not None:
            units = group_hashes(sample.hashes, sample.groups.codes)
        multiplicities = np.unique(units, return_counts=True)[1]
        times = copied_times(multiplicities)
        if times > 1:
            first, numbers = np.unique(units, return_index=True, return_inverse=True)[1:]
            kept = np.sort(first)
            sample = sample._only(kept, -(-multiplicities[numbers[kept]] // times))
        tests = (
            _test_of_copies(len(units), len(multiplicities), sample.unit, is_copied=times > 1),
            _test_of_order(sample, strata),
        )
        return replace(sample, tests=tests)

    def _only(self, units: IntArray, draws: IntArray) -> Self:
        """Some of the rows, drawn so many times, or some of the groups."""
        if self.groups is None:
            return replace(self, rows=self.rows[units], indices=units, draws=draws)
        indices = np.flatnonzero(np.isin(self.groups.codes, units))
        return replace(
            self,
            rows=self.rows[indices],
            indices=indices,
            draws=self.draws[indices],
            groups=self.groups.of_rows(indices),
        )

    @property
    def unit(self) -> str:
        """What is drawn, in the words of messages."""
        return "rows" if self.groups is None else "groups"

    def known(self, chosen: IntArray) -> KnownRows:
        """Memory of some of the rows."""
        return KnownRows.from_hashes(self.of(chosen), self.draws[chosen])

    def groups_of(self, chosen: IntArray) -> frozenset[Hashable]:
        """Labels of the groups that some of the rows are in; none without groups."""
        return frozenset() if self.groups is None else frozenset(self.groups.of_rows(chosen).keys)

    def of(self, indices: IntArray) -> HashArray:
        """Hashes of some of the rows."""
        return self.hashes[self.indices[indices]]

    def in_order_of_time(self, *, are_added: bool = False) -> Self:
        """The same rows, held out by their order: test whether they are worth enough.

        Rows that are added to others may be few.
        """
        length = _test_of_length(self)
        if are_added:
            length = replace(length, is_passed=True)
        return replace(self, tests=(*self.tests, length))

    def warn(self) -> None:
        """Warn of failed tests, with the remedy. Rows in the order of time may depend."""
        copies, order, *length = self.tests
        if not copies.is_passed:
            warn_user(
                f"{copies.finding} So each of these counts once, and what is promised holds for "
                f"new {self.unit} that are no copies. Remove the copies to silence this warning.",
                CalibrationWarning,
            )
        if not length and not order.is_passed:
            warn_user(f"{order.finding} {_ADVICE[self.unit]}", CalibrationWarning)
        if length and not length[0].is_passed:
            warn_user(
                f"{length[0].finding} With fewer than {MIN_EFFECTIVE_SIZE}, false alarms can be "
                "much more frequent than alpha. Fit on rows of a longer time.",
                CalibrationWarning,
            )

    def warn_of_counts(self) -> None:
        """Warn that a count of alarms on these rows varies more than on independent draws."""
        for test in self.tests:
            if not test.is_passed:
                warn_user(
                    f"{test.finding} So the number of alarms varies more than on independent "
                    "draws, and the interval and the verdict are too sure. Give rows that are "
                    "independent draws: without copies, one of each group, or far apart in time.",
                    CalibrationWarning,
                )

    def effective_size(self) -> float:
        """Number of independent rows that the rows are worth, if they are in the order of time."""
        return len(self.rows) / memory(self.rows)


def _group_labels(groups: object, n: int) -> StratumLabels | None:
    if groups is None:
        return None
    labels = StratumLabels.from_values(groups, "groups")
    labels.require_rows(n, "groups")
    return labels


def _test_of_copies(n: int, n_distinct: int, unit: str, *, is_copied: bool) -> SampleTest:
    finding = f"{unit.capitalize()} are not copied more often than independent draws repeat."
    if is_copied:
        finding = (
            f"The {n} {unit} are copies of {n_distinct} distinct {unit}, more than independent "
            "draws have."
        )
    return SampleTest("copies", COPIES_LEVEL, not is_copied, finding)


def _test_of_length(sample: Sample) -> SampleTest:
    n, size = len(sample.rows), sample.effective_size()
    is_passed = size >= MIN_EFFECTIVE_SIZE
    worth = f"worth about {_two_digits(size)} independent rows."
    if is_passed:
        finding = f"The {n} rows are {worth}"
    elif size < 0.5 * n:
        finding = f"The {n} rows depend on the rows before them. They are {worth}"
    else:
        finding = f"The {n} rows are few."
    return SampleTest("length", None, is_passed, finding)


def _test_of_order(sample: Sample, strata: StratumLabels | None) -> SampleTest:
    p = _p_of_order(sample, strata)
    is_passed = p > DEPENDENCE_LEVEL
    are = "are not more alike than others" if is_passed else "are alike"
    units = sample.unit.capitalize()
    finding = f"{units} that are near each other in the file {are} ({_p_text(p)})."
    return SampleTest("order", DEPENDENCE_LEVEL, is_passed, finding)


def _p_of_order(sample: Sample, strata: StratumLabels | None) -> float:
    if sample.groups is not None:
        return serial_p_value(_means_in_order(sample.rows, sample.groups.codes))
    if strata is None:
        return serial_p_value(sample.rows)
    parts = strata.of_rows(sample.indices).rows_of_keys()
    p_values = [serial_p_value(sample.rows[part]) for part in parts]
    return min(1.0, len(p_values) * min(p_values))


def _means_in_order(rows: FloatArray, codes: IntArray) -> FloatArray:
    """Mean of the rows of each group, in the order in which the groups begin."""
    sizes = np.bincount(codes)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, codes, rows)
    return np.asarray(sums / sizes[:, None])


#: What to do if rows, or groups, that are near each other in the file are alike.
_ADVICE: Final = {
    "rows": "So a random hold-out understates false alarms: new rows can alarm several times as "
    "often as alpha. If the rows are in the order of time, set calibration_split='time'. If they "
    "are in groups, such as machines or patients, call fit(X, groups=...). If they are independent "
    "draws that were sorted, shuffle them first.",
    "groups": "So groups are no independent draws, and false alarms can be more frequent than "
    "alpha. Give larger groups. If independent groups were sorted, shuffle them first.",
}


def _p_text(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-99 else "p < 1e-99"


def _two_digits(value: float) -> str:
    """The value with two digits.

    >>> _two_digits(20.3), _two_digits(143.0)
    ('20', '140')
    """
    return f"{float(f'{value:.2g}'):.0f}" if value >= 10.0 else f"{value:.1f}"
