import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from rankad import RankAD
from rankad.exceptions import UnresolvableAlphaError
from rankad.plots import FalseAlarmDisplay


def test_rates_and_bars_are_those_of_an_audit(plane):
    alphas = [0.02, 0.1, 0.3]
    display = FalseAlarmDisplay.from_estimator(plane.detector, plane.fresh, alphas=alphas)
    points, _, (bars,) = display.errorbar_.lines
    for i, alpha in enumerate(alphas):
        audit = plane.detector.audit(plane.fresh, alpha)
        assert_allclose(np.transpose(points.get_data())[i], [alpha, audit.rate])
        assert_allclose(bars.get_segments()[i][:, 1], [audit.low, audit.high], atol=1e-12)
    assert_array_equal(display.rates, display.n_alarms / 200)


def test_interval_and_limit_are_the_detectors(plane):
    display = FalseAlarmDisplay.from_estimator(plane.detector, plane.fresh, confidence=0.9)
    at = np.searchsorted(display.band_alphas, 13 / 126 - 1e-9)
    bounds = plane.detector.false_alarm_bounds(display.band_alphas[at] + 1e-9, confidence=0.9)
    assert_allclose([display.low[at], display.high[at]], [bounds.low, bounds.high])
    limit = plane.detector.false_alarm_band(0.9)[12]
    assert_allclose(display.limits[at], limit)
    for area, top in ((display.interval_, bounds.high), (display.band_, limit)):
        x, y = area.get_paths()[0].vertices.T
        assert_allclose(y[x == display.band_alphas[at]].max(), top)


def test_usual_alphas_are_those_the_reference_resolves(plane):
    display = FalseAlarmDisplay.from_estimator(plane.detector, plane.fresh)
    assert_array_equal(display.alphas, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    tiny = FalseAlarmDisplay.from_predictions([0.5, 1.0], n_reference=1)
    assert_array_equal(tiny.alphas, [0.5])


def test_no_alarms_leave_only_the_bar():
    display = FalseAlarmDisplay.from_predictions(np.ones(50), n_reference=99, alphas=[0.01])
    _, _, (bars,) = display.errorbar_.lines
    assert_allclose(bars.get_segments()[0][:, 1], [0.0, 1 - 0.025 ** (1 / 50)])
    assert display.ax_.get_ylim()[0] > 0.0


def test_linear_axes_begin_at_zero(plane):
    display = FalseAlarmDisplay.from_estimator(plane.detector, plane.fresh, scale="linear")
    assert display.ax_.get_xlim()[0] == display.ax_.get_ylim()[0] == 0.0


def test_a_second_detector_needs_no_second_band(plane):
    first = FalseAlarmDisplay.from_estimator(plane.detector, plane.fresh)
    second = FalseAlarmDisplay.from_predictions(
        np.full(9, 0.5), 125, ax=first.ax_, name="other", plot_band=False, color="red"
    )
    assert second.band_ is second.interval_ is None
    labels = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert sorted(labels) == sorted(
        [
            "95% limit, all alphas at once",
            "95% interval, each alpha",
            "as asked for",
            "RankAD (200 rows)",
            "other (9 rows)",
        ]
    )


def test_what_cannot_be_said_is_refused(plane):
    with pytest.raises(UnresolvableAlphaError, match=r"alpha=0\.001 is too small for 125 .* 999"):
        FalseAlarmDisplay.from_estimator(plane.detector, plane.fresh, alphas=[0.001])
    trained = RankAD(calibration="train", random_state=0).fit(plane.fresh)
    with pytest.raises(ValueError, match="FalseAlarmDisplay needs independent held-out rows"):
        FalseAlarmDisplay.from_estimator(trained, plane.fresh)
    with pytest.raises(NotFittedError):
        FalseAlarmDisplay.from_estimator(RankAD(), plane.fresh)
    with pytest.raises(ValueError, match="confidence must be a number between 0 and 1"):
        FalseAlarmDisplay.from_predictions([0.5], 9, confidence=2.0)


def test_rows_that_the_detector_has_seen_are_refused(rng):
    rows = rng.normal(size=(400, 2))
    detector = RankAD(random_state=0).fit(rows)
    with pytest.raises(ValueError, match="FalseAlarmDisplay needs new rows, but about 75%"):
        FalseAlarmDisplay.from_estimator(detector, rows)
    with pytest.raises(ValueError, match="FalseAlarmDisplay needs new rows, but about 100%"):
        FalseAlarmDisplay.from_estimator(detector, rows[detector.calibration_indices_])
