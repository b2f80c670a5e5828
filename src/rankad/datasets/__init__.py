"""The paper's data: generators with the true density, and loaders of the real sets.

>>> from rankad import datasets
>>> data = datasets.perpendicular_gaussians(random_state=0)
>>> data.nominal.shape, data.anomalies.shape
((1100, 2), (1000, 2))
>>> "magic" in datasets.names()
True
"""

from rankad.datasets.dataset import Dataset
from rankad.datasets.errors import (
    CorruptDatasetError,
    DownloadError,
    MissingDatasetError,
    UnknownDatasetError,
)
from rankad.datasets.law_catalog import FURTHER_LAWS, LAST_LAWS, SMOOTH_LAWS, law_anomalies
from rankad.datasets.laws import Law
from rankad.datasets.loader import cache_folder, load, names
from rankad.datasets.mixture import NormalMixture
from rankad.datasets.synthetic import mulcross, perpendicular_gaussians, two_gaussians

__all__ = [
    "FURTHER_LAWS",
    "LAST_LAWS",
    "SMOOTH_LAWS",
    "CorruptDatasetError",
    "Dataset",
    "DownloadError",
    "Law",
    "MissingDatasetError",
    "NormalMixture",
    "UnknownDatasetError",
    "cache_folder",
    "law_anomalies",
    "load",
    "mulcross",
    "names",
    "perpendicular_gaussians",
    "two_gaussians",
]
