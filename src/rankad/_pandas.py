"""pandas, where a result is asked for as its frame. It is needed nowhere else."""

from typing import Any


def imported_pandas(method: str) -> Any:
    """The module pandas, or an error that names the method and says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{method} makes a pandas frame, and pandas is not installed. Install it by: "
            "pip install pandas."
        ) from error
    return pandas
