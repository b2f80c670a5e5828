"""The public names: the `__all__` of all modules. Every other name is private.

``public_surface.txt`` holds their parameters, methods and properties. After a change that is meant,
``python tests/test_public_surface.py`` writes it again.
"""

import ast
import importlib
import inspect
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest
from sklearn.model_selection import GridSearchCV

import rankad
from rankad import RankAD
from rankad.options import Pairs, RankSVM

SOURCE = Path(rankad.__file__).parent
WRITTEN_SURFACE = Path(__file__).with_name("public_surface.txt")

PUBLIC = {
    "rankad": "AlarmBudget Calibrated DriftMonitor Episodes OnlineDiscoveries RankAD Reweighted "
    "TimeColumns __version__ baselines calibration datasets exceptions experimental explanations "
    "metrics monitoring options plots statistics",
    "rankad.baselines": "AveragedKLPE BPKNNG KLPE MassAD",
    "rankad.calibration": "Audit CalibrationRecord FalseAlarmBounds FalseAlarmsPerDay "
    "HeldOutScores ReferenceScores StrataScores SuspiciousRows TimeBlocks "
    "TrueAlarms density_ratio nominal_share "
    "reference_for_discoveries reference_needed true_alarm_share",
    "rankad.datasets": "Dataset DatasetError Law law_anomalies laws load mulcross names "
    "perpendicular_gaussians two_gaussians",
    "rankad.exceptions": "CalibrationWarning ConvergenceWarning NoPairsError "
    "UnresolvableAlphaError",
    "rankad.experimental": "kernels preferences ranker solvers statistics tuning",
    "rankad.explanations": "Change Explanation Reason",
    "rankad.metrics": "auc average_precision excess_mass_curve mass_volume_curve partial_auc power",
    "rankad.monitoring": "Episode EpisodesPerDay episodes_per_day",
    "rankad.options": "Pairs RankSVM",
    "rankad.plots": "DriftDisplay ExplanationDisplay FalseAlarmDisplay LevelSetDisplay "
    "PValueDisplay TuningDisplay",
    "rankad.reproduce": "Reproduction ReproductionError reproduce",
    "rankad.statistics": "BaggedNeighborDistance DimensionAdaptedDistance EpsilonNeighborhood "
    "GeodesicNeighborDistance HalvedNeighborDistance KernelDensity KthNeighborDistance "
    "MeanNeighborDistance Statistic",
}

#: Largest number of public names in all modules together. A new one needs a reason. For streams:
#: AlarmBudget, Episodes and TimeColumns are what users call; Episode, episodes_per_day and its
#: result are in the module monitoring, which is listed for them. For rows that are no independent
#: draws: TimeBlocks is a value of calibration_split, StrataScores and CalibrationRecord are what
#: the attributes strata_ and calibration_record_ hold. TrueAlarms is what true_alarms returns, and
#: SuspiciousRows what suspicious_rows returns. A Reason is made of Changes.
MAX_NAMES = 91

PARAMETERS = (
    "alpha statistic n_neighbors n_centers pairs anchor C sigma ranker scaler robust calibration "
    "calibration_size calibration_split n_jobs random_state verbose"
)
MAX_PARAMETERS = 17


def listed_names():
    """Every `__all__` in the source, by module."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(["rankad", *path.relative_to(SOURCE).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text())):
            if "__all__" in assigned_names(node):
                assert isinstance(node, ast.Assign), f"{path}: give __all__ one list"
                found[module.removesuffix(".__init__")] = ast.literal_eval(node.value)
    return found


def assigned_names(node):
    """Names that a statement gives a value."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return {getattr(target, "id", "") for target in targets}


def surface():
    """A line for each public class and function, method and property: names and defaults."""
    for module, names in PUBLIC.items():
        for name in names.split():
            public = getattr(importlib.import_module(module), name)
            if inspect.isclass(public) and issubclass(public, Exception):
                yield f"{module}.{name}"
            elif inspect.isclass(public):
                yield f"{module}.{name}{parameters(public)}"
                yield from (f"    {line}" for line in members(public))
            elif callable(public):
                yield f"{module}.{name}{parameters(public)}"


