"""Slow and obvious versions of what the library computes fast."""

from itertools import combinations
from math import ceil

import numpy as np
import scipy.optimize


def neighbor_distances(points, n_neighbors, reference=None):
    rows = []
    for i, point in enumerate(points):
        others = np.delete(points, i, axis=0) if reference is None else reference
        rows.append(np.sort(np.sqrt(((others - point) ** 2).sum(axis=1)))[:n_neighbors])
    return np.array(rows)


def nearest_rows(rows, queries, n_nearest):
    """Indices and distances; among equal distances the smaller index is first."""
    indices, distances = [], []
    for query in queries:
        away = np.sqrt(((rows - query) ** 2).sum(axis=1))
        order = sorted(range(len(rows)), key=lambda row: (away[row], row))[:n_nearest]
        indices.append(order)
        distances.append(away[order])
    return np.array(indices), np.array(distances)


def levels(statistic, n_levels):
    n = len(statistic)
    counts = [sum(1 for other in statistic if other <= value) for value in statistic]
    return np.array(
        [next(m for m in range(1, n_levels + 1) if n * m >= n_levels * c) for c in counts]
    )


def tail_levels(statistic, share):
    """Groups of equal values, lowest first, as long as they fit; the lowest group in any case."""
    n_max, tail, n_taken = ceil(share * len(statistic)), set(), 0
    for value in sorted(set(statistic)):
        n_equal = sum(1 for other in statistic if other == value)
        if n_taken and n_taken + n_equal > n_max:
            break
        tail.add(value)
        n_taken += n_equal
    return np.array([1 if value in tail else 2 for value in statistic])


def pairs(levels):
    return [(i, j) for i in range(len(levels)) for j in range(len(levels)) if levels[i] > levels[j]]


def pair_weights(preferences):
    """Explicit weights {(i, j): w_ij}, added up for a pair in several blocks."""
    weights = {}
    for block, weight in enumerate(preferences.weights):
        upper, lower = (
            members.points[members.starts[block] : members.starts[block + 1]]
            for members in (preferences.upper, preferences.lower)
        )
        for i in upper:
            for j in lower:
                weights[int(i), int(j)] = weights.get((int(i), int(j)), 0.0) + float(weight)
    return weights


def squared_hinge(shortfall):
    """Value, first and second derivative in the shortfall 1 - (f_i - f_j)."""
    return (shortfall**2, 2 * shortfall, 2.0) if shortfall > 0 else (0.0, 0.0, 0.0)


def smoothed_hinge(width):
    def hinge(shortfall):
        if shortfall >= width:
            return shortfall, 1.0, 0.0
        if shortfall <= -width:
            return 0.0, 0.0, 0.0
        lifted = shortfall + width
        return lifted**2 / (4 * width), lifted / (2 * width), 1 / (2 * width)

    return hinge


def pairwise_loss(hinge, scores, weights, anchor_weight=0.0, anchor_margin=1.0):
    """Value, gradient and Hessian over explicit pairs {(i, j): w_ij} and the anchor's pairs."""
    n = len(scores)
    value, gradient, hessian = 0.0, np.zeros(n), np.zeros((n, n))
    for (i, j), weight in weights.items():
        loss, slope, curvature = hinge(scores[j] - (scores[i] - 1.0))
        value += weight * loss
        gradient[i] -= weight * slope
        gradient[j] += weight * slope
        hessian[[i, j], [i, j]] += weight * curvature
        hessian[[i, j], [j, i]] -= weight * curvature
    for i in range(n):
        loss, slope, curvature = hinge(anchor_margin - scores[i])
        value += anchor_weight * loss
        gradient[i] -= anchor_weight * slope
        hessian[i, i] += anchor_weight * curvature
    return value, gradient, hessian


def disagreement(scores, weights):
    if not weights:
        return 0.5
    wrong = sum(
        weight * (float(scores[i] < scores[j]) + 0.5 * (scores[i] == scores[j]))
        for (i, j), weight in weights.items()
    )
    return wrong / sum(weights.values())


def hinge_optimum(gram, levels, C, anchor, anchor_margin=1.0):
    """Minimum of the objective with the exact hinge, from its dual problem by L-BFGS-B.

    Each pair has a multiplier b_p in [0, C]. For the anchor's pairs the upper limit is C times
    their weight. Then w = sum_p b_p x_p.
    """
    upper, lower = np.array(pairs(levels)).T
    n_pairs, n = len(upper), len(gram)
    design = np.zeros((n_pairs + n * (anchor > 0), n))
    design[np.arange(n_pairs), upper] = 1.0
    design[np.arange(n_pairs), lower] -= 1.0
    if anchor > 0:
        design[n_pairs:] = np.eye(n)
    caps = np.full(len(design), C)
    caps[n_pairs:] *= anchor * n_pairs / n
    margins = np.ones(len(design))
    margins[n_pairs:] = anchor_margin
    products = design @ gram @ design.T
    result = scipy.optimize.minimize(
        lambda b: (0.5 * b @ products @ b - b @ margins, products @ b - margins),
        np.zeros(len(design)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, cap) for cap in caps],
        options={"maxiter": 100_000, "maxfun": 200_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 40},
    )
    return -result.fun


