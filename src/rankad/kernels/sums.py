"""Kernel sums: compiled, or in plain NumPy where numba cannot compile."""

from rankad._compiled import CAN_COMPILE

if CAN_COMPILE:
    from rankad.kernels.fused import fill_kernels, fill_scores, rank_of, score_of
else:
    from rankad.kernels.plain import fill_kernels, fill_scores, rank_of, score_of

__all__ = ["fill_kernels", "fill_scores", "rank_of", "score_of"]
