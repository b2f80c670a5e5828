"""Guarantees and measured rates, with other packages: the tables of docs/guarantees.md.

    RANKAD_DATA=... python benchmarks/guarantees.py [--seeds 5]
    python benchmarks/guarantees.py --pictures          # only the pictures, in half a minute
    python benchmarks/guarantees.py --only pooled       # only one of the tables of SIMULATED
    python benchmarks/guarantees.py --drift             # only the tables and the picture of drift

Writes the tables into the page, and the pictures beside it. Each picture has the numbers of its
table. puncc is compared where it is installed. It requires an old NumPy but runs with a new one:
``pip install --no-deps puncc tqdm``.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from alarming import METHODS, RANKAD, installed
from drift_streams import memory_table
from few_rows import few_rows_table
from one_class import load_split
from pages import with_table
from running import FOLDER, kept_runs
from scipy.stats import norm
from strata import strata_table

from rankad import RankAD
from rankad.calibration import (
    Audit,
    HeldOutScores,
    OnlineDiscoveries,
    TrueAlarms,
    benjamini_hochberg,
    conditional_p_values,
    reference_needed,
)
from rankad.calibration.bounds import rate_interval
from rankad.monitoring import DriftMonitor
from rankad.plots._style import BLACK, DEFAULT, ONE_CLASS, PICTURE, PUBLISHED, RED, save_png
from rankad.reproduce.experiment import Experiment, tasks
from rankad.reproduce.markdown import table
from rankad.reproduce.records import ALPHAS, FALSE_ALARMS, Key, Record
from rankad.reproduce.results import Results

PAGE = Path(__file__).parents[1] / "docs" / "guarantees.md"
IMAGES = PAGE.parent / "images"

#: The paper's real sets.
SETS = (
    *("annthyroid", "banknote", "cover", "http", "magic"),
    *("mammography", "satellite", "shuttle", "smtp"),
)
CONTAMINATED_SETS = ("annthyroid", "cover", "magic", "satellite", "shuttle")
SHARES = (0.0, 0.01, 0.05, 0.1)

#: Training rows, and fresh nominal rows on which alarms are counted.
N_TRAIN, N_TEST = 1_000, 5_000


def on_set(key: Key) -> Record:
    """False-alarm rates of a method at each alpha; NaN where alpha is refused."""
    split = load_split(key.set, key.seed, n_train=N_TRAIN, n_test=N_TEST)
    alarms = METHODS[key.method](split.train, key.seed)
    rates = [float(alarms(split.nominal, alpha).mean()) for alpha in ALPHAS]
    return Record(*key, *split.train.shape, dict(zip(FALSE_ALARMS, rates, strict=True)))


def on_contaminated_set(key: Key) -> Record:
    """False-alarm rates and power of RankAD with anomalies among the training rows."""
    name, share = key.set.removesuffix("%").split(", ")
    split = load_split(name, key.seed, n_train=N_TRAIN, n_test=N_TEST)
    n_dirty = round(float(share) / 100.0 * N_TRAIN)
    dirty, clean = split.anomalies[:n_dirty], split.anomalies[round(SHARES[-1] * N_TRAIN) :]
    train = np.concatenate([split.train[n_dirty:], dirty])
    detector = RankAD(random_state=key.seed).fit(train)
    p = detector.p_values(split.nominal)
    rates = [float((p <= alpha).mean()) for alpha in ALPHAS]
    power = float((detector.predict(clean, alpha=0.05) == -1).mean())
    measures = {**dict(zip(FALSE_ALARMS, rates, strict=True)), "power": power}
    return Record(*key, *train.shape, measures)


SIDE_BY_SIDE = Experiment("side by side", lambda: SETS, lambda _: installed(), on_set)
CONTAMINATION = Experiment(
    "contamination",
    lambda: [f"{name}, {share:.0%}" for name in CONTAMINATED_SETS for share in SHARES],
    lambda _: [RANKAD],
    on_contaminated_set,
)


def side_by_side(results: Results) -> str:
    """False-alarm rates: mean over sets and seeds, and the worst set (mean of its seeds)."""
    rows = [
        [method, *(_mean_and_worst(results.by_set(method, rate)) for rate in FALSE_ALARMS)]
        for method in results.methods
    ]
    return table(["package, detector", *(f"alpha = {alpha:g}" for alpha in ALPHAS)], rows)


def _mean_and_worst(by_set: np.ndarray) -> str:
    is_refused = np.isnan(by_set)
    if is_refused.all():
        return "refused"
    worst = int(np.nanargmax(by_set))
    refused = f"; refused on {SETS[int(is_refused.argmax())]}" if is_refused.any() else ""
    return f"{np.nanmean(by_set):.3f} (worst {by_set[worst]:.3f}, {SETS[worst]}{refused})"


def contamination(results: Results) -> str:
    """False-alarm rates and power by the share of anomalies among the training rows."""
    rows = []
    for share in SHARES:
        part = results.only(lambda record, end=f", {share:.0%}": record.set.endswith(end))
        rates = [part.mean(RANKAD, measure) for measure in (*FALSE_ALARMS, "power")]
        rows.append([f"{share:.0%}", *(f"{rate:.3f}" for rate in rates)])
    heads = [f"false alarms at {alpha:g}" for alpha in ALPHAS]
    return table(["anomalies among the training rows", *heads, "power at 0.05"], rows)


def discovery_power(n_repeats: int = 200) -> dict[int, np.ndarray]:
    """By number of reference scores: a row of power, false discoveries and oracle power per batch.

    The selection is Benjamini-Hochberg at fdr = .1. A batch has 1,000 scores: 950 nominal, N(0, 1),
    and 50 anomalies, N(-3.5, 1). The oracle knows the nominal law.
    """
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


#: Rows of a batch, its anomalies' shift, and the fdr, of the tables of many batches.
BATCH, SHIFT, FDR = 1_000, -3.5, 0.1


def batch_of(rng: np.random.Generator, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores of a batch, N(0, 1), and which are anomalies, N(-3.5, 1), each with a probability."""
    is_anomaly = rng.uniform(size=BATCH) < share
    return rng.normal(size=BATCH) + SHIFT * is_anomaly, is_anomaly


