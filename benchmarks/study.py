"""What was tried to raise accuracy for a given number of centers, on the sets of ADBench only.

    RANKAD_DATA=... python benchmarks/study.py [--seeds 3] [--jobs 2] [--only anchor ...]

Each variant is the default ranker with one thing changed, trained on all training rows of the
protocol of benchmarks/accuracy.py: none are held out, except where that is what is studied. A
record per variant, number of centers, set and seed is appended to a file, and
benchmarks/accuracy_page.py makes the tables of them.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from accuracy import scaled_rows
from one_class import set_names
from records import FOLDER, read_records, record
from scipy.optimize import minimize
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import PCA
from sklearn.preprocessing import QuantileTransformer, RobustScaler

from rankad import RankAD
from rankad.kernels import (
    CenterFeatures,
    FarField,
    KernelExpansion,
    center_distances,
    distances_between,
    gaussian_gram,
    kmeans_centers,
    pursue,
)
from rankad.metrics import auc, excess_mass_curve, mass_volume_curve, pairwise_disagreement
from rankad.preferences import (
    PairWeight,
    Preferences,
    level_preferences,
    quantized_levels,
    rank_gap_preferences,
    ranks,
    tail_levels,
)
from rankad.ranker import RankSVM, fit_ranker
from rankad.selection import rule_C, rule_sigma
from rankad.solvers import LOSSES, minimize_linear
from rankad.statistics import (
    DimensionAdaptedDistance,
    HalvedNeighborDistance,
    KernelDensity,
    KthNeighborDistance,
    MeanNeighborDistance,
    neighbor_distances,
)

RECORDS = FOLDER / "study.jsonl"
N_CENTERS = (100, 400, None)

#: The default's.
K, ANCHOR = RankAD().n_neighbors, RankAD().anchor

#: Groups whose variants would take too long with every row as a center.
FEW_CENTERS_ONLY = ("widths", "weights", "synthetic points", "judges of sigma")

Points = np.ndarray
Score = Callable[[Points], np.ndarray]
Statistic = Callable[..., np.ndarray]
Preferring = Callable[[np.ndarray], Preferences]


@dataclass(frozen=True, eq=False)
class Data:
    """Points of one set and seed; what variants share is computed once."""

    points: Points
    test: Points
    is_anomaly: np.ndarray
    seed: int

    @cached_property
    def values(self) -> np.ndarray:
        """The default statistic."""
        return nearest(K)(self.points)

    @cached_property
    def neighbor_distance(self) -> float:
        """D_K."""
        return -float(self.values.mean())

    def rng(self) -> np.random.RandomState:
        """The same random numbers for every variant."""
        return np.random.RandomState(self.seed)

    @lru_cache(maxsize=4)  # noqa: B019 - the centers of a few sets may outlive them
    def centers(self, n: int | None) -> Points:
        """The default's centers."""
        if n is None or n >= len(self.points):
            return np.unique(self.points, axis=0)
        return kmeans_centers(self.points, n, self.rng())

    @lru_cache(maxsize=4)  # noqa: B019
    def center_distance(self, n: int | None) -> float:
        """Mean distance to the nearest of the default's centers."""
        return float(center_distances(self.points, self.centers(n)).mean())

    def sigma(self, n: int | None) -> float:
        """The default's sigma."""
        return rule_sigma(self.neighbor_distance, self.center_distance(n))


def nearest(k: int) -> Statistic:
    """Minus the mean distance to the k nearest, or to as many as there are."""
    return lambda points, reference=None: MeanNeighborDistance(
        min(k, len(points if reference is None else reference) - (reference is None))
    )(points, reference)


def tail(values: np.ndarray, share: float = 0.1) -> Preferences:
    return level_preferences(tail_levels(values, share))


def equal_levels(m: int, weight: PairWeight | None = None) -> Preferring:
    return lambda values: level_preferences(quantized_levels(values, m), weight)


def cut_levels(*cuts: float) -> Preferring:
    return lambda values: level_preferences(1 + np.searchsorted(cuts, ranks(values)))


