import subprocess
import sys

import pytest

import rankad


def test_the_public_names_are_these():
    assert dir(rankad) == ["KernelExpansion", "RankAD", "__version__"]
    for name in dir(rankad):
        assert getattr(rankad, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Rankad'"):
        rankad.Rankad  # noqa: B018


def test_the_parameters_are_these():
    names = (
        "alpha statistic n_neighbors n_levels min_rank_gap pair_weight loss anchor C sigma Cs "
        "sigmas cv n_centers scaler calibration calibration_size dtype tol max_iter n_jobs "
        "random_state verbose"
    )
    assert set(rankad.RankAD().get_params()) == set(names.split())


def test_importing_the_package_imports_no_heavy_library():
    code = "import sys, rankad; print({'numpy', 'sklearn', 'numba', 'scipy'} & set(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "set()"
