"""
Another detector with a false-alarm rate
========================================

An isolation forest needs a ``contamination``: the share of its *training* rows that alarm. A larger
share of new nominal rows may alarm. ``Calibrated`` gives the same forest p-values, and so a
false-alarm rate on new rows.
"""

# %%
# Data
# ----
# Images of the digits 0 to 3 are nominal, all others are anomalies. Half of the nominal rows train.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import train_test_split

from rankad import Calibrated

X, digit = load_digits(return_X_y=True)
nominal, anomalies = X[digit <= 3], X[digit > 3]
train, fresh = train_test_split(nominal, test_size=0.5, random_state=0)
print(f"{len(train)} rows train, {len(fresh)} nominal ones and {len(anomalies)} anomalies are new")

# %%
# One forest, any alpha
# ---------------------
# ``Calibrated`` takes any detector of scikit-learn or PyOD that can score a row by itself. It has
# the methods of ``RankAD``.

det = Calibrated(IsolationForest(random_state=0), random_state=0).fit(train)
for alpha in (0.05, 0.1, 0.2):
    false = np.mean(det.predict(fresh, alpha=alpha) == -1)
    caught = np.mean(det.predict(anomalies, alpha=alpha) == -1)
    print(f"alpha {alpha:4.0%}: {false:5.1%} false alarms, {caught:5.1%} of the anomalies caught")

# %%
# Contamination against alpha
# ---------------------------
# Both over ten splits. Each value of ``contamination`` needs its own forest.

alphas = np.array([0.02, 0.05, 0.1, 0.15, 0.2])
seen = {"contamination": [], "Calibrated": []}
for seed in range(10):
    train, fresh = train_test_split(nominal, test_size=0.5, random_state=seed)
    det = Calibrated(IsolationForest(n_estimators=50, random_state=0), random_state=seed).fit(train)
    seen["Calibrated"].append([np.mean(det.predict(fresh, alpha) == -1) for alpha in alphas])
    forests = [
        IsolationForest(n_estimators=50, contamination=alpha, random_state=0).fit(train)
        for alpha in alphas
    ]
    seen["contamination"].append([np.mean(forest.predict(fresh) == -1) for forest in forests])

# %%
# The picture
# -----------
# The bars are standard deviations over the splits. The rate of one calibrated detector scatters
# around alpha. More reference scores make the scatter smaller. The mean rate is near alpha.

figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
looks = ((-0.001, "s-.", "#D55E00"), (0.001, "o-", "#0072B2"))
for (shift, line, color), (name, rates) in zip(looks, seen.items(), strict=True):
    mean, deviation = np.mean(rates, axis=0), np.std(rates, axis=0)
    ax.errorbar(alphas + shift, mean, deviation, fmt=line, color=color, capsize=3, label=name)
ax.plot([0, 0.21], [0, 0.21], "k--", linewidth=1, label="as asked for")
ax.set(xlabel="share asked for", ylabel="new nominal rows that alarm", xlim=(0, 0.21), ylim=0)
ax.set_title("Isolation forest on the digits 0 to 3", loc="left")
ax.legend()
plt.show()
