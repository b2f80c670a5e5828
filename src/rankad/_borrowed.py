"""The private names of other libraries that we use, all here: a test says which of them is gone.

Public replacements do not exist. scikit-learn's validation of parameters gives our detectors the
same messages as its own; numba's code generator is what its intrinsics are written with.
"""

from numba.core import cgutils
from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
