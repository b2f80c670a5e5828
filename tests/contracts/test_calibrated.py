"""What every calibrated detector guarantees."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from detectors import CASES
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankad.calibration import (
    CrossFittedScores,
    HeldOutScores,
    ReferenceScores,
    TrainingScores,
)
from rankad.exceptions import UnresolvableAlphaError

pytestmark = pytest.mark.filterwarnings("ignore:ECOD scores a row differently:UserWarning")

DETECTORS = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
CALIBRATIONS = pytest.mark.parametrize(
    ("calibration", "kind"),
    [("split", HeldOutScores), ("train", TrainingScores), ("cross", CrossFittedScores)],
)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case_and_detector(request):
    nominal = np.random.default_rng(0).normal(size=(200, 3))
    return request.param, clone(request.param.detector).set_params(random_state=0).fit(nominal)


@pytest.fixture
def detector(case_and_detector):
    return case_and_detector[1]


@pytest.fixture
def new(rng):
    return np.concatenate([rng.normal(size=(60, 3)), rng.uniform(-8, 8, size=(30, 3))])


def test_p_values_follow_the_score_and_lie_between_their_limits(detector, new):
    p, scores = detector.p_values(new), detector.score_samples(new)
    assert (p >= detector.reference_.smallest_alpha).all()
    assert (p <= 1.0).all()
    assert (np.diff(p[np.argsort(scores, kind="stable")]) >= 0).all()
    assert len(np.unique(p)) > 5


@pytest.mark.parametrize("alpha", [0.03, 0.1, 0.5])
def test_any_alpha_is_p_at_most_alpha(detector, new, alpha):
    alarms = detector.predict(new, alpha=alpha) == -1
    assert_array_equal(alarms, detector.p_values(new) <= alpha)


def test_the_default_level_is_the_sign_of_the_decision(detector, new):
    assert_array_equal(detector.predict(new) == -1, detector.decision_function(new) < 0)
    assert_array_equal(detector.predict(new), detector.predict(new, alpha=detector.alpha))


def test_a_level_too_fine_is_refused_where_nothing_is_that_small(detector, new):
    if detector.reference_.smallest_alpha == 0.0:
        assert_array_equal(detector.predict(new, alpha=1e-9) == -1, detector.p_values(new) == 0.0)
        return
    with pytest.raises(UnresolvableAlphaError, match="The smallest alpha that can alarm is"):
        detector.predict(new, alpha=1e-9)


def test_a_row_has_the_same_p_value_alone_and_in_any_batch(case_and_detector, rng):
    rows = rng.integers(-2, 3, size=(60, 3)).astype(float)
    detector = case_and_detector[1]
    together = detector.p_values(rows)
    assert_array_equal(together, [detector.p_values(row[None])[0] for row in rows])


def test_a_far_point_gets_the_smallest_p_value(case_and_detector):
    case, detector = case_and_detector
    if not case.finds_far_points:
        pytest.skip("the method does not promise it")
    far = np.concatenate([1e6 * np.eye(3), -1e6 * np.eye(3), [[1e5, -1e5, 1e5]]])
    assert_allclose(detector.p_values(far), detector.reference_.smallest_alpha)
    assert (detector.predict(far) == -1).all()


def test_anomalies_get_smaller_p_values(detector, rng):
    nominal, anomalies = rng.normal(size=(100, 3)), rng.uniform(2.5, 5, size=(100, 3))
    assert detector.p_values(anomalies).mean() < 0.5 * detector.p_values(nominal).mean()


@DETECTORS
@CALIBRATIONS
def test_every_calibration_is_offered_and_extended_alike(case, calibration, kind, rng):
    detector = clone(case.detector).set_params(calibration=calibration, random_state=0)
    if case.name == "RankAD as published":
        detector.set_params(C=[0.1, 1.0], sigma=[0.5, 1.0, 2.0])
    nominal, more = rng.normal(size=(120, 2)), rng.normal(size=(50, 2))
    detector.fit(nominal)
    assert isinstance(detector.reference_, kind)
    before = detector.reference_.size
    scores = detector.score_samples(more)
    detector.calibrate(more)
    assert isinstance(detector.reference_, HeldOutScores)
    assert detector.reference_.size == len(more) + (before if kind is HeldOutScores else 0)
    assert_array_equal(detector.score_samples(more), scores)


@DETECTORS
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_read_and_their_names_checked(case, frame, rng):
    nominal = rng.normal(size=(120, 2))
    columns = {"a": nominal[:, 0], "b": nominal[:, 1]}
    detector = clone(case.detector).set_params(random_state=0)
    of_arrays = clone(detector).fit(nominal).p_values(nominal)
    detector.fit(frame(columns))
    assert_array_equal(detector.p_values(frame(columns)), of_arrays)
    with pytest.raises(ValueError, match="feature names should match"):
        detector.p_values(frame({"a": nominal[:, 0], "z": nominal[:, 1]}))


@DETECTORS
def test_a_failed_fit_leaves_the_detector_as_it_was(case, rng, monkeypatch):
    detector = clone(case.detector).set_params(random_state=0)
    nominal = rng.normal(size=(120, 2))
    # It fails after training, when the reference is made.
    monkeypatch.setattr(ReferenceScores, "from_scores", classmethod(_refuse))
    with pytest.raises(RuntimeError, match="no reference"):
        detector.fit(nominal)
    with pytest.raises(NotFittedError):
        detector.p_values(nominal)
    monkeypatch.undo()
    p = detector.fit(nominal).p_values(nominal)
    monkeypatch.setattr(ReferenceScores, "from_scores", classmethod(_refuse))
    with pytest.raises(RuntimeError, match="no reference"):
        detector.fit(rng.normal(size=(90, 2)))
    assert_array_equal(detector.p_values(nominal), p)


def _refuse(cls, scores):
    raise RuntimeError("no reference")
