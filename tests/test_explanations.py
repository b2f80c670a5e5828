import tracemalloc
from copy import copy
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankad import RankAD, explanations
from rankad.explanations import Explanation, Reason
from rankad.kernels import FarField
from rankad.options import RankSVM

SETTINGS = {
    "standard": {},
    "robust": {"scaler": "robust"},
    "given scaler": {"scaler": StandardScaler(with_mean=False)},
    "raw": {"scaler": None},
    "no anchor": {"anchor": 0.0},
    "no anchor, wide": {"anchor": 0.0, "sigma": 300.0, "n_centers": None},
    "no anchor, centers": {"anchor": 0.0, "n_centers": 20},
    "all centers": {"n_centers": None},
    "few centers": {"n_centers": 20},
    "pruned": {"sigma": 4.0},
    "float32": {"ranker": RankSVM(dtype="float32")},
    "train": {"calibration": "train", "alpha": 0.1},
}

IN_FLOAT64 = [setting for setting in SETTINGS if setting != "float32"]


@cache
def nominal_rows():
    """Two clusters in columns of different units and origins."""
    rng = np.random.default_rng(7)
    rows = np.concatenate([rng.normal(size=(120, 3)), 4 + 0.5 * rng.normal(size=(60, 3))])
    return rng.permutation(rows) * [1.0, 5.0, 0.2] + [0.0, 100.0, -3.0]


@cache
def fitted(setting="standard"):
    return RankAD(random_state=0, **SETTINGS[setting]).fit(nominal_rows())


@cache
def near_and_far_rows():
    """Nominal rows, and rows with one, two or all features far out, some of them very far."""
    rng = np.random.default_rng(8)
    spread = np.array([1.0, 5.0, 0.2])
    near = nominal_rows()[::9] + 0.3 * spread * rng.normal(size=(20, 3))
    far = near + 9.0 * spread * rng.normal(size=(20, 3)) * (rng.random(size=(20, 3)) < 0.6)
    return np.concatenate([near, far, far[:6] + 1e3 * spread * rng.normal(size=(6, 3))])


def center_rows(detector):
    expansion = detector.expansion_
    return expansion.centers.astype(float) * expansion.scale + expansion.offset


def distances_in_sigmas(detector, rows):
    return (
        cdist(
            rows / detector.expansion_.scale, center_rows(detector) / detector.expansion_.scale
        ).min(axis=1)
        / detector.expansion_.sigma
    )


def best_moves(detector, rows):
    """Gains, best values up to rounding, and p-values, by scoring all candidates."""
    centers, found = center_rows(detector), {}
    for i, f in np.ndindex(rows.shape):
        moved = np.tile(rows[i], (len(centers) + 1, 1))
        moved[1:, f] = centers[:, f]
        scores, p_values = detector.score_samples(moved), detector.p_values(moved)
        best = scores.argmax()
        are_best = scores >= scores[best] - 1e-14 * max(1.0, abs(scores[best]))
        found[i, f] = scores[best] - scores[0], moved[are_best, f], p_values[best]
    return found


@pytest.mark.parametrize("setting", IN_FLOAT64)
def test_the_best_moves_are_those_found_by_scoring_every_candidate(setting):
    detector, rows = fitted(setting), near_and_far_rows()
    explanation = detector.explain(rows)
    n_ties = 0
    for at, (gain, values, p_value) in best_moves(detector, rows).items():
        assert_allclose(explanation.gains[at], gain, rtol=1e-9, atol=1e-12)
        assert np.isclose(explanation.best_values[at], values, rtol=1e-12, atol=0.0).any()
        assert explanation.p_values_after[at] == p_value
        n_ties += len(set(values)) > 1
    # Far rows tie only without an anchor.
    assert n_ties < 0.5 * rows.size if detector.anchor == 0.0 else n_ties == 0
    assert (explanation.gains > 0.1).any()


def change_expansion(detector, **changes):
    expansion = replace(detector.expansion_, **changes)
    detector._model = replace(detector._model, expansion=expansion)


