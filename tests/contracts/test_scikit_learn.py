"""Every detector passes scikit-learn's checks of estimators."""

import pickle

import numpy as np
import pytest
from detectors import CASES
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

pytestmark = pytest.mark.filterwarnings("ignore:ECOD scores a row differently:UserWarning")

DETECTORS = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


# The samples are tiny: K is lowered, the calibration is coarse, folds have no pairs.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning:pyod")
@parametrize_with_checks([case.detector for case in CASES])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@DETECTORS
def test_clone_pickle_and_pipeline_keep_the_scores(case, rng):
    nominal, new = rng.normal(size=(120, 2)), rng.normal(size=(20, 2))
    detector = clone(case.detector).set_params(random_state=0)
    scores = clone(detector).fit(nominal).score_samples(new)
    assert_array_equal(pickle.loads(pickle.dumps(detector.fit(nominal))).score_samples(new), scores)
    pipeline = make_pipeline(PolynomialFeatures(1, include_bias=False), clone(detector))
    assert_array_equal(pipeline.fit(nominal).score_samples(new), scores)
    assert set(np.unique(pipeline.predict(new))) <= {-1, 1}