def ranker(
    data: Data,
    n: int | None,
    *,
    statistic: Statistic | None = None,
    preferring: Preferring = tail,
    anchor: float = ANCHOR,
    C_factor: float = 1.0,
    sigma: float | None = None,
    centers: Points | None = None,
    points: Points | None = None,
    values: np.ndarray | None = None,
) -> KernelExpansion:
    """The default, or with something changed."""
    points = data.points if points is None else points
    if values is None:
        values = data.values if statistic is None else statistic(points)
    is_few = n is not None and n < len(data.points)
    if centers is None and (is_few or points is not data.points):
        centers = data.centers(n)
    return fit_ranker(
        points,
        preferring(values),
        C=C_factor * rule_C(len(points)),
        sigma=data.sigma(n) if sigma is None else sigma,
        problem=RankSVM(anchor, tol=1e-4),
        centers=centers,
    ).expansion


def density(data: Data, n: int | None, factor: float = 1.0) -> KernelExpansion:
    """Equal weights."""
    return expansion(data.centers(n), np.ones(len(data.centers(n))), factor * data.sigma(n))


def sized_density(data: Data, n: int | None) -> KernelExpansion:
    """Weights by the number of rows nearest to a center."""
    centers = data.centers(n)
    which = np.concatenate(
        [
            distances_between(part, centers).argmin(axis=1)
            for part in np.array_split(data.points, 20)
        ]
    )
    counts = np.bincount(which, minlength=len(centers)).astype(float)
    return expansion(centers, np.maximum(counts, 1e-3), data.sigma(n))


def former(data: Data, n: int | None) -> Score:
    """What the default was before: three equal levels of K = 10, and a weak anchor."""
    values = nearest(10)(data.points)
    sigma = max(-0.5 * float(values.mean()), data.center_distance(n))
    return ranker(
        data, n, values=values, preferring=equal_levels(3), anchor=1.0, C_factor=1 / 4, sigma=sigma
    )


def anchor_alone(data: Data, n: int | None) -> Score:
    """So strong an anchor that the pairs do not count, at the same weight of it."""
    return ranker(data, n, anchor=1e6 * ANCHOR, C_factor=1e-6)


def expansion(centers: Points, weights: np.ndarray, sigma: float) -> KernelExpansion:
    return KernelExpansion(
        centers=centers, weights=weights, sigma=sigma, far_field=FarField.below(weights)
    )


def with_sigma(
    data: Data, n: int | None, of_neighbors: float, of_centers: float
) -> KernelExpansion:
    sigma = max(of_neighbors * data.neighbor_distance, of_centers * data.center_distance(n))
    return ranker(data, n, sigma=sigma)


def mean_of_ranks(points: Points, neighbors: tuple[int, ...] = (2, 5, 10)) -> np.ndarray:
    return np.mean([ranks(nearest(k)(points)) for k in neighbors], axis=0)


def local_ratio(points: Points) -> np.ndarray:
    """Distance to the neighbors, relative to the neighbors' own: as LOF."""
    order = np.argsort(distances_between(points, points), axis=1)[:, 1:11]
    distances = -nearest(K)(points) + 1e-12
    return -distances / distances[order].mean(axis=1)


def with_centers(choose: Callable[[Data, int], Points]) -> Callable[[Data, int | None], Score]:
    def fit(data: Data, n: int | None) -> Score:
        if n is None or n >= len(data.points):
            return ranker(data, n)
        centers = np.unique(choose(data, n), axis=0)
        distance = float(center_distances(data.points, centers).mean())
        sigma = rule_sigma(data.neighbor_distance, distance)
        return ranker(data, n, centers=centers, sigma=sigma)

    return fit


def random_rows(data: Data, n: int) -> Points:
    return data.points[data.rng().choice(len(data.points), n, replace=False)]


def farthest_rows(data: Data, n: int) -> Points:
    chosen = [data.rng().randint(len(data.points))]
    distances = distances_between(data.points, data.points[chosen])[:, 0]
    while len(chosen) < n:
        chosen.append(int(distances.argmax()))
        new = distances_between(data.points, data.points[chosen[-1:]])[:, 0]
        distances = np.minimum(distances, new)
    return data.points[chosen]


def weighted_kmeans(data: Data, n: int, power: float) -> Points:
    weights = (-data.values + 1e-12) ** power
    kmeans = KMeans(n, n_init=1, max_iter=30, random_state=data.rng())
    return kmeans.fit(data.points, sample_weight=weights / weights.mean()).cluster_centers_


