"""What a newcomer waits for: the import, and the first call."""

import os
import statistics
import subprocess
import sys
import tempfile

from report import Finding, Section

_FIRST_FIT = """
import time
import numpy as np
from rankad import RankAD
rows = np.random.default_rng(0).normal(size=(1000, 5))
started = time.perf_counter()
RankAD(random_state=0).fit(rows).p_values(rows)
print(time.perf_counter() - started)
"""


def waiting(repeats: int) -> Section:
    """Import time beyond numpy's, and the first fit with nothing compiled, then from the cache."""
    beyond = [
        _import_seconds("import numpy, rankad") - _import_seconds("import numpy")
        for _ in range(repeats)
    ]
    detector = [_import_seconds("import numpy; from rankad import RankAD") for _ in range(repeats)]
    with tempfile.TemporaryDirectory() as cache:
        cold = _seconds(_FIRST_FIT, {"NUMBA_CACHE_DIR": cache})
        warm = [_seconds(_FIRST_FIT, {"NUMBA_CACHE_DIR": cache}) for _ in range(repeats)]
    return Section(
        "Waiting",
        "`import rankad` is lazy; the first use of a detector imports scikit-learn, SciPy and "
        "numba. What is compiled is kept on disk: the first use of each function waits for the "
        "compiler. "
        f"Medians of {repeats}, the compilation once.",
        [
            Finding("`import rankad` beyond numpy", statistics.median(beyond), " s", 0.3, True),
            Finding("`from rankad import RankAD`, all of it", statistics.median(detector), " s"),
            Finding("first fit and scoring of 1,000 rows, compiling", cold, " s"),
            Finding("the same in the next process", statistics.median(warm), " s"),
        ],
    )


def _import_seconds(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    return _seconds(code, {})


def _seconds(code: str, environment: dict[str, str]) -> float:
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        check=True,
        text=True,
    )
    return float(result.stdout)
