"""Groups, time and copies in every detector: fitted, calibrated, audited, and routed."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from detectors import CASES
from numpy.testing import assert_array_equal
from scipy.signal import lfilter
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration import CrossFittedScores, GroupScores, HeldOutScores, TimeBlocks, TimeScores
from rankad.exceptions import CalibrationWarning

pytestmark = pytest.mark.filterwarnings("ignore:ECOD scores a row differently:UserWarning")


def grouped(rng, n_groups=60, size=5):
    """Rows with a common effect of each group, in random order."""
    groups = rng.permutation(np.repeat(np.arange(n_groups), size))
    return 2 * rng.normal(size=(n_groups, 2))[groups] + rng.normal(size=(len(groups), 2)), groups


@pytest.fixture
def data(rng):
    return grouped(rng)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_detector_holds_out_whole_groups(case, data):
    rows, groups = data
    detector = clone(case.detector).set_params(random_state=0, alpha=0.2)
    if case.name == "RankAD as published":
        detector.set_params(C=[0.1, 1.0], sigma=[0.5, 1.0, 2.0])
    detector.set_params(calibration_size=0.25).fit(rows, groups=groups)
    held_out = detector.calibration_indices_
    if detector.calibration != "split":
        assert_array_equal(held_out, np.arange(300))
        return
    assert len(np.unique(groups[held_out])) == 15
    assert not np.isin(groups[np.setdiff1d(np.arange(300), held_out)], groups[held_out]).any()
    assert isinstance(detector.reference_, GroupScores)
    scores = detector.score_samples(rows)
    of_reference = scores - detector.reference_.rounding.of(scores)  # ties resolve upward
    shares = [of_reference[held_out][groups[held_out] == g] for g in np.unique(groups[held_out])]
    p = (1 + np.mean(np.array(shares)[:, :, None] <= scores, axis=1).sum(axis=0)) / 16
    assert np.abs(detector.p_values(rows) - p).max() < 1e-6
    for alpha in (0.07, 0.2, 0.6):
        assert_array_equal(detector.predict(rows, alpha) == -1, detector.p_values(rows) <= alpha)
    again = pickle.loads(pickle.dumps(detector))
    assert_array_equal(again.p_values(rows), detector.p_values(rows))
    assert again.calibration_record_ == detector.calibration_record_
    assert detector.fit(rows).reference_.guarantee == "exact"  # nothing of the groups stays


@pytest.mark.parametrize("split", ["groups", "time"])
def test_the_scorer_gives_the_p_values_of_the_detector(split, data, rng):
    rows, groups = data
    detector = RankAD(random_state=0, alpha=0.2)
    if split == "groups":
        detector.fit(rows, groups=groups)
    else:
        detector.set_params(calibration_split="time").fit(rng.normal(size=(1_500, 2)))
    new = np.r_[3 * rng.normal(size=(100, 2)), rows[:50]]
    alone = [detector.scorer_.p_value(row) for row in new]
    assert_array_equal(alone, detector.p_values(new))
    assert_array_equal(detector.scorer_.p_values(new), detector.p_values(new))


LABELS = {
    "numbers": lambda g: g,
    "list": lambda g: g.tolist(),
    "text": lambda g: g.astype(str),
    "objects": lambda g: np.array([f"m{i}" for i in g], dtype=object),
    "text and numbers": lambda g: [str(i) if i % 2 else int(i) for i in g],
    "dates": lambda g: np.datetime64("2024-01-01") + g,
    "tuples": lambda g: [(int(i), "a") for i in g],
    "pandas": lambda g: pd.Series(g, index=g),
    "categories": lambda g: pd.Series(g.astype(str)).astype("category"),
    "pandas text": lambda g: pd.Series(g.astype(str), dtype="string"),
    "polars": lambda g: pl.Series(g.astype(str)),
    "a column": lambda g: g[:, None],
    "a frame": lambda g: pd.DataFrame({"site": g // 10, "machine": g % 10}),
    "floats": lambda g: g / 3,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_type_are_the_same_groups(labels, data):
    rows, groups = data
    expected = KLPE(random_state=0, alpha=0.2).fit(rows, groups=groups)
    detector = KLPE(random_state=0, alpha=0.2).fit(rows, groups=labels(groups))
    assert_array_equal(detector.calibration_indices_, expected.calibration_indices_)
    assert_array_equal(detector.p_values(rows), expected.p_values(rows))


BAD_LABELS = {
    "too few": (lambda g: g[:-1], ValueError, "groups must have one value for each of the 300 row"),
    "NaN": (lambda g: np.where(g == g[3], np.nan, g), ValueError, "groups must not be missing"),
    "NaN in a list": (lambda g: ["a", np.nan] * 150, ValueError, r"missing.*positions 1, 3, 5"),
    "None": (lambda g: [None, *g[1:]], ValueError, r"got None or NaN at positions 0\."),
    "NaT": (lambda g: np.full(300, np.datetime64("NaT")), ValueError, "must not be missing"),
    "pandas.NA": (
        lambda g: pd.Series([pd.NA, *g[1:].astype(str)], dtype="string"),
        ValueError,
        "groups must not be missing",
    ),
    "text": (lambda g: "group", TypeError, "groups must be a list, an array"),
    "lists": (lambda g: [[1]] * 300, TypeError, "groups must be hashable"),
    "one group": (lambda g: np.zeros(300), ValueError, "leaves 0 of 1 groups to train on"),
}


@pytest.mark.parametrize(("labels", "error", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_labels_that_cannot_be_are_refused(labels, error, message, data):
    rows, groups = data
    detector = KLPE(random_state=0, alpha=0.2).fit(rows)
    before = dict(detector.__dict__)
    with pytest.raises(error, match=message):
        detector.fit(rows, groups=labels(groups))
    if "one group" not in message and "of 1 groups" not in message:
        with pytest.raises(error, match=message):
            detector.calibrate(rows + 9.0, groups=labels(groups), replace=True)
        with pytest.raises(error, match=message):
            KLPE(calibration="train").fit(rows, groups=labels(groups))
    assert detector.__dict__ == before


def test_cross_calibration_keeps_groups_together(data):
    rows, groups = data
    fits = []

    def statistic(X, reference=None):
        fits.append(X.copy())
        return -np.abs(X).sum(axis=1)

    RankAD(calibration="cross", statistic=statistic, robust=False, random_state=0, scaler=None).fit(
        rows, groups=groups
    )
    folds = [np.isin(rows[:, 0], X[:, 0]) for X in fits if 200 < len(X) < 300]
    assert len(folds) == 5
    for trains in folds:
        assert not np.isin(groups[~trains], groups[trains]).any()
    with pytest.raises(ValueError, match="needs at least 2 groups; got 1"):
        KLPE(calibration="cross").fit(rows, groups=np.zeros(300))


@pytest.mark.parametrize("calibration", ["train", "cross"])
@pytest.mark.parametrize("split", ["time", TimeBlocks(), KFold(3)])
def test_a_calibration_without_held_out_rows_refuses_a_split(calibration, split, data):
    with pytest.raises(ValueError, match=r"calibration_split=.* needs calibration='split'"):
        KLPE(calibration=calibration, calibration_split=split).fit(data[0])


def test_splitters_decide_who_is_held_out(rng):
    rows = rng.normal(size=(400, 2))
    predefined = PredefinedSplit(np.where(np.arange(400) % 4 == 0, 0, -1))
    for split, held_out in (
        (predefined, np.arange(0, 400, 4)),
        (TimeBlocks(n_blocks=1, gap=3, size=100), np.arange(300, 400)),
        (KFold(4), np.arange(100)),
        (TimeSeriesSplit(3), np.arange(100, 200)),
    ):
        detector = KLPE(calibration_split=split, alpha=0.1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The 400 rows depend", CalibrationWarning)
            detector.fit(rows)
        assert isinstance(detector.reference_, TimeScores)
        assert_array_equal(detector.calibration_indices_, held_out)
        assert clone(detector).fit(rows).calibration_record_ == detector.calibration_record_


def test_splitters_and_groups(data):
    rows, groups = data
    detector = KLPE(calibration_split=GroupShuffleSplit(random_state=0), alpha=0.2)
    assert isinstance(detector.fit(rows, groups=groups).reference_, GroupScores)
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        detector.fit(rows)
    with pytest.raises(ValueError, match=r"calibration_split='time'\) cuts groups apart"):
        KLPE(calibration_split="time").fit(rows, groups=groups)
    for bad in ("chronological", 5, None):
        with pytest.raises(ValueError, match="'calibration_split' parameter of KLPE must be"):
            KLPE(calibration_split=bad).fit(rows)


def test_a_pipeline_routes_groups(data):
    rows, groups = data
    alone = KLPE(random_state=0, alpha=0.2)
    alone.fit(StandardScaler().fit_transform(rows), groups=groups)
    with config_context(enable_metadata_routing=True):
        detector = KLPE(random_state=0, alpha=0.2).set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), detector).fit(rows, groups=groups)
        again = clone(pipeline).fit(rows, groups=groups)
    assert_array_equal(pipeline[-1].reference_.scores, alone.reference_.scores)
    assert_array_equal(again[-1].reference_.scores, alone.reference_.scores)
    assert_array_equal(pipeline.predict(rows), alone.predict(StandardScaler().fit_transform(rows)))


def test_a_grid_search_routes_groups_to_the_splitter_and_to_the_fit(data):
    rows, groups = data
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            KLPE(random_state=0, alpha=0.2).set_fit_request(groups=True),
            {"n_neighbors": [3, 9]},
            scoring=lambda detector, X, y=None: detector.reference_.size,
            cv=GroupKFold(3),
        ).fit(rows, groups=groups)
    assert_array_equal(search.cv_results_["mean_test_score"], [10.0, 10.0])  # 40 groups, a quarter
    assert isinstance(search.best_estimator_.reference_, GroupScores)


STARTS = {
    "split": (KLPE(), HeldOutScores),
    "time": (KLPE(calibration_split=TimeBlocks(n_blocks=2)), TimeScores),
    "train": (KLPE(calibration="train"), None),
    "cross": (KLPE(calibration="cross"), CrossFittedScores),
    "groups": (KLPE(), GroupScores),
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("with_groups", [False, True])
@pytest.mark.parametrize("replace", [False, True])
def test_calibrations_of_every_kind(start, with_groups, replace, rng):
    rows, groups = grouped(rng, 300, 1)
    detector = clone(STARTS[start][0]).set_params(random_state=0, alpha=0.1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"The \d+ rows (depend|are few)", CalibrationWarning)
        detector.fit(rows, groups=groups if start == "groups" else None)
        old = detector.reference_
        more, of_more = grouped(rng, 250, 1)
        keywords = {"groups": 1_000 + of_more if with_groups else None, "replace": replace}
        mixes = start in ("split", "time", "groups") and with_groups != (start == "groups")
        if mixes and not replace:
            before = dict(detector.__dict__)
            with pytest.raises(ValueError, match="do not mix with"):
                detector.calibrate(more, **keywords)
            assert detector.__dict__ == before
            return
        detector.calibrate(more, **keywords)
    kinds = {"time": TimeScores}
    expected = GroupScores if with_groups else kinds.get(start, HeldOutScores)
    assert type(detector.reference_) is expected
    is_kept = type(old) is expected and not replace
    assert detector.reference_.size == 250 + (old.size if is_kept else 0)
    assert len(detector.calibration_record_.steps) == 1 + is_kept
    assert detector.calibration_record_.n_reference == detector.reference_.size
    with pytest.raises(ValueError, match="100% of these rows are in the reference already"):
        detector.audit(more)


def test_rows_that_trained_are_refused(rng):
    rows = rng.normal(size=(400, 2))
    detector = KLPE(random_state=0).fit(rows)
    before = dict(detector.__dict__)
    for call in (
        detector.calibrate,
        detector.audit,
        lambda X: detector.calibrate(X, replace=True),
    ):
        with pytest.raises(ValueError, match="about 75% of these rows have trained"):
            call(rows)
        with pytest.raises(ValueError, match="about 38% of these rows have trained"):
            call(np.r_[rows, rng.normal(size=(400, 2))])
    assert detector.__dict__ == before


def test_rows_of_the_reference_count_once(rng):
    rows, more = rng.normal(size=(2, 400, 2))
    detector = KLPE(random_state=0).fit(rows)
    held_out = rows[detector.calibration_indices_]
    with pytest.raises(ValueError, match=r"audit needs.*already\. Give other rows\.$"):
        detector.audit(held_out)
    with pytest.raises(ValueError, match=r"already.*replace=True"):
        detector.calibrate(held_out)
    detector.calibrate(more)
    for known in (held_out, more):
        with pytest.raises(ValueError, match="are in the reference already"):
            detector.calibrate(known)
    detector.calibrate(more, replace=True)
    assert detector.reference_.size == 400
    detector.calibrate(held_out)  # no longer in the reference
    assert detector.reference_.size == 500


def test_rows_that_trained_copies_are_refused(rng):
    rows = rng.normal(size=(300, 2))
    with pytest.warns(CalibrationWarning, match="copies of 300 distinct rows"):
        detector = KLPE(random_state=0).fit(rng.permutation(np.repeat(rows, 3, axis=0)))
    with pytest.raises(ValueError, match="75% of these rows have trained"):
        detector.calibrate(rows)
    detector.calibrate(rng.normal(size=(300, 2)))


@pytest.mark.parametrize("times", [1, 2])
def test_discrete_rows_are_not_refused_by_chance(times, rng):
    def atoms(n):  # a third of the rows are one row
        return np.where(rng.random((n, 1)) < 0.3, 0.0, rng.normal(size=(n, 2)))

    detector = KLPE(random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The .* rows are copies", CalibrationWarning)
        detector.fit(rng.permutation(np.repeat(atoms(800), times, axis=0)))
    assert detector.calibration_record_.steps[0].tests[0].is_passed == (times == 1)
    for n in (50, 500, 5_000):
        detector.calibrate(atoms(n))
        detector.audit(atoms(n))
    counts = KLPE(random_state=0, n_neighbors=40).fit(rng.poisson(8, size=(1_000, 2)))
    for _ in range(5):
        counts.calibrate(rng.poisson(8, size=(4_000, 2)))
    assert counts.reference_.size == 20_250


def test_a_calibration_that_fails_changes_nothing(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(400, 2)))
    before = dict(detector.__dict__)
    walk = rng.normal(size=(200, 2)).cumsum(axis=0)
    calls = [
        ({"X": walk}, CalibrationWarning),  # warnings are errors here
        ({"X": rng.normal(size=(10, 2)), "replace": True}, CalibrationWarning),  # alpha too small
        ({"X": rng.normal(size=(9, 3))}, ValueError),
        ({"X": rng.normal(size=(9, 2)), "groups": [1]}, ValueError),
        ({"X": rng.normal(size=(9, 2)), "groups": [1] * 9}, ValueError),
        ({"X": rng.normal(size=(9, 2)), "strata": [1]}, ValueError),
        ({"X": np.full((9, 2), np.nan)}, ValueError),
    ]
    for keywords, error in calls:
        with pytest.raises(error):
            detector.calibrate(**keywords)
        assert detector.__dict__ == before


def test_groups_that_are_copies_count_once(rng):
    rows, groups = grouped(rng, 200, 3)
    both = np.r_[rows, rows[::-1]], np.r_[groups, 1_000 + groups[::-1]]
    with pytest.warns(CalibrationWarning, match="The 400 groups are copies of 200 distinct groups"):
        detector = KLPE(random_state=0, alpha=0.1).fit(both[0], groups=both[1])
    assert detector.reference_.size == 50
    assert (detector.calibration_indices_ < 600).all()
    # Copies within a group are rows of that group.
    twice = KLPE(random_state=0, alpha=0.1).fit(np.r_[rows, rows], groups=np.r_[groups, groups])
    assert twice.reference_.size == 50
    # Every group has the same rows: that contradicts nothing.
    codes = np.tile(np.arange(6.0), 100)[:, None] + [[0.0, 1.0]] * rng.normal(size=(600, 1))
    KLPE(random_state=0, alpha=0.1).fit(codes, groups=np.repeat(np.arange(100), 6))


def test_small_tables_are_not_suspected(rng):
    rows = np.linspace(0.0, 1.0, 30)[:, None] + 0.01 * rng.normal(size=(30, 2))
    detector = KLPE(alpha=0.5, random_state=0).fit(rows)
    assert [test.is_passed for test in detector.calibration_record_.steps[0].tests] == [True, True]


@pytest.mark.filterwarnings("ignore:No row is selected:rankad.exceptions.CalibrationWarning")
def test_a_short_stream_is_told_what_it_is_worth(rng):
    walk = rng.normal(size=(1_000, 2)).cumsum(axis=0)
    with pytest.warns(CalibrationWarning, match=r"1000 rows depend .* worth about [\d.]+ ind"):
        detector = KLPE(calibration_split="time", random_state=0).fit(walk)
    assert detector.calibration_record_.promise.startswith("Nothing is promised: the rows are too")
    assert "worth about" in detector.calibration_record_.steps[0].tests[2].finding
    noise = np.c_[np.arange(1_000), rng.normal(size=(1_000, 2))]  # a clock is no memory
    independent = KLPE(calibration_split="time", random_state=0).fit(noise)
    length = independent.calibration_record_.steps[0].tests[2]
    assert length.is_passed
    assert length.finding.startswith("The 1000 rows are worth about")  # not that they depend
    with pytest.warns(CalibrationWarning, match=r"The 150 rows are few\. With fewer than 200"):
        KLPE(calibration_split="time", alpha=0.2).fit(noise[:150])
    detector.calibrate(rng.normal(size=(50, 2)))  # more rows of the same stream
    assert detector.reference_.guarantee == "time"
    with pytest.raises(ValueError, match=r"set_params\(calibration_split='random'\).calibrate"):
        detector.select(walk)
    detector.set_params(calibration_split="random")
    detector.calibrate(rng.normal(size=(300, 2)), replace=True).select(walk[:9], 0.3)


def test_methods_that_need_single_rows_say_how_to_get_them(data):
    rows, groups = data
    detector = RankAD(random_state=0, alpha=0.2).fit(rows, groups=groups)
    for call in (detector.false_alarm_bounds, lambda: detector.select(rows)):
        with pytest.raises(ValueError, match="one new nominal row of each of many groups"):
            call()


def test_a_file_may_be_sorted_by_its_strata(rng):
    strata = np.repeat(["a", "b", "c"], 300)
    shift = 5.0 * (strata == "b")[:, None]
    detector = KLPE(random_state=0).fit(rng.normal(size=(900, 2)) + shift, strata=strata)
    detector.calibrate(rng.normal(size=(900, 2)) + shift, strata=strata)
    assert all(step.tests[1].is_passed for step in detector.calibration_record_.steps)
    streams = np.concatenate([rng.normal(size=(300, 2)).cumsum(axis=0) for _ in "abc"])
    with pytest.warns(CalibrationWarning, match="near each other in the file are alike"):
        detector.calibrate(streams, strata=strata)


def test_a_splitter_that_scatters_the_held_out_rows_is_no_hold_out_in_time(rng):
    noise = rng.normal(size=(1_200, 2))
    stream = lfilter([1.0], [1.0, -0.9], noise, axis=0)
    detector = KLPE(calibration_split=ShuffleSplit(1, test_size=0.25, random_state=0))
    detector.fit(noise)  # independent draws: no warning
    assert "near alpha" in detector.calibration_record_.promise
    with pytest.warns(CalibrationWarning, match="near each other in the file are alike"):
        detector.fit(stream)
    assert detector.calibration_record_.promise.startswith("Nothing is promised")
    in_time = KLPE(calibration_split=TimeBlocks(n_blocks=3, size=0.25))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 1200 rows depend", CalibrationWarning)
        in_time.fit(stream)
    assert "too few for the memory" in in_time.calibration_record_.promise  # worth about 60 rows


@pytest.mark.parametrize("replace", [False, True])
def test_groups_that_trained_are_refused(replace, data, rng):
    rows, groups = data
    detector = KLPE(random_state=0, alpha=0.3).fit(rows, groups=groups)
    trained = np.setdiff1d(groups, groups[detector.calibration_indices_])[:3]
    new = rng.normal(size=(6, 2))
    before = dict(detector.__dict__)
    with pytest.raises(ValueError, match=f"groups have trained this detector: {trained[0]}, "):
        detector.calibrate(new, groups=np.repeat(trained, 2), replace=replace)
    assert detector.__dict__ == before
    detector.calibrate(new, groups=["a", "a", "b", "b", "c", "c"], replace=replace)
    assert detector.reference_.size == (3 if replace else 18)


def test_an_audit_of_dependent_rows_says_that_its_interval_is_too_sure(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(400, 2)))
    detector.audit(rng.normal(size=(500, 2)))  # independent draws: no warning
    stream = lfilter([1.0], [1.0, -0.9], rng.normal(size=(500, 2)), axis=0)
    with pytest.warns(CalibrationWarning, match="the interval and the verdict are too sure"):
        detector.audit(stream)
    with pytest.warns(CalibrationWarning, match="copies of 250 distinct rows"):
        detector.audit(rng.permutation(np.repeat(rng.normal(size=(250, 2)), 2, axis=0)))
