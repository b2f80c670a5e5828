"""Tables 1 and 2 in Markdown, with the paper's figures next to ours."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rankad.datasets import Dataset
from rankad.reproduce import methods, paper
from rankad.reproduce.markdown import (
    format_levels,
    format_rates,
    format_runs,
    mean_and_deviation,
    table,
    two_digits,
)
from rankad.reproduce.methods import METHODS
from rankad.reproduce.protocol import RAW, STANDARD
from rankad.reproduce.results import Results, false_alarm_rates, of_runs

COLUMN_NAMES = {STANDARD: "z-scored", RAW: "raw"}
TITLES = {columns: f"{name} columns" for columns, name in COLUMN_NAMES.items()}


def table_1(sets: Iterable[Dataset]) -> str:
    """Table 1: the sets of these copies and of the paper, and how they differ."""
    lines = [
        "# Table 1: the data sets",
        "",
        "Rows, columns, anomalies of these copies (the paper's number where it differs).",
        "",
    ]
    heads = ("set", "N", "d", "anomalies", "the paper's anomalies", "difference", "source")
    rows = []
    for data in sets:
        published = paper.TABLE_1[data.name]
        (n, d), n_anomalies = data.X.shape, int(data.y.sum())
        cells = [
            data.name,
            f"{n:,}" + (f" ({published.n_rows:,})" if n != published.n_rows else ""),
            f"{d}" + (f" ({published.n_features})" if d != published.n_features else ""),
            f"{n_anomalies:,} ({n_anomalies / n:.2%})",
            published.anomalies,
            data.difference,
            data.source,
        ]
        rows.append(cells)
    return "\n".join([*lines, table(heads, rows)]) + "\n"


def table_2(results: Results, command: str) -> str:
    """Table 2, and further measures of the same runs."""
    of_paper = _run(results, methods.OF_PAPER)
    others = _run(results, (*methods.OF_TODAY, *methods.REMEDIES))
    everything = [*of_paper, *others]
    means = _format_means(results).capitalize()
    parts = [
        "# Table 2: accuracy and test time",
        f"Made by `{command}`.",
        _protocol(results),
        _settings(results),
        _warnings(results),
    ]
    for columns in (STANDARD, RAW):
        parts += [
            f"## {TITLES[columns].capitalize()}",
            f"### AUC, {TITLES[columns]}: the paper's methods",
            f"{means}. In parentheses: the paper's figure, and the difference to it.",
            _auc_beside_paper(results, of_paper, columns),
            f"### AUC, {TITLES[columns]}: other methods, and RankAD without its remedies",
            _means(results, others, columns, "auc"),
            f"### OC-SVM by nu: AUC, {TITLES[columns]}",
            _means(results, _run(results, methods.SWEEP), columns, "auc"),
            f"### Average precision, {TITLES[columns]}",
            _means(results, everything, columns, "average_precision"),
            f"### Mean power below 10% false alarms, {TITLES[columns]}",
            _means(results, everything, columns, "partial_auc"),
            f"### False alarms at {format_levels()}, {TITLES[columns]}",
            "Share of the nominal test rows that alarm at alpha, mean over the runs.",
            _false_alarms(results, everything, columns),
            f"### Seconds to test all rows, {TITLES[columns]}",
            "Processor time of one thread, median of the runs (the paper's on its machine).",
            _seconds(results, everything, columns),
            f"### Seconds to fit, {TITLES[columns]}",
            _medians(results, everything, columns, "fit_seconds", two_digits),
            f"### Support vectors, centers, or rows for the neighbor search, {TITLES[columns]}",
            _centers(results, everything, columns),
        ]
    return "\n\n".join(parts) + "\n"


def roc_table(results: Results, title: str, command: str) -> str:
    """A figure of ROC curves in numbers: AUC, full power, test time, centers."""
    has_paper = any(name in paper.FIG_3 for name in results.sets)
    text = (
        f"Made by `{command}`: {_format_means(results)}. Test time is processor time of one thread "
        "in milliseconds, median of the runs. Full power is the false-alarm rate at which every "
        "anomaly is caught."
    )
    if has_paper:
        text += " In parentheses: the paper's figure, and for full power also the difference to it."
    heads = ("set", "columns", "method", "AUC", "full power", "test, ms", "vectors or centers")
    rows = [
        _roc_cells(results, name, columns, method)
        for name in results.sets
        for columns in results.columns
        for method in results.methods
    ]
    return "\n".join([f"# {title} in numbers", "", text, "", table(heads, rows)]) + "\n"


def _roc_cells(results: Results, name: str, columns: str, method: str) -> list[str]:
    runs = results.runs(method, name, columns)
    published, column = paper.FIG_3.get(name), _paper_column(method)
    milliseconds = two_digits(1e3 * results.median_seconds(method, name, columns))
    n_centers = np.median(of_runs(runs, "n_centers"))
    centers = "" if np.isnan(n_centers) else f"{n_centers:.0f}"
    full_power_rates = of_runs(runs, "full_power_rate")
    full_power = mean_and_deviation(full_power_rates)
    if published is not None and column in published.full_power:
        figure = published.full_power[column]
        full_power += f" ({figure:.2f}, {full_power_rates.mean() - figure:+.2f})"
    if published is not None and column in published.seconds:
        milliseconds += f" ({1e3 * published.seconds[column]:g})"
        centers += f" ({published.n_support})" if column == paper.RANKAD else ""
    auc = mean_and_deviation(of_runs(runs, "auc"))
    return [name, COLUMN_NAMES[columns], method, auc, full_power, milliseconds, centers]


def _paper_column(method: str) -> str:
    """The paper's name of a method; empty if the paper does not have it."""
    return (METHODS[method].paper or "") if method in METHODS else ""


