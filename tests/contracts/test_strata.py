"""Levels per stratum of every detector: calibrated, asked, audited, and routed by scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from detectors import CASES
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracles
from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration import TimeScores, reference_for_discoveries
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError

pytestmark = pytest.mark.filterwarnings("ignore:ECOD scores a row differently:UserWarning")

KEYS = np.array(["DE", "FR", "IT"])


def rows_and_strata(rng, n):
    strata = KEYS[rng.choice(3, size=n, p=[0.6, 0.3, 0.1])]
    spread = np.where(strata == "FR", 2.0, 1.0)[:, None]
    return spread * rng.normal(size=(n, 2)), strata


@pytest.fixture
def calibrated(rng):
    rows, strata = rows_and_strata(rng, 600)
    detector = KLPE(alpha=0.1, random_state=0).fit(rng.normal(size=(200, 2)))
    return detector.calibrate(rows, strata=strata), rows, strata


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_detector_has_levels_by_stratum(case, rng):
    detector = clone(case.detector).set_params(random_state=0)
    if case.name == "RankAD as published":
        detector.set_params(C=[0.1, 1.0], sigma=[0.5, 1.0, 2.0])
    detector.fit(rng.normal(size=(120, 2)))
    assert not hasattr(detector, "strata_")
    (rows, strata), (new, of_new) = rows_and_strata(rng, 300), rows_and_strata(rng, 60)
    scores, of_rows = detector.score_samples(new), detector.score_samples(rows)
    detector.calibrate(rows, strata=strata)
    of_rows -= detector.reference_.rounding.of(of_rows)  # ties resolve upward
    p = detector.p_values(new, strata=of_new)
    assert_array_equal(p, oracles.stratum_p_values(scores, of_new, of_rows, strata))
    for alpha in (0.05, 0.3):
        alarms = detector.predict(new, alpha, strata=of_new) == -1
        assert_array_equal(alarms, p <= alpha)
    assert_array_equal(detector.predict(new, strata=of_new) == -1, p <= detector.alpha)
    again = pickle.loads(pickle.dumps(detector))
    assert_array_equal(again.p_values(new, strata=of_new), p)
    assert not hasattr(clone(detector), "strata_")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_fit_takes_strata(case, rng):
    rows, strata = rows_and_strata(rng, 240)
    detector = clone(case.detector).set_params(random_state=0)
    if case.name == "RankAD as published":
        detector.set_params(C=[0.1, 1.0], sigma=[0.5, 1.0, 2.0])
    if detector.calibration != "split":
        with pytest.raises(ValueError, match=r"fit\(X, strata=...\) needs held-out rows, but cal"):
            detector.fit(rows, strata=strata)
        return
    detector.set_params(alpha=0.3)  # so that ten rows are enough
    plain = clone(detector).fit(rows)
    detector.fit(rows, strata=strata)
    assert_array_equal(detector.reference_.scores, plain.reference_.scores)
    held_out = detector.calibration_indices_
    scores = detector.score_samples(rows)
    for key in KEYS:
        own = held_out[strata[held_out] == key]
        assert_array_equal(detector.strata_[key].scores, np.sort(scores[own]))
    assert not hasattr(detector.fit(rows), "strata_")  # of an earlier fit


def test_a_fit_names_the_strata_that_cannot_alarm(rng):
    rows, strata = rows_and_strata(rng, 800)
    strata = np.where(np.arange(800) < 8, "tiny", strata)
    with pytest.warns(CalibrationWarning, match=r"\{'tiny': \d\}\. Each needs at least 19"):
        KLPE(random_state=0, calibration_size=0.5).fit(rows, strata=strata)


def test_rows_are_added_to_their_stratum_and_to_the_common_reference(calibrated, rng):
    detector, rows, strata = calibrated
    common = detector.reference_.size
    more, of_more = rows_and_strata(rng, 50)
    detector.calibrate(more, strata=of_more)
    assert detector.reference_.size == common + 50
    assert detector.strata_["DE"].size == (strata == "DE").sum() + (of_more == "DE").sum()
    by_stratum = detector.strata_
    detector.calibrate(rng.normal(size=(600, 2)))  # without strata: to the common one only
    assert detector.strata_ is by_stratum
    with pytest.warns(CalibrationWarning, match=r"strata with too few .*'IT'"):
        detector.calibrate(rows[:60], strata=strata[:60], replace=True)
    assert (detector.reference_.size, sum(r.size for r in detector.strata_.values())) == (60, 60)
    detector.calibrate(rows, replace=True)  # the strata's rows are no longer nominal
    assert not hasattr(detector, "strata_")


CALLS = {
    "p_values": lambda d, X, s: d.p_values(X, strata=s),
    "predict": lambda d, X, s: d.predict(X, strata=s),
    "select": lambda d, X, s: d.select(X, strata=s),
    "audit": lambda d, X, s: d.audit(X, strata=s),
    "predict confidence": lambda d, X, s: d.predict(X, strata=s, confidence=0.9),
    "p_values confidence": lambda d, X, s: d.p_values(X, strata=s, confidence=0.9),
}


def test_small_strata_share_a_reference_if_asked(calibrated, rng):
    detector, rows, strata = calibrated
    more = rng.normal(size=(9, 2))
    with pytest.warns(CalibrationWarning, match=r"\{'AT': 3\}\. Each needs at least 9"):
        detector.calibrate(more[:3], strata=["AT"] * 3)
    detector.calibrate(more[3:6], strata=["CH"] * 3, pool_below=80)
    new, of_new = rows[:40], ["AT", "CH", "IT", "unseen"] * 10
    of_rows = np.concatenate([strata, ["AT"] * 3, ["CH"] * 3])
    all_scores = detector.score_samples(np.concatenate([rows, more[:6]]))
    scores = detector.score_samples(new)
    expected = oracles.stratum_p_values(scores, of_new, all_scores, of_rows, pool_below=80)
    assert_array_equal(detector.p_values(new, strata=of_new), expected)
    assert (detector.predict(-99 * np.ones((1, 2)), strata=["unseen"]) == -1).all()
    detector.calibrate(more[6:], strata=["CH"] * 3)
    assert detector.strata_.pool_below == 80
    for name in ("select", "predict confidence", "p_values confidence"):
        with pytest.raises(ValueError, match=r"fewer than 80 rows share one: 'AT'"):
            CALLS[name](detector, new, of_new)


def test_the_methods_that_promise_more_take_strata(calibrated, rng):
    detector, *_ = calibrated
    new, of_new = rows_and_strata(rng, 200)
    bounds = detector.false_alarm_bounds(0.1, stratum="IT")
    assert bounds.n_reference == detector.strata_["IT"].size < detector.strata_["FR"].size
    audits = detector.audit(new, 0.1, strata=of_new)
    alarms = detector.predict(new, 0.1, strata=of_new) == -1
    assert {key: a.n_alarms for key, a in audits.items()} == {
        key: int(alarms[of_new == key].sum()) for key in audits
    }
    assert detector.audit(new, strata=of_new)["DE"].alpha == detector.alpha
    new[:20] += 9.0
    assert detector.select(new, 0.2, strata=of_new)[:20].mean() > 0.5
    strict = detector.predict(new, 0.2, strata=of_new, confidence=0.9) == -1
    assert strict.sum() < (detector.predict(new, 0.2, strata=of_new) == -1).sum()
    p, safe = (detector.p_values(new, strata=of_new, confidence=c) for c in (None, 0.9))
    assert (safe >= p).all()


def test_an_alpha_that_strata_cannot_resolve_is_told(calibrated):
    detector, rows, strata = calibrated
    with pytest.raises(UnresolvableAlphaError, match="Each needs at least 999"):
        detector.predict(rows, 0.001, strata=strata)
    with pytest.warns(CalibrationWarning, match=r"alpha=0.01 in strata .*'IT'"):
        labels = detector.predict(rows - 99.0, 0.01, strata=strata)
    assert {key: int(labels[strata == key].min()) for key in KEYS} == {"DE": -1, "FR": -1, "IT": 1}
    with pytest.warns(CalibrationWarning, match=r"never alarm: 'AT'"):
        assert_array_equal(detector.p_values(rows[:2], strata=["AT", "AT"]), 1.0)
    with pytest.warns(CalibrationWarning, match=r"never alarm: 'AT'"):
        assert_array_equal(detector.predict(rows[:2], strata=["AT", "AT"]), 1)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_bad_calls_are_told(call, calibrated, rng):
    detector, *_ = calibrated
    rows, strata = rows_and_strata(rng, 600)
    with pytest.raises(ValueError, match=r"each of the 9 rows of X; got 8 values"):
        call(detector, rows[:9], strata[:8])
    with pytest.raises(ValueError, match=r"got None or NaN at positions 1\."):
        call(detector, rows[:2], ["DE", None])
    with pytest.raises(TypeError, match="strata must be a list"):
        call(detector, rows[:2], "DE")
    with pytest.raises(NotFittedError):
        call(RankAD(), rows, strata)
    detector.fit(rng.normal(size=(200, 2)))
    with pytest.raises(ValueError, match=r"needs reference scores of each stratum\. Call calib"):
        call(detector, rows, strata)


def test_a_refused_calibration_changes_nothing(calibrated, rng):
    detector, *_ = calibrated
    rows, strata = rows_and_strata(rng, 600)
    before = detector.reference_, detector.strata_
    bad = [
        {"strata": strata[:-1]},
        {"strata": strata, "pool_below": -1},
        {"pool_below": 5},
        {"strata": [None] * 600, "replace": True},
    ]
    for keywords in bad:
        with pytest.raises(ValueError, match=r"strata|pool_below"):
            detector.calibrate(rows, **keywords)
        assert (detector.reference_, detector.strata_) == before
    with pytest.raises(ValueError, match="no reference rows of the stratum 'AT'"):
        detector.false_alarm_bounds(0.1, stratum="AT")
    with pytest.raises(ValueError, match=r"each of the 600 rows of X; got 599"):
        detector.fit(rows, strata=strata[:-1])
    assert (detector.reference_, detector.strata_) == before


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_give_rows_and_strata(library, calibrated):
    _, rows, strata = calibrated
    frame = library.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "country": strata, "hour": 3})
    columns = frame[["a", "b"]]
    of_frames = KLPE(alpha=0.1, random_state=0).fit(columns, strata=frame["country"])
    of_arrays = KLPE(alpha=0.1, random_state=0).fit(rows, strata=strata)
    expected = of_arrays.p_values(rows, strata=strata)
    assert_array_equal(of_frames.p_values(columns, strata=frame["country"]), expected)
    more = columns + 0.001 if library is pd else columns.select(library.all() + 0.001)
    crossed = of_frames.calibrate(more, strata=frame[["country", "hour"]], replace=True)
    assert set(crossed.strata_) == {(key, 3) for key in KEYS}


def test_a_pipeline_routes_strata(rng):
    rows, strata = rows_and_strata(rng, 600)
    with config_context(enable_metadata_routing=True):
        detector = KLPE(alpha=0.1, random_state=0)
        detector.set_fit_request(strata=True).set_predict_request(strata=True, alpha=True)
        pipeline = make_pipeline(StandardScaler(), detector).fit(rows, strata=strata)
        labels = pipeline.predict(rows, strata=strata, alpha=0.2)
    scaled = StandardScaler().fit_transform(rows)
    alone = KLPE(alpha=0.1, random_state=0).fit(scaled, strata=strata)
    assert_array_equal(labels, alone.predict(scaled, 0.2, strata=strata))
    assert (labels != alone.predict(scaled, 0.2)).any()


def test_training_scores_are_replaced_by_strata_of_new_rows(rng):
    rows, strata = rows_and_strata(rng, 300)
    detector = RankAD(calibration="train", random_state=0).fit(rng.normal(size=(100, 2)))
    detector.calibrate(rows, strata=strata)
    assert detector.reference_.guarantee == detector.strata_.guarantee == "exact"
    assert detector.reference_.size == 300


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_a_batch_that_strata_are_too_small_for_is_told_the_number_needed(rng, confidence):
    detector = KLPE(random_state=0).fit(rng.normal(size=(400, 2)))
    detector.calibrate(rng.normal(size=(200, 2)), strata=["a"] * 200)
    batch = np.concatenate([rng.normal(size=(99, 2)), [[50.0, 50.0]]])
    needed = reference_for_discoveries(100, 0.1, 1, confidence=confidence)
    with pytest.warns(CalibrationWarning, match=f"at least {needed} reference rows"):
        assert not detector.select(batch, 0.1, strata=["a"] * 100, confidence=confidence).any()
    detector.calibrate(rng.normal(size=(needed, 2)), strata=["a"] * needed)
    assert detector.select(batch, 0.1, strata=["a"] * 100, confidence=confidence)[-1]


@pytest.mark.parametrize(
    ("params", "with_groups", "remedy"),
    [
        ({}, True, "one nominal row of each of many groups"),
        ({"calibration_split": "time"}, False, "nominal rows that are far apart in time"),
    ],
)
def test_strata_of_dependent_rows_name_the_rows_that_help(rng, params, with_groups, remedy):
    rows, strata = rows_and_strata(rng, 800)
    groups = {"groups": np.arange(800) // 4} if with_groups else {}
    detector = KLPE(random_state=0, **params)
    with pytest.raises(ValueError, match=f"Or fit without strata, take {remedy}"):
        detector.fit(rows, strata=strata, **groups)
    detector.fit(rows, **groups).set_params(calibration_split="random")
    new, of_new = rows_and_strata(rng, 400)
    detector.calibrate(new, strata=of_new, replace=True)
    assert detector.predict(new, 0.1, strata=of_new).shape == (400,)


def test_strata_promise_no_more_than_the_common_reference(calibrated, rng):
    detector, *_ = calibrated
    rows, strata = rows_and_strata(rng, 600)
    detector.reference_ = TimeScores.from_runs(detector.score_samples(rows), np.array([0]))
    before = detector.reference_, detector.strata_
    with pytest.raises(ValueError, match=r"strata need a reference of single rows, drawn indep"):
        detector.calibrate(rows, strata=strata)
    assert (detector.reference_, detector.strata_) == before
    assert detector.calibrate(rows, strata=strata, replace=True).strata_.guarantee == "exact"


def test_a_fit_that_cannot_have_strata_is_refused_before_it_learns(rng):
    def learn(*rows):
        raise AssertionError("the fit has begun to learn")

    rows, strata = rows_and_strata(rng, 300)
    detector = RankAD(statistic=learn, random_state=0)
    with pytest.raises(ValueError, match="held out at random; got groups"):
        detector.fit(rows, groups=np.arange(300) // 3, strata=strata)
    detector.set_params(calibration_split="time")
    with pytest.raises(ValueError, match="held out at random; got calibration_split='time'"):
        detector.fit(rows, strata=strata)


def test_a_fit_says_which_strata_have_no_held_out_rows(rng):
    rows, strata = rng.normal(size=(402, 2)), np.array(["DE"] * 400 + ["FR", "IT"])
    detector = KLPE(random_state=0, calibration_size=100)
    with pytest.warns(CalibrationWarning) as warned:
        detector.fit(rows, strata=strata)
    missing = [key for key in ("FR", "IT") if key not in detector.strata_]
    assert missing
    assert f"out of the strata {', '.join(map(repr, missing))}, so" in str(warned[0].message)
