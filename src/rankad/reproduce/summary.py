"""Table 2 in short: means over its sets, and RankAD against the paper and other methods."""

from typing import Final

import numpy as np

from rankad.reproduce import methods, paper
from rankad.reproduce.false_alarm_limits import Verdict, verdicts
from rankad.reproduce.markdown import (
    format_levels,
    format_rates,
    format_runs,
    table,
    two_digits,
)
from rankad.reproduce.methods import METHODS
from rankad.reproduce.protocol import RAW, STANDARD
from rankad.reproduce.records import ALPHAS
from rankad.reproduce.results import Results
from rankad.reproduce.tables import COLUMN_NAMES, paper_mean


def summary(results: Results, command: str) -> str:
    """The page with the means of Table 2 over its sets."""
    text = (
        f"Made by `{command}`. The figures are means over {len(results.sets)} sets and "
        f"{format_runs(results.n_runs)}. The seconds to test a set are a geometric mean, z-scored."
    )
    parts = [
        "# Table 2 in short",
        text,
        _summary(results),
        *(
            f"AUC of {method} against the paper's rankAD, {name}: "
            f"{_against_rankad(results, method, columns)}."
            for method in (methods.DEFAULT, methods.PUBLISHED)
            for columns, name in COLUMN_NAMES.items()
        ),
        *(
            f"False alarms of {methods.DEFAULT}, {name}: {_against_law(results, columns)}."
            for columns, name in COLUMN_NAMES.items()
        ),
        f"{methods.DEFAULT} minus others, z-scored: mean over sets and runs ± standard error.",
        _differences(results),
        f"Time to test divided by that of {methods.DEFAULT}: median over sets (sets where longer).",
        _times(results),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(results: Results) -> str:
    heads = (
        *("method", "AUC, z-scored", "AUC, raw", "AUC, paper", "average precision, z-scored"),
        *(f"false alarms at {format_levels()}, z-scored", "test, s"),
    )
    rows = []
    for method in sorted(results.methods, key=lambda m: results.mean(m, "auc"), reverse=True):
        is_published = METHODS[method].paper is not None
        seconds = [results.median_seconds(method, name, STANDARD) for name in results.sets]
        cells = [
            method,
            f"{results.mean(method, 'auc', STANDARD):.4f}",
            f"{results.mean(method, 'auc', RAW):.4f}",
            f"{paper_mean(results, method):.4f}" if is_published else "",
            f"{results.mean(method, 'average_precision', STANDARD):.4f}",
            format_rates(results.mean_false_alarms(method, STANDARD)),
            two_digits(float(np.exp(np.mean(np.log(seconds))))),
        ]
        rows.append(cells)
    return table(heads, rows)


def _against_rankad(results: Results, method: str, columns: str) -> str:
    """The number of sets with at least the paper's AUC minus .01, and the other sets."""
    gaps = {
        name: float(auc) - paper.AUC[name, paper.RANKAD]
        for name, auc in zip(results.sets, results.by_set(method, "auc", columns), strict=True)
    }
    below = [f"{name} {gap:+.3f}" for name, gap in gaps.items() if gap < -0.01]
    n_reached = len(gaps) - len(below)
    return f"at least its figure minus .01 on {n_reached} of {len(gaps)} sets" + (
        f"; below on {', '.join(below)}" if below else ""
    )


def false_alarm_verdicts(results: Results, method: str, columns: str) -> list[Verdict]:
    """A verdict for each run of a method on each set at each alpha, by the beta-binomial law."""
    runs = [run for name in results.sets for run in results.runs(method, name, columns)]
    return verdicts(runs, n_tests=len(runs) * len(ALPHAS))


def _against_law(results: Results, columns: str) -> str:
    found = false_alarm_verdicts(results, methods.DEFAULT, columns)
    n_within = sum(verdict.is_within for verdict in found)
    n_too_many = sum(verdict.n_alarms > verdict.most for verdict in found)
    return (
        f"{n_within} of {len(found)} counts (sets x runs x alphas) are within their beta-binomial "
        f"limits, {n_too_many} above. An exact detector keeps all limits with a probability of at "
        "least 95%"
    )


_MEASURES: Final = {
    "AUC": "auc",
    "power below 10% false alarms": "partial_auc",
    "average precision": "average_precision",
}


def _differences(results: Results) -> str:
    """The default minus each other method, for each measure."""
    rows = [
        [method, *(_difference(results, method, measure) for measure in _MEASURES.values())]
        for method in (*methods.OF_PAPER[1:], *methods.OF_TODAY)
        if method in results.methods
    ]
    return table(["method", *_MEASURES], rows)


def _difference(results: Results, method: str, measure: str) -> str:
    difference = results.difference(methods.DEFAULT, method, measure, STANDARD)
    if np.isnan(difference.over_runs):
        return f"{difference.mean:+.4f}"
    return f"{difference.mean:+.4f} ± {difference.over_runs:.4f}"


def _times(results: Results) -> str:
    """Test time of each other method divided by that of the default."""
    rows = [
        [method, *(_time_ratio(results, method, columns) for columns in COLUMN_NAMES)]
        for method in results.methods
        if method not in (methods.DEFAULT, *methods.REMEDIES)
    ]
    return table(["method", *COLUMN_NAMES.values()], rows)


def _time_ratio(results: Results, method: str, columns: str) -> str:
    ratios = [
        results.median_seconds(method, name, columns)
        / results.median_seconds(methods.DEFAULT, name, columns)
        for name in results.sets
    ]
    n_longer = sum(ratio > 1.0 for ratio in ratios)
    return f"{np.median(ratios):.1f} ({n_longer} of {len(ratios)})"
