"""Findings (measured figures), and the page made of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rankad.reproduce.markdown import table


@dataclass(frozen=True)
class Finding:
    """One measured figure. Its ``target`` is the least, or the most if ``at_most``.

    ``against`` names what the figure is compared with, if anything.
    """

    what: str
    figure: float
    unit: str
    target: float | None = None
    at_most: bool = False
    against: str | None = None

    @property
    def is_missed(self) -> bool:
        """Whether the figure misses its target."""
        if self.target is None:
            return False
        return self.figure > self.target if self.at_most else self.figure < self.target

    def __str__(self) -> str:
        return f"{_readable(self.figure)}{self.unit}"


@dataclass
class Section:
    """A heading, a text on how things were measured, and a table of findings."""

    title: str
    how: str
    findings: list[Finding] = field(default_factory=list)

    def markdown(self) -> str:
        """The section as Markdown."""
        return "\n\n".join([f"## {self.title}", self.how, self._table()])

    def _table(self) -> str:
        """One line for each thing measured, one column for each thing it is compared with."""
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
    """One line for each finding that misses its target."""
    return [
        f"{section.title}: {finding.what}: {finding}, target {finding.target:g}{finding.unit}"
        for section in sections
        for finding in section.findings
        if finding.is_missed
    ]


def write(path: Path, text: str) -> None:
    """Write the page to a second file first, so that no reader sees half of it."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def _readable(figure: float) -> str:
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"
