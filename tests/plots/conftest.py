"""Fitted detectors, rows, and a function that makes each display."""

from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from rankad import RankAD, datasets
from rankad.monitoring import DriftMonitor
from rankad.plots import (
    DriftDisplay,
    ExplanationDisplay,
    FalseAlarmDisplay,
    LevelSetDisplay,
    PValueDisplay,
    TuningDisplay,
)

mpl.use("agg")


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def plane():
    """A detector in the plane, and fresh nominal rows."""
    rows = datasets.two_gaussians(700, random_state=0).X
    return SimpleNamespace(detector=RankAD(random_state=0).fit(rows[:500]), fresh=rows[500:])


@pytest.fixture(scope="session")
def frame():
    """A detector of four named columns, and fresh rows. The first of them alarms."""
    rng = np.random.default_rng(1)
    names = ["pressure", "temperature", "flow", "vibration"]
    rows = pd.DataFrame(rng.normal(size=(460, 4)) * [1, 2, 3, 4], columns=names)
    fresh = rows[400:].copy()
    fresh.iloc[0, 2] = 60.0
    return SimpleNamespace(detector=RankAD(random_state=0).fit(rows[:400]), fresh=fresh)


@pytest.fixture(scope="session")
def cross_validated(plane):
    detector = RankAD(C=[0.01, 0.1, 1.0], sigma=[0.2, 1.0], n_centers=20, random_state=0)
    return detector.fit(plane.fresh)


@pytest.fixture(scope="session")
def monitor():
    """A monitor that has alarmed."""
    rng = np.random.default_rng(2)
    monitor = DriftMonitor(history_size=1_000, random_state=0)
    monitor.update_many(np.concatenate([rng.normal(size=300), rng.normal(3.0, size=100)]))
    assert monitor.is_alarm
    return monitor


@pytest.fixture(scope="session")
def makers(plane, frame, cross_validated, monitor):
    """Functions that draw a display on the given axes, by name."""
    detector, fresh = plane.detector, plane.fresh
    return {
        "level sets": lambda **o: LevelSetDisplay.from_estimator(detector, fresh, grid=30, **o),
        "p-values": lambda **o: PValueDisplay.from_estimator(detector, fresh, **o),
        "false alarms": lambda **o: FalseAlarmDisplay.from_estimator(detector, fresh, **o),
        "selection": lambda **o: TuningDisplay.from_estimator(cross_validated, **o),
        "explanation": lambda **o: ExplanationDisplay.from_estimator(
            frame.detector, frame.fresh, **o
        ),
        "drift": lambda **o: DriftDisplay.from_monitor(monitor, **o),
    }
