"""What scikit-learn asks of an estimator, of every detector."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankad import RankAD

DETECTORS = [RankAD(), RankAD.as_published()]


@parametrize_with_checks(DETECTORS)
@pytest.mark.filterwarnings("ignore::UserWarning")  # tiny samples: lowered K, coarse calibration
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API is not set")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("detector", DETECTORS, ids=["default", "published"])
def test_clone_pickle_and_pipeline_keep_the_scores(detector, rng):
    nominal, new = rng.normal(size=(100, 2)), rng.normal(size=(20, 2))
    detector = clone(detector).set_params(random_state=0)
    scores = clone(detector).fit(nominal).score_samples(new)
    assert_array_equal(pickle.loads(pickle.dumps(detector.fit(nominal))).score_samples(new), scores)
    pipeline = make_pipeline(PolynomialFeatures(1, include_bias=False), clone(detector))
    assert_array_equal(pipeline.fit(nominal).score_samples(new), scores)
    assert set(np.unique(pipeline.predict(new))) <= {-1, 1}
