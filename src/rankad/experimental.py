"""The stages of Algorithm 1, for research. They are documented, but not stable.

Each stage is a module: `statistics` (nearest-neighbor statistics G), `preferences` (ranks, levels
and pairs), `kernels` (Gram matrices, centers, the kernel expansion), `solvers` (losses, truncated
Newton), `ranker` (from preferences to a kernel expansion) and `tuning` (the rules and
cross-validation). Names in them may change in any release, without a deprecation.

>>> import numpy as np
>>> from rankad.experimental import preferences, ranker
>>> points = np.array([[0.0], [0.1], [0.2], [2.0], [5.0]])
>>> pairs = preferences.level_preferences(np.array([3, 3, 2, 1, 1]))
>>> ranker.fit_ranker(points, pairs, C=1.0, sigma=1.0).expansion.n_centers
5
"""

from rankad import kernels, preferences, ranker, solvers, statistics, tuning

__all__ = ["kernels", "preferences", "ranker", "solvers", "statistics", "tuning"]
