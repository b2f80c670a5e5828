"""What is promised and what is realised, beside others: the tables of docs/guarantees.md.

    RANKAD_DATA=... python benchmarks/guarantees.py [--seeds 5]
    python benchmarks/guarantees.py --pictures          # only those, in half a minute

Writes the tables into the page and the pictures beside it, each picture from the numbers of its
table. puncc, which asks for an old NumPy but
runs with a new one, is compared where it is installed: ``pip install --no-deps puncc tqdm``.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from one_class import load_split
from pages import with_table
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad import Calibrated, RankAD
from rankad.calibration import (
    DriftMonitor,
    HeldOutScores,
    OnlineDiscoveries,
    benjamini_hochberg,
    rate_interval,
    reference_needed,
)
from rankad.plots._style import BLACK, DEFAULT, ONE_CLASS, PICTURE, PUBLISHED, RED, save_png

PAGE = Path(__file__).parents[1] / "docs" / "guarantees.md"
IMAGES = PAGE.parent / "images"

#: The paper's real sets.
SETS = (
    *("annthyroid", "banknote", "cover", "http", "magic"),
    *("mammography", "satellite", "shuttle", "smtp"),
)
ALPHAS = (0.01, 0.05, 0.1)
SHARES = (0.0, 0.01, 0.05, 0.1)

#: Rows to train on, and fresh nominal rows to count alarms on.
N_TRAIN, N_TEST = 1_000, 5_000

Alarms = Callable[[np.ndarray, float], np.ndarray]


def or_nothing(alarms: Alarms) -> Alarms:
    """NaN where the level is finer than the reference resolves, and refused."""

    def tried(new: np.ndarray, alpha: float) -> np.ndarray:
        try:
            return alarms(new, alpha)
        except ValueError:  # rankad's UnresolvableAlphaError, and what puncc says then
            return np.full(len(new), np.nan)

    return tried


def by_calibrated(detector: Any) -> Callable[[np.ndarray, int], Alarms]:
    def fit(rows: np.ndarray, seed: int) -> Alarms:
        fitted = detector.set_params(random_state=seed).fit(rows)
        return or_nothing(lambda new, alpha: fitted.predict(new, alpha) == -1)

    return fit


def by_confident(rows: np.ndarray, seed: int) -> Alarms:
    """The same detector, so that with 95% confidence its own rate is at most alpha."""
    fitted = RankAD(random_state=seed).fit(rows)
    return or_nothing(lambda new, alpha: fitted.predict(new, alpha, confidence=0.95) == -1)


def by_contamination(make: Callable[[float, int], Any]) -> Callable[[np.ndarray, int], Alarms]:
    """A detector that is told the level as `contamination` or `nu`; z-scored, refitted for each."""

    def fit(rows: np.ndarray, seed: int) -> Alarms:
        def alarms(new: np.ndarray, alpha: float) -> np.ndarray:
            detector = make_pipeline(StandardScaler(), make(alpha, seed)).fit(rows)
            return np.asarray(detector.predict(new) == -1)

        return alarms

    return fit


def by_pyod(rows: np.ndarray, seed: int) -> Alarms:
    from pyod.models.iforest import IForest

    def alarms(new: np.ndarray, alpha: float) -> np.ndarray:
        return np.asarray(
            IForest(contamination=alpha, random_state=seed).fit(rows).predict(new) == 1
        )

    return alarms


def by_puncc(rows: np.ndarray, seed: int) -> Alarms:
    from deel.puncc.anomaly_detection import SplitCAD
    from deel.puncc.api.prediction import BasePredictor

    class Forest(BasePredictor):
        def predict(self, X: np.ndarray) -> np.ndarray:
            return -self.model.score_samples(X)

    detector = SplitCAD(Forest(IsolationForest(random_state=seed)), random_state=seed)
    detector.fit(z=rows, fit_ratio=0.75)
    return or_nothing(lambda new, alpha: np.asarray(detector.predict(new, alpha=alpha), dtype=bool))


METHODS: dict[str, Callable[[np.ndarray, int], Alarms]] = {
    "rankad, RankAD": by_calibrated(RankAD()),
    "rankad, RankAD, confidence .95": by_confident,
    "rankad, Calibrated(IsolationForest)": by_calibrated(Calibrated(IsolationForest())),
    "puncc, SplitCAD(IsolationForest)": by_puncc,
    "scikit-learn, IsolationForest(contamination)": by_contamination(
        lambda alpha, seed: IsolationForest(contamination=alpha, random_state=seed)
    ),
    "scikit-learn, OneClassSVM(nu)": by_contamination(lambda alpha, seed: OneClassSVM(nu=alpha)),
    "scikit-learn, LocalOutlierFactor(contamination)": by_contamination(
        lambda alpha, seed: LocalOutlierFactor(contamination=alpha, novelty=True)
    ),
    "PyOD, IForest(contamination)": by_pyod,
}


def side_by_side(seeds: Sequence[int]) -> str:
    """Realised false alarms: mean over sets and seeds, and the worst set (mean of its seeds)."""
    needed = {"puncc": "deel", "PyOD": "pyod"}
    methods = [
        method
        for method in METHODS
        if all(find_spec(package) for name, package in needed.items() if name in method)
    ]
    rates = np.zeros((len(methods), len(ALPHAS), len(SETS), len(seeds)))
    for s, name in enumerate(SETS):
        for r, seed in enumerate(seeds):
            split = load_split(name, seed, n_train=N_TRAIN, n_test=N_TEST)
            for m, method in enumerate(methods):
                alarms = METHODS[method](split.train, seed)
                rates[m, :, s, r] = [alarms(split.nominal, alpha).mean() for alpha in ALPHAS]
    lines = [
        "| package, detector | " + " | ".join(f"asked {alpha:g}" for alpha in ALPHAS) + " |",
        "|---" * (1 + len(ALPHAS)) + "|",
    ]
    for method, of_method in zip(methods, rates, strict=True):
        cells = []
        for of_level in of_method:
            by_set = of_level.mean(axis=1)
            if np.isnan(by_set).all():
                cells.append("refused")
                continue
            worst = int(np.nanargmax(by_set))
            refused = f"; refused on {SETS[int(np.isnan(by_set).argmax())]}"
            cells.append(
                f"{np.nanmean(by_set):.3f} (worst {by_set[worst]:.3f}, {SETS[worst]}"
                + (refused if np.isnan(by_set).any() else "")
                + ")"
            )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def contamination(seeds: Sequence[int]) -> str:
    """False alarms and power where a share of the training rows are anomalies."""
    sets = ("annthyroid", "cover", "magic", "satellite", "shuttle")
    rates = np.zeros((len(SHARES), len(ALPHAS) + 1, len(sets), len(seeds)))
    for s, name in enumerate(sets):
        for r, seed in enumerate(seeds):
            split = load_split(name, seed, n_train=N_TRAIN, n_test=N_TEST)
            for c, share in enumerate(SHARES):
                n_dirty = round(share * N_TRAIN)
                dirty, clean = split.anomalies[:n_dirty], split.anomalies[round(0.1 * N_TRAIN) :]
                train = np.concatenate([split.train[n_dirty:], dirty])
                detector = RankAD(random_state=seed).fit(train)
                p = detector.p_values(split.nominal)
                power = (detector.predict(clean, alpha=0.05) == -1).mean()
                rates[c, :, s, r] = [*((p <= alpha).mean() for alpha in ALPHAS), power]
    lines = [
        "| anomalies among the training rows | "
        + " | ".join(f"false alarms at {alpha:g}" for alpha in ALPHAS)
        + " | power at .05 |",
        "|---" * (2 + len(ALPHAS)) + "|",
    ]
    for share, of_share in zip(SHARES, rates.mean(axis=(2, 3)), strict=True):
        lines.append(f"| {share:.0%} | " + " | ".join(f"{rate:.3f}" for rate in of_share) + " |")
    return "\n".join(lines)


def discovery_power(n_repeats: int = 200) -> dict[int, np.ndarray]:
    """By reference size: power and false discoveries of BH at .1, and the oracle's power.

    A row for each batch.

    Batches of 1,000 scores: 950 nominal, N(0, 1), and 50 anomalies, N(-3.5, 1). The oracle knows
    the nominal law.
    """
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    outcome = {}
    for n in (100, 300, 1_000, 3_000, 10_000, 100_000):
        rates = np.empty((n_repeats, 3))
        for repeat in range(n_repeats):
            batch = np.concatenate([rng.normal(size=950), rng.normal(-3.5, size=50)])
            p = HeldOutScores.from_scores(rng.normal(size=n)).p_values(batch)
            found = benjamini_hochberg(p, 0.1)
            power, false = found[950:].mean(), found[:950].sum() / max(found.sum(), 1)
            oracle = benjamini_hochberg(norm.cdf(batch), 0.1)[950:].mean()
            rates[repeat] = power, false, oracle
        outcome[n] = rates
    return outcome


def drift_delays(n_streams: int = 100, before: int = 1_000, after: int = 2_000) -> dict[str, list]:
    """Rows from a one-sigma shift of the mean to the alarm; infinite where none came."""
    rng = np.random.default_rng(0)
    delays: dict[str, list[float]] = {"jumper": [], "mixture": []}
    for stream in range(n_streams):
        rows = rng.normal(size=(500, 2))
        detector = RankAD(random_state=stream).fit(
            np.concatenate([rows, rng.normal(size=(500, 2))])
        )
        new = rng.normal(size=(before + after, 2))
        new[before:, 0] += 1.0
        scores = detector.score_samples(new)
        for betting, found in delays.items():
            monitor = DriftMonitor(detector, betting=betting, random_state=stream)
            monitor.update_many(scores)
            at = monitor.alarmed_at
            found.append(np.inf if at is None else at - before)
    return delays


def discovery_table(outcome: dict[int, np.ndarray]) -> str:
    lines = [
        "| reference scores | power | share of false discoveries | the oracle's power |",
        "|---|---|---|---|",
    ]
    for n, rates in outcome.items():
        power, false, oracle = rates.mean(axis=0)
        lines.append(f"| {n:,} | {power:.2f} | {false:.3f} | {oracle:.2f} |")
    return "\n".join(lines)


def level_table(fdr: float = 0.1) -> str:
    """Levels of online testing after rows without a discovery, and the reference they need."""
    lengths = (0, 10, 100, 1_000)
    lines = [
        "| level at fdr = .1 (reference rows) | "
        + " | ".join(f"after {n:,} rows" for n in lengths)
        + " |",
        "|---" * (1 + len(lengths)) + "|",
    ]
    for method in ("lord", "saffron"):
        online, cells, p = OnlineDiscoveries(fdr, method), [], np.tile([0.75, 0.4999], 1_000)
        for before, n in zip((0, *lengths), lengths, strict=False):
            online.test_many(p[before:n])
            cells.append(f"{online.level:.2g} ({reference_needed(online.level):,})")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def drift_table(delays: dict[str, list[float]]) -> str:
    lines = [
        "| betting | alarms before the shift | median delay, rows | 90% within |",
        "|---|---|---|---|",
    ]
    for betting, found in delays.items():
        true = true_delays(found)
        n_false = len(found) - len(true)
        median, most = np.quantile(true, [0.5, 0.9], method="higher")
        lines.append(
            f"| {betting} | {n_false} of {len(found)} | {_formatted(median)} | {_formatted(most)} |"
        )
    return "\n".join(lines)


def true_delays(found: Sequence[float]) -> np.ndarray:
    """Delays of the streams that did not alarm before the shift, in ascending order."""
    return np.sort([delay for delay in found if delay > 0])


def _formatted(delay: float) -> str:
    return f"{delay:.0f}" if np.isfinite(delay) else "more than 2,000"


def draw_power(outcome: dict[int, np.ndarray], path: Path) -> None:
    """The table of discoveries, with two standard errors over the batches."""
    figure, ax = _new_figure()
    sizes = list(outcome)
    rates = np.array(list(outcome.values()))  # of shape (sizes, batches, 3)
    power, false, oracle = rates.mean(axis=1).T
    errors = 2.0 * rates.std(axis=1, ddof=1).T / np.sqrt(rates.shape[1])
    handles = [
        ax.errorbar(
            *(sizes, power, errors[0]),
            **DEFAULT.line(linewidth=2.4, markersize=7, capsize=3, zorder=2.2),
            label="power: anomalies that are selected",
        ),
        *ax.plot(
            *(sizes, oracle),
            color=BLACK,
            linestyle="--",
            zorder=2.3,
            label="power of an oracle that knows the law",
        ),
        ax.errorbar(
            *(sizes, false, errors[1]),
            **PUBLISHED.line(marker="s", markersize=6, linewidth=1.8, capsize=3),
            label="false discoveries among the selected",
        ),
        ax.axhline(0.1, color=RED, linewidth=1.0, linestyle=":", label="asked: at most .1 of them"),
    ]
    ax.set(xscale="log", ylim=(0.0, 1.0), xlabel="Reference scores", ylabel="Share")
    ax.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    ax.set_title("Selecting 50 anomalies among 1,000 rows at fdr = .1", loc="left")
    ax.legend(
        handles=handles,
        loc="center right",
        bbox_to_anchor=(1.0, 0.45),
        title=f"Bars: ± 2 standard errors over {rates.shape[1]} batches",
        alignment="left",
    )
    save_png(figure, path)


def draw_delays(delays: dict[str, list[float]], path: Path) -> None:
    """The table of drift: of the streams silent before the shift, how many alarmed by when."""
    figure, ax = _new_figure()
    looks = {"jumper": DEFAULT, "mixture": ONE_CLASS}
    for betting, found in delays.items():
        look, true = looks[betting], true_delays(found)
        n = len(true)
        alarmed = np.arange(n + 1)
        times = np.concatenate([[0.0], np.minimum(true, 2.0 * _LAST)])
        low, high = np.array([rate_interval(int(k), n, 0.95) for k in alarmed]).T
        median = float(np.quantile(true, 0.5, method="higher"))
        known = f"{betting} (default)" if betting == "jumper" else betting
        ax.step(
            *(times, alarmed / n),
            where="post",
            color=look.color,
            linewidth=2.4 if betting == "jumper" else 1.8,
            linestyle="-" if betting == "jumper" else (0, (5, 1)),
            label=f"{known}: {len(found) - n} of {len(found)} alarmed before the shift",
        )
        ax.fill_between(times, low, high, step="post", color=look.color, alpha=0.18, linewidth=0)
        place = median, np.searchsorted(true, median, side="right") / n
        ax.plot(*place, look.marker, color=look.color, markersize=8, markeredgecolor=BLACK)
        ax.annotate(
            *(f"median {median:.0f}", place),
            xytext=(10, -4),
            textcoords="offset points",
            va="top",
        )
    ax.set(xlim=(0, _LAST), ylim=(0.0, 1.01), ylabel="Share of streams that alarmed")
    ax.set_xlabel("Rows after the mean of one column moved by one standard deviation")
    ax.set_title("Drift: how soon it is noticed, at alarm level .01", loc="left")
    ax.legend(loc="lower right", title="Bands: 95% interval at each row", alignment="left")
    save_png(figure, path)


#: Rows after the shift that are drawn.
_LAST = 1_000


def _new_figure() -> tuple[Any, Any]:
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    return figure, figure.subplots()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pictures", action="store_true", help="draw these, leave the page alone")
    asked = parser.parse_args()
    seeds = range(asked.seeds)
    warnings.simplefilter("ignore")
    powers, delays = discovery_power(), drift_delays()
    draw_power(powers, IMAGES / "discovery_power.png")
    draw_delays(delays, IMAGES / "drift_delay.png")
    if asked.pictures:
        return
    tables: dict[str, Callable[[], str]] = {
        "discoveries": lambda: discovery_table(powers),
        "levels": level_table,
        "drift": lambda: drift_table(delays),
        "contamination": lambda: contamination(seeds),
        "side-by-side": lambda: side_by_side(seeds),
    }
    for name, make in tables.items():  # each is kept as soon as it is made
        PAGE.write_text(with_table(PAGE.read_text(), name, make()))


if __name__ == "__main__":
    main()