def restarted(p: np.ndarray, n_rows: int = 200) -> np.ndarray:
    """Discoveries by a new `OnlineDiscoveries` for each 200 rows."""
    parts = np.split(p, range(n_rows, len(p), n_rows))
    return np.concatenate([OnlineDiscoveries(FDR, "saffron").test_many(part) for part in parts])


#: Ways to select: name, maker of a selection for a stream of batches, confidence of the p-values,
#: and batches a detector.
SELECTIONS: tuple[tuple[str, Callable[[], Callable], float | None, int], ...] = (
    ("`select(X, .1)`", lambda: lambda p: benjamini_hochberg(p, FDR), None, 200),
    ("`select(X, .1, confidence=.95)`", lambda: lambda p: benjamini_hochberg(p, FDR), 0.95, 200),
    ("one `OnlineDiscoveries`", lambda: OnlineDiscoveries(FDR, "saffron").test_many, None, 20),
    ("a new `OnlineDiscoveries` every 200 rows", lambda: restarted, None, 20),
)


def pooled_table(n_detectors: int = 60) -> str:
    """False discoveries per batch, over all batches, and of single detectors."""
    rows = []
    for share in (0.01, 0.05):
        for n in (1_000, 5_000):
            for name, make, confidence, n_batches in SELECTIONS:
                rng = np.random.default_rng(0)
                counts = np.empty((n_detectors, n_batches, 3))  # selected, false, anomalies
                for detector in range(n_detectors):
                    reference = HeldOutScores.from_scores(rng.normal(size=n))
                    select = make()
                    for batch in range(n_batches):
                        scores, is_anomaly = batch_of(rng, share)
                        p = reference.p_values(scores)
                        if confidence is not None:
                            p = conditional_p_values(p, n, confidence)
                        found = select(p)
                        false = (found & ~is_anomaly).sum()
                        counts[detector, batch] = found.sum(), false, is_anomaly.sum()
                shares = counts[..., 1] / np.maximum(counts[..., 0], 1)
                rows.append([f"{share:.0%}", f"{n:,}", name, *_pooled_cells(shares, counts)])
    heads = ("anomalies", "reference scores", "selection", "mean over batches", "pooled")
    return table([*heads, "detectors above .1", "power"], rows)


def _pooled_cells(shares: np.ndarray, counts: np.ndarray) -> list[str]:
    selected, false, anomalies = counts.sum(axis=(0, 1))
    above = (shares.mean(axis=1) > FDR).mean()
    pooled = f"{false / selected:.3f}" if selected else "none selected"
    power = (selected - false) / anomalies
    return [f"{shares.mean():.3f}", pooled, f"{above:.0%}", f"{power:.2f}"]


