import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from rankad import RankAD
from rankad.plots import TuningDisplay


def test_the_map_holds_the_mean_scores(cross_validated):
    display = TuningDisplay.from_estimator(cross_validated)
    results = cross_validated.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        row = [0.01, 0.1, 1.0].index(params["C"])
        column = [0.2, 1.0].index(params["sigma"])
        assert display.scores[row, column] == score
        assert display.mesh_.get_array()[row, column] == score
    assert_array_equal(display.Cs, [0.01, 0.1, 1.0])
    assert "pairs" in display.colorbar_.ax.get_ylabel()


def test_each_cell_surrounds_its_values(cross_validated):
    x, y = np.moveaxis(TuningDisplay.from_estimator(cross_validated).mesh_.get_coordinates(), 2, 0)
    assert_allclose(x[0, 1], np.sqrt(0.2))
    assert_allclose(y[:, 0], [10**-2.5, 10**-1.5, 10**-0.5, 10**0.5])


def test_the_chosen_cell_is_marked(cross_validated):
    display = TuningDisplay.from_estimator(cross_validated)
    mark = np.ravel(display.chosen_.get_data())
    assert_array_equal(mark, [cross_validated.sigma_, cross_validated.C_])
    best = np.argmax(cross_validated.cv_results_["mean_test_score"])
    assert cross_validated.cv_results_["params"][best] == {"C": mark[1], "sigma": mark[0]}


def test_the_colorbar_can_be_left_out(cross_validated):
    display = TuningDisplay.from_estimator(cross_validated, colorbar=False, cmap="cividis")
    assert display.colorbar_ is None
    assert len(display.figure_.axes) == 1
    assert display.mesh_.get_cmap().name == "cividis"


def test_one_parameter_alone_makes_a_strip(plane):
    detector = RankAD(sigma=[0.2, 1.0], n_centers=20, random_state=0).fit(plane.fresh)
    display = TuningDisplay.from_estimator(detector)
    assert display.scores.shape == (1, 2)
    assert_allclose(display.ax_.get_yticks(), [detector.C_])


def test_without_cross_validation_there_is_no_map(plane):
    with pytest.raises(ValueError, match=r"not cross-validated.*Fit with C='published'"):
        TuningDisplay.from_estimator(plane.detector)
    with pytest.raises(NotFittedError):
        TuningDisplay.from_estimator(RankAD(C="published"))