def pursued(data: Data, n: int) -> Points:
    """Centers that a pursuit picks from the ranker with all rows, at the width of few."""
    full = ranker(data, None, sigma=data.sigma(n))
    gram = gaussian_gram(distances_between(full.centers, full.centers), full.sigma)
    found = pursue(gram, full.weights, tolerance=np.inf, n_most=n)
    return full.centers[:n] if found is None else full.centers[found.picked]


def nearest_rows(data: Data, n: int) -> Points:
    return data.points[distances_between(data.centers(n), data.points).argmin(axis=1)]


def own_widths(data: Data, n: int | None, share: float) -> Score:
    """A width for each center: between the common one and the radius of its cluster."""
    centers, common = data.centers(n), data.sigma(n)
    if n is None or n >= len(data.points):
        radii = 0.6 * neighbor_distances(centers, min(5, len(centers) - 1)).mean(axis=1)
    else:
        to_centers = distances_between(data.points, centers)
        which, distance = to_centers.argmin(axis=1), to_centers.min(axis=1)
        counts = np.maximum(np.bincount(which, minlength=len(centers)), 1)
        radii = 0.85 * np.bincount(which, distance, minlength=len(centers)) / counts
    widths = np.maximum(radii, 0.3 * common) ** share * common ** (1.0 - share)

    def exponents(points: Points) -> np.ndarray:
        return (distances_between(points, centers) / widths) ** 2

    loss = LOSSES["squared_hinge"](tail(data.values), ANCHOR)
    features = np.exp(-exponents(data.points))
    weights = minimize_linear(loss, features, rule_C(len(data.points)), tol=1e-4).coefficients

    def score(points: Points) -> np.ndarray:
        parts = []
        for start in range(0, len(points), 2000):
            there = exponents(points[start : start + 2000])
            floor = -np.abs(weights).sum() - there.min(axis=1)
            parts.append(np.where(there.min(axis=1) > 12.0, floor, np.exp(-there) @ weights))
        return np.concatenate(parts)

    return score


def two_widths(data: Data, n: int | None, ratio: float) -> Score:
    centers, sigma = data.centers(n), data.sigma(n)
    parts = [CenterFeatures.of(centers, width) for width in (sigma, ratio * sigma)]
    features = [part(data.points) for part in parts]
    loss = LOSSES["squared_hinge"](tail(data.values), ANCHOR)
    w = minimize_linear(loss, np.hstack(features), rule_C(len(data.points)), tol=1e-4).coefficients
    split = np.split(w, [features[0].shape[1]])
    sums = [
        KernelExpansion(centers=centers, weights=part.coefficients(v), sigma=part.sigma)
        for part, v in zip(parts, split, strict=True)
    ]

    def score(points: Points) -> np.ndarray:
        g = sums[0](points) + sums[1](points)
        far = center_distances(points, centers) / (ratio * sigma)
        return np.where(far > 3.5, min(g.min(), 0.0) - far, g)

    return score


def toward_density(data: Data, n: int | None, Cn: float) -> Score:
    """Penalizes the distance from the density sum, times any factor, instead of that from 0."""
    centers, sigma = data.centers(n), data.sigma(n)
    features = CenterFeatures.of(centers, sigma)
    gram = gaussian_gram(distances_between(centers, centers), sigma)
    at_points = features(data.points)
    of_density = at_points @ (features.basis.T @ gram.sum(axis=1))
    factor = 30.0 / of_density.mean()  # a feature so large is hardly penalized
    loss = LOSSES["squared_hinge"](tail(data.values), ANCHOR)
    w = minimize_linear(
        loss,
        np.column_stack([at_points, factor * of_density]),
        Cn / len(data.points),
        tol=1e-4,
    ).coefficients
    return expansion(centers, features.coefficients(w[:-1]) + factor * w[-1], sigma)


def nonnegative(data: Data, n: int | None) -> Score:
    """No center with a negative weight."""
    centers, sigma = data.centers(n), data.sigma(n)
    loss = LOSSES["squared_hinge"](tail(data.values), ANCHOR)
    gram = gaussian_gram(distances_between(centers, centers), sigma)
    at_points = gaussian_gram(distances_between(data.points, centers), sigma)
    C = rule_C(len(data.points))

    def objective(a: np.ndarray) -> tuple[float, np.ndarray]:
        local, smooth = loss.at(at_points @ a), gram @ a
        return 0.5 * a @ smooth + C * local.value, smooth + C * (local.gradient @ at_points)

    start = np.full(len(centers), 1.0 / at_points.sum(axis=1).mean())
    bounds = [(1e-12, None)] * len(centers)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return expansion(centers, found.x, sigma)


