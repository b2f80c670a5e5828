"""Gaussian kernels: matrices for training, a frozen expansion for scoring."""

from rankad.kernels.expansion import FarField, KernelExpansion
from rankad.kernels.gram import gaussian_gram, squared_distances

__all__ = ["FarField", "KernelExpansion", "gaussian_gram", "squared_distances"]
