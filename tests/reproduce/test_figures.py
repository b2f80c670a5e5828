"""Every figure is drawn, and is the same file when drawn again."""

from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from made_records import alarms, make_record

from rankad import datasets
from rankad.reproduce import Results, figures, methods
from rankad.reproduce.figures.style import LOOKS
from rankad.reproduce.measure import ROC_RATES
from rankad.reproduce.results import mean_roc


@pytest.fixture
def results(table_2_records, fig_2_records, fig_3_records):
    records = [*table_2_records, *fig_2_records, *fig_3_records]
    return {name: Results(records, name) for name in ("table2", "fig2", "fig3")}


def test_images_are_whole_and_alike(results):
    made = [figures.images(figures.fig_3(results["fig3"])) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0]["png"].startswith(b"\x89PNG\r\n")
    assert ElementTree.fromstring(made[0]["svg"]).tag.endswith("svg")


def test_the_users_own_style_changes_nothing_and_is_left_alone(results):
    plain = figures.images(figures.fig_3(results["fig3"]))
    with mpl.rc_context({"font.size": 30.0, "axes.facecolor": "red"}):
        assert figures.images(figures.fig_3(results["fig3"])) == plain
        assert mpl.rcParams["font.size"] == 30.0


def test_roc_curves_are_the_means_of_the_records(results):
    axes = figures.fig_3(results["fig3"]).axes
    assert [ax.get_title(loc="left")[:17] for ax in axes[:2]] == [
        "(a) banknote, raw",
        "(b) magic, raw co",
    ]
    lines = axes[0].get_lines()
    assert len(lines) == len(axes[0].collections) == 4  # each has a band
    x, y = lines[0].get_data()
    np.testing.assert_array_equal(x, ROC_RATES)
    np.testing.assert_allclose(y, mean_roc(results["fig3"].runs("RankAD", "banknote", "raw")))
    labels = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert labels[0].startswith("RankAD (default): 0.81")


def test_fig_1_compares_four_scores_with_the_true_density():
    figure = figures.fig_1()
    assert len(figure.axes) == 4
    for ax in figure.axes:
        _, learned, true = ax.collections  # the first is the filling
        assert len(true.levels) == len(learned.levels) == 5


@pytest.mark.slow
def test_fig_2_has_the_bayes_detector_and_three_pictures_of_level_sets(results):
    figure = figures.fig_2(results["fig2"])
    assert len(figure.axes) == 4
    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert labels[0].startswith("Bayes: 0.810 ± 0.014")


def test_false_alarms_are_drawn_where_they_were_realised(results):
    axes = figures.false_alarms(results["table2"]).axes
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    assert names[0] == "RankAD (default)"
    assert {"RankAD as published", "RankAD, training ranks", "LOF"} < {*names}
    for ax, alpha in zip(axes, (0.01, 0.05, 0.1), strict=True):
        assert ax.get_title() == f"alpha = {alpha:g}"
        mean = next(line for line in ax.get_lines() if line.get_label() == "RankAD")
        np.testing.assert_allclose(np.ravel(mean.get_data()), [alpha, 0.0])


def test_rates_of_zero_are_drawn_at_the_edge(table_2_records):
    none = [make_record(r.key, **alarms(0, 0, 0)) for r in table_2_records]
    ax = figures.false_alarms(Results(none, "table2")).axes[0]
    low, _ = ax.get_xlim()
    for line in ax.get_lines():
        assert (np.asarray(line.get_xdata()) > low).all()


def test_level_sets_hold_the_shares_they_are_drawn_for():
    _, learned, true = figures.fig_1().axes[3].collections
    law = datasets.two_gaussians(2, random_state=0).nominal_law
    fresh = law.log_density(law.sample(5_000, random_state=1))
    shares = [(fresh >= level).mean() for level in true.levels]
    np.testing.assert_allclose(shares, [0.97, 0.9, 0.75, 0.5, 0.25], atol=0.02)
    assert not np.array_equal(true.levels, learned.levels)


def test_accuracy_is_drawn_against_the_time_of_one_point(results):
    figure = figures.auc_and_time(results["table2"])
    assert len(figure.axes) == 8
    bars = next(bars for bars in figure.axes[0].containers if bars.get_label() == "RankAD")
    place = np.concatenate(bars.lines[0].get_data()).astype(float)
    np.testing.assert_allclose(place, [1e6 * 0.01 / 1_100, 0.81])
    (bar,) = bars.lines[2]
    error = 2.0 * 0.01  # of 0.8 and 0.82
    np.testing.assert_allclose(bar.get_segments()[0][:, 1], [0.81 - error, 0.81 + error])


def test_methods_are_told_apart_by_color_and_marker():
    one_each = [look for method, look in LOOKS.items() if method != methods.TRAINING_RANKS]
    assert len({look.color for look in one_each}) == len(one_each)
    assert len({look.marker for look in one_each}) == len(one_each)
