"""Dirty rows through the methods of a detector: bounds, audits, and a reference without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankad.baselines import KLPE
from rankad.calibration.dirt import largest_mean_rate

SHARE = 0.05


@pytest.fixture
def dirty(rng):
    """800 rows of which 40 are bad, the mask of these, and a detector fitted to all."""
    is_bad = rng.permutation(800) < SHARE * 800
    rows = rng.normal(size=(800, 2)) + np.where(is_bad, 6.0, 0.0)[:, None]
    return rows, is_bad, KLPE(random_state=0).fit(rows)


def test_the_bounds_are_wider_with_a_dirty_share(dirty):
    rows, _, detector = dirty
    clean, with_dirt = (detector.false_alarm_bounds(0.1, dirty_share=s) for s in (0.0, SHARE))
    assert with_dirt.low < clean.low < clean.limit < with_dirt.limit
    assert with_dirt.mean == largest_mean_rate(20, 200, SHARE)
    assert np.isnan(with_dirt.std)
    strata = np.arange(800) % 2
    by_stratum = KLPE(random_state=0).fit(rows, strata=strata)
    of_stratum = by_stratum.false_alarm_bounds(0.1, stratum=1, dirty_share=SHARE)
    assert of_stratum.dirty_share == SHARE
    assert of_stratum.limit > with_dirt.limit, "fewer reference rows"


def test_the_rate_on_clean_rows_is_within_its_bounds(dirty, rng):
    _, _, detector = dirty
    rate = (detector.predict(rng.normal(size=(4_000, 2)), 0.1) == -1).mean()
    bounds = detector.false_alarm_bounds(0.1, confidence=0.999, dirty_share=SHARE)
    assert bounds.low <= rate <= bounds.high


def test_an_audit_that_knows_of_dirt_forgives_true_alarms(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(800, 2)))
    fresh = rng.normal(size=(1_000, 2))
    fresh[rng.permutation(1_000)[:80]] += 8.0
    assert "more false alarms" in detector.audit(fresh, 0.05).verdict
    audit = detector.audit(fresh, 0.05, dirty_share=0.08)
    assert audit.n_bad >= 80
    assert audit.verdict == "consistent with what was asked for"
    assert audit.low <= 0.05 <= audit.high
    strata = np.repeat(["a", "b"], 500)
    detector.calibrate(rng.normal(size=(800, 2)), strata=np.repeat(["a", "b"], 400))
    assert "more false alarms" in detector.audit(fresh, 0.05, strata=strata)["a"].verdict
    audits = detector.audit(fresh, 0.05, strata=strata, dirty_share=0.16)
    assert {one.verdict for one in audits.values()} == {"consistent with what was asked for"}


def test_labels_of_the_held_out_rows_give_a_clean_reference(dirty, rng):
    rows, is_bad, detector = dirty
    held_out = detector.calibration_indices_
    clean = held_out[~is_bad[held_out]]
    far = rng.normal(6.0, 1.0, size=(50, 2))
    before = detector.p_values(far)
    detector.calibrate(rows[clean], replace=True)
    assert detector.reference_.guarantee == "exact"
    assert_allclose(detector.reference_.scores, np.sort(detector.score_samples(rows[clean])))
    assert detector.p_values(far).mean() < 0.8 * before.mean()


@pytest.mark.parametrize("share", [-0.01, 1.0, "2%"])
def test_a_dirty_share_that_is_none_is_refused(share, dirty, rng):
    _, _, detector = dirty
    message = "dirty_share must be a number of at least 0 and below 1"
    with pytest.raises(ValueError, match=message):
        detector.false_alarm_bounds(0.1, dirty_share=share)
    with pytest.raises(ValueError, match=message):
        detector.audit(rng.normal(size=(100, 2)), 0.1, dirty_share=share)


def test_without_a_held_out_reference_there_are_no_bounds_but_suspicious_rows(dirty):
    rows, is_bad, _ = dirty
    detector = KLPE(calibration="train", random_state=0).fit(rows)
    with pytest.raises(ValueError, match="needs independent held-out rows"):
        detector.false_alarm_bounds(0.1, dirty_share=SHARE)
    found = detector.suspicious_rows(rows).first(40)
    assert is_bad[found.indices].mean() > 0.8
