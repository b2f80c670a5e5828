"""Fewer than 100 rows: whoever follows the advice of a message gets what it says."""

import re

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from rankad import RankAD
from rankad.baselines import KLPE, AveragedKLPE, MassAD
from rankad.exceptions import CalibrationWarning, NoPairsError, UnresolvableAlphaError
from rankad.options import RankSVM

#: A first alpha for which nothing warns.
LARGE = 0.999


def drawn(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def fitted(n, make=RankAD, seed=0, **params):
    return make(alpha=LARGE, random_state=0, **params).fit(drawn(n, seed))


def refusal(detector, alpha, confidence=None):
    """The message of predict, or None if it predicts."""
    try:
        detector.predict(drawn(5, 1), alpha, confidence=confidence)
    except UnresolvableAlphaError as error:
        return str(error)
    return None


def number(pattern, message):
    found = re.search(pattern, message)
    return None if found is None else int(found[1])


ASKED = [(0.05, None), (0.01, None), (0.2, None), (0.2, 0.95), (0.05, 0.9)]


@pytest.mark.parametrize("size", [0.25, 0.1, 0.4, 2])
@pytest.mark.parametrize("n", [4, 5, 10, 19, 20, 25, 50, 72, 99])
def test_each_way_to_a_smaller_alpha_leads_there(n, size):
    detector = fitted(n, KLPE, n_neighbors=1, calibration_size=size)
    for alpha, confidence in ASKED:
        message = refusal(detector, alpha, confidence)
        if message is None:
            continue
        held_out = number(r"calibration_size=(\d+) \(", message)
        needed = number(r"at least (\d+) reference", message)
        assert (held_out is not None) == (n - needed >= 5)
        if held_out is not None:
            assert held_out == needed
            assert f"({n - needed} of {n} rows then train)" in message
            again = fitted(n, calibration_size=held_out)
            assert refusal(again, alpha, confidence) is None
        enough = number(r"fit on at least (\d+) rows", message)
        assert (enough is None) == isinstance(size, int)
        if enough is not None:
            options = {"make": KLPE, "n_neighbors": 1, "calibration_size": size}
            assert refusal(fitted(enough, **options), alpha, confidence) is None
            assert refusal(fitted(enough - 1, **options), alpha, confidence) is not None
        more = number(r"calibrate\(\) with (\d+) or more", message)
        for n_more, is_enough in ((more - 1, False), (more, True)):
            again = fitted(n, KLPE, n_neighbors=1, calibration_size=size)
            if n_more > 0:
                again.calibrate(drawn(n_more, 2))
            assert (refusal(again, alpha, confidence) is None) == is_enough
        offers_cross = "calibration='cross'" in message
        assert offers_cross == (confidence is None and n - needed < needed <= n)
        if offers_cross:
            assert refusal(fitted(n, calibration="cross"), alpha) is None


@pytest.mark.parametrize("n", [5, 10, 18])
def test_a_reference_of_all_rows_is_not_enlarged_by_holding_out_more(n):
    message = refusal(fitted(n, calibration="cross"), 0.05)
    assert "calibration_size" not in message
    assert message.endswith(
        "fit on at least 19 rows, or call calibrate() with as many new nominal rows."
    )
    assert refusal(fitted(19, calibration="cross"), 0.05) is None
    replaced = fitted(n, calibration="cross").calibrate(drawn(19, 3))
    assert refusal(replaced, 0.05) is None


def test_the_warning_of_fit_has_the_same_advice():
    expected = r"fit with calibration_size=19 \(31 of 50 rows then train\), fit on at least 73 rows"
    with pytest.warns(CalibrationWarning, match=expected):
        RankAD(random_state=0).fit(drawn(50))


def test_what_needs_held_out_rows_does_not_offer_cross():
    detector = fitted(30)
    assert "calibration='cross'" in refusal(detector, 0.05)
    for ask in (
        lambda: detector.false_alarm_bounds(0.05),
        lambda: detector.false_alarms_per_day(100, 0.05),
        lambda: detector.predict(drawn(5, 1), 0.05, confidence=0.9),
    ):
        with pytest.raises(UnresolvableAlphaError) as caught:
            ask()
        assert "cross" not in str(caught.value)


def test_a_single_score_is_singular():
    assert "too small for 1 reference score." in refusal(fitted(4), 0.05)


def test_groups_are_counted_in_the_advice():
    rows, groups = drawn(90), np.arange(90) // 3
    detector = RankAD(alpha=LARGE, random_state=0).fit(rows, groups=groups)
    message = refusal(detector, 0.05)
    assert "fit with calibration_size=19, fit on at least 73 groups" in message
    assert "calibrate() with 11 or more new nominal groups" in message
    again = RankAD(alpha=LARGE, calibration_size=19, random_state=0).fit(rows, groups=groups)
    assert refusal(again, 0.05) is None
    few = RankAD(alpha=LARGE, random_state=0).fit(rows[:30], groups=groups[:30])
    assert "calibration_size" not in refusal(few, 0.05)


@pytest.mark.filterwarnings("ignore:The 60 rows:rankad.exceptions.CalibrationWarning")
def test_rows_in_time_get_possible_advice():
    message = refusal(fitted(60, calibration_split="time"), 0.05)
    assert "fit with calibration_size=19, fit on at least 73 rows" in message
    assert refusal(fitted(60, calibration_split="time", calibration_size=19), 0.05) is None


def test_where_a_splitter_decides_calibration_size_is_not_advised():
    splitter = ShuffleSplit(test_size=0.25, random_state=0)
    message = refusal(fitted(50, calibration_split=splitter), 0.05)
    assert "calibration_size" not in message
    assert "hold out more of them in fit, or call calibrate() with 6 or more" in message


@pytest.mark.parametrize("make", [RankAD, KLPE, MassAD, AveragedKLPE])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 20])
@pytest.mark.parametrize("size", [0.25, 0.6, 0.9, 19, 99])
@pytest.mark.filterwarnings("ignore:n_neighbors=:UserWarning")
def test_too_few_training_rows_are_refused_with_a_size_that_works(make, n, size):
    n_training = n - (size if isinstance(size, int) else int(np.ceil(size * n)))
    if n_training >= 3 or (n_training == 2 and make is not RankAD):
        fitted(n, make, calibration_size=size)
        return
    if n_training == 2:
        advice = r"2 training points.* equally far from each other\. Train on at least 3 r"
        with pytest.raises(NoPairsError, match=advice):
            fitted(n, make, calibration_size=size)
        return
    with pytest.raises(ValueError, match="rows to train on, but at least 2 are needed") as caught:
        fitted(n, make, calibration_size=size)
    smaller = number(r"lower calibration_size, for example to (\d+)\.", str(caught.value))
    assert (smaller is None) == (n < 4)
    enough = n if smaller else number(r"Fit on at least (\d+) rows\.", str(caught.value))
    fitted(enough, make, calibration_size=smaller or 1)