def certified_table(n_batches: int = 200) -> str:
    """What `true_alarms` certifies of the rows that `select` finds, beside the truth."""
    rows = []
    for n in (300, 1_000, 3_000, 10_000, 100_000):
        rng = np.random.default_rng(0)
        counts = np.empty((n_batches, 3))
        is_right = np.empty(n_batches, dtype=bool)
        for batch in range(n_batches):
            scores, is_anomaly = batch_of(rng, 0.05)
            p = HeldOutScores.from_scores(rng.normal(size=n)).p_values(scores)
            found, alarms = benjamini_hochberg(p, FDR), TrueAlarms.from_p_values(p, 0.95)
            counts[batch] = found.sum(), (found & is_anomaly).sum(), alarms.among(found)
            n_true = np.cumsum(is_anomaly[np.argsort(p + 1e-9 * is_anomaly, kind="stable")])
            is_right[batch] = (alarms.lower_limits[1:] <= n_true).all()
        cells = [f"{mean:.1f}" for mean in counts.mean(axis=0)]
        rows.append([f"{n:,}", *cells, f"{is_right.mean():.3f}"])
    heads = ("reference scores", "selected", "of them true", "certified as true")
    return table([*heads, "batches where all limits hold"], rows)


def audit_table() -> str:
    """The least rate that an audit notices, and its power at twice alpha."""
    rows = []
    for alpha in (0.01, 0.05):
        for n in (100, 1_000, 10_000):
            cells = []
            for n_rows in (500, 2_000, 10_000):
                order = HeldOutScores.from_scores(np.arange(float(n))).order(alpha)
                audit = Audit.from_counts(alpha, 0, n_rows, 0.95, order=order, n_reference=n)
                cells.append(f"{audit.detectable_rate:.3f} ({audit.power_at(2 * alpha):.2f})")
            rows.append([f"{alpha:g}", f"{n:,}", *cells])
    heads = [f"{n:,} fresh rows" for n in (500, 2_000, 10_000)]
    return table(["alpha", "reference scores", *heads], rows)


def repeated_table(n_repeats: int = 20) -> str:
    """Rates at .05 where rows repeat, by calibration: counts, Poisson(2), in three columns."""
    rows = []
    for name, given in (("default", {}), ("n_neighbors=5", {"n_neighbors": 5})):
        for calibration in ("split", "cross"):
            rates = []
            for seed in range(n_repeats):
                rng = np.random.default_rng(seed)
                train, fresh = (rng.poisson(2.0, size=(n, 3)) + 0.0 for n in (500, 4_000))
                detector = RankAD(calibration=calibration, random_state=seed, **given).fit(train)
                rates.append((detector.predict(fresh, alpha=0.05) == -1).mean())
            error = np.std(rates, ddof=1) / np.sqrt(n_repeats)
            rows.append([name, calibration, f"{np.mean(rates):.3f} ± {error:.3f}"])
    return table(["RankAD", "calibration", "false alarms at .05 (± standard error)"], rows)


#: Tables that need no data and no other part of the page.
SIMULATED: dict[str, Callable[[], str]] = {
    "strata": strata_table,
    "pooled": pooled_table,
    "certified": certified_table,
    "audits": audit_table,
    "repeated": repeated_table,
    "few-rows": few_rows_table,
}


def drift_delays(n_streams: int = 100, before: int = 1_000, after: int = 2_000) -> dict[str, list]:
    """Rows from a shift of the mean by one sigma to the alarm; infinite without an alarm."""
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
    rows = []
    for n, rates in outcome.items():
        power, false, oracle = rates.mean(axis=0)
        rows.append([f"{n:,}", f"{power:.2f}", f"{false:.3f}", f"{oracle:.2f}"])
    heads = ("reference scores", "power", "share of false discoveries", "the oracle's power")
    return table(heads, rows)


def level_table(fdr: float = 0.1) -> str:
    """Next alpha of online testing after rows without a discovery, and the reference it needs."""
    lengths, rows = (0, 10, 100, 1_000), []
    for method in ("lord", "saffron"):
        online, cells, p = OnlineDiscoveries(fdr, method), [], np.tile([0.75, 0.4999], 1_000)
        for before, n in zip((0, *lengths), lengths, strict=False):
            online.test_many(p[before:n])
            cells.append(f"{online.next_alpha:.2g} ({reference_needed(online.next_alpha):,})")
        rows.append([method, *cells])
    heads = [f"after {n:,} rows" for n in lengths]
    return table(["next alpha at fdr = .1 (reference scores)", *heads], rows)


