"""The page of the speed benchmarks."""

import sys
from pathlib import Path

import pytest

SPEED = Path(__file__).parents[1] / "benchmarks" / "speed"


@pytest.fixture
def report(monkeypatch):
    """The module that makes the page."""
    monkeypatch.syspath_prepend(str(SPEED))
    import report

    yield report
    del sys.modules["report"]


def test_a_section_is_a_table_of_its_findings(report):
    section = report.Section("Fits", "On two cores.", [report.Finding("1,000 rows", 0.1234, " s")])
    assert report.page("# Speed", [section]) == (
        "# Speed\n\n## Fits\n\nOn two cores.\n\n|  | measured |\n|---|---|\n"
        "| 1,000 rows | 0.123 s |\n"
    )


def test_what_is_measured_beside_several_has_a_column_for_each(report):
    findings = [
        report.Finding(peer, ratio, "x", against=ours)
        for peer, ours, ratio in [("LOF", "A", 2.0), ("SVM", "A", 3.0), ("LOF", "B", 1234.0)]
    ]
    lines = report.Section("", "", findings).markdown().splitlines()
    assert lines[-4:] == [
        "|  | against A | against B |",
        "|---|---|---|",
        "| LOF | 2x | 1,234x |",
        "| SVM | 3x |  |",
    ]


def test_what_is_missed_is_named_and_nothing_else(report):
    slow = report.Finding("grid", 11.0, " s", 10, at_most=True)
    few = report.Finding("SVM", 20.0, "x", 30)
    section = report.Section(
        "Fits",
        "",
        [slow, few, report.Finding("fit", 0.1, " s", 1.5, True), report.Finding("row", 9.0, " us")],
    )
    assert report.missed([section]) == [
        "Fits: grid: 11 s, target 10 s",
        "Fits: SVM: 20x, target 30x",
    ]
