"""The methods the paper compares with, and calibration for any other detector."""

from rankad.baselines.calibrated import Calibrated
from rankad.baselines.mass import MassAD
from rankad.baselines.neighbors import BPKNNG, KLPE, AveragedKLPE

__all__ = ["BPKNNG", "KLPE", "AveragedKLPE", "Calibrated", "MassAD"]
