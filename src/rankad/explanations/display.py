"""Explanations as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from rankad.explanations.tables import NOT_EXPLAINED, counted

if TYPE_CHECKING:
    from rankad.explanations.explanation import Explanation

#: Up to so many rows are shown one by one. Of more rows, the shared reasons are shown.
_N_SHOWN = 10


def text_lines(explanation: Explanation) -> list[str]:
    """A heading, and the reason of each row, or what the reasons share."""
    lines = [_heading(explanation)]
    if len(explanation) <= _N_SHOWN:
        return lines + [f"  {reason}" for reason in explanation]
    rows = _shared_rows(explanation)
    width = max((len(count) for count, *_ in rows), default=0)
    return lines + [f"  {count:>{width}} {share:>5}  {what}" for count, share, what in rows]


def html(explanation: Explanation) -> str:
    """The same as a table."""
    if len(explanation) <= _N_SHOWN:
        head = ("row", "p", "reason")
        rows: Iterable[tuple[str, ...]] = (
            (str(reason.row), f"{reason.p_value:.3g}", reason.text) for reason in explanation
        )
    else:
        head, rows = ("alarms", "share", "features"), _shared_rows(explanation)
    body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows)
    return (
        f"<p>{escape(_heading(explanation))}</p>"
        f"<table><thead><tr>{_cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cells(texts: Iterable[str], tag: str) -> str:
    style = ' style="text-align: left"'
    return "".join(f"<{tag}{style}>{escape(text)}</{tag}>" for text in texts)


def _heading(explanation: Explanation) -> str:
    """How many rows alarm, and how many of them are explained."""
    n_alarms, n_most = int(explanation.is_alarm.sum()), explanation.max_features
    by_groups = explanation.is_explained & explanation.in_groups
    n_by_groups = int(by_groups.sum())
    n_by_features = int(explanation.is_explained.sum()) - n_by_groups
    parts = [f"{n_alarms} of {len(explanation)} rows alarm at alpha={explanation.alpha}."]
    if n_by_features:
        features = _at_most(n_most, "feature")
        parts.append(f"{n_by_features} {_are(n_by_features)} nominal if {features}.")
    if n_by_groups:
        groups = _at_most(n_most, "group", " of correlated features")
        parts.append(f"{n_by_groups} {_are(n_by_groups)} nominal if {groups}.")
    n_left = n_alarms - n_by_features - n_by_groups
    if n_left:
        parts.append(f"{n_left} {_are(n_left)} not explained.")
    return " ".join(parts)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _at_most(n: int, noun: str, what: str = "") -> str:
    return f"one {noun}{what} changes" if n == 1 else f"at most {n} {noun}s{what} change"


def _shared_rows(explanation: Explanation) -> list[tuple[str, str, str]]:
    """Count, share and features of the most frequent reasons, and of all others together."""
    shared = [(one.features, len(one.rows)) for one in counted(explanation, "set")]
    known = [one for one in shared if one[0] != NOT_EXPLAINED]
    others = known[_N_SHOWN:]
    lines = known[:_N_SHOWN]
    if others:
        lines.append((f"({len(others)} other reasons)", sum(count for _, count in others)))
    lines += shared[len(known) :]
    n_alarms = int(explanation.is_alarm.sum())
    return [(str(count), f"{count / n_alarms:.0%}", what) for what, count in lines]
