"""The rows of a file that a person should look at first, by their out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from rankad._pandas import imported_pandas
from rankad._typing import FloatArray, IntArray
from rankad.calibration.stratum_labels import StratumLabels

if TYPE_CHECKING:
    import pandas as pd

#: Number of rows that a display shows.
_N_SHOWN: Final = 10


@dataclass(frozen=True, eq=False, repr=False)
class SuspiciousRows:
    """Rows of a file, the most suspicious first.

    The p-value of a row is the share of the rows, of all or of its stratum, that score at most as
    high as it does, itself included. If all rows are draws from one distribution, it is at most
    alpha for at most a share alpha of them. It says where to look first. It does
    not say how many rows are bad: about a share alpha of *any* rows has ``p <= alpha``. So there is
    no selection by a false-discovery rate.

    Parameters
    ----------
    indices : array of int, shape (n,)
        Positions of the rows, the smallest p-value first. Rows with equal p-values are in the order
        of their scores.
    p_values, scores : array of shape (n,)
        Out-of-fold p-values and scores of these rows, in the same order. A lower score is more
        suspicious.
    labels : array or index of pandas
        Labels of these rows, in the same order: from the index of the frame that was given, or else
        the positions.

    Examples
    --------
    >>> rows = SuspiciousRows.from_scores(np.array([3.0, -9.0, 2.0, 2.5]))
    >>> rows.indices, rows.p_values
    (array([1, 2, 3, 0]), array([0.25, 0.5 , 0.75, 1.  ]))
    >>> rows.first(2)
    SuspiciousRows(2 rows, the most suspicious first)
    row 1: p = 0.25, score -9
    row 2: p = 0.5, score 2
    >>> rows.at(alpha=0.25).indices, len(rows)
    (array([1]), 4)
    """

    indices: IntArray
    p_values: FloatArray
    scores: FloatArray
    labels: Any

    @classmethod
    def from_scores(
        cls, scores: FloatArray, strata: StratumLabels | None = None, labels: Any = None
    ) -> Self:
        """All rows, ordered by their scores among all rows, or among those of their stratum."""
        p = np.empty(len(scores))
        parts = [np.arange(len(scores))] if strata is None else strata.rows_of_keys()
        for rows in parts:
            n_at_most = np.searchsorted(np.sort(scores[rows]), scores[rows], side="right")
            p[rows] = n_at_most / len(rows)
        order = np.lexsort((scores, p))
        return cls(order, p[order], scores[order], order if labels is None else labels[order])

    def first(self, n: int) -> Self:
        """The n most suspicious of these rows; all of them if there are fewer."""
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
            raise ValueError(f"n must be a whole number of at least 0; got {n!r}.")
        return self._cut(int(n))

    def at(self, alpha: float) -> Self:
        """Those of these rows with ``p <= alpha``: at most a share alpha of all rows."""
        if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0.0 <= alpha <= 1.0:
            raise ValueError(f"alpha must be at least 0 and at most 1; got {alpha!r}.")
        return self._cut(int(np.searchsorted(self.p_values, alpha, side="right")))

    def _cut(self, n: int) -> Self:
        arrays = self.indices[:n], self.p_values[:n], self.scores[:n]
        return type(self)(*arrays, self.labels[:n])

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.indices)

    def to_frame(self) -> pd.DataFrame:
        """A frame of pandas: position, p-value and score of each row, the most suspicious first.

        Its index is that of the frame that was given, or else the positions.
        """
        pandas = imported_pandas("to_frame")
        columns = {"position": self.indices, "p_value": self.p_values, "score": self.scores}
        return pandas.DataFrame(columns, index=self.labels)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}({len(self)} rows, the most suspicious first)"]
        lines += [f"row {row}: p = {p}, score {score}" for row, p, score in self._shown()]
        return "\n".join([*lines, *self._rest()])

    def _repr_html_(self) -> str:
        cells = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self._shown()
        )
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        head = "<tr><th>row</th><th>p</th><th>score</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{cells}</tbody></table>{rest}"

    def _shown(self) -> list[tuple[str, str, str]]:
        """Name, p-value and score of the first rows, as text."""
        parts = zip(self.labels[:_N_SHOWN], self.p_values, self.scores, strict=False)
        return [(str(name), f"{p:.3g}", f"{score:.4g}") for name, p, score in parts]

    def _rest(self) -> list[str]:
        n_rest = len(self) - _N_SHOWN
        return [f"and {n_rest:,} more"] if n_rest > 0 else []
