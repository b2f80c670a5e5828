"""Anomaly detection with a false-alarm rate that can be stated in advance.

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
    from rankad import metrics as metrics
    from rankad import plots as plots
    from rankad import statistics as statistics
    from rankad.calibrated import Calibrated as Calibrated
    from rankad.detector import RankAD as RankAD
    from rankad.explanations import explain as explain
    from rankad.kernels import KernelExpansion as KernelExpansion

__version__ = "0.1.0"

#: Public names and the modules they live in, imported when first used: ``import rankad`` is fast.
_HOMES = {
    "Calibrated": "rankad.calibrated",
    "RankAD": "rankad.detector",
    "KernelExpansion": "rankad.kernels",
    "explain": "rankad.explanations",
}
_MODULES = (
    *("baselines", "calibration", "datasets", "exceptions", "metrics", "plots", "statistics"),
)

__all__ = [
    "Calibrated",
    "KernelExpansion",
    "RankAD",
    "__version__",
    "baselines",
    "calibration",
    "datasets",
    "exceptions",
    "explain",
    "metrics",
    "plots",
    "statistics",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"rankad.{name}")
    raise AttributeError(f"module 'rankad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
