"""Gaussian kernels: matrices and centers for training, and a frozen expansion for scoring."""

from rankad.kernels.centers import (
    CenterFeatures,
    center_distances,
    kmeans_centers,
    mean_center_distance,
)
from rankad.kernels.expansion import FarField, KernelExpansion
from rankad.kernels.gram import distances_between, gaussian_gram
from rankad.kernels.pursuit import effective_rank, pursue