def primal_optimum(gram, levels, C, anchor, anchor_margin=1.0):
    """Minimum of the objective over w, for explicit features (K = Z Z') and pairs, by L-BFGS."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    features = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    upper, lower = np.array(pairs(levels)).T
    anchor_weight = anchor * len(upper) / len(gram)

    def objective(w):
        scores = features @ w
        margin = np.maximum(1.0 - (scores[upper] - scores[lower]), 0.0)
        to_infinity = np.maximum(anchor_margin - scores, 0.0)
        value = 0.5 * w @ w + C * (margin @ margin + anchor_weight * to_infinity @ to_infinity)
        slope = np.bincount(lower, 2 * margin, len(scores)) - np.bincount(
            upper, 2 * margin, len(scores)
        )
        return value, w + C * features.T @ (slope - 2 * anchor_weight * to_infinity)

    result = scipy.optimize.minimize(
        objective,
        np.zeros(len(gram)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 50},
    )
    return result.fun


def kernel_expansion(points, centers, weights, sigma, centered=False, far_field=None):
    scores = []
    for point in np.asarray(points, dtype=float):
        exponents = ((point - centers) ** 2).sum(axis=1) / sigma**2
        if far_field is not None and exponents.min() > far_field.radius**2:
            scores.append(far_field.floor - exponents.min())
        else:
            scores.append(weights @ (np.exp(-exponents) - centered))
    return np.array(scores)


def p_value(score, reference, n_extra):
    return (n_extra + sum(1 for other in reference if other <= score)) / (len(reference) + n_extra)


def kth_neighbor_distance(points, n_neighbors, reference=None):
    return -neighbor_distances(points, n_neighbors, reference)[:, -1]


def halved_neighbor_distance(points, K, n_halvings, seed, reference=None, nearest=False):
    def once(points, reference):
        n = len(points) - 1 if reference is None else len(reference)
        wanted = [min(i, n) for i in range(K - (K - 1) // 2, K + K // 2 + 1)]
        if nearest:
            wanted = range(1, min(K, n) + 1)
        distances = neighbor_distances(points, n, reference)
        return -np.array([np.mean([row[i - 1] for i in wanted]) for row in distances])

    if n_halvings == 0:
        return once(points, reference)
    rng = np.random.RandomState(seed)
    runs = []
    for _ in range(n_halvings):
        pool = points if reference is None else reference
        order = rng.permutation(len(pool))
        half = (len(pool) + 1) // 2
        if reference is not None:
            runs.append(once(points, pool[order[:half]]))
            continue
        values = np.empty(len(points))
        values[order[:half]] = once(pool[order[:half]], pool[order[half:]])
        values[order[half:]] = once(pool[order[half:]], pool[order[:half]])
        runs.append(values)
    return np.mean(runs, axis=0)


def epsilon_neighborhood(points, n_neighbors, radius, reference=None):
    values = []
    for i, point in enumerate(points):
        others = np.delete(points, i, axis=0) if reference is None else reference
        distances = np.sort(np.sqrt(((others - point) ** 2).sum(axis=1)))
        kth = distances[min(n_neighbors, len(distances)) - 1]
        values.append((distances <= radius).sum() - kth / (kth + radius))
    return np.array(values)


def kernel_density(points, bandwidth, reference=None):
    values = []
    for i, point in enumerate(points):
        others = np.delete(points, i, axis=0) if reference is None else reference
        values.append(np.log(np.exp(-((others - point) ** 2).sum(axis=1) / bandwidth**2).sum()))
    return np.array(values)


def geodesic_neighbor_distance(points, n_neighbors, n_edges, reference=None):
    """By all shortest paths (Floyd-Warshall) in the symmetric neighbor graph.

    A new point is joined to its nearest rows.
    """

    def all_paths(rows):
        distances = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
        graph = np.full(distances.shape, np.inf)
        for i, row in enumerate(distances):
            for j in np.argsort(row, kind="stable")[: n_edges + 1]:
                graph[i, j] = graph[j, i] = distances[i, j]
        for k in range(len(rows)):
            graph = np.minimum(graph, graph[:, k : k + 1] + graph[k : k + 1])
        return graph

    if reference is None:
        paths = all_paths(points)
        np.fill_diagonal(paths, np.inf)
        nearest = np.sort(paths, axis=1)[:, :n_neighbors]
        is_reached = np.isfinite(nearest)
        return -np.where(is_reached, nearest, 2 * nearest[is_reached].max()).mean(axis=1)
    paths = all_paths(reference)
    values = []
    for point in points:
        steps = np.sqrt(((reference - point) ** 2).sum(axis=1))
        entries = np.argsort(steps, kind="stable")[:n_edges]
        lengths = np.sort((steps[entries, None] + paths[entries]).min(axis=0))
        values.append(-lengths[:n_neighbors].mean())
    return np.array(values)


def dimension_adapted(points, n_neighbors, reference=None):
    pool = points if reference is None else reference
    unit = np.exp(np.log(neighbor_distances(pool, n_neighbors)[:, -1]).mean())
    values = []
    for row in neighbor_distances(points, n_neighbors, reference):
        ratios = [np.log(row[-1] / distance) for distance in row[:-1]]
        dimension = min(max(1 / np.mean(ratios), 1.0), points.shape[1])
        values.append(-dimension * np.log(row[-1] / unit))
    return np.array(values)


def mass_at_depth(values, depth):
    """Mass of each of the sorted values, by the definition: split by split."""
    if depth == 0 or values[0] == values[-1]:
        return np.full(len(values), float(len(values)))
    masses = np.zeros(len(values))
    for i in range(1, len(values)):
        probability = (values[i] - values[i - 1]) / (values[-1] - values[0])
        if probability > 0:
            left, right = mass_at_depth(values[:i], depth - 1), mass_at_depth(values[i:], depth - 1)
            masses += probability * np.concatenate([left, right])
    return masses


def mean_shift(point, centers, weights, sigma):
    """Mean of the differences to the centers, weighted by the terms of the kernel sum."""
    terms = [
        w * np.exp(-sum((point - c) ** 2) / sigma**2) for w, c in zip(weights, centers, strict=True)
    ]
    return sum(t * (point - c) for t, c in zip(terms, centers, strict=True)) / sum(terms)


def outward_expansion(points, centers, weights, sigma, outward, far_field=None):
    """Kernel sums after the outward step, point by point, or the far field."""
    scores = kernel_expansion(points, centers, weights, sigma, False, far_field)
    for i, point in enumerate(points):
        nearest = np.sqrt(((point - centers) ** 2).sum(axis=1).min())
        if scores[i] > 0 and (far_field is None or nearest <= far_field.radius * sigma):
            shift = mean_shift(point, centers, weights, sigma)
            scores[i] *= np.exp(-outward * (shift @ shift) / sigma**2)
    return scores


def bagged_neighbor_distance(points, subsamples, reference=None):
    """Minus the mean, over subsamples of row indices, of the distance to the nearest other row."""
    values = []
    for i, point in enumerate(points):
        distances = []
        for rows in subsamples:
            if reference is None:
                others = [points[row] for row in rows if row != i]
            else:
                others = [reference[row] for row in rows]
            if others:
                distances.append(min(np.sqrt(((point - other) ** 2).sum()) for other in others))
        values.append(-np.mean(distances))
    return np.array(values)


def stratum_p_values(scores, strata, reference, reference_strata, pool_below=0):
    """Row by row: the p-value among the rows of the stratum, or of all small strata together."""
    reference_strata = list(reference_strata)
    p = []
    for score, stratum in zip(scores, strata, strict=True):
        is_small = reference_strata.count(stratum) < pool_below
        others = [
            other
            for other, of in zip(reference, reference_strata, strict=True)
            if (reference_strata.count(of) <= pool_below if is_small else of == stratum)
        ]
        p.append((1 + sum(other <= score for other in others)) / (1 + len(others)))
    return np.array(p)


def true_alarms(p_values, is_chosen, level):
    """Least number of true alarms among chosen rows: closed testing over all subsets.

    A subset is rejected if Simes' test rejects every set that holds it.
    """
    n = len(p_values)
    sets = [frozenset(s) for size in range(1, n + 1) for s in combinations(range(n), size)]
    unrejected = [s for s in sets if not _simes_rejects(p_values[list(s)], level)]
    chosen = frozenset(np.flatnonzero(is_chosen).tolist())
    # A subset of the chosen rows is not rejected if it lies in a set that is not.
    return len(chosen) - max((len(chosen & s) for s in unrejected), default=0)


def _simes_rejects(p_values, level):
    n = len(p_values)
    return any(n * p <= (j + 1) * level for j, p in enumerate(sorted(p_values)))