def _format_means(results: Results) -> str:
    if results.n_runs == 1:
        return "one run"
    return f"mean ± standard deviation of {format_runs(results.n_runs)}"


def _run(results: Results, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in results.methods]


def _protocol(results: Results) -> str:
    runs = [run for name in results.sets for run in results.runs(methods.DEFAULT, name, RAW)]
    n_train, n_nominal, n_anomalies = (
        max(run.n_train for run in runs),
        *(int(of_runs(runs, what).max()) for what in ("n_nominal", "n_anomalies")),
    )
    return (
        f"{format_runs(results.n_runs)} with random splits. {n_train:,} nominal rows train. At "
        f"most {n_nominal:,} other nominal rows and at most {n_anomalies:,} anomalies test. Each "
        "process has one thread. The paper does not say whether it scaled the columns. Raw columns "
        "give its aK-LPE figures most closely."
    )


def _settings(results: Results) -> str:
    rows = [[name, METHODS[name].setting] for name in results.methods if name in METHODS]
    return table(["method", "setting"], rows)


def _warnings(results: Results) -> str:
    """Methods with warnings, the number of their runs, the first warning; and missing methods."""
    lines = []
    if methods.ECOD not in results.methods:
        lines.append(f"{methods.ECOD} is left out: PyOD is not installed.")
    for method in results.methods:
        runs = [
            run
            for name in results.sets
            for columns in results.columns
            for run in results.runs(method, name, columns)
        ]
        messages = [warning for run in runs for warning in run.warnings]
        if messages:
            n_warned = sum(bool(run.warnings) for run in runs)
            lines.append(f"{method}: {n_warned} of {len(runs)} runs warned: {messages[0]}")
    return "\n\n".join(lines) or "No method is left out. No run warned."


def _auc_beside_paper(results: Results, names: Sequence[str], columns: str) -> str:
    def cell(method: str, name: str) -> str:
        aucs = of_runs(results.runs(method, name, columns), "auc")
        published = paper.AUC[name, _paper_column(method)]
        difference = aucs.mean() - published
        return f"{mean_and_deviation(aucs)} ({published:.3f}, {difference:+.3f})"

    def mean(method: str) -> str:
        ours, published = results.mean(method, "auc", columns), paper_mean(results, method)
        return f"**{ours:.4f}** ({published:.4f}, {ours - published:+.4f})"

    return _by_set(results, names, cell, mean)


def paper_mean(results: Results, method: str) -> float:
    """The paper's AUC of a method, mean over the sets."""
    return float(np.mean([paper.AUC[name, _paper_column(method)] for name in results.sets]))


def _by_set(
    results: Results,
    names: Sequence[str],
    cell: Callable[[str, str], str],
    mean: Callable[[str], str] | None = None,
) -> str:
    """A table with a line for each set, a column for each method, and a line of means."""
    rows = [[name, *(cell(method, name) for method in names)] for name in results.sets]
    if mean is not None:
        rows.append(["**mean**", *map(mean, names)])
    return table(["set", *names], rows)


def _means(results: Results, names: Sequence[str], columns: str, measure: str) -> str:
    return _by_set(
        results,
        names,
        lambda method, name: mean_and_deviation(
            of_runs(results.runs(method, name, columns), measure)
        ),
        lambda method: f"**{results.mean(method, measure, columns):.4f}**",
    )


def _seconds(results: Results, names: Sequence[str], columns: str) -> str:
    def cell(method: str, name: str) -> str:
        published = paper.TEST_SECONDS.get((name, _paper_column(method)))
        ours = two_digits(results.median_seconds(method, name, columns))
        return ours + (f" ({published:g})" if published is not None else "")

    return _by_set(results, names, cell)


def _medians(
    results: Results,
    names: Sequence[str],
    columns: str,
    measure: str,
    formatted: Callable[[float], str],
) -> str:
    def cell(method: str, name: str) -> str:
        return formatted(float(np.median(of_runs(results.runs(method, name, columns), measure))))

    return _by_set(results, names, cell)


def _centers(results: Results, names: Sequence[str], columns: str) -> str:
    counted = [
        method
        for method in names
        if not np.isnan(results.values(method, "n_centers", columns)).any()
    ]
    return _medians(results, counted, columns, "n_centers", "{:.0f}".format)


def _false_alarms(results: Results, names: Sequence[str], columns: str) -> str:
    return _by_set(
        results,
        names,
        lambda method, name: format_rates(false_alarm_rates(results.runs(method, name, columns))),
        lambda method: format_rates(results.mean_false_alarms(method, columns)),
    )
