"""Why a figure is missed: said only of those that are, with the run's own numbers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from report import Finding, Section
from scoring import N_CENTERS, N_FEATURES, N_FEW_CENTERS

from rankad.kernels.simd import lanes_of

#: Findings by what they measured.
Findings = Mapping[str, Finding]

_PEERS = ("IsolationForest", "mean k-NN, brute force")


@dataclass(frozen=True)
class Reason:
    """What holds some figures back, told with the findings of the run so far."""

    figures: frozenset[str]
    told: Callable[[Findings], str]


def missed(sections: Iterable[Section]) -> str:
    """The page's last section: a paragraph for each reason of a missed figure; none, nothing."""
    # Of what is measured twice, the first: of the batches those with two threads, of which most
    # is asked.
    findings: dict[str, Finding] = {}
    for section in sections:
        for finding in section.findings:
            findings.setdefault(finding.what, finding)
    is_missed = {what for what, finding in findings.items() if finding.is_met is False}
    told = [reason.told(findings) for reason in _REASONS if reason.figures & is_missed]
    return "\n\n".join(["## Where a figure is missed", *told]) if told else ""


def _batches(findings: Findings) -> str:
    n_blocks = ceil(N_CENTERS / lanes_of("float64"))
    text = f"""
**IsolationForest and brute-force k-NN, float64, threads alike.** A row is {n_blocks} blocks of
{lanes_of("float64")} centers, each a chain of {N_FEATURES} dependent multiply-adds for the distance
and some more for the exponential, of which the processor overlaps only a few."""
    share = findings.get(f"share of the limit, float64, {N_FEW_CENTERS} centers")
    if share is not None:
        text += f""" The kernel sum reaches
{share.figure:.0f}% of the hardware's limit, so that none could be more than
{100 / share.figure:.1f} times as fast; checking the rows and starting threads comes on top."""
    narrow = [findings.get(f"{peer} against RankAD, float32") for peer in _PEERS]
    if None not in narrow:
        times = " and ".join(f"{finding.figure:.0f}" for finding in narrow)
        text += f" In float32\nthe two take {times} times as long as RankAD."
    return text.strip()


def _grid(_: Findings) -> str:
    return """
**The published grid.** Its time goes to products with the kernel matrix, bound by the cache that
the threads share; to LU factorizations at large C and wide sigma, where single precision does not
pass its test; and to sorts, sums over pairs, and kernel matrices.""".strip()


def _second_thread(findings: Findings) -> str:
    text = """
**The second thread, 200 centers.** The batch takes some tens of milliseconds, of which starting a
thread and whatever else runs on the machine take their share."""
    longer = [findings.get(f"second thread's gain, {dtype}, 1000 centers") for dtype in _DTYPES]
    if None not in longer:
        gains = " and ".join(f"{finding.figure:.2f}" for finding in longer)
        text += f" With 1,000 centers the gain is {gains}\nin float64 and float32."
    return text.strip()


_DTYPES = ("float64", "float32")

_REASONS = (
    Reason(frozenset(f"{peer} against RankAD" for peer in _PEERS), _batches),
    Reason(frozenset({"the whole published grid"}), _grid),
    Reason(
        frozenset(f"second thread's gain, {dtype}, {N_FEW_CENTERS} centers" for dtype in _DTYPES),
        _second_thread,
    ),
)
