"""
A stream that drifts
====================

The promise of a detector holds while nominal rows do not change. ``DriftMonitor`` watches the
scores of a stream and alarms when they change. Without a change, the probability of an alarm at any
time is at most 1%.
"""

# %%
# A detector and a stream
# -----------------------
# Three sensors are nominal for 1,500 rows. Then the first one slowly drifts.

import matplotlib.pyplot as plt
import numpy as np

from rankad import DriftMonitor, RankAD
from rankad.plots import DriftDisplay

rng = np.random.default_rng(0)
det = RankAD(random_state=0).fit(rng.normal(size=(2_000, 3)))

n_before, n_after = 1_500, 1_500
stream = rng.normal(size=(n_before + n_after, 3))
stream[n_before:, 0] += np.linspace(0.0, 3.0, n_after)

# %%
# The monitor
# -----------
# It takes one score or many at once. ``history_size`` keeps its evidence for a picture.

monitor = DriftMonitor(det, history_size=len(stream), random_state=0)
monitor.update_many(det.score_samples(stream))
print(monitor)
print(f"the drift began after row {n_before}, the alarm came at row {monitor.alarmed_at}")

# %%
# What the drift does to the alarms
# ---------------------------------
# We still call all rows of the stream nominal, so each alarm is false. Before the drift the rate is
# near alpha. After it, the rate rises above alpha.

alarms = det.predict(stream, alpha=0.05) == -1
window = 250
rate = np.convolve(alarms, np.full(window, 1 / window), mode="valid")

# %%
# If the new state is nominal, the remedy is new nominal rows. ``calibrate`` with ``replace=True``
# makes them the reference, without a new fit. Here half of the rows calibrate, and the other half
# counts the alarms.

settled = rng.normal(size=(2_000, 3)) + (3.0, 0.0, 0.0)
print(f"before: {np.mean(det.predict(settled[1_000:], alpha=0.05) == -1):.1%} alarms at 5%")
det.calibrate(settled[:1_000], replace=True)
print(f"after:  {np.mean(det.predict(settled[1_000:], alpha=0.05) == -1):.1%} alarms at 5%")

# %%
# The picture
# -----------

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
top.plot(np.arange(window, len(stream) + 1), rate, color="#0072B2")
top.axhline(0.05, color="k", linestyle="--", linewidth=1, label="alpha")
top.set(ylabel=f"share of {window} rows")
top.set_title("Alarms of the detector at alpha = 5%", loc="left")
DriftDisplay.from_monitor(monitor, name="martingale of the monitor", ax=bottom)
for ax in (top, bottom):
    ax.axvline(n_before, color="gray", linestyle=":", label="drift begins")
top.legend(loc="upper left")
bottom.set(xlabel="rows seen")
plt.show()
