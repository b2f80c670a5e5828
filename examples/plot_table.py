"""
A table of real rows
====================

Benign tumors are the nominal rows, malignant ones the anomalies. The detector trains on benign rows
only. Each new row gets a p-value, and you can use any alpha without a new fit.
"""

# %%
# Data
# ----
# Two thirds of the benign rows train. The detector holds out a quarter of these for the reference.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from rankad import RankAD
from rankad.plots import ExplanationDisplay

table = load_breast_cancer(as_frame=True)
benign, malignant = table.data[table.target == 1], table.data[table.target == 0]
train, fresh = train_test_split(benign, test_size=1 / 3, random_state=3)

det = RankAD(random_state=0).fit(train)
print(f"{len(train)} rows in fit, {det.reference_.size} of them as reference")

# %%
# p-values and alarms
# -------------------
# A benign row has ``p <= alpha`` with probability at most alpha. That is an average over detectors.
# The rate of one detector scatters around alpha. With 60 reference scores it scatters widely.

p_fresh, p_malignant = det.p_values(fresh), det.p_values(malignant)
for alpha in (0.02, 0.05, 0.1):
    false = np.mean(det.predict(fresh, alpha=alpha) == -1)
    caught = np.mean(det.predict(malignant, alpha=alpha) == -1)
    print(f"alpha {alpha:4.0%}: {false:5.1%} of benign rows alarm, {caught:5.1%} of malignant ones")

# %%
# Why does a row alarm?
# ---------------------
# The explanation changes each feature alone to its best nominal value, and gives the p-value that
# the row would then have. Most malignant rows are anomalous in many features at once. The row shown
# is the alarm whose p-value a single feature would raise most.

alarms = malignant[p_malignant <= 0.05]
reasons = det.explain(alarms)
row = int(np.argmax(reasons.p_values_after.max(axis=1)))
for reason in reasons.top(row, 3):
    print(
        f"{reason} would give p = {reason.p_value_after:.3f} instead of {reasons.p_values[row]:.3f}"
    )

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.ecdf(p_malignant, color="#D55E00", label="malignant rows")
left.ecdf(p_fresh, color="#0072B2", linestyle="-.", label="new benign rows")
left.plot([0, 1], [0, 1], "k--", linewidth=1, label="as asked for")
left.set(xlabel="alpha", ylabel="share of rows that alarm", xlim=(0, 0.3), ylim=(0, 1.02))
left.set_title("Alarms at every alpha", loc="left")
left.legend(loc="center right")
ExplanationDisplay.from_explanation(
    reasons, row, n_features=5, name="One alarm, explained", ax=right
)
plt.show()
