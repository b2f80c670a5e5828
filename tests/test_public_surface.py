import subprocess
import sys
from importlib import import_module

import pytest

import rankad


def test_the_public_names_are_these():
    names = (
        "Calibrated KernelExpansion RankAD __version__ baselines calibration datasets exceptions "
        "explain metrics plots statistics"
    )
    assert dir(rankad) == names.split()
    for name in dir(rankad):
        assert getattr(rankad, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Rankad'"):
        rankad.Rankad  # noqa: B018


def test_the_parameters_are_these():
    names = (
        "alpha statistic n_neighbors n_levels min_rank_gap pair_weight loss anchor anchor_margin C "
        "sigma Cs sigmas cv n_centers outward robust scaler calibration calibration_size dtype tol "
        "max_iter n_jobs random_state verbose"
    )
    assert set(rankad.RankAD().get_params()) == set(names.split())


def test_importing_the_package_imports_no_heavy_library():
    code = "import sys, rankad; print({'numpy', 'sklearn', 'numba', 'scipy'} & set(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "set()"


MODULES = {
    "baselines": "AveragedKLPE BPKNNG KLPE MassAD",
    "calibration": "Audit Betting CALIBRATIONS CALIBRATION_SIZE_CONSTRAINT CalibratedDetector "
    "CrossFittedScores DriftMonitor FalseAlarmBounds FalseAlarmsPerDay "
    "HeldOutScores "
    "MixtureBetting OnlineDiscoveries OnlinePValues ReferenceScores Reweighted SimpleJumper "
    "TrainingScores WeightedScores benjamini_hochberg clopper_pearson conditional_p_values "
    "density_ratio false_alarm_band false_alarm_law level_for_budget nominal_share "
    "reference_for_discoveries reference_needed safe_order theorem_6_bound true_alarm_share",
    "datasets": "CorruptDatasetError Dataset DownloadError FURTHER_LAWS LAST_LAWS Law "
    "MissingDatasetError NormalMixture SMOOTH_LAWS UnknownDatasetError cache_folder "
    "law_anomalies load mulcross names "
    "perpendicular_gaussians two_gaussians",
    "exceptions": "CalibrationWarning ConvergenceWarning NoPairsError UnresolvableAlphaError",
    "explanations": "Explanation Reason explain",
    "kernels": "CenterFeatures FarField KernelExpansion Pursuit center_distances distances_between "
    "effective_rank gaussian_gram kmeans_centers mean_center_distance pursue",
    "metrics": "auc average_precision excess_mass_curve mass_volume_curve pairwise_disagreement "
    "partial_auc power",
    "plots": "DriftDisplay ExplanationDisplay FalseAlarmDisplay LevelSetDisplay PValueDisplay "
    "SelectionDisplay",
    "preferences": "PairWeight PreferenceScheme Preferences level_preferences quantized_levels "
    "rank_gap_preferences ranks require_pairs tail_levels",
    "reproduce": "LEVELS Record RecordsError Reproduction ReproductionError Results TARGETS "
    "output_folder read_records reproduce",
    "selection": "CV_TOL CenterChoice CrossValidation PAPER_CS PAPER_RELATIVE_SIGMAS candidates "
    "cross_validate paper_sigmas rule_C rule_n_centers rule_n_neighbors rule_sigma",
    "solvers": "LOSSES Loss LossAt PairwiseHinge PairwiseSquaredHinge Solution Status minimize "
    "minimize_along minimize_linear",
    "statistics": "BaggedNeighborDistance DimensionAdaptedDistance EpsilonNeighborhood "
    "GeodesicNeighborDistance HalvedNeighborDistance KernelDensity KthNeighborDistance "
    "MeanNeighborDistance NeighborSearch STATISTICS Statistic named_statistic neighbor_distances "
    "planned_search statistic_values",
}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_public_names_of_each_module_are_these(module):
    assert sorted(import_module(f"rankad.{module}").__all__) == sorted(MODULES[module].split())
