"""Records as runs would make them."""

import os
import signal
from dataclasses import replace
from itertools import product

import numpy as np

from rankad.reproduce.records import FALSE_ALARMS, Key, Record


def make_record(key, **changes):
    """A record of the key, whose figures tell methods apart; some of them may be changed."""
    digit = sum(map(ord, key.method)) % 90
    rng = np.random.default_rng(key.seed)
    measures = {
        "n_nominal": 1_000.0,
        "n_anomalies": 100.0,
        "n_reference": 500.0,
        "auc": 0.9,
        "average_precision": 0.8 + digit / 1_000,
        "partial_auc": 0.7 + digit / 1_000,
        "full_power_rate": 0.3,
        **alarms(10 if key.method == "RankAD" else digit, 50, 100),
        "fit_seconds": 1.0,
        "test_seconds": 0.01 if key.method == "RankAD" else 0.1,
    }
    if key.method not in ("iForest", "massAD", "ECOD", "Bayes"):
        measures["n_centers"] = 400.0
    fields = {name: changes.pop(name) for name in ("warnings", "roc") if name in changes}
    record = Record(
        *key,
        n_train=2_000,
        n_features=6,
        measures=measures | changes,
        guarantee="exact" if key.method == "RankAD" else "none",
        roc=np.sort(rng.uniform(size=201)).round(4).tolist(),
    )
    return replace(record, **fields)


def alarms(*counts, n_nominal=1_000):
    """The measures of so many false alarms."""
    return {name: n / n_nominal for name, n in zip(FALSE_ALARMS, counts, strict=True)}


def records_of(experiment, n_runs=2):
    keys = product(range(n_runs), experiment.sizes, experiment.columns, experiment.methods)
    return [
        make_record(
            Key(experiment.name, name, columns, method, seed),
            auc=0.8 + 0.02 * seed + 0.01 * experiment.methods.index(method),
            **({} if method in experiment.drawn else {"roc": None}),
        )
        for seed, name, columns, method in keys
    ]


def kill_this_process(key):
    """As the system does where memory is short; in a module that other processes can import."""
    os.kill(os.getpid(), signal.SIGKILL)
