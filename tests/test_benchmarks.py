"""What the page of benchmarks says beside its figures."""

import sys
from pathlib import Path

import pytest

SPEED = Path(__file__).parents[1] / "benchmarks" / "speed"
FLOATS = ("float64", "float32")
NAMES = {path.stem for path in SPEED.glob("*.py")} - {"__main__"}


@pytest.fixture
def speed(monkeypatch):
    """Sections as the benchmarks make them, and what is told of their missed figures."""
    pytest.importorskip("pyod")
    monkeypatch.syspath_prepend(str(SPEED))
    from reasons import missed
    from report import Finding, Section

    yield lambda *findings: missed([Section("", "", [Finding(*f) for f in findings])])
    for name in NAMES & {*sys.modules}:
        del sys.modules[name]


def test_reasons_are_told_of_missed_figures_only(speed):
    met, is_missed = (("the whole published grid", s, " s", 10, True) for s in (9.0, 11.0))
    assert speed() == speed(met) == ""
    told = speed(is_missed)
    assert told.startswith("## Where a figure is missed\n\n**The published grid.**")
    assert "IsolationForest" not in told


def test_numbers_beside_a_missed_figure_are_those_of_the_run(speed):
    is_missed = ("IsolationForest against RankAD", 23.0, "x", 30)
    assert "%" not in speed(is_missed)
    told = speed(is_missed, ("share of the limit, float64, 200 centers", 80.0, "%", 50))
    assert "80% of the hardware's limit" in told
    assert "1.2 times as fast" in told


def test_the_second_thread_is_explained_beside_its_gain_with_more_centers(speed):
    is_missed = ("second thread's gain, float32, 200 centers", 1.7, "x", 1.8)
    gains = [(f"second thread's gain, {t}, 1000 centers", 1.9, "x", 1.8) for t in FLOATS]
    assert speed(is_missed).startswith("## Where a figure is missed\n\n**The second thread, 200")
    assert "the gain is 1.90 and 1.90" in speed(is_missed, *gains)