@pytest.mark.parametrize("centered", [False, True])
def test_the_best_moves_follow_any_expansion(centered):
    """An expansion with any weights. Its far field is above some scores within reach."""
    detector, rows = copy(fitted("no anchor")), near_and_far_rows()
    change_expansion(
        detector,
        weights=np.random.default_rng(0).normal(size=detector.expansion_.n_centers),
        centered=centered,
        far_field=FarField(radius=1.0, floor=3.0),
    )
    explanation = detector.explain(rows)
    for at, (gain, values, _) in best_moves(detector, rows).items():
        assert_allclose(explanation.gains[at], gain, rtol=1e-9, atol=1e-12)
        assert np.isclose(explanation.best_values[at], values, rtol=1e-12, atol=0.0).any()


def test_kernels_that_are_all_nearly_one_keep_their_digits():
    detector, rows = copy(fitted("no anchor")), near_and_far_rows()
    change_expansion(detector, sigma=1e8)
    explanation = detector.explain(rows)
    for at, (gain, _, _) in best_moves(detector, rows).items():
        assert_allclose(explanation.gains[at], gain, rtol=1e-6, atol=1e-28)
    assert 1e-20 < explanation.gains.max() < 1e-10


def test_the_best_moves_in_float32_gain_as_much_as_any():
    # Some candidates have the same score in float32.
    detector, rows = fitted("float32"), near_and_far_rows()
    assert detector.expansion_.centers.dtype == np.float32
    explanation = detector.explain(rows)
    for at, (gain, _, p_value) in best_moves(detector, rows).items():
        assert_allclose(explanation.gains[at], gain, rtol=1e-5, atol=1e-5)
        assert_allclose(explanation.p_values_after[at], p_value, atol=1.01 / 46)


def test_scores_and_p_values_are_the_detectors():
    explanation = fitted().explain(near_and_far_rows())
    assert_array_equal(explanation.values, near_and_far_rows())
    assert_array_equal(explanation.scores, fitted().score_samples(near_and_far_rows()))
    assert_array_equal(explanation.p_values, fitted().p_values(near_and_far_rows()))


def test_an_explanation_stays_when_the_rows_change():
    rows = near_and_far_rows().copy()
    explanation = fitted().explain(rows)
    rows[:] = 0.0
    assert_array_equal(explanation.values, near_and_far_rows())


def test_the_settings_and_rows_are_of_every_kind():
    detector = fitted()
    radius = detector.expansion_.far_field.radius
    is_far = distances_in_sigmas(detector, near_and_far_rows()) > radius
    assert 5 < is_far.sum() < 41
    after = detector.explain(near_and_far_rows()).best_values
    assert (after != near_and_far_rows()).any(axis=1)[is_far].all()
    kinds = {
        (fitted(setting).expansion_.centered, fitted(setting).expansion_.far_field is None)
        for setting in SETTINGS
    }
    assert kinds == {(False, False), (False, True), (True, True)}
    assert fitted("pruned").pruning_error_ > 0.0


@pytest.mark.parametrize("setting", SETTINGS)
def test_gains_and_p_values_are_the_detectors_of_the_moved_row(setting):
    detector, rows = fitted(setting), near_and_far_rows()
    explanation = detector.explain(rows)
    for f in range(3):
        moved = rows.copy()
        moved[:, f] = explanation.best_values[:, f]
        gains = detector.score_samples(moved) - detector.score_samples(rows)
        assert_array_equal(explanation.gains[:, f], gains)
        assert_array_equal(explanation.p_values_after[:, f], detector.p_values(moved))


