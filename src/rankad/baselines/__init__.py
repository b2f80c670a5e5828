"""The methods that the paper compares with."""

from rankad.baselines.mass import MassAD
from rankad.baselines.neighbors import BPKNNG, KLPE, AveragedKLPE

__all__ = ["BPKNNG", "KLPE", "AveragedKLPE", "MassAD"]
