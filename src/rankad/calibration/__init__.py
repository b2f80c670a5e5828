"""From reference scores to p-values, decisions, bounds, budgets and discoveries.

Code in this room knows scores and reference scores. It knows no detector.
"""

from rankad.calibration.audits import Audit
from rankad.calibration.bands import conditional_p_values, false_alarm_band
from rankad.calibration.bounds import (
    FalseAlarmBounds,
    reference_needed,
    safe_order,
)
from rankad.calibration.budgets import FalseAlarmsPerDay, true_alarm_share
from rankad.calibration.control import FalseAlarmControl
from rankad.calibration.copies import KnownRows
from rankad.calibration.density_ratio import density_ratio
from rankad.calibration.dependent_scores import GroupScores, TimeScores
from rankad.calibration.discoveries import (
    benjamini_hochberg,
    nominal_share,
    reference_for_discoveries,
)
from rankad.calibration.growth import grown
from rankad.calibration.holdout import (
    CALIBRATION_SIZE_CONSTRAINT,
    CALIBRATION_SPLIT_CONSTRAINT,
    HOLDOUTS,
    Holdout,
    HoldoutOptions,
)
from rankad.calibration.online_discoveries import OnlineDiscoveries
from rankad.calibration.online_p_values import OnlinePValues
from rankad.calibration.record import CalibrationRecord, CalibrationStep
from rankad.calibration.reference import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)
from rankad.calibration.remedies import FitSize
from rankad.calibration.sample import Sample
from rankad.calibration.splits import TimeBlocks
from rankad.calibration.strata import StrataScores
from rankad.calibration.strata_control import StrataControl
from rankad.calibration.stratum_labels import StratumLabels
from rankad.calibration.suspicious_rows import SuspiciousRows
from rankad.calibration.true_alarms import TrueAlarms
from rankad.calibration.weighted import WeightedScores

__all__ = [
    "Audit",
    "CalibrationRecord",
    "FalseAlarmBounds",
    "FalseAlarmsPerDay",
    "HeldOutScores",
    "ReferenceScores",
    "StrataScores",
    "SuspiciousRows",
    "TimeBlocks",
    "TrueAlarms",
    "density_ratio",
    "nominal_share",
    "reference_for_discoveries",
    "reference_needed",
    "true_alarm_share",
]
