"""Slow, obvious versions of what the library computes fast."""

import numpy as np
import scipy.optimize


def neighbor_distances(points, n_neighbors, reference=None):
    rows = []
    for i, point in enumerate(points):
        others = np.delete(points, i, axis=0) if reference is None else reference
        rows.append(np.sort(np.sqrt(((others - point) ** 2).sum(axis=1)))[:n_neighbors])
    return np.array(rows)


def levels(statistic, n_levels):
    n = len(statistic)
    counts = [sum(1 for other in statistic if other <= value) for value in statistic]
    return np.array(
        [next(m for m in range(1, n_levels + 1) if n * m >= n_levels * c) for c in counts]
    )


def pairs(levels):
    return [(i, j) for i in range(len(levels)) for j in range(len(levels)) if levels[i] > levels[j]]


def pairwise_loss(scores, levels, anchor_weight=0.0):
    """Value, gradient and Hessian of the squared hinge over explicit pairs, and of the anchor."""
    n = len(scores)
    value, gradient, hessian = 0.0, np.zeros(n), np.zeros((n, n))
    for i, j in pairs(levels):
        if scores[j] > scores[i] - 1.0:
            margin = scores[j] - (scores[i] - 1.0)
            value += margin**2
            gradient[i] -= 2 * margin
            gradient[j] += 2 * margin
            hessian[[i, j], [i, j]] += 2
            hessian[[i, j], [j, i]] -= 2
    for i in range(n):
        if scores[i] < 1.0:
            value += anchor_weight * (1.0 - scores[i]) ** 2
            gradient[i] -= 2 * anchor_weight * (1.0 - scores[i])
            hessian[i, i] += 2 * anchor_weight
    return value, gradient, hessian


def disagreement(scores, levels, anchor=0.0):
    wrong = [
        float(scores[i] < scores[j]) + 0.5 * (scores[i] == scores[j]) for i, j in pairs(levels)
    ]
    if not wrong:
        return 0.5
    at_infinity = [float(score < 0) + 0.5 * (score == 0) for score in scores]
    return (np.mean(wrong) + anchor * np.mean(at_infinity)) / (1 + anchor)


def primal_optimum(gram, levels, C, anchor):
    """Least objective over w, with explicit features (K = Z Z') and explicit pairs, by L-BFGS."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    features = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    upper, lower = np.array(pairs(levels)).T
    anchor_weight = anchor * len(upper) / len(gram)

    def objective(w):
        scores = features @ w
        margin = np.maximum(1.0 - (scores[upper] - scores[lower]), 0.0)
        to_infinity = np.maximum(1.0 - scores, 0.0)
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