def drift_table(delays: dict[str, list[float]]) -> str:
    rows = []
    for betting, found in delays.items():
        true = true_delays(found)
        n_false = len(found) - len(true)
        quantiles = [_formatted(delay) for delay in np.quantile(true, [0.5, 0.9], method="higher")]
        rows.append([betting, f"{n_false} of {len(found)}", *quantiles])
    return table(["betting", "alarms before the shift", "median delay, rows", "90% within"], rows)


def true_delays(found: Sequence[float]) -> np.ndarray:
    """Delays of the streams that did not alarm before the shift, in ascending order."""
    return np.sort([delay for delay in found if delay > 0])


def _formatted(delay: float) -> str:
    return f"{delay:.0f}" if np.isfinite(delay) else "more than 2,000"


def draw_power(outcome: dict[int, np.ndarray], path: Path) -> None:
    """Draw the table of discoveries, with two standard errors over the batches."""
    figure, ax = _new_figure()
    sizes = list(outcome)
    rates = np.array(list(outcome.values()))  # of shape (sizes, batches, 3)
    power, false, oracle = rates.mean(axis=1).T
    errors = 2.0 * rates.std(axis=1, ddof=1).T / np.sqrt(rates.shape[1])
    handles = [
        ax.errorbar(
            *(sizes, power, errors[0]),
            **DEFAULT.line(linewidth=2.4, markersize=7, capsize=3, zorder=2.2),
            label="power: share of the anomalies that is selected",
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
        ax.axhline(
            0.1,
            color=RED,
            linewidth=1.0,
            linestyle=":",
            label="fdr = .1: the most false discoveries on average",
        ),
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
    """Draw the table of drift: the share of streams that alarmed, by rows after the shift."""
    figure, ax = _new_figure()
    looks = {"jumper": DEFAULT, "mixture": ONE_CLASS}
    for betting, found in delays.items():
        look, true = looks[betting], true_delays(found)
        n = len(true)
        alarmed = np.arange(n + 1)
        times = np.concatenate([[0.0], np.minimum(true, 2.0 * _LAST)])
        low, high = np.array([rate_interval(int(k), n, 0.95) for k in alarmed]).T
        median = float(np.quantile(true, 0.5, method="higher"))
        label = f"{betting} (default)" if betting == "jumper" else betting
        ax.step(
            *(times, alarmed / n),
            where="post",
            color=look.color,
            linewidth=2.4 if betting == "jumper" else 1.8,
            linestyle="-" if betting == "jumper" else (0, (5, 1)),
            label=f"{label}: {len(found) - n} of {len(found)} alarmed before the shift",
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
    ax.set_title("Drift: rows until the alarm, at alpha = .01", loc="left")
    ax.legend(loc="lower right", title="Bands: 95% interval at each row", alignment="left")
    save_png(figure, path)


#: Number of rows after the shift in the picture.
_LAST = 1_000


def _new_figure() -> tuple[Any, Any]:
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    return figure, figure.subplots()


def write_tables(makers: dict[str, Callable[[], str]]) -> None:
    """Write each table into the page, as soon as it is made."""
    for name, make in makers.items():
        PAGE.write_text(with_table(PAGE.read_text(), name, make()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--pictures", action="store_true", help="only draw the pictures, leave the page alone"
    )
    parser.add_argument("--only", choices=sorted(SIMULATED), help="only make this table")
    parser.add_argument(
        "--drift", action="store_true", help="only the tables and the picture of drift"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.only:
        write_tables({asked.only: SIMULATED[asked.only]})
        return
    delays = drift_delays()
    draw_delays(delays, IMAGES / "drift_delay.png")
    drift_makers: dict[str, Callable[[], str]] = {
        "drift": lambda: drift_table(delays),
        "drift-memory": lambda: memory_table(asked.jobs),
    }
    if asked.drift:
        write_tables(drift_makers)
        return
    powers = discovery_power()
    draw_power(powers, IMAGES / "discovery_power.png")
    if asked.pictures:
        return

    def results(experiment: Experiment) -> Results:
        runs = list(tasks([experiment], asked.seeds))
        records = kept_runs(runs, FOLDER / "guarantees.json", "guarantees 1", asked.jobs)
        return Results(records, experiment.name)

    makers: dict[str, Callable[[], str]] = {
        "discoveries": lambda: discovery_table(powers),
        **SIMULATED,
        "levels": level_table,
        **drift_makers,
        "contamination": lambda: contamination(results(CONTAMINATION)),
        "side-by-side": lambda: side_by_side(results(SIDE_BY_SIDE)),
    }
    write_tables(makers)


if __name__ == "__main__":
    main()