def test_few_groups_are_refused_with_a_size_that_works():
    with pytest.raises(ValueError, match=r"leaves 0 of 1 groups .* Fit on at least 2 groups\."):
        RankAD(random_state=0).fit(drawn(20), groups=np.zeros(20))
    groups = np.arange(20) // 5
    with pytest.raises(ValueError, match=r"leaves 0 of 4 groups .*size, for example to 1\."):
        RankAD(calibration_size=4, random_state=0).fit(drawn(20), groups=groups)
    RankAD(alpha=LARGE, calibration_size=1, random_state=0).fit(drawn(20), groups=groups)


def test_fewer_rows_than_folds_are_refused_with_advice():
    with pytest.raises(ValueError, match=r"cv=4 folds need as many training rows; got 3\. Fit on"):
        fitted(4, sigma=[0.5, 1.0])
    with pytest.raises(ValueError, match=r"cv=4 folds .* or set C and sigma to 'auto'"):
        RankAD.as_published(random_state=0, n_neighbors=1).fit(drawn(3))
    fitted(8, sigma=[0.5, 1.0], pairs=2, ranker=RankSVM(cv=2))
    RankAD.as_published(random_state=0, n_neighbors=1, C="auto", sigma="auto").fit(drawn(3))


def test_two_rows_in_time_are_refused_without_impossible_advice():
    with pytest.raises(ValueError, match=r"leaves 1 of 2 rows .* Fit on more rows\.$"):
        RankAD(calibration_split="time").fit(drawn(2))