@pytest.mark.parametrize("setting", ["standard", "float32"])
def test_an_outward_step_is_known_to_gains_and_p_values_not_to_gradients(setting):
    detector, rows = copy(fitted(setting)), near_and_far_rows()
    change_expansion(detector, outward=0.0)
    plain = detector.explain(rows)
    change_expansion(detector, outward=0.5)
    explanation, scorer = detector.explain(rows), detector.scorer_
    assert_array_equal(explanation.scores, scorer(rows))
    assert_array_equal(explanation.p_values, scorer.p_values(rows))
    assert (explanation.scores < plain.scores).any()
    for f in range(3):
        moved = rows.copy()
        moved[:, f] = explanation.best_values[:, f]
        assert_array_equal(explanation.gains[:, f], scorer(moved) - scorer(rows))
        assert_array_equal(explanation.p_values_after[:, f], scorer.p_values(moved))
    has_gained = explanation.gains > 0.0
    assert has_gained.any()
    assert_array_equal(explanation.best_values[~has_gained], rows[~has_gained])
    are_the_same = has_gained & (plain.gains > 0.0)
    assert_array_equal(explanation.best_values[are_the_same], plain.best_values[are_the_same])
    assert_array_equal(explanation.gradients, plain.gradients)


@pytest.mark.parametrize("setting", IN_FLOAT64)
def test_gradients_match_finite_differences(setting):
    detector, rows = fitted(setting), near_and_far_rows()
    far_field = detector.expansion_.far_field
    if far_field is not None:
        distances = distances_in_sigmas(detector, rows)
        rows = rows[np.abs(distances - far_field.radius) > 0.01]
        assert (distances < far_field.radius).any()
        assert (distances > far_field.radius).any()
    steps = 1e-5 * detector.sigma_ * detector.expansion_.scale
    gradients = detector.explain(rows).gradients
    for f, step in enumerate(np.diag(steps)):
        rise = detector.score_samples(rows + step) - detector.score_samples(rows - step)
        expected = rise / (2.0 * step[f])
        size = np.abs(expected).max()
        assert_allclose(gradients[:, f], expected, rtol=1e-5, atol=1e-7 * size)
        assert size > 0.0


