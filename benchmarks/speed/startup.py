"""Time of the import and of the first call."""

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
    """Import time beyond numpy, and the first fit without and with compiled code on disk."""
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
        "`import rankad` is lazy. The first use of a detector imports scikit-learn, SciPy and "
        "numba. The first use of each compiled function waits for the compiler. That is not the "
        "first fit alone: later first uses compile too, such as the `p_value` of one row, float32 "
        "or cross-validation. The compiled code is kept on disk for later processes. "
        f"Medians of {repeats}; the compilation is measured once.",
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
