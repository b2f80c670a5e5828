"""Reference scores -> p-values -> decisions at any level, with bounds, budgets, discoveries."""

from rankad.calibration.bands import conditional_p_values, false_alarm_band
from rankad.calibration.bounds import (
    Audit,
    FalseAlarmBounds,
    clopper_pearson,
    false_alarm_law,
    reference_needed,
    safe_order,
    theorem_6_bound,
)
from rankad.calibration.budgets import FalseAlarmsPerDay, level_for_budget, true_alarm_share
from rankad.calibration.discoveries import (
    benjamini_hochberg,
    nominal_share,
    reference_for_discoveries,
)
from rankad.calibration.drift import Betting, DriftMonitor, MixtureBetting, SimpleJumper
from rankad.calibration.face import CalibratedDetector
from rankad.calibration.holdout import CALIBRATION_SIZE_CONSTRAINT, CALIBRATIONS
from rankad.calibration.reference import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)
from rankad.calibration.stream import OnlineDiscoveries, OnlinePValues
from rankad.calibration.weighted import Reweighted, WeightedScores, density_ratio

__all__ = [
    "CALIBRATIONS",
    "CALIBRATION_SIZE_CONSTRAINT",
    "Audit",
    "Betting",
    "CalibratedDetector",
    "CrossFittedScores",
    "DriftMonitor",
    "FalseAlarmBounds",
    "FalseAlarmsPerDay",
    "HeldOutScores",
    "MixtureBetting",
    "OnlineDiscoveries",
    "OnlinePValues",
    "ReferenceScores",
    "Reweighted",
    "SimpleJumper",
    "TrainingScores",
    "WeightedScores",
    "benjamini_hochberg",
    "clopper_pearson",
    "conditional_p_values",
    "density_ratio",
    "false_alarm_band",
    "false_alarm_law",
    "level_for_budget",
    "nominal_share",
    "reference_for_discoveries",
    "reference_needed",
    "safe_order",
    "theorem_6_bound",
    "true_alarm_share",
]
