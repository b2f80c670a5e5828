"""Gaussian kernels: matrices for training, a frozen expansion for scoring."""

from rankad.kernels.expansion import FarField, KernelExpansion
from rankad.kernels.gram import distances_between, gaussian_gram

__all__ = ["FarField", "KernelExpansion", "distances_between", "gaussian_gram"]