def mean_of_halves(data: Data, n: int | None) -> Score:
    """Rankers of two halves of the rows, on the same centers, and so one expansion."""
    order = data.rng().permutation(len(data.points))
    halves = [order[::2], order[1::2]]
    expansions = [
        ranker(data, n, centers=data.centers(n), points=data.points[half], values=data.values[half])
        for half in halves
    ]
    weights = np.mean([part.weights for part in expansions], axis=0)
    return expansion(data.centers(n), weights, data.sigma(n))


def with_synthetic(draw: Callable[..., Points]) -> Callable[[Data, int | None], Score]:
    """As many synthetic points as rows, ranked with them by the teacher."""

    def fit(data: Data, n: int | None) -> Score:
        rng = np.random.default_rng(data.seed)
        first, second = rng.integers(0, len(data.points), size=(2, len(data.points)))
        synthetic = draw(data, data.points[first], data.points[second], rng)
        values = nearest(K)(synthetic, data.points)
        # What lies no deeper than the tail of the rows is in it; other synthetic points above.
        everything = np.concatenate([data.values, values])
        edges = np.quantile(data.values, [0.01, 0.1])
        levels = 1 + np.searchsorted(edges, everything, side="right")
        return ranker(
            data,
            n,
            points=np.concatenate([data.points, synthetic]),
            values=everything,
            preferring=lambda _: level_preferences(levels),
        )

    return fit


def noisy(data: Data, first: Points, second: Points, rng: np.random.Generator) -> Points:
    scale = 2.0 * data.neighbor_distance / np.sqrt(first.shape[1])
    return first + scale * rng.normal(size=first.shape)


def swapped(data: Data, first: Points, second: Points, rng: np.random.Generator) -> Points:
    return np.where(rng.random(first.shape) < 0.5, first, second)


def between(data: Data, first: Points, second: Points, rng: np.random.Generator) -> Points:
    share = rng.random((len(first), 1))
    return share * first + (1.0 - share) * second


def beyond(data: Data, first: Points, second: Points, rng: np.random.Generator) -> Points:
    return first + rng.random((len(first), 1)) * (first - second)


def in_box(data: Data, first: Points, second: Points, rng: np.random.Generator) -> Points:
    return rng.uniform(data.points.min(axis=0), data.points.max(axis=0), size=first.shape)


def transformed(make: Callable[[], object]) -> Callable[[Data, int | None], Score]:
    def fit(data: Data, n: int | None) -> Score:
        transform = make().fit(data.points).transform
        there = Data(transform(data.points), data.test, data.is_anomaly, data.seed)
        score = ranker(there, n)
        return lambda points: score(transform(points))

    return fit


