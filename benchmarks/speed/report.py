"""Findings: what was measured, what was wanted, and the page they make."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """One figure, and the least (or the most) that was asked of it."""

    what: str
    figure: float
    unit: str
    asked: float | None = None
    at_most: bool = False

    @property
    def is_met(self) -> bool | None:
        """Whether the figure is as asked; None where nothing was."""
        if self.asked is None:
            return None
        return self.figure <= self.asked if self.at_most else self.figure >= self.asked

    def row(self) -> str:
        """Line of the table."""
        verdict = {None: "", True: "yes", False: "**no**"}[self.is_met]
        sign = "at most" if self.at_most else "at least"
        asked = "" if self.asked is None else f"{sign} {self.asked:g}{self.unit}"
        return f"| {self.what} | {_readable(self.figure)}{self.unit} | {asked} | {verdict} |"


@dataclass
class Section:
    """A table of findings under a heading, with how they were measured."""

    title: str
    how: str
    findings: list[Finding] = field(default_factory=list)
    after: str = ""

    def markdown(self) -> str:
        """The section as a piece of the page."""
        rows = "\n".join(finding.row() for finding in self.findings)
        table = f"| what | measured | asked | met |\n|---|---|---|---|\n{rows}"
        return "\n\n".join(
            part for part in (f"## {self.title}", self.how, table, self.after) if part
        )


def page(head: str, sections: list[Section], tail: str = "") -> str:
    """The whole page."""
    parts = [head, *(section.markdown() for section in sections), tail]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def write(path: Path, text: str) -> None:
    """Write the page in one piece."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def _readable(figure: float) -> str:
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"
