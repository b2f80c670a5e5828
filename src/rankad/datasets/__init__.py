"""The paper's data: generators with a known density, and loaders of the real sets.

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
    DatasetError,
    DownloadError,
    MissingDatasetError,
    UnknownDatasetError,
)
from rankad.datasets.law import Law
from rankad.datasets.law_catalog import FURTHER_LAWS, LAST_LAWS, SMOOTH_LAWS, law_anomalies, laws
from rankad.datasets.loader import cache_folder, load, names
from rankad.datasets.mixture import NormalMixture
from rankad.datasets.synthetic import mulcross, perpendicular_gaussians, two_gaussians

__all__ = [
    "Dataset",
    "DatasetError",
    "Law",
    "law_anomalies",
    "laws",
    "load",
    "mulcross",
    "names",
    "perpendicular_gaussians",
    "two_gaussians",
]
