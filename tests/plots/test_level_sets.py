import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KernelDensity

from rankad import Calibrated, RankAD
from rankad.exceptions import CalibrationWarning
from rankad.plots import LevelSetDisplay


def drawn(line):
    return np.column_stack(line.get_data())


def test_contours_pass_where_the_p_value_does(plane):
    detector = RankAD(sigma=1.5, random_state=0).fit(plane.fresh)
    display = LevelSetDisplay.from_estimator(detector, plane.fresh, alphas=[0.5, 0.1], grid=120)
    assert [*display.thresholds] == [0.1, 0.5]
    thresholds = [detector.reference_.threshold(alpha) for alpha in (0.1, 0.5)]
    assert_array_equal(display.contours_.levels, thresholds)
    for threshold, lines in zip(thresholds, display.contours_.allsegs, strict=True):
        scores = detector.score_samples(np.concatenate(lines))
        assert_allclose(scores, threshold, atol=0.01 * np.ptp(display.scores))


def test_scores_are_the_detectors_on_the_grid(plane):
    display = LevelSetDisplay.from_estimator(plane.detector, plane.fresh, grid=7)
    for i, y in enumerate(display.y):
        rows = np.column_stack([display.x, np.full(7, y)])
        assert_allclose(display.scores[i], plane.detector.score_samples(rows), rtol=1e-12)


def test_each_contour_is_labeled_once_with_its_alpha(plane):
    display = LevelSetDisplay.from_estimator(plane.detector, plane.fresh, grid=60)
    labels = [text.get_text() for text in display.contours_.labelTexts]
    assert labels == ["0.01", "0.05", "0.1", "0.25", "0.5"]
    assert len(display.regions_.levels) == 6


def test_rows_that_alarm_are_marked(plane):
    display = LevelSetDisplay.from_estimator(plane.detector, plane.fresh, grid=20)
    alarms = plane.detector.p_values(plane.fresh) <= plane.detector.alpha
    assert 0 < alarms.sum() < len(alarms)
    assert_array_equal(drawn(display.alarms_), plane.fresh[alarms])
    assert_array_equal(drawn(display.points_), plane.fresh[~alarms])
    assert display.alarms_.get_label() == f"{alarms.sum()} alarms (p ≤ 0.05)"


def test_without_choice_the_first_two_of_three_columns_are_drawn(nominal):
    detector = RankAD(random_state=0).fit(nominal)
    display = LevelSetDisplay.from_estimator(detector, nominal, grid=5, alphas=[0.1])
    assert_array_equal(display.points, nominal[:, :2])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x0", "x1")
    third = np.median(nominal[:, 2])
    corner = [[display.x[0], display.y[-1], third]]
    assert_allclose(display.scores[-1, 0], detector.score_samples(corner)[0])
    title = display.ax_.get_legend().get_title().get_text()
    assert title == "1 other feature at its median"


def test_columns_are_chosen_by_name_and_their_names_are_shown(frame):
    display = LevelSetDisplay.from_estimator(
        frame.detector, frame.fresh, features=("flow", "pressure"), grid=5, alphas=[0.1, 0.5]
    )
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("flow", "pressure")
    assert_array_equal(display.points, frame.fresh[["flow", "pressure"]])
    by_place = LevelSetDisplay.from_estimator(
        frame.detector, frame.fresh, features=(2, 0), grid=5, alphas=[0.1, 0.5]
    )
    assert_array_equal(by_place.scores, display.scores)


@pytest.mark.parametrize("features", [(0, 0), (0,), (0, 1, 2), "01"])
def test_features_must_be_two(frame, features):
    with pytest.raises(ValueError, match="two different features"):
        LevelSetDisplay.from_estimator(frame.detector, frame.fresh, features=features)


@pytest.mark.parametrize("features", [(0, 4), (-1, 0), ("flow", "volume"), (0, 1.0)])
def test_features_must_exist(frame, features):
    with pytest.raises(ValueError, match=r"no feature .*from 0 to 3"):
        LevelSetDisplay.from_estimator(frame.detector, frame.fresh, features=features)


def test_one_column_and_flat_rows_are_refused(plane, rng):
    one = rng.normal(size=(100, 1))
    with pytest.raises(ValueError, match="need two features; the data have 1"):
        LevelSetDisplay.from_estimator(RankAD(random_state=0).fit(one), one)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        LevelSetDisplay.from_estimator(plane.detector, plane.fresh[:, 0])


def test_bad_parameters_are_refused(plane):
    with pytest.raises(ValueError, match="grid must be an integer of at least 2; got 1"):
        LevelSetDisplay.from_estimator(plane.detector, plane.fresh, grid=1)
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        LevelSetDisplay.from_estimator(plane.detector, plane.fresh, alphas=[5])
    with pytest.raises(ValueError, match="at least one alpha"):
        LevelSetDisplay.from_estimator(plane.detector, plane.fresh, alphas=[])
    with pytest.raises(NotFittedError):
        LevelSetDisplay.from_estimator(RankAD(), plane.fresh)


def test_alphas_finer_than_the_reference_are_left_out(plane):
    with pytest.warns(CalibrationWarning, match=r"No contour at 0\.001: 125 .*at least 999"):
        display = LevelSetDisplay.from_estimator(
            plane.detector, plane.fresh, alphas=[0.001, 0.5], grid=10
        )
    assert [*display.thresholds] == [0.5]


def test_alphas_off_the_grid_are_not_drawn(plane):
    middle = plane.fresh[plane.detector.score_samples(plane.fresh).argmax()]
    display = LevelSetDisplay.from_estimator(
        plane.detector, np.stack([middle, middle + 1e-9]), alphas=[0.01], grid=3
    )
    assert display.contours_ is None


def test_tied_alphas_share_a_contour(plane):
    display = LevelSetDisplay.from_estimator(plane.detector, plane.fresh, grid=20)
    middle = float(np.median(display.scores))
    display.thresholds = {0.1: middle, 0.2: middle}
    display.plot()
    assert [text.get_text() for text in display.contours_.labelTexts] == ["0.1, 0.2"]


def test_scores_may_be_infinite(plane):
    detector = Calibrated(KernelDensity(kernel="tophat", bandwidth=0.5), random_state=0)
    detector.fit(plane.fresh)
    display = LevelSetDisplay.from_estimator(detector, plane.fresh, grid=20, alphas=[0.1, 0.5])
    assert np.isinf(display.scores).any()
    assert all(np.isfinite(line).all() for lines in display.contours_.allsegs for line in lines)


def test_contours_take_the_users_colors(plane):
    display = LevelSetDisplay.from_estimator(plane.detector, plane.fresh, grid=20, cmap="magma")
    assert display.contours_.get_cmap().name == "magma"
    display.plot(colors="red")
    assert_array_equal(display.contours_.get_edgecolor()[0], [1.0, 0.0, 0.0, 1.0])
