"""The record of a calibration: what was promised, on which rows, and what was tested."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from numbers import Integral
from typing import Any, Final, Self

from rankad.calibration.copies import HashArray
from rankad.calibration.dependent_scores import TimeScores
from rankad.calibration.reference import ReferenceScores
from rankad.calibration.sample import SampleTest
from rankad.calibration.splits import are_runs

#: Module of each package whose version a record has.
_MODULES: Final = {
    "rankad": "rankad",
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "sklearn",
    "numba": "numba",
}


@dataclass(frozen=True)
class CalibrationStep:
    """One source of reference scores: a fit, or a call of `calibrate`.

    Parameters
    ----------
    source : str
        "fit" or "calibrate", and how the rows were held out.
    n_rows : int
        Number of rows whose scores were added to the reference.
    rows : str
        SHA-256 of these rows: of their hashes, in the order of the file.
    tests : tuple of SampleTest
        Tests of the rows, and what they found.
    created : str
        When, in UTC. It does not count when two records are compared.
    """

    source: str
    n_rows: int
    rows: str
    tests: tuple[SampleTest, ...]
    created: str = field(compare=False)

    @classmethod
    def now(cls, source: str, hashes: HashArray, tests: tuple[SampleTest, ...]) -> Self:
        """Step of this moment, with rows of these hashes."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(source, len(hashes), digest(hashes), tests, created)


@dataclass(frozen=True)
class CalibrationRecord:
    """What a detector promises, and how it came to that: for someone who must defend its alarms.

    Records of equal fits are equal; the times do not count. So a record is checked by a new fit
    with the same rows and parameters: the two records are ``==``. For that, ``random_state`` must
    be a number. Two JSON files are compared without their entries ``created``.

    Parameters
    ----------
    detector : str
        The detector with its parameters.
    random_state : int or None
        The seed, if it was a number.
    n_training : int
        Number of rows that trained.
    training_rows : str
        SHA-256 of these rows: of their hashes, in the order of the file.
    steps : tuple of CalibrationStep
        Where the reference scores come from: the fit, then the calls of `calibrate`.
    n_reference : int
        Size of the reference, in its unit: rows or groups.
    promise : str
        What holds for this detector, in one sentence.
    versions : dict
        Versions of Python and of the packages.
    """

    detector: str
    random_state: int | None
    n_training: int
    training_rows: str
    steps: tuple[CalibrationStep, ...]
    n_reference: int
    promise: str
    versions: dict[str, str]

    @classmethod
    def of_fit(
        cls,
        detector: str,
        random_state: object,
        training: HashArray,
        step: CalibrationStep,
        reference: ReferenceScores,
    ) -> Self:
        """Record of a detector that was just fitted."""
        return cls(
            detector,
            int(random_state) if isinstance(random_state, Integral) else None,
            len(training),
            digest(training),
            (step,),
            reference.size,
            promise(reference, (step,)),
            used_versions(),
        )

    def after(self, step: CalibrationStep, reference: ReferenceScores, *, is_new: bool) -> Self:
        """Record after a calibration. A new reference forgets the earlier steps."""
        steps = (step,) if is_new else (*self.steps, step)
        return replace(
            self, steps=steps, n_reference=reference.size, promise=promise(reference, steps)
        )

    def to_dict(self) -> dict[str, Any]:
        """The record as plain numbers, text, lists and dictionaries."""
        return asdict(self)

    def to_json(self) -> str:
        """The record as JSON."""
        return json.dumps(self.to_dict(), indent=2)


def used_versions() -> dict[str, str]:
    """Versions of Python and of the packages that are loaded.

    They come from the modules, because a frozen program may have no metadata of its packages.
    """
    loaded = {name: sys.modules.get(module) for name, module in _MODULES.items()}
    versions = {name: getattr(at, "__version__", "not used") for name, at in loaded.items()}
    return {"python": platform.python_version(), **versions}


def digest(hashes: HashArray) -> str:
    """SHA-256 of hashes of rows, the same on every machine."""
    return hashlib.sha256(hashes.astype("<u8").tobytes()).hexdigest()


def promise(reference: ReferenceScores, steps: tuple[CalibrationStep, ...]) -> str:
    """What holds for p-values of this reference, in one sentence."""
    failed = {test.name for step in steps for test in step.tests if not test.is_passed}
    sentence = _PROMISES[reference.guarantee].format(n=reference.size)
    if "copies" in failed:
        sentence = sentence.replace("a new nominal row", "a new nominal row that is no copy", 1)
    is_in_time = isinstance(reference, TimeScores) and are_runs(  # a splitter may scatter rows
        reference.run_starts, reference.size
    )
    if "order" in failed and not is_in_time and reference.guarantee != "none":
        units = "groups" if reference.guarantee == "groups" else "rows"
        return (
            f"Nothing is promised: {units} that are near each other in the file are alike, so they "
            "are no independent draws, and false alarms can be several times as frequent as alpha."
        )
    if "length" in failed:
        return (
            "Nothing is promised: the rows are too few for the memory of the stream, and false "
            "alarms can be much more frequent than alpha."
        )
    return sentence


_PROMISES: Final = {
    "exact": "The p-value of a new nominal row, drawn like the {n} held-out rows and independently "
    "of them, is at most alpha with a probability of at most alpha.",
    "groups": "The p-value of a new nominal row of a new group, drawn like the {n} held-out groups "
    "and independently of them, is at most alpha with a probability of at most alpha.",
    "time": "The p-value of a new nominal row of the same stationary stream is at most alpha with "
    "a probability near alpha, if the {n} held-out rows span many times the memory of the stream; "
    "this is measured, not proved.",
    "empirical": "The p-value of a new nominal row is at most alpha with a probability near alpha "
    "in experience; this is not proved.",
    "none": "Nothing is promised: the {n} reference rows also trained, so false alarms are more "
    "frequent than alpha.",
}
