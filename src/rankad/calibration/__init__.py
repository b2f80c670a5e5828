"""Reference scores -> p-values -> decisions at any level."""

from rankad.calibration.mixin import CalibratedDetectorMixin
from rankad.calibration.reference import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)
from rankad.calibration.strategies import CALIBRATION_SIZE_CONSTRAINT, CALIBRATIONS

__all__ = [
    "CALIBRATIONS",
    "CALIBRATION_SIZE_CONSTRAINT",
    "CalibratedDetectorMixin",
    "CrossFittedScores",
    "HeldOutScores",
    "ReferenceScores",
    "TrainingScores",
]