def members(public):
    """The public methods and properties of a class that the package defines."""
    for name in sorted(dir(public)):
        member = inspect.getattr_static(public, name)
        is_ours = str(getattr(unbound(member), "__module__", "")).startswith("rankad")
        if name.startswith("_") or not is_ours:
            continue
        is_property = isinstance(member, (property, cached_property))
        if not is_property and not callable(getattr(public, name)):
            continue  # the default of a field
        yield name if is_property else f"{name}{parameters(getattr(public, name))}"


def unbound(member):
    """The function behind a method, a class method or a property."""
    for name in ("fget", "func", "__func__"):
        member = getattr(member, name, None) or member
    return member


def parameters(function):
    """The signature without annotations."""
    signature = inspect.signature(function)
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def test_the_public_names_are_these_and_no_others():
    found = listed_names()
    assert {module: sorted(names) for module, names in found.items()} == {
        module: sorted(names.split()) for module, names in PUBLIC.items()
    }
    assert sum(map(len, found.values())) <= MAX_NAMES


def test_the_parameters_and_methods_are_these():
    assert list(surface()) == WRITTEN_SURFACE.read_text().splitlines()


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_described(module):
    home = sys.modules.get(module) or __import__(module, fromlist=["*"])
    assert home.__doc__
    for name in PUBLIC[module].split():
        public = getattr(home, name)
        assert name == "__version__" or public.__doc__, f"{module}.{name}"


def test_the_top_level_lists_its_names():
    assert dir(rankad) == PUBLIC["rankad"].split()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Rankad'"):
        rankad.Rankad  # noqa: B018


def test_the_parameters_are_these_and_few():
    parameters = RankAD().get_params(deep=False)
    assert set(parameters) == set(PARAMETERS.split())
    assert len(parameters) <= MAX_PARAMETERS


def test_parameters_of_the_objects_are_reached_by_name():
    detector = RankAD().set_params(pairs__levels=3, ranker__tol=1e-4)
    assert (detector.pairs.levels, detector.ranker.tol) == (3, 1e-4)
    detector.set_params(ranker__loss="hinge", alpha=0.1)
    assert (detector.ranker.loss, detector.ranker.tol, detector.alpha) == ("hinge", 1e-4, 0.1)
    assert detector.get_params()["pairs__levels"] == 3
    assert RankAD(pairs=5).set_params(pairs__min_gap=0.1).pairs.levels == 5
    again = RankAD(ranker=RankSVM(tol=1.0)).set_params(ranker=None, ranker__max_iter=7)
    assert again.ranker.get_params() == RankSVM(max_iter=7).get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'levels' for estimator RankSVM"):
        RankAD().set_params(ranker__levels=3)


def test_a_grid_search_reaches_them(rng):
    nominal = rng.normal(size=(240, 2))

    def spread(detector, X, y=None):
        return -float(detector.score_samples(X).std())

    grid = {"pairs": [3, 10], "ranker__tol": [1e-3], "pairs__levels": [4], "C": [0.1]}
    search = GridSearchCV(RankAD(random_state=0), grid, scoring=spread, cv=2).fit(nominal)
    assert search.best_estimator_.pairs.levels == 4
    assert search.best_estimator_.ranker.tol == 1e-3


@pytest.mark.parametrize("made", [Pairs(), RankSVM()], ids=["pairs", "ranker"])
def test_the_objects_are_scikit_learns(made):
    assert type(made)(**made.get_params()).get_params() == made.get_params()


def test_importing_the_package_imports_no_heavy_library():
    code = "import sys, rankad; print({'numpy', 'sklearn', 'numba', 'scipy'} & set(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "set()"


if __name__ == "__main__":
    WRITTEN_SURFACE.write_text("\n".join(surface()) + "\n")
