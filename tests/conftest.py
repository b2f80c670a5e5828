import os

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("rankad", deadline=None, print_blob=True)
settings.load_profile("rankad")


def pytest_collection_modifyitems(config, items):
    reasons = {}
    if "RANKAD_DATA" not in os.environ:
        reasons["data"] = "needs the real data sets: set RANKAD_DATA to their folder"
    if os.name != "posix":
        reasons["posix"] = "needs forks, signals or limits that this system does not have"
    for item in items:
        for marker, reason in reasons.items():
            if marker in item.keywords:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


@pytest.fixture
def nominal(rng):
    """Two unequal clusters, 240 rows of 3 columns in random order."""
    rows = np.concatenate([rng.normal(size=(160, 3)), 4 + 0.5 * rng.normal(size=(80, 3))])
    return rng.permutation(rows)
