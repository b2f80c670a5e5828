"""Monitoring with a fitted detector and new rows: drift of a stream, and shift of the rows."""

from rankad.monitoring.drift import DriftMonitor
from rankad.monitoring.reweighted import Reweighted
