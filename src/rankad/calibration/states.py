"""Saved states of streams: what does not fit is refused before anything is made of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Final, Self

#: Version of saved states. A later rankad may write a state with more in it.
STATE_VERSION: Final = 2


@dataclass(frozen=True)
class SavedState:
    """Reads the entries of a saved state, and refuses what `kind` cannot have written.

    >>> saved = SavedState.of({"kind": "Counter", "version": 2, "n": 3}, "Counter", ("n",))
    >>> saved.count("n")
    3
    """

    kind: str
    entries: Mapping[str, Any]

    @classmethod
    def of(cls, state: object, kind: str, names: Sequence[str]) -> Self:
        """Reader of a state that must be of this kind, and have exactly these entries."""
        if not isinstance(state, Mapping):
            raise TypeError(f"A state of {kind} must be a mapping; got {type(state).__name__}.")
        found = state.get("kind"), state.get("version")
        if found != (kind, STATE_VERSION):
            raise ValueError(
                f"This is not a state of kind {kind!r} and version {STATE_VERSION}; got {found}."
            )
        expected, present = {"kind", "version", *names}, set(state)
        if expected != present:
            raise ValueError(
                f"A state of {kind} must have the entries {sorted(expected)}; missing: "
                f"{sorted(expected - present)}, unknown: {sorted(present - expected, key=str)}."
            )
        return cls(kind, state)

    def refuse(self, name: str, must: str) -> ValueError:
        """Error that an entry is not what it must be."""
        found = repr(self.entries[name])
        shown = found if len(found) <= 80 else found[:77] + "..."
        return ValueError(f"{name!r} in a state of {self.kind} must be {must}; got {shown}.")

    def count(self, name: str, *, least: int = 0, most: float = inf) -> int:
        """An integer entry between two limits."""
        value = self.entries[name]
        if not _is_integer(value) or not least <= value <= most:
            limit = "" if most == inf else f" and at most {most:.0f}"
            raise self.refuse(name, f"an integer of at least {least}{limit}")
        return int(value)

    def count_or_none(self, name: str, *, least: int = 0, most: float = inf) -> int | None:
        """An integer entry between two limits, or None."""
        return None if self.entries[name] is None else self.count(name, least=least, most=most)

    def counts(self, name: str, *, least: int = 0) -> list[int]:
        """An entry that is a list of integers of at least ``least``."""
        values = self.entries[name]
        if not _is_list(values) or not all(_is_integer(v) and v >= least for v in values):
            raise self.refuse(name, f"a list of integers of at least {least}")
        return [int(value) for value in values]

    def number(self, name: str) -> float:
        """A finite number."""
        value = self.entries[name]
        if not _is_number(value):
            raise self.refuse(name, "a finite number")
        return float(value)

    def numbers(self, name: str) -> list[float]:
        """A list of finite numbers."""
        values = self.entries[name]
        if not _is_list(values) or not all(map(_is_number, values)):
            raise self.refuse(name, "a list of finite numbers")
        return [float(value) for value in values]

    def scores(self, name: str) -> list[float]:
        """A list of numbers that may be infinite, written by `plain_scores`."""
        values = self.entries[name]
        infinities = ("inf", "-inf")
        if not _is_list(values) or not all(_is_number(v) or v in infinities for v in values):
            raise self.refuse(name, "a list of numbers, 'inf' or '-inf'")
        return [float(value) for value in values]

    def kind_of(self, name: str, kinds: Iterable[str]) -> str:
        """The kind of an entry that is itself a state of one of these kinds."""
        entry = self.entries[name]
        kind = entry.get("kind") if isinstance(entry, Mapping) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise self.refuse(name, f"a state of kind {' or '.join(kinds)}")
        return kind

    def text(self, name: str) -> str:
        """A text."""
        value = self.entries[name]
        if not isinstance(value, str):
            raise self.refuse(name, "a text")
        return value


def plain_scores(scores: Sequence[float]) -> list[float | str]:
    """Scores for JSON, which has no infinity, but has text that float() reads.

    >>> plain_scores([0.5, -inf])
    [0.5, '-inf']
    """
    return [score if isfinite(score) else str(score) for score in scores]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and isfinite(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)
