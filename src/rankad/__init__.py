"""Anomaly detection with a false-alarm rate that you state in advance.

>>> import numpy as np
>>> from rankad import RankAD
>>> nominal = np.random.default_rng(0).normal(size=(400, 2))
>>> detector = RankAD(random_state=0).fit(nominal)
>>> detector.predict([[0.0, 0.0], [6.0, 6.0]], alpha=0.01)
array([ 1, -1])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankad import baselines as baselines
    from rankad import calibration as calibration
    from rankad import datasets as datasets
    from rankad import exceptions as exceptions
    from rankad import experimental as experimental
    from rankad import explanations as explanations
    from rankad import metrics as metrics
    from rankad import monitoring as monitoring
    from rankad import options as options
    from rankad import plots as plots
    from rankad import statistics as statistics
    from rankad.calibrated import Calibrated as Calibrated
    from rankad.calibration.online_discoveries import OnlineDiscoveries as OnlineDiscoveries
    from rankad.detector import RankAD as RankAD
    from rankad.monitoring import AlarmBudget as AlarmBudget
    from rankad.monitoring import DriftMonitor as DriftMonitor
    from rankad.monitoring import Episodes as Episodes
    from rankad.monitoring import Reweighted as Reweighted
    from rankad.time_columns import TimeColumns as TimeColumns

__version__ = "0.1.0"

#: Module of each public class. It is imported at first use, so ``import rankad`` stays fast.
_HOMES = {
    "AlarmBudget": "rankad.monitoring",
    "Calibrated": "rankad.calibrated",
    "DriftMonitor": "rankad.monitoring",
    "Episodes": "rankad.monitoring",
    "OnlineDiscoveries": "rankad.calibration.online_discoveries",
    "RankAD": "rankad.detector",
    "Reweighted": "rankad.monitoring",
    "TimeColumns": "rankad.time_columns",
}

__all__ = [
    "AlarmBudget",
    "Calibrated",
    "DriftMonitor",
    "Episodes",
    "OnlineDiscoveries",
    "RankAD",
    "Reweighted",
    "TimeColumns",
    "__version__",
    "baselines",
    "calibration",
    "datasets",
    "exceptions",
    "experimental",
    "explanations",
    "metrics",
    "monitoring",
    "options",
    "plots",
    "statistics",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"rankad.{name}")
    raise AttributeError(f"module 'rankad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
