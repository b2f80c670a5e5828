"""Layers at run time: code calls what is in its own layer or below, never above.

A function that was passed down as a plain argument may be called back; a method found on an object
may not. Iterating over a generator that was passed down is no call.
"""

import inspect
import sys
import threading
import tomllib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType, GeneratorType, MethodType

import numpy as np
import pytest
from detectors import CASES
from sklearn.base import clone
from sklearn.decomposition import PCA

from rankad import AlarmBudget, DriftMonitor, Episodes, OnlineDiscoveries, RankAD, Reweighted
from rankad.calibration import HeldOutScores

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def heights():
    """Height of each top-level module of the package, from the layers that imports keep to."""
    (contract,) = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("(", "").replace(")", "").split(" | ") for layer in contract["layers"]]
    return {name: -depth for depth, layer in enumerate(layers) for name in layer}


HEIGHTS = heights()


def height(frame):
    """Height of the code that runs in a frame, or None if it is not the package's."""
    package, _, module = frame.f_globals.get("__name__", "").partition(".")
    return HEIGHTS.get(module.split(".")[0]) if package == "rankad" else None


def function_code(value):
    """Code of a function, a bound method or a partial of one, or None for other objects."""
    if isinstance(value, partial):
        return function_code(value.func)
    if isinstance(value, MethodType):
        return function_code(value.__func__)
    if isinstance(value, GeneratorType):
        return value.gi_code
    return inspect.unwrap(value).__code__ if isinstance(value, FunctionType) else None


#: Code of the plain arguments of every frame of the package that runs, by the frame's id.
PASSED = {}


def passed_code(frame):
    """Code of the functions and generators that a frame has just been given as arguments.

    At its first event a frame has no other names than its arguments and its closure. A method that
    it finds on an object later, and gives a name, is not among them.
    """
    return {function_code(value) for value in frame.f_locals.values()} - {None}


def upward_call(frame):
    """Description of the call that made the frame, if it goes to a higher layer."""
    caller = frame.f_back
    while caller is not None and height(caller) is None:
        caller = caller.f_back
    if caller is None or height(frame) is None or height(caller) >= height(frame):
        return None
    if frame.f_code in PASSED.get(id(caller), ()):
        return None
    names = [f"{f.f_globals['__name__']}.{f.f_code.co_qualname}" for f in (caller, frame)]
    return " calls ".join(names)


@contextmanager
def upward_calls():
    """Collect the upward calls in all threads."""
    found = set()

    def watch(frame, event, _):
        if event == "return":
            PASSED.pop(id(frame), None)
        if event != "call" or height(frame) is None:
            return
        PASSED.setdefault(id(frame), passed_code(frame))
        if call := upward_call(frame):
            found.add(call)

    before = sys.getprofile()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


@pytest.mark.filterwarnings("ignore:No row is selected:rankad.exceptions.CalibrationWarning")
@pytest.mark.filterwarnings("ignore:ECOD scores a row differently")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_detector_calls_down_only(case, rng):
    nominal, new, fresh = (rng.normal(size=(n, 2)) for n in (200, 40, 40))
    detector = clone(case.detector).set_params(random_state=0)
    if case.name == "RankAD as published":
        detector.set_params(C=[0.1, 1.0], sigma=[0.5, 1.0])
    with upward_calls() as found:
        detector.fit(nominal)
        detector.predict(new, alpha=0.1)
        detector.decision_function(new)
        detector.calibrate(new)
        detector.p_values(new, confidence=0.9)
        detector.select(new)
        detector.true_alarms(new)
        detector.suspicious_rows(nominal, strata=np.arange(200) % 2)
        detector.audit(fresh)
        detector.audit_selection(fresh, 20)
        detector.explain(3.0 * new, alpha=0.1)
        detector.false_alarm_bounds()
        detector.false_alarms_per_day(100)
        strata = np.arange(40) % 2
        newer = rng.normal(size=(40, 2))
        detector.calibrate(newer, strata=strata)
        detector.predict(newer, alpha=0.1, strata=strata)
        detector.p_values(newer, strata=strata, confidence=0.9)
        detector.select(newer, strata=strata)
        detector.explain(newer, alpha=0.1, strata=strata)
        detector.audit(rng.normal(size=(40, 2)), alpha=0.1, strata=strata)
        detector.false_alarm_bounds(0.1, stratum=1)
        if detector.calibration == "split":
            detector.set_params(alpha=0.3).fit(nominal, strata=np.arange(200) % 2)
    assert found == set()


@pytest.mark.parametrize(
    "params",
    [{"calibration": "cross"}, {"robust": True}, {"C": [0.1, 1.0], "n_jobs": 2, "verbose": 1}],
)
def test_the_options_of_rankad_call_down_only(params, rng):
    nominal = rng.normal(size=(200, 2))
    with upward_calls() as found:
        detector = RankAD(random_state=0, **params).fit(nominal)
        detector.scorer_.p_value(nominal[0])
        detector.explain(nominal[:5], rows=nominal)
    assert found == set()


def test_what_watches_a_detector_calls_down_only(rng):
    nominal, new = rng.normal(size=(300, 2)), rng.normal(size=(50, 2))
    detector = RankAD(scaler=PCA(2), random_state=0).fit(nominal)
    with upward_calls() as found:
        DriftMonitor(detector, random_state=0).update_many(detector.score_samples(new))
        OnlineDiscoveries().test_many(detector.p_values(new))
        shifted = Reweighted(detector, rng.normal(size=(300, 2)), lambda rows: np.ones(len(rows)))
        shifted.predict(new, alpha=0.05)
        Episodes().update_many(AlarmBudget(detector, alpha=0.05).update_many(new))
    assert found == set()


def test_every_module_has_a_height():
    source = PYPROJECT.parent / "src" / "rankad"
    modules = {path.stem for path in source.glob("*.py")}
    rooms = {path.parent.name for path in source.glob("*/__init__.py")}
    assert modules | rooms <= HEIGHTS.keys() | {"__init__"}


UPWARD_CALLS = {
    "method": "self.owner.predict(rows)",
    "named method": "hook = self.owner.predict; return hook(rows)",
    "partial": "return partial(self.owner.predict, alpha=0.1)(rows)",
    "generator": "return list(self.owner._alarms(rows))",
    "property": "return self.owner.offset_",
}


@pytest.mark.parametrize("code", UPWARD_CALLS.values(), ids=UPWARD_CALLS)
def test_an_upward_call_is_found(code, rng):
    class WithGenerator(RankAD):
        def _alarms(self, rows):
            yield self

    WithGenerator._alarms = in_module(WithGenerator._alarms, "rankad.detector")
    rows = rng.normal(size=(100, 2))
    detector = WithGenerator(random_state=0).fit(rows)
    written = {"partial": partial, "rows": rows}
    exec(f"def p_values(self, scores):\n    {code}", written)
    hooked = type("Hooked", (HeldOutScores,), {"owner": detector})
    hooked.p_values = in_module(written["p_values"], "rankad.calibration.reference", written)
    detector.reference_ = hooked(detector.reference_.scores)
    with upward_calls() as found:
        detector.p_values(rows)
    assert any("calls rankad." in call for call in found)


def in_module(function, name, names=None):
    """The function as if it were written in that module."""
    module = {**function.__globals__, **(names or {}), "__name__": name}
    return FunctionType(function.__code__, module, closure=function.__closure__)
