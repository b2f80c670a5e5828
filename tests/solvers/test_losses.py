"""Losses of one's own: any class or function with the protocol, and nothing else."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankad import RankAD
from rankad.options import RankSVM
from rankad.preferences import level_preferences
from rankad.solvers import LOSSES, Loss, LossAt, PairwiseSquaredHinge, made_loss
from rankad.solvers.losses import _OF_LOSS, _OF_LOSS_AT

PAIRS = level_preferences(np.array([1, 2, 2, 3]))


def members(protocol):
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_the_names_that_are_checked_are_those_of_the_protocols():
    assert members(Loss) == set(_OF_LOSS)
    assert members(LossAt) == set(_OF_LOSS_AT)


@pytest.mark.parametrize("name", LOSSES)
def test_a_class_gives_the_same_detector_as_its_name(name, rng):
    rows, new = rng.normal(size=(150, 2)), rng.normal(size=(20, 2))
    named, own = (
        RankAD(ranker=RankSVM(loss=loss), random_state=0).fit(rows)
        for loss in (name, lambda *asked: LOSSES[name](*asked))
    )
    assert_array_equal(own.score_samples(new), named.score_samples(new))
    assert_array_equal(own.p_values(new), named.p_values(new))


def test_a_loss_may_have_settings(rng):
    wide = partial(PairwiseSquaredHinge, margin=2.0)
    assert made_loss(wide, PAIRS, 1.0, 8.0).margin == 2.0
    rows = rng.normal(size=(150, 2))
    RankAD(ranker=RankSVM(loss=wide), random_state=0).fit(rows)


def at_returns(**changes):
    """A loss whose values at scores are changed."""

    def make(*asked):
        made = PairwiseSquaredHinge(*asked)
        local = made.at(np.zeros(made.preferences.n))
        names = {name: getattr(local, name) for name in _OF_LOSS_AT} | changes
        given = SimpleNamespace(**{key: value for key, value in names.items() if value is not ...})
        of_loss = {name: getattr(made, name) for name in _OF_LOSS}
        return SimpleNamespace(**of_loss | {"at": lambda scores: given})

    return make


NO_LOSSES = {
    "too few arguments": (lambda pairs: None, TypeError, "can be called with .preferences, anchor"),
    "nothing": (lambda *asked: None, TypeError, "gives NoneType, which has no is_shift_invariant"),
    "the pairs": (lambda pairs, *_: pairs, TypeError, "Preferences, which has no is_shift_invar"),
    "no Hessian": (
        at_returns(hessian_product=...),
        TypeError,
        r"at\(scores\), gives SimpleNamespace, which has no hessian_product",
    ),
    "gradient of pairs": (
        at_returns(gradient=np.zeros(2)),
        ValueError,
        r"a gradient and is_active of shape \(\d+,\)",
    ),
    "value of pairs": (at_returns(value=np.zeros(2)), ValueError, r"a value of shape \(\)"),
    "infinite": (at_returns(value=np.inf), ValueError, "must be finite; at zero scores the value"),
    "NaN": (at_returns(gradient=np.full(4, np.nan)), ValueError, "must be finite"),
}


@pytest.mark.parametrize(("loss", "error", "message"), NO_LOSSES.values(), ids=NO_LOSSES)
def test_what_is_no_loss_is_refused(loss, error, message):
    with pytest.raises(error, match=message):
        made_loss(loss, PAIRS, 1.0, 8.0)


@pytest.mark.parametrize(
    "loss", ["log", 3, None, PairwiseSquaredHinge(PAIRS)], ids=["name", "number", "None", "made"]
)
def test_what_cannot_make_a_loss_is_refused_before_a_fit(loss, rng):
    with pytest.raises(ValueError, match=r"'loss' parameter of RankSVM must be .* or a callable"):
        RankAD(ranker=RankSVM(loss=loss)).fit(rng.normal(size=(50, 2)))


def test_a_fit_that_a_loss_stops_changes_nothing(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(150, 2)))
    before = detector.reference_
    with pytest.raises(TypeError, match="has no is_shift_invariant"):
        detector.set_params(ranker__loss=lambda *asked: None).fit(rng.normal(size=(150, 2)))
    assert detector.reference_ is before
