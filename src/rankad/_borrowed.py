"""Private names of other libraries that rankad uses. A test reports a missing one.

They have no public replacement. With scikit-learn's validation of parameters, our detectors give
the same messages as its own.
"""

from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
