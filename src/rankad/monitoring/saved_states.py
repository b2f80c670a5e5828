"""Checks of saved states, as they come back from a file."""

from collections.abc import Mapping, Sequence
from typing import Any


def require_state(state: Any, kind: str, version: int, names: Sequence[str]) -> None:
    """Refuse what is no state of this kind and version, or misses one of the names."""
    found = (state.get("kind"), state.get("version")) if isinstance(state, Mapping) else None
    if found != (kind, version):
        raise ValueError(f"This is not a state of {kind}, version {version}; got {found}.")
    missing = sorted(set(names) - set(state))
    if missing:
        raise ValueError(f"The state of {kind} misses {missing}. Give a whole result of state().")


def require_counts(state: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse what should be a count and is no whole number of at least 0."""
    for name in names:
        count = state[name]
        if type(count) is not int or count < 0:
            raise ValueError(
                f"{name} of the state must be a whole number of at least 0; got {count!r}."
            )
