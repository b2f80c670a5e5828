"""Reference scores -> p-values -> decisions at any level."""

from rankad.calibration.mixin import CalibratedDetectorMixin
from rankad.calibration.reference import HeldOutScores, ReferenceScores, TrainingScores

__all__ = ["CalibratedDetectorMixin", "HeldOutScores", "ReferenceScores", "TrainingScores"]