def judged(judge: Callable[[Score, Points, np.ndarray], float]) -> Callable[..., Score]:
    """Sigma by what a judge says of held-out rows: the less, the better."""

    def fit(data: Data, n: int | None) -> Score:
        order = data.rng().permutation(len(data.points))
        held_out, rest = np.split(order, [len(order) // 4])
        part = Data(data.points[rest], data.test, data.is_anomaly, data.seed)
        sigmas = part.sigma(n) * 2.0 ** np.arange(-1.0, 2.5, 0.5)
        points = data.points[held_out]
        values = nearest(K)(points) if len(points) > 1 else np.zeros(len(points))
        losses = [judge(ranker(part, n, sigma=sigma), points, values) for sigma in sigmas]
        return ranker(data, n, sigma=float(sigmas[int(np.argmin(losses))]))

    return fit


def by_disagreement(score: Score, points: Points, values: np.ndarray) -> float:
    return pairwise_disagreement(score(points), equal_levels(3)(values))


def by_disagreement_and_anchor(score: Score, points: Points, values: np.ndarray) -> float:
    return by_disagreement(score, points, values) + float(np.mean(score(points) <= 0.0))


def by_volume(score: Score, points: Points, values: np.ndarray) -> float:
    masses = np.linspace(0.9, 0.99, 10)
    if (np.ptp(points, axis=0) == 0.0).any():
        return 0.0  # no volume to speak of: the smallest sigma
    curve = mass_volume_curve(score, points, masses, n_uniform=20_000, random_state=0)
    return float(curve.mean())


def by_excess(score: Score, points: Points, values: np.ndarray) -> float:
    box = np.ptp(points, axis=0)
    if (box == 0.0).any():
        return 0.0
    levels = np.linspace(0.1, 1.0, 10) / np.prod(box)
    curve = excess_mass_curve(score, points, levels, n_uniform=20_000, random_state=0)
    return -float(curve.mean())


def as_detector(**params: object) -> Callable[[Data, int | None], Score]:
    def fit(data: Data, n: int | None) -> Score:
        detector = RankAD(n_centers=n, scaler=None, random_state=data.seed, **params)
        return detector.fit(data.points).score_samples

    return fit


def cross_validated(data: Data, n: int | None) -> Score:
    """Sigma by cross-validation, among the rule's and wider and narrower ones."""
    sigmas = data.sigma(n) * 2.0 ** np.arange(-1.0, 2.5, 0.5)
    return as_detector(calibration="train", sigma="cv", sigmas=sigmas)(data, n)


def neighbors_themselves(k: int) -> Callable[[Data, int | None], Score]:
    return lambda data, n: lambda points: nearest(k)(points, data.points)


def only_centers(data: Data, n: int | None) -> Score:
    return lambda points: -center_distances(points, data.centers(n))


Variant = Callable[[Data, int | None], Score]

#: Variants by what they change. The first of each group is the default.
STUDY: dict[str, dict[str, Variant]] = {
    "baselines": {
        "RankAD": ranker,
        "the former default": former,
        "the anchor's pairs alone": anchor_alone,
        "density sum": density,
        "density sum, weights by cluster size": sized_density,
        "density sum, sigma x .8": partial(density, factor=0.8),
        "density sum, sigma x 1.25": partial(density, factor=1.25),
        "distance to the nearest center": only_centers,
        **{f"mean k-NN, k = {k}": neighbors_themselves(k) for k in (1, 2, 5, 10)},
    },
    "levels": {
        "least nominal tenth against the rest": ranker,
        "least nominal twentieth": partial(ranker, preferring=partial(tail, share=0.05)),
        "least nominal fifth": partial(ranker, preferring=partial(tail, share=0.2)),
        **{f"{m} equal levels": partial(ranker, preferring=equal_levels(m)) for m in (2, 3, 10)},
        "all ranks": partial(
            ranker, preferring=lambda v: level_preferences(quantized_levels(v, len(v)))
        ),
        "cut at .02, .05, .1, .2, .4": partial(
            ranker, preferring=cut_levels(0.02, 0.05, 0.1, 0.2, 0.4)
        ),
        "cut at .1, .5": partial(ranker, preferring=cut_levels(0.1, 0.5)),
        "rank gaps of .3": partial(ranker, preferring=lambda v: rank_gap_preferences(v, 0.3)),
        "5 levels, pairs weighted by distance": partial(
            ranker, preferring=equal_levels(5, lambda a, b: float(a - b))
        ),
    },
    "anchor": {
        f"anchor {anchor:g}": partial(ranker, anchor=anchor) for anchor in (30.0, 1, 3, 10, 100)
    },
    "three levels, anchor": {
        "default": ranker,
        **{
            f"3 levels, anchor {anchor:g}": partial(
                ranker, anchor=anchor, preferring=equal_levels(3)
            )
            for anchor in (1.0, 10.0, 30.0)
        },
    },
    "C": {
        f"{factor:g} times the rule's": partial(ranker, C_factor=factor)
        for factor in (1.0, 1 / 64, 1 / 16, 1 / 4, 4.0)
    },
    "sigma": {
        "max(.6 D_K, .85 center distance)": ranker,
        **{
            f"max(.6 D_K, {f:g} center distance)": partial(
                with_sigma, of_neighbors=0.6, of_centers=f
            )
            for f in (0.6, 0.7, 1.0, 1.4)
        },
        **{
            f"max({f:g} D_K, .85 center distance)": partial(
                with_sigma, of_neighbors=f, of_centers=0.85
            )
            for f in (0.35, 0.5, 0.7, 1.0)
        },
    },
    "neighbors": {
        "K = 5": ranker,
        **{f"K = {k}": partial(ranker, statistic=nearest(k)) for k in (1, 2, 3, 10, 20)},
        "mean rank of K = 2, 5, 10": partial(ranker, statistic=mean_of_ranks),
    },
    "teacher": {
        "mean distance to 5": ranker,
        "distance to the 5th": partial(ranker, statistic=KthNeighborDistance(5)),
        "averaged over halvings": partial(
            ranker, statistic=HalvedNeighborDistance(5, random_state=0)
        ),
        "kernel density": partial(ranker, statistic=KernelDensity()),
        "adapted to the local dimension": partial(ranker, statistic=DimensionAdaptedDistance(5)),
        "relative to the neighbors' distance": partial(ranker, statistic=local_ratio),
    },
    "centers": {
        "k-means": ranker,
        "k-means, best of 3, to convergence": with_centers(
            lambda data, n: (
                KMeans(n, n_init=3, random_state=data.rng()).fit(data.points).cluster_centers_
            )
        ),
        "k-means, rows weighted by D": with_centers(partial(weighted_kmeans, power=1.0)),
        "k-means, rows weighted by D^2": with_centers(partial(weighted_kmeans, power=2.0)),
        "rows nearest to k-means": with_centers(nearest_rows),
        "k-means++ alone": with_centers(
            lambda data, n: kmeans_plusplus(data.points, n, random_state=data.rng())[0]
        ),
        "farthest rows": with_centers(farthest_rows),
        "random rows": with_centers(random_rows),
        "pursuit from the full ranker": with_centers(pursued),
    },
    "widths": {
        "one": ranker,
        "half way to the cluster's own": partial(own_widths, share=0.5),
        "the cluster's own": partial(own_widths, share=1.0),
        "two, ratio 2": partial(two_widths, ratio=2.0),
        "two, ratio 4": partial(two_widths, ratio=4.0),
    },
    "weights": {
        "default": ranker,
        "none negative": nonnegative,
        "drawn toward the density sum, C = 1 / n": partial(toward_density, Cn=1.0),
        "drawn toward the density sum, C = .1 / n": partial(toward_density, Cn=0.1),
        "mean over two halves of the rows": mean_of_halves,
    },
    "synthetic points": {
        "none": ranker,
        "rows with noise": with_synthetic(noisy),
        "coordinates swapped": with_synthetic(swapped),
        "between two rows": with_synthetic(between),
        "beyond a row": with_synthetic(beyond),
        "uniform in the box": with_synthetic(in_box),
    },
    "scaling": {
        "z-scores": ranker,
        "robust": transformed(RobustScaler),
        "quantiles, normal": transformed(
            partial(QuantileTransformer, output_distribution="normal", n_quantiles=100)
        ),
        "whitened": transformed(partial(PCA, whiten=True)),
        "principal components, 95% of variance": transformed(partial(PCA, 0.95)),
    },
    "judges of sigma": {
        "the rule": ranker,
        "held-out disagreement": judged(by_disagreement),
        "the same, anchor's pairs counted": judged(by_disagreement_and_anchor),
        "mass-volume, .9 to .99": judged(by_volume),
        "excess mass": judged(by_excess),
        'sigma="cv"': cross_validated,
    },
    "rows held out": {
        "a quarter": as_detector(),
        "a tenth": as_detector(calibration_size=0.1),
        "none": as_detector(calibration="train"),
    },
}


@dataclass(frozen=True)
class Trial:
    """AUC of one variant on one set, for one seed."""

    group: str
    variant: str
    n_centers: int | None
    set: str
    seed: int
    auc: float


def tried(name: str, seed: int, group: str) -> list[Trial]:
    """All variants of a group on a set."""
    rows = scaled_rows(name, seed)
    data = Data(rows.train, rows.test, rows.is_anomaly, seed)
    trials = []
    with warnings.catch_warnings():  # some sets are small, some variants are not meant to converge
        warnings.simplefilter("ignore")
        for variant, fit in STUDY[group].items():
            for n in N_CENTERS[: 2 if group in FEW_CENTERS_ONLY else 3]:
                scores = fit(data, n)(data.test)
                trials.append(Trial(group, variant, n, name, seed, auc(rows.is_anomaly, scores)))
    return trials


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=[*STUDY], help="only these groups")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    done = {(one.set, one.seed, one.group, one.variant) for one in read_records(RECORDS, Trial)}
    tasks = [
        (name, seed, group)
        for seed in range(arguments.seeds)
        for group in arguments.only or STUDY
        for name in set_names("adbench")
        if any((name, seed, group, variant) not in done for variant in STUDY[group])
    ]
    record(tried, tasks, RECORDS, arguments.jobs)


if __name__ == "__main__":
    main()
