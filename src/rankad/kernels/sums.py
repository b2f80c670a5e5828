"""Kernel sums: compiled, or in plain NumPy where numba cannot compile."""

from rankad._compiled import CAN_COMPILE

if CAN_COMPILE:
    from rankad.kernels.fused import fill_kernels as fill_kernels
    from rankad.kernels.fused import fill_scores as fill_scores
    from rankad.kernels.fused import rank_of as rank_of
    from rankad.kernels.fused import score_of as score_of
else:
    from rankad.kernels.plain import fill_kernels as fill_kernels
    from rankad.kernels.plain import fill_scores as fill_scores
    from rankad.kernels.plain import rank_of as rank_of
    from rankad.kernels.plain import score_of as score_of
