"""The calibration record: equal for equal fits, complete, and true."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration.record import digest
from rankad.exceptions import CalibrationWarning


@pytest.fixture
def rows(rng):
    return rng.normal(size=(200, 2))


def fitted(rows, **params):
    return KLPE(random_state=0, **params).fit(rows)


def test_equal_fits_have_equal_records_but_for_the_time(rows):
    first, second = (fitted(rows.copy()).calibration_record_ for _ in range(2))
    later = replace(second.steps[0], created="2031-01-01T00:00:00+00:00")
    assert first == replace(second, steps=(later,))
    assert first != fitted(rows, alpha=0.1).calibration_record_
    assert first != KLPE(random_state=1).fit(rows).calibration_record_


@pytest.mark.parametrize("change", ["value", "order", "row"])
def test_the_digest_is_that_of_these_rows_in_this_order(rows, change):
    other = {"value": rows.copy(), "order": rows[::-1], "row": rows[:-1]}[change]
    if change == "value":
        other[0, 0] = np.nextafter(other[0, 0], 9.0)
    both = [fitted(X, calibration="train").calibration_record_ for X in (rows, other)]
    assert both[0].training_rows != both[1].training_rows
    assert both[0].steps[0].rows != both[1].steps[0].rows


def test_frames_have_the_digests_of_their_values(rows):
    record = fitted(rows).calibration_record_
    for frame in (pd.DataFrame(rows, columns=["a", "b"]), pl.DataFrame(rows, schema=["a", "b"])):
        assert fitted(frame).calibration_record_ == record
    assert fitted(np.asfortranarray(rows)).calibration_record_ == record


def test_the_digest_does_not_depend_on_the_machine():
    hashes = np.array([1, 2], dtype=np.uint64)
    assert digest(hashes) == digest(hashes.astype(">u8"))
    little_endian = bytes([1, *[0] * 7, 2, *[0] * 7])
    assert digest(hashes) == hashlib.sha256(little_endian).hexdigest()


def test_it_is_json(rows):
    detector = fitted(rows, alpha=0.2).calibrate(rows + 0.01)
    record = json.loads(detector.calibration_record_.to_json())
    assert record == json.loads(json.dumps(detector.calibration_record_.to_dict()))
    assert record["n_training"] == 150
    assert record["n_reference"] == 250
    assert record["random_state"] == 0
    assert [step["n_rows"] for step in record["steps"]] == [50, 200]
    assert [test["name"] for test in record["steps"][0]["tests"]] == ["copies", "order"]
    assert set(record["versions"]) == {
        "python",
        "rankad",
        "numpy",
        "scipy",
        "scikit-learn",
        "numba",
    }
    assert "alpha=0.2" in record["detector"]
    assert pd.Timestamp(record["steps"][0]["created"]).tzinfo is not None


def test_seeds_are_numbers_or_unknown(rows):
    for seed, noted in ((np.int64(7), 7), (None, None), (np.random.RandomState(0), None)):
        record = KLPE(random_state=seed).fit(rows).calibration_record_
        assert record.random_state == noted
        record.to_json()


def test_steps_follow_the_calibrations(rows):
    detector = fitted(rows)
    first = detector.calibration_record_
    detector.calibrate(rows + 0.01)
    assert [step.source for step in detector.calibration_record_.steps] == [
        "fit, calibration_split='random' of rows",
        "calibrate",
    ]
    assert detector.calibration_record_.steps[0] is first.steps[0]
    assert first.n_reference == 50  # a record does not change
    detector.calibrate(rows + 0.02, replace=True)
    assert len(detector.calibration_record_.steps) == 1
    assert detector.calibration_record_.training_rows == first.training_rows
    trained = fitted(rows, calibration="train").calibrate(rows + 0.01)
    assert [step.source for step in trained.calibration_record_.steps] == ["calibrate"]


def promise_of(detector):
    return detector.calibration_record_.promise


def test_the_promise_is_that_of_the_reference(rows):
    exact = "drawn like the 50 held-out rows and independently of them, is at most alpha"
    assert exact in promise_of(fitted(rows))
    assert "the 250 held-out rows" in promise_of(fitted(rows).calibrate(rows + 0.01))
    grouped = KLPE(alpha=0.2, random_state=0).fit(rows, groups=np.arange(200) // 5)
    assert "row of a new group, drawn like the 10 held-out groups" in promise_of(grouped)
    assert "whole groups" in grouped.calibration_record_.steps[0].source
    stream = np.random.default_rng(0).normal(size=(2_000, 2))
    assert "same stationary stream" in promise_of(fitted(stream, calibration_split="time"))
    assert promise_of(fitted(rows, calibration="train")).startswith("Nothing is promised")
    assert "not proved" in promise_of(fitted(rows, calibration="cross"))


@pytest.mark.parametrize("calibration", ["split", "cross"])
def test_nothing_is_promised_for_rows_that_depend_on_their_neighbors(rows, calibration):
    with pytest.warns(CalibrationWarning, match="near each other in the file are alike"):
        detector = fitted(np.sort(rows, axis=0) + 0.1 * rows, calibration=calibration)
    assert promise_of(detector).startswith("Nothing is promised: rows that are near each other")
    tests = detector.calibration_record_.steps[0].tests
    assert [test.is_passed for test in tests] == [True, False]


def test_nothing_is_promised_for_groups_that_depend_on_their_neighbors(rng):
    groups = np.repeat(np.arange(100), 4)
    rows = np.repeat(np.cumsum(rng.normal(size=(100, 2)), axis=0), 4, axis=0)
    rows += 0.1 * rng.normal(size=(400, 2))
    with pytest.warns(CalibrationWarning, match=r"Groups that are near .*Give larger groups"):
        detector = KLPE(random_state=0).fit(rows, groups=groups)
    assert promise_of(detector).startswith("Nothing is promised: groups that are near each other")


def test_the_promise_after_copies_is_for_rows_that_are_none(rows, rng):
    with pytest.warns(CalibrationWarning, match="The 400 rows are copies of 200 distinct rows"):
        detector = fitted(rng.permutation(np.repeat(rows, 2, axis=0)))
    assert "a new nominal row that is no copy, drawn like the 50" in promise_of(detector)
    assert detector.reference_.size == 50


def test_it_is_kept_with_the_detector_not_with_its_clone(rows):
    detector = RankAD(random_state=0).fit(rows)
    assert not hasattr(clone(detector), "calibration_record_")
