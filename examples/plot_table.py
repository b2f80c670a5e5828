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

figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.ecdf(p_malignant, color="#D55E00", label="malignant rows")
ax.ecdf(p_fresh, color="#0072B2", linestyle="-.", label="new benign rows")
ax.plot([0, 1], [0, 1], "k--", linewidth=1, label="as asked for")
ax.set(xlabel="alpha", ylabel="share of rows that alarm", xlim=(0, 0.3), ylim=(0, 1.02))
ax.set_title("Alarms at every alpha", loc="left")
ax.legend(loc="center right")
plt.show()

# %%
# Why do these rows alarm?
# ------------------------
# The explanation of an alarm names the fewest features to change so that the row is nominal. The
# new values are those of one benign row. Radius, perimeter and area of a cell are strongly
# correlated. If three features alone do not suffice, such a group changes as a whole. Of many
# alarms, the explanation shows the reasons that they share.

alarms = malignant[p_malignant <= 0.05]
explanation = det.explain(alarms)
print(explanation)

# %%
# How many alarms does each feature take part in?

by_feature = explanation.shared_reasons(by="feature")
print(by_feature[["features", "alarms", "share"]].head().to_string())

# %%
# A frame with one line for each alarm has the labels of your table, so you can join both. An alarm
# that is not explained keeps its p-value.

print(explanation.to_frame()[["p_value", "p_value_after", "n_features"]].join(alarms).iloc[:5, :5])

# %%
# One alarm
# ---------
# This alarm has the most frequent reason. Each line is a feature. The gray bar is the range of 90%
# of the benign rows. It is in the same place for all features, because each has its own unit.

shared = explanation.shared_reasons()
row = alarms.index.get_loc(shared["example"][0])
ExplanationDisplay.from_explanation(explanation, row, n_features=6)
plt.show()
