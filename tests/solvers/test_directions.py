import gc
import weakref

import numpy as np

from rankad.solvers import directions
from rankad.solvers.directions import KernelSystem


def test_the_rough_matrix_is_given_back_when_it_is_no_longer_used(monkeypatch):
    monkeypatch.setattr(directions, "_ROUGH_FROM", 0)
    system = KernelSystem(np.eye(5), sums_to_zero=False)
    matrix = weakref.ref(system._rough_gram)
    assert matrix().dtype == np.float32
    assert system.use_double_precision()
    gc.collect()
    assert matrix() is None
    assert not system.use_double_precision()
