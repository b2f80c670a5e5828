"""
The paper's detector and its remedies
=====================================

Figure 1 of *A Rank-SVM Approach to Anomaly Detection* in two panels: what the paper's own algorithm
learns from two round clouds, and what the default learns. ``RankAD.as_published()`` is the paper's
algorithm, unchanged.
"""

# %%
# Data and detectors
# ------------------
# The law is known, so we can draw its true level sets. The published algorithm gets C and sigma of
# the figure. By default it chooses them by cross-validation.

import matplotlib.pyplot as plt
import numpy as np

from rankad import RankAD, datasets

data = datasets.two_gaussians(1_000, random_state=0)
law = data.nominal_law
published = RankAD.as_published(C=1.0, sigma=1.5, random_state=0).fit(data.X)
default = RankAD(random_state=0).fit(data.X)

# %%
# Far points
# ----------
# Far from all rows every kernel is zero, so the published ranker has the same score everywhere
# there. Some training rows score lower. So far points do not alarm at a small alpha. The default
# has an anchor: it learns that infinity is less nominal than each row.

far = np.array([[40.0, 40.0], [-1e6, 0.0]])
for name, det in (("published", published), ("default", default)):
    labels = det.predict(far, alpha=0.01)
    print(f"{name:9}: p = {det.p_values(far).round(4)}, labels at 1%: {labels}")

# %%
# Level sets
# ----------
# The curves contain 50, 75, 90 and 97% of the law. The true curves are gray, the learned ones blue.
# The published curves extend to regions without data.

fresh = law.sample(20_000, random_state=1)
masses = (0.5, 0.75, 0.9, 0.97)
x, y = np.meshgrid(np.linspace(0.9, 7.1, 150), np.linspace(-4.0, 4.0, 150))
grid = np.column_stack([x.ravel(), y.ravel()])


def draw_level_sets(ax, score, **style):
    """Draw the level sets of the score that hold 97% to 50% of new nominal rows."""
    levels = np.quantile(score(fresh), 1 - np.array(masses[::-1]))
    ax.contour(x, y, score(grid).reshape(x.shape), levels=levels, **style)


figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained", sharey=True)
for ax, det, title in zip(
    axes, (published, default), ("RankAD.as_published()", "RankAD(): the default"), strict=True
):
    ax.plot(*data.X.T, ".", color="0.7", markersize=3)
    draw_level_sets(ax, law.density, colors="0.45", linestyles="--", linewidths=1.0)
    draw_level_sets(ax, det.score_samples, colors="#0072B2", linewidths=1.6)
    ax.set(xlabel="x0", aspect="equal")
    ax.set_title(title, loc="left")
axes[0].set_ylabel("x1")
plt.show()
