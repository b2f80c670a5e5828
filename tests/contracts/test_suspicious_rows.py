"""`suspicious_rows` of every detector: what it finds, and that no row trains its own judge."""

import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from detectors import CASES
from scipy.stats import binom
from sklearn.base import BaseEstimator, OutlierMixin, clone

from rankad import Calibrated, RankAD
from rankad.baselines import KLPE
from rankad.exceptions import ConvergenceWarning

FAR = [3, 50, 120]


@pytest.fixture
def dirty(rng):
    """150 rows, and three bad ones among them: two are alike, one stands alone."""
    rows = rng.normal(size=(150, 2))
    rows[FAR] = [[9.0, 9.0], [9.0, 9.1], [-9.0, 8.0]]
    return rows


@pytest.mark.filterwarnings("ignore:ECOD scores a row differently")
@pytest.mark.filterwarnings("ignore::rankad.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_detector_orders_the_rows_and_stays_as_it_is(case, dirty):
    detector = clone(case.detector).set_params(random_state=0)
    if case.name == "RankAD as published":
        detector.set_params(C=[1.0], sigma=[1.0])
    before = dict(detector.__dict__)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "ECOD scores a row differently")
        found = detector.suspicious_rows(dirty)
    assert detector.__dict__ == before
    assert sorted(found.indices) == list(range(150))
    np.testing.assert_allclose(found.p_values[:3], [1 / 150, 2 / 150, 3 / 150], atol=2 / 150)
    if case.finds_far_points:
        assert set(found.first(3).indices) == set(FAR)
    again = detector.suspicious_rows(dirty)
    np.testing.assert_array_equal(again.indices, found.indices)


def test_a_fitted_detector_stays_as_it_is(dirty):
    detector = KLPE(random_state=np.random.RandomState(0)).fit(dirty)
    before = detector.p_values(dirty), detector.random_state.get_state()[1].tolist()
    detector.suspicious_rows(dirty)
    np.testing.assert_array_equal(detector.p_values(dirty), before[0])
    assert detector.random_state.get_state()[1].tolist() == before[1]


class Remembering(OutlierMixin, BaseEstimator):
    """Scores a row 1 if it has seen the value of its first column in training, else 0."""

    def fit(self, X, y=None):
        self.seen_ = np.unique(X[:, 0])
        return self

    def score_samples(self, X):
        return np.isin(X[:, 0], self.seen_) + 0.0


def is_known(rows, detector=None, **labels):
    """Whether the judge of each row had seen the first column of that row."""
    detector = Calibrated(Remembering(), random_state=0) if detector is None else detector
    found = detector.suspicious_rows(rows, **labels)
    return found.scores[np.argsort(found.indices)] == 1.0


def test_no_row_trains_its_own_judge(rng):
    assert not is_known(rng.normal(size=(60, 2))).any()


def test_no_group_trains_its_own_judge(rng):
    groups = np.repeat(np.arange(20), 3)
    rows = np.column_stack([groups, rng.normal(size=60)])
    assert is_known(rows).any(), "without groups the rows vouch for one another"
    assert not is_known(rows, groups=groups).any()


def test_no_copy_of_a_row_trains_its_judge_but_common_values_do(rng):
    rows = np.arange(1000.0)[:, None].repeat(2, axis=1)
    rows[:10] = rows[0]  # 1% of the rows
    rows[10:21] = rows[10]  # more
    known = is_known(rows)
    assert not known[:10].any()
    assert known[10:21].sum() >= 8
    assert not known[21:].any()


