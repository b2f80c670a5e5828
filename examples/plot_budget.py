"""
A budget of alarms, and a batch with few false ones
===================================================

A person must look at each alarm. This example starts from the number of alarms that this person can
handle, and finds alpha. Then it selects rows from a batch so that few of them are false.
"""

# %%
# How many alarms a day?
# ----------------------
# A service sees 2,000 rows a day. Ten false alarms a day are acceptable. From this follow alpha and
# the range of the number of false alarms in a day.

import matplotlib.pyplot as plt
import numpy as np

from rankad import RankAD

rng = np.random.default_rng(0)
nominal = rng.standard_t(df=5, size=(8000, 4))
det = RankAD(random_state=0).fit(nominal)

alpha = det.alpha_for(events_per_day=2_000, alarms_per_day=10)
expected = det.false_alarms_per_day(2_000, alpha)
print(f"alpha = {alpha:.3f}: {expected.mean:.1f} false alarms a day on average")
print(f"95% of days have {expected.low} to {expected.high}")

# %%
# Does it hold? Thirty days of nominal rows
# -----------------------------------------
# ``audit`` counts the alarms among new nominal rows and compares the count with alpha. This
# detector alarms on fewer rows than the budget allows. The rate of one detector scatters around
# alpha, and all its days share one reference.

days = rng.standard_t(df=5, size=(30, 2_000, 4))
counts = [int(np.sum(det.predict(day, alpha=alpha) == -1)) for day in days]
audit = det.audit(days.reshape(-1, 4), alpha=alpha)
print(f"{audit.n_alarms} alarms among {audit.n_rows:,} rows: {audit.verdict}")

# %%
# A batch with few false discoveries
# ----------------------------------
# A fixed alpha alarms at a fixed share of the nominal rows. ``select`` uses the whole batch
# instead. On average over batches, at most the share ``fdr`` of the selected rows is false.

n_anomalies = 60
batch = rng.standard_t(df=5, size=(2_000, 4))
batch[:n_anomalies] += rng.choice([-5.0, 5.0], size=(n_anomalies, 4))
is_anomaly = np.arange(len(batch)) < n_anomalies
shares = {}
for fdr in (0.02, 0.05, 0.1, 0.2):
    selected = det.select(batch, fdr=fdr)
    false_share = np.mean(~is_anomaly[selected]) if selected.any() else 0.0
    shares[fdr] = (false_share, np.mean(selected[is_anomaly]))
    print(f"fdr {fdr:4.0%}: {selected.sum():3} selected, {false_share:5.1%} of them false")

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.bar(np.arange(1, 31), counts, color="#0072B2")
left.axhspan(expected.low, expected.high, color="0.9", zorder=0, label="95% of days")
left.axhline(10, color="k", linestyle="--", label="budget")
left.set(xlabel="day", ylabel="false alarms")
left.set_title(f"2,000 nominal rows a day, alpha = {alpha:.1%}", loc="left")
left.legend()
asked = np.array(list(shares))
false_shares, powers = np.array(list(shares.values())).T
right.plot(asked, powers, "o-", color="#0072B2", label="anomalies found")
right.plot(asked, false_shares, "s-", color="#D55E00", label="false among the selected")
right.plot(asked, asked, "k--", linewidth=1, label="asked for")
right.set(xlabel="fdr asked for", ylabel="share", ylim=(0, 1.05))
right.set_title("One batch, four rates", loc="left")
right.legend()
plt.show()