def test_gradients_of_float32_are_nearly_those_of_float64():
    rows = near_and_far_rows()
    gradients = fitted("float32").explain(rows).gradients
    expected = fitted().explain(rows).gradients
    assert_allclose(gradients, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("setting", ["standard", "robust", "raw", "float32"])
@pytest.mark.parametrize("among_rows", [False, True])
def test_the_nearest_rows_are_those_of_all_distances(setting, among_rows):
    detector, rows = fitted(setting), near_and_far_rows()
    pool = nominal_rows() if among_rows else center_rows(detector)
    scale = detector.expansion_.scale
    distances = cdist(rows / scale, pool / scale)
    nearest = np.argsort(distances, axis=1)[:, :4]
    explanation = detector.explain(rows, rows=nominal_rows() if among_rows else None, n_nearest=4)
    assert_array_equal(explanation.nearest, nearest)
    assert_allclose(explanation.nearest_rows, pool[nearest])
    assert_allclose(
        explanation.nearest_distances, np.take_along_axis(distances, nearest, axis=1), rtol=1e-9
    )


def test_where_nominal_rows_are_fewer_than_asked_for_all_are_given():
    rows = near_and_far_rows()[:4]
    explanation = fitted().explain(rows, rows=nominal_rows()[:2])
    assert_array_equal(np.sort(explanation.nearest), np.tile([0, 1], (4, 1)))
    assert explanation.nearest_rows.shape == (4, 2, 3)


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_planted_anomaly_is_put_down_to_its_feature(feature):
    detector = fitted()
    is_typical = detector.p_values(nominal_rows()) > 0.5
    rows = nominal_rows()[is_typical][:10].copy()
    rows[:, feature] += 10.0 * detector.expansion_.scale[feature]
    explanation = detector.explain(rows)
    assert (explanation.p_values <= 0.05).all()
    assert_array_equal(explanation.gains.argmax(axis=1), feature)
    assert (explanation.p_values_after[:, feature] > 0.5).all()
    others = np.delete(explanation.p_values_after, feature, axis=1)
    assert_array_equal(others, np.tile(explanation.p_values[:, None], 2))


def test_a_row_at_its_best_value_stays():
    rows = np.random.default_rng(0).normal(size=(100, 1))
    detector = RankAD(random_state=0).fit(rows)
    centers = center_rows(detector)
    best = centers[[detector.score_samples(centers).argmax()]]
    explanation = detector.explain(np.concatenate([best, best + 30.0]))
    assert_allclose(explanation.best_values, [best[0], best[0]])
    assert explanation.gains[0, 0] <= 1e-12 < explanation.gains[1, 0]
    assert explanation.p_values_after[1, 0] == explanation.p_values[0]


def test_where_nothing_gains_a_row_keeps_its_values():
    # Without a far field the kernel sum is 0 there, whichever feature moves.
    rows = np.full((1, 3), 1e6)
    explanation = fitted("no anchor, centers").explain(rows)
    assert_array_equal(explanation.gains, np.zeros((1, 3)))
    assert_array_equal(explanation.best_values, rows)
    assert_array_equal(explanation.p_values_after, np.tile(explanation.p_values[:, None], 3))
    assert_array_equal(explanation.gradients, np.zeros((1, 3)))


def test_one_feature_very_far_out_does_not_hide_the_others():
    # Its squared distance, 1e32, leaves no digits for the other features.
    row = nominal_rows()[:1].copy()
    row[0, 1] = 1e17
    explanation = fitted().explain(row)
    gain, values, p_value = best_moves(fitted(), row)[0, 1]
    assert_allclose([explanation.best_values[0, 1]], values)
    assert explanation.gains[0, 1] == gain > 1e30
    assert explanation.p_values_after[0, 1] == p_value > 0.5


def assert_same(one, other, at=slice(None)):
    for field in fields(Explanation):
        if field.name != "feature_names":
            expected = getattr(one, field.name)[at]
            assert_array_equal(getattr(other, field.name), expected, err_msg=field.name)


@pytest.mark.parametrize("setting", ["standard", "no anchor"])
@pytest.mark.parametrize("n_entries", [1, 1000])
def test_blocks_of_any_size_give_the_same(setting, n_entries, monkeypatch):
    detector, rows = fitted(setting), near_and_far_rows()[15:30]
    in_one_block = detector.explain(rows)
    monkeypatch.setattr(explanations, "_CHUNK_ENTRIES", n_entries)
    assert_same(in_one_block, detector.explain(rows))


def test_blocks_bound_the_memory(monkeypatch):
    detector, rows = fitted(), np.tile(near_and_far_rows(), (40, 1))
    monkeypatch.setattr(explanations, "_CHUNK_ENTRIES", 2**14)
    tracemalloc.start()
    try:
        detector.explain(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * rows.size * detector.expansion_.n_centers * rows.itemsize


def test_a_row_is_explained_the_same_alone_and_in_a_batch():
    batch = fitted().explain(near_and_far_rows())
    for i in (0, 25, 45):
        assert_same(batch, fitted().explain(near_and_far_rows()[[i]]), at=[i])


@pytest.mark.parametrize("setting", ["standard", "no anchor", "float32"])
@given(
    rows=st.lists(
        st.tuples(*3 * [st.floats(-1e308, 1e308) | st.floats(-10.0, 120.0)]), min_size=1, max_size=3
    )
)
def test_no_gain_is_negative_whatever_the_row(setting, rows):
    explanation = fitted(setting).explain(rows)
    for name in ("gains", "best_values", "p_values_after", "gradients", "nearest_distances"):
        assert np.isfinite(getattr(explanation, name)).all(), name
    assert (explanation.gains >= 0.0).all()
    assert (explanation.p_values_after >= explanation.p_values[:, None]).all()
    is_moved = explanation.best_values != explanation.values
    assert_array_equal(explanation.gains > 0.0, is_moved)
    centers = center_rows(fitted(setting))
    for f in range(3):
        assert np.isin(explanation.best_values[is_moved[:, f], f], centers[:, f]).all()


def test_names_are_those_of_the_data_frame():
    names = ["amount", "age", "load"]
    frame = pd.DataFrame(nominal_rows(), columns=names)
    explanation = RankAD(random_state=0).fit(frame).explain(frame.iloc[:5], rows=frame)
    assert explanation.feature_names == ("amount", "age", "load")
    assert_array_equal(explanation.nearest[:, 0], np.arange(5))
    assert_same(fitted().explain(nominal_rows()[:5], rows=nominal_rows()), explanation)
    assert fitted().explain(nominal_rows()[:1]).feature_names == ("x0", "x1", "x2")


def by_hand(n_rows=1, **replaced):
    """Explanation of equal rows."""
    one = {
        "values": [[812.0, 30.0, 0.5]],
        "gains": [[9.0, 0.0, 10.0]],
        "best_values": [[43.125, 30.0, 0.25]],
        "p_values_after": [[0.412, 0.002, 0.5]],
        "gradients": [[0.0, 0.0, 0.0]],
        "scores": [-3.0],
        "p_values": [0.002],
        "nearest": [[0]],
        "nearest_distances": [[1.0]],
        "nearest_rows": [[[43.125, 30.0, 0.5]]],
    } | replaced
    repeated = {name: np.repeat(np.array(array), n_rows, axis=0) for name, array in one.items()}
    return Explanation(feature_names=("amount", "age", "load"), **repeated)


def test_the_top_features_are_those_that_gain_most():
    top = by_hand().top(0)
    assert top == [
        ("load", 0.5, 0.25, 10.0, 0.5),
        ("amount", 812.0, 43.125, 9.0, 0.412),
        ("age", 30.0, 30.0, 0.0, 0.002),
    ]
    assert top[1] == Reason("amount", 812.0, 43.125, gain=9.0, p_value_after=0.412)
    assert by_hand().top(0, n=1) == top[:1]


def test_rows_are_shown_with_what_would_raise_their_p_values():
    assert (
        repr(by_hand())
        == str(by_hand())
        == (
            "row 0: p = 0.002; load 0.5 -> 0.25 would give p = 0.5; "
            "amount 812 -> 43.125 would give p = 0.412"
        )
    )
    unmoved = {"p_values_after": [[0.002, 0.002, 0.002]]}
    assert str(by_hand(**unmoved)) == (
        "row 0: p = 0.002; no feature alone would raise p "
        "(the score rises most by load 0.5 -> 0.25)"
    )
    unmoved["gains"] = [[0.0, 0.0, 0.0]]
    assert str(by_hand(**unmoved)) == "row 0: p = 0.002; no feature alone would raise p"


def test_of_many_rows_the_first_are_shown():
    lines = str(by_hand(n_rows=12)).split("\n")
    assert [line.split(":")[0] for line in lines[:-1]] == [f"row {i}" for i in range(10)]
    assert lines[-1] == "... and 2 more rows"
    assert len(str(by_hand(n_rows=10)).split("\n")) == 10


@pytest.mark.parametrize(
    "rows",
    [
        np.empty((0, 3)),
        np.array([[0.0, np.nan, 0.0]]),
        np.array([[0.0, np.inf, 0.0]]),
        np.zeros((2, 4)),
        np.zeros(3),
        np.array([["a", "b", "c"]]),
    ],
    ids=["empty", "nan", "inf", "columns", "vector", "text"],
)
def test_bad_rows_are_refused_as_by_score_samples(rows):
    with pytest.raises(ValueError, match=r".") as of_scores:
        fitted().score_samples(rows)
    for arguments in ({"X": rows}, {"X": nominal_rows(), "rows": rows}):
        with pytest.raises(ValueError, match=r".") as of_explanation:
            fitted().explain(**arguments)
        assert str(of_explanation.value) == str(of_scores.value)


def test_a_detector_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        RankAD().explain(nominal_rows())


def test_a_scaler_that_mixes_columns_is_refused_with_advice():
    detector = RankAD(scaler=make_pipeline(StandardScaler(), PCA(2)), random_state=0)
    detector.fit(nominal_rows())
    with pytest.raises(TypeError, match=r"(?s)PCA.*cannot be explained.*Fit with scaler='stand"):
        detector.explain(nominal_rows())


@pytest.mark.parametrize("count", [0, -1, 2.5, None])
def test_counts_are_at_least_one(count):
    with pytest.raises(ValueError, match="n_nearest must be an integer of at least 1; got"):
        fitted().explain(nominal_rows(), n_nearest=count)
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got"):
        by_hand().top(0, n=count)
