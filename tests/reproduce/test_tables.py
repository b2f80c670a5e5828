"""The tables hold the figures of the records, beside the paper's."""

import re

import pytest
from made_records import make_record

from rankad import datasets
from rankad.reproduce import Results, paper
from rankad.reproduce.summary import summary
from rankad.reproduce.tables import roc_table, table_1, table_2


@pytest.fixture(scope="module")
def results(table_2_records):
    return Results(table_2_records, "table2")


def rows(text):
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]


def test_table_1_tells_where_a_copy_differs():
    data = datasets.mulcross(random_state=0)
    (heads, row) = rows(table_1([data]))
    cells = dict(zip(heads, row, strict=True))
    assert cells["N"] == "262,144"
    assert cells["anomalies"] == "26,214 (10.00%)"
    assert cells["the paper's anomalies"] == "2 clusters (10%)"
    smaller = datasets.mulcross(1_000, random_state=0)
    assert rows(table_1([smaller]))[1][1] == "1,000 (262,144)"


def test_table_2_has_mean_deviation_the_papers_figure_and_the_difference(results):
    text = table_2(results, "the command")
    assert "Made by `the command`." in text
    heads, *_ = [row for row in rows(text) if row[0] == "set"]
    line = next(row for row in rows(text) if row[0] == "annthyroid")
    cells = dict(zip(heads, line, strict=True))
    assert cells["RankAD"] == "0.810 ± 0.014 (0.844, -0.034)"
    assert cells["massAD"] == "0.870 ± 0.014 (0.789, +0.081)"
    mean = next(row for row in rows(text) if row[0] == "**mean**")
    assert mean[heads.index("RankAD")] == "**0.8100** (0.9371, -0.1271)"


def test_table_2_has_all_that_was_measured(results):
    text = table_2(results, "")
    for what in ("AUC", "Average precision", "Mean power below 10%", "False alarms", "Seconds"):
        assert len(re.findall(f"^### {what}", text, flags=re.M)) >= 2
    for method in results.methods:
        assert f"| {method} |" in text
    assert "0.10 (0.483)" in text  # massAD's seconds on cover, and the paper's


@pytest.mark.parametrize(
    ("title", "measure", "form"),
    [
        ("Average precision", "average_precision", "{:.3f} ± 0.000"),
        ("Mean power below 10%", "partial_auc", "{:.3f} ± 0.000"),
        ("False alarms at", "false_alarms_0.01", "{:.3f} / 0.050 / 0.100"),
    ],
)
def test_every_method_has_its_own_figures(results, title, measure, form):
    section = table_2(results, "").split(f"### {title}")[1].split("###")[0]
    heads, *lines = rows(section)
    cells = dict(zip(heads, next(line for line in lines if line[0] == "cover"), strict=True))
    for method in heads[1:]:
        (first, *_) = results.runs(method, "cover", "raw")
        assert cells[method] == form.format(first.measures[measure])


def test_warnings_and_what_is_missing_are_reported(table_2_records):
    whole = table_2(Results(table_2_records, "table2"), "")
    assert "No method is left out. No run warned." in whole
    warned = [
        make_record(record.key, warnings=["stopped early"])
        for record in table_2_records
        if record.method == "RankAD"
    ]
    others = [r for r in table_2_records if r.method not in ("RankAD", "ECOD")]
    text = table_2(Results([*warned, *others], "table2"), "")
    assert "ECOD is left out: PyOD is not installed." in text
    assert "RankAD: 32 of 32 runs warned: stopped early" in text


def test_every_line_of_a_table_has_as_many_cells_as_its_head(results):
    n_cells = 0
    for line in table_2(results, "").splitlines():
        if line.startswith("|---"):
            n_cells = line.count("|")
        elif line.startswith("|") and n_cells:
            assert line.count("|") == n_cells
        else:
            n_cells = 0


def test_the_summary_counts_sets_and_limits(results):
    text = summary(results, "rankad reproduce table2")
    assert text.count("on 0 of 8 sets") == 4  # two methods, both kinds of columns
    assert text.count("48 of 48 counts") == 2
    assert "| massAD | 10.0 (8 of 8) | 10.0 (8 of 8) |" in text
    # massAD is .06 above in both runs, by the AUC that the records were made with.
    assert re.search(r"^\| massAD \| -0\.0600 ± 0\.0000 \|", text, flags=re.M)
    better = [
        make_record(record.key, auc=paper.AUC[record.set, "rankAD"] - 0.009)
        if record.set != "smtp"
        else record
        for runs in results._runs.values()
        for record in runs
    ]
    text = summary(Results(better, "table2"), "")
    assert "on 7 of 8 sets; below on smtp" in text


def test_figures_have_their_numbers_too(fig_3_records):
    text = roc_table(Results(fig_3_records, "fig3"), "Fig. 3", "the command")
    lines = {tuple(row[:3]): row[3:] for row in rows(text)}
    assert lines["banknote", "raw", "RankAD"] == [
        *("0.810 ± 0.014", "0.300 ± 0.000 (0.20, +0.10)", "10 (31)", "400 (162)")
    ]
    assert lines["magic", "raw", "aK-LPE"][2:] == ["100 (420)", "400"]
    assert lines["magic", "raw", "OC-SVM, nu = 0.1"][2:] == ["100", "400"]
