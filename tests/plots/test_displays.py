"""What every display does."""

import subprocess
import sys
from io import BytesIO

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from rankad import plots

NAMES = ["level sets", "p-values", "false alarms", "selection", "explanation", "drift"]


def test_the_public_names_are_these():
    assert plots.__all__ == sorted(name for name in vars(plots) if name.endswith("Display"))
    assert len(plots.__all__) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_display_makes_a_figure_that_pyplot_shows(makers, name):
    display = makers[name]()
    assert isinstance(display.figure_, Figure)
    assert display.ax_.figure is display.figure_
    assert plt.gcf() is display.figure_


@pytest.mark.parametrize("name", NAMES)
def test_a_display_draws_on_the_axes_given_and_on_no_others(makers, name):
    figure = Figure()
    axes = figure.subplots(1, 2)
    display = makers[name](ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert axes[1].has_data()
    assert not axes[0].has_data()
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", NAMES)
def test_a_display_plots_again_elsewhere_and_returns_itself(makers, name):
    display = makers[name]()
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first
    label = "the name of it"
    display.plot(name=label)
    legend = display.ax_.get_legend()
    texts = [] if legend is None else [legend.get_title(), *legend.get_texts()]
    shown = [display.ax_.get_title(loc="left"), *(text.get_text() for text in texts)]
    assert any(label in text for text in shown)


@pytest.mark.parametrize("name", NAMES)
def test_the_users_style_is_used_and_left_alone(makers, name):
    with mpl.rc_context({"axes.facecolor": "black", "text.color": "white", "font.size": 7.0}):
        before = dict(mpl.rcParams)
        display = makers[name]()
        display.figure_.savefig(BytesIO())
        assert dict(mpl.rcParams) == before
        assert display.ax_.get_facecolor() == (0.0, 0.0, 0.0, 1.0)
        assert display.ax_.xaxis.label.get_size() == 7.0


@pytest.mark.parametrize("name", NAMES)
def test_without_matplotlib_the_error_says_how_to_get_it(makers, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"Display draws with .*pip install 'rankad\[plot\]'"):
        makers[name]()


def test_importing_the_displays_imports_no_matplotlib():
    code = "import sys, rankad.plots; print('matplotlib' in sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "False"


@pytest.mark.parametrize("display", [plots.LevelSetDisplay, plots.FalseAlarmDisplay])
def test_other_detectors_are_shown_the_way(display):
    from sklearn.svm import OneClassSVM

    with pytest.raises(TypeError, match=r"detector of rankad; got OneClassSVM.*Calibrated"):
        display.from_estimator(OneClassSVM(), [[0.0, 0.0]])
