"""RankAD on real data that scikit-learn includes: breast cancer, benign tumors as nominal.

    python examples/demo.py [--picture FILE] [--check]

``--check`` fails if the results are not good. The picture needs matplotlib.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import betabinom
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad import RankAD

ALPHAS = (0.02, 0.05, 0.1)

#: Random splits of the rows. The printed false alarms are means over them.
N_SPLITS = 200


def load(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two thirds of the benign rows to train. The other benign and all malignant rows to test."""
    X, y = load_breast_cancer(return_X_y=True)
    benign, malignant = X[y == 1], X[y == 0]
    benign = benign[np.random.default_rng(seed).permutation(len(benign))]
    n_train = 2 * len(benign) // 3
    return benign[:n_train], benign[n_train:], malignant


def microseconds_per_point(score: Callable[[np.ndarray], object], rows: np.ndarray) -> float:
    """Time to score one row of a batch: median of 5."""
    batch = np.tile(rows, (20, 1))
    score(batch[:2])
    times = []
    for _ in range(5):
        started = time.perf_counter()
        score(batch)
        times.append(time.perf_counter() - started)
    return 1e6 * float(np.median(times)) / len(batch)


def false_alarm_counts(detector: RankAD, n_rows: int, alpha: float) -> Any:
    """Law of the number of nominal rows that alarm, over the draw of the reference and the rows."""
    n = detector.reference_.size
    j = int(alpha * (n + 1) + 1e-9)
    return betabinom(n_rows, float(j), float(n + 1 - j))


def mean_false_alarms(n_splits: int) -> np.ndarray:
    """Mean false-alarm rate at each alpha over random splits: at most alpha is promised."""
    rates = []
    for seed in range(1, n_splits + 1):
        train, benign, _ = load(seed)
        p = RankAD(random_state=seed).fit(train).p_values(benign)
        rates.append([(p <= alpha).mean() for alpha in ALPHAS])
    return np.mean(rates, axis=0)


def draw(detector: RankAD, benign: np.ndarray, malignant: np.ndarray, path: str) -> None:
    """Draw the p-values of benign and malignant rows, with the alarms at 5%."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    figure, (dots, curve) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(3, 2))
    for height, (label, rows, color) in enumerate(
        [("benign\n(new)", benign, "C0"), ("malignant", malignant, "C3")]
    ):
        p = detector.p_values(rows)
        jitter = height + rng.uniform(-0.3, 0.3, size=len(p))
        dots.scatter(p, jitter, s=14, color=color, alpha=0.6, label=label)
        share = (p <= 0.05).mean()
        dots.text(1.15, height, f"{share:.1%}\nalarm\nat 5%", va="center", color=color)
    edge = 0.5 * (0.05 + (np.floor(0.05 * (n := detector.reference_.size + 1)) + 1) / n)
    dots.axvspan(1e-3, edge, color="0.92", zorder=0)
    dots.axvline(edge, color="k", ls="--", lw=1)
    dots.text(0.96 * edge, 1.42, "alarm at 5%", ha="right", fontsize=9)
    dots.set(xscale="log", xlim=(0.005, 1.1), ylim=(-0.5, 1.6), xlabel="p-value")
    dots.set(yticks=[0, 1], yticklabels=["benign\n(new)", "malignant"])
    dots.set_title("Every row gets a p-value", fontsize=11)
    alphas = np.linspace(0.0, 0.3, 1000)
    for rows, label, color in [
        (malignant, "malignant caught", "C3"),
        (benign, "benign alarms", "C0"),
    ]:
        p = detector.p_values(rows)
        curve.plot(alphas, [(p <= alpha).mean() for alpha in alphas], color=color, label=label)
    curve.plot(alphas, alphas, "k--", lw=1, label="asked for")
    figure.suptitle(
        f"Breast cancer: trained on benign rows, {detector.reference_.size} of them as reference"
    )
    curve.set(xlabel="alpha", ylabel="share of rows that alarm", ylim=(0, 1.02), xlim=(0, 0.3))
    curve.set_title("Any alpha, without a new fit", fontsize=11)
    curve.legend(loc="center right", fontsize=9)
    curve.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Fit, measure and print. Draw and check if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="draw the p-values to this file")
    parser.add_argument("--check", action="store_true", help="fail unless the results are good")
    arguments = parser.parse_args()

    train, benign, malignant = load()
    test = np.concatenate([benign, malignant])
    is_benign = np.arange(len(test)) < len(benign)
    detector = RankAD(random_state=0).fit(train)
    auc = roc_auc_score(is_benign, detector.score_samples(test))
    print(f"trained on {len(train)} benign rows, {detector.reference_.size} of them as reference")
    print(f"tested on {len(benign)} other benign and {len(malignant)} malignant rows\n")
    print(f"AUC {auc:.3f}, {detector.expansion_.n_centers} kernel centers\n")
    print(
        f"      alpha   false alarms seen (95% range)  mean of {N_SPLITS} splits   malignant caught"
    )
    mean_rates = mean_false_alarms(N_SPLITS)
    for alpha, mean_rate in zip(ALPHAS, mean_rates, strict=True):
        alarms = detector.predict(test, alpha=alpha) == -1
        seen, caught = alarms[is_benign].mean(), alarms[~is_benign].mean()
        counts = false_alarm_counts(detector, len(benign), alpha)
        low, high = np.array(counts.ppf([0.025, 0.975])) / len(benign)
        spread = f"{seen:.1%} ({low:.1%} to {high:.1%})"
        print(f"{alpha:11.0%}   {spread:>29}   {mean_rate:17.1%}   {caught:16.1%}")
        if arguments.check:
            assert alarms[is_benign].sum() <= counts.ppf(0.9999)

    print(
        f"(95% range: for one detector with {detector.reference_.size} reference scores; "
        "more scores make it narrower)"
    )
    peers = {
        "RankAD": detector.score_samples,
        "one-class SVM": make_pipeline(StandardScaler(), OneClassSVM(nu=0.05))
        .fit(train)
        .score_samples,
        "isolation forest": IsolationForest(random_state=0).fit(train).score_samples,
    }
    print("\nmethod             AUC   microseconds per point")
    for name, score in peers.items():
        peer_auc = roc_auc_score(is_benign, score(test))
        print(f"{name:16} {peer_auc:5.3f}   {microseconds_per_point(score, test):22.1f}")

    print("(one split of one small set; docs/accuracy.md has 26 sets)")

    if arguments.check:
        assert auc > 0.9
        far = np.full((1, train.shape[1]), 1e9)
        assert detector.p_values(far)[0] == 1 / (detector.reference_.size + 1)
        print("\ncheck passed")
    if arguments.picture:
        draw(detector, benign, malignant, arguments.picture)
        print(f"\npicture: {arguments.picture}")


if __name__ == "__main__":
    main()
