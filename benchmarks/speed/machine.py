"""The machine: its description, and the highest rates of its arithmetic."""

import platform
import subprocess
from pathlib import Path

import joblib
import numba
import numpy as np
import scipy
import sklearn
from timing import timed

from rankad.kernels.layout import lanes_of, power_constants
from rankad.kernels.simd import (
    lanes_in,
    loaded,
    multiply_add,
    power_parts,
    splat,
    store,
    sum_of,
)


def description() -> dict[str, str]:
    """Processor, versions and commit."""
    versions = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn, "numba": numba}
    return {
        "processor": f"{_processor()}, {joblib.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: module.__version__ for name, module in versions.items()},
        "commit": _commit(),
    }


def peaks(dtype: str) -> dict[str, float]:
    """Multiply-adds and exponentials per second of one core: the fastest of two ways each."""
    square = np.random.default_rng(0).normal(size=(1200, 1200)).astype(dtype)
    vector = np.linspace(0.0, 30.0, 2048).astype(dtype)
    out, constants = np.empty_like(vector), power_constants(dtype)
    n_products, n_powers = 2_000_000, 2_000
    timings = timed(
        {
            "matrix product": lambda: square @ square,
            "registers": lambda: _multiply_adds(vector, n_products),
            "exp": lambda: [np.exp(-vector, out=out) for _ in range(n_powers)],
            "powers": lambda: _powers(vector, constants, out, n_powers),
        },
        repeats=9,
    )
    best = {name: min(timings.seconds[name]) for name in timings.seconds}
    return {
        "fma": max(
            len(square) ** 3 / best["matrix product"],
            4 * lanes_of(dtype) * n_products / best["registers"],
        ),
        "exp": vector.size * n_powers / min(best["exp"], best["powers"]),
    }


@numba.njit
def _multiply_adds(x, n):
    lanes = lanes_in(x)
    a, b, c, d = loaded(x, 0), loaded(x, lanes), loaded(x, 2 * lanes), loaded(x, 3 * lanes)
    half = splat(x.dtype.type(0.5))
    for _ in range(n):
        a = multiply_add(a, half, half)
        b = multiply_add(b, half, half)
        c = multiply_add(c, half, half)
        d = multiply_add(d, half, half)
    return sum_of(a) + sum_of(b) + sum_of(c) + sum_of(d)


@numba.njit
def _powers(x, constants, out, n):
    for _ in range(n):
        for start in range(0, x.size, lanes_in(x)):
            power, fraction = power_parts(loaded(x, start), constants)
            store(out, start, multiply_add(power, fraction, power))
        x[0] += x.dtype.type(1e-3)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