def test_runs_of_rows_in_time_stay_together():
    rows = (np.arange(500) // 10)[:, None].repeat(2, axis=1) + 0.0
    detector = Calibrated(Remembering(), random_state=0, calibration_split="time")
    assert is_known(rows).any()
    assert not is_known(rows, detector).any()


@pytest.mark.parametrize(("detector", "left_out"), [(KLPE(), 10), (Calibrated(Remembering()), 0)])
def test_the_farthest_tenth_does_not_train_neighbor_detectors(detector, left_out, monkeypatch, rng):
    fits = []
    fit = type(detector).fit
    monkeypatch.setattr(
        type(detector),
        "fit",
        lambda self, X, y=None, **options: fits.append(X) or fit(self, X, y, **options),
    )
    rows = rng.normal(size=(100, 2))
    detector.set_params(random_state=0).suspicious_rows(rows)
    assert sum(map(len, fits)) == 4 * (100 - left_out)
    distances = np.linalg.norm(rows, axis=1)
    trained = np.isin(rows[:, 0], np.concatenate(fits)[:, 0])
    assert (distances[~trained] > np.median(distances)).all()


def test_alike_rows_do_not_vouch_for_one_another(rng):
    """A clump of 4% that one round takes for nominal."""
    rows = rng.normal(size=(500, 2))
    rows[:20] = rng.normal(6.0, 0.05, size=(20, 2))
    found = RankAD(random_state=0).suspicious_rows(rows)
    assert (found.first(20).indices < 20).mean() >= 0.9


def test_if_the_other_rows_are_all_alike_all_train():
    rows = np.zeros((100, 2))
    rows[:15] = np.random.default_rng(0).normal(size=(15, 2))
    assert (RankAD(random_state=0).suspicious_rows(rows).first(15).indices < 15).all()


def test_strata_have_their_own_p_values(rng):
    strata = np.repeat(["a", "b"], 100)
    rows = rng.normal(size=(200, 2)) * np.where(strata == "b", 5.0, 1.0)[:, None]
    found = KLPE(random_state=0).suspicious_rows(rows, strata=strata)
    for stratum in "ab":
        p = found.p_values[strata[found.indices] == stratum]
        np.testing.assert_allclose(p, np.arange(1, 101) / 100)


def test_frames_keep_their_index(dirty):
    frame = pd.DataFrame(dirty, columns=["u", "v"], index=[f"id {n}" for n in range(150)])
    found = KLPE(random_state=0).suspicious_rows(frame)
    assert set(found.first(3).to_frame().index) == {"id 3", "id 50", "id 120"}
    of_polars = KLPE(random_state=0).suspicious_rows(polars.from_pandas(frame))
    np.testing.assert_array_equal(of_polars.indices, found.indices)
    np.testing.assert_array_equal(KLPE(random_state=0).suspicious_rows(dirty).scores, found.scores)


BAD_INPUT = [
    (lambda rows: {"X": rows[:1]}, ValueError, "minimum of 2 is required"),
    (lambda rows: {"X": rows[[0, 0]]}, ValueError, "needs at least 2 different rows; got 1"),
    (lambda rows: {"X": rows, "groups": np.zeros(150)}, ValueError, "at least 2 groups; got 1"),
    (lambda rows: {"X": rows, "groups": [1, 2]}, ValueError, "groups must have one value for each"),
    (lambda rows: {"X": rows, "strata": [1, 2]}, ValueError, "strata must have one value for each"),
    (lambda rows: {"X": rows * np.nan}, ValueError, "NaN"),
    (lambda rows: {"X": rows, "groups": "all"}, TypeError, "groups must be a list"),
]


@pytest.mark.parametrize(("make", "error", "message"), BAD_INPUT)
def test_bad_input_is_a_clear_error(make, error, message, dirty):
    with pytest.raises(error, match=message):
        KLPE(random_state=0).suspicious_rows(**make(dirty))


def test_one_group_that_leaves_one_row_is_a_clear_error(dirty):
    with pytest.raises(ValueError, match="leaves 1 row"):
        KLPE(random_state=0).suspicious_rows(dirty, groups=[0] * 149 + [1])


def test_progress_is_shown(dirty, caplog, monkeypatch):
    monkeypatch.setattr("rankad._progress._SECONDS_BETWEEN_REPORTS", 0.0)
    RankAD(random_state=0, verbose=True).suspicious_rows(dirty)
    assert any("out-of-fold scores" in message for message in caplog.messages)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.5])
def test_a_draw_like_the_others_is_rarely_suspicious(alpha):
    """P(p <= alpha) <= alpha for one row of clean rows; a correct method fails once in 10,000."""
    n_repeats = 400
    rng = np.random.default_rng(0)
    n_low = sum(
        0 in KLPE(random_state=seed).suspicious_rows(rng.normal(size=(50, 2))).at(alpha).indices
        for seed in range(n_repeats)
    )
    assert n_low <= binom(n_repeats, alpha).ppf(1.0 - 1e-4)


def test_a_split_that_is_none_is_refused(rng):
    detector = RankAD(calibration_split="tme")
    with pytest.raises(ValueError, match="'calibration_split' parameter of RankAD must be"):
        detector.suspicious_rows(rng.normal(size=(100, 2)))


@pytest.mark.parametrize("alpha", ["a", None, np.nan, True, 1.5])
def test_an_alpha_that_is_none_is_refused(alpha, rng):
    suspicious = KLPE(random_state=0).suspicious_rows(rng.normal(size=(60, 2)))
    with pytest.raises(ValueError, match="alpha must be at least 0 and at most 1; got"):
        suspicious.at(alpha)
