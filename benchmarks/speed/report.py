"""Findings: what was measured, and the page they make."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rankad.reproduce.markdown import table


@dataclass(frozen=True)
class Finding:
    """One figure, and the least (or the most) that was asked of it.

    Where something is measured beside something else, ``against`` names the latter.
    """

    what: str
    figure: float
    unit: str
    asked: float | None = None
    at_most: bool = False
    against: str | None = None

    @property
    def is_missed(self) -> bool:
        """Whether the figure is not as asked."""
        if self.asked is None:
            return False
        return self.figure > self.asked if self.at_most else self.figure < self.asked

    def __str__(self) -> str:
        return f"{_readable(self.figure)}{self.unit}"


@dataclass
class Section:
    """A table of findings under a heading, with how they were measured."""

    title: str
    how: str
    findings: list[Finding] = field(default_factory=list)

    def markdown(self) -> str:
        """The section as a piece of the page."""
        return "\n\n".join([f"## {self.title}", self.how, self._table()])

    def _table(self) -> str:
        """One line for each thing measured, one column for each that it is measured beside."""
        columns = list(dict.fromkeys(finding.against for finding in self.findings))
        lines = list(dict.fromkeys(finding.what for finding in self.findings))
        cells = {(finding.what, finding.against): str(finding) for finding in self.findings}
        heads = ["", *("measured" if column is None else f"against {column}" for column in columns)]
        rows = [[line, *(cells.get((line, column), "") for column in columns)] for line in lines]
        return table(heads, rows)


def page(head: str, sections: Iterable[Section]) -> str:
    """The whole page."""
    parts = [head, *(section.markdown() for section in sections)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def missed(sections: Iterable[Section]) -> list[str]:
    """What is not as fast, or as small, as was asked."""
    return [
        f"{section.title}: {finding.what}: {finding}, asked {finding.asked:g}{finding.unit}"
        for section in sections
        for finding in section.findings
        if finding.is_missed
    ]


def write(path: Path, text: str) -> None:
    """Write the page in one piece."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def _readable(figure: float) -> str:
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"
