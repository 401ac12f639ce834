"""Where swiglu_gate_up runs as one kernel: only where a measurement says that this is faster.

The source is results/h200/gemm.md: an NVIDIA H200, bfloat16, weights of 14,336 to 28,672 rows of 3,584
to 8,192 elements, beside cuBLAS's products in PyTorch 2.11. From 2,048 rows of x on, the kernel takes
0.98 to 1.03 times as long as cuBLAS's product of both weights alone, and PyTorch runs SwiGLU after that
product, which takes 3 % of its time or more.

With 1 to 16 rows the kernel takes 0.88 to 1.00 times as long as that product. But there its counters were
ready before each launch, while in PyTorch each call sets them. The rule leaves a margin for that: it takes
rows of up to 4,096 elements, where the product and SwiGLU together take at least 1.5 us longer than the
kernel. SwiGLU takes 1.4 us of that (results/h200/norms.md). With 8,192 elements the gain was 0.3 us in
one run.

Larger sizes than the measured ones are taken to behave like the largest. A call that stores gate and up
for a gradient is slower than PyTorch's products by 2 to 3 % in all (results/h200/pytorch.md). Other GPUs
and dtypes were not measured, and other numbers of rows hardly. There PyTorch's products run.
"""

from __future__ import annotations

import torch

from mgtune.torch._gpu import gpu_name

_GPU = "NVIDIA H200"
_FEWEST_WEIGHT_ROWS = 14336
_FEWEST_COLUMNS = 3584
_MANY_ROWS = 2048
_FEW_ROWS = 16
_MOST_COLUMNS_OF_FEW_ROWS = 4096


def is_faster(
    device: torch.device, dtype: torch.dtype, rows: int, weight_rows: int, columns: int
) -> bool:
    """Returns whether one kernel was measured to be faster, without a gradient.

    Args:
        device, dtype: of all tensors.
        rows: of x.
        weight_rows: of each of the two weights.
        columns: the length of a row of x and of the weights.
    """
    if device.type != "cuda" or dtype is not torch.bfloat16:
        return False
    if weight_rows < _FEWEST_WEIGHT_ROWS or columns < _FEWEST_COLUMNS:
        return False
    is_measured = rows >= _MANY_ROWS or (
        1 <= rows <= _FEW_ROWS and columns <= _MOST_COLUMNS_OF_FEW_ROWS
    )
    return is_measured and _GPU in gpu_name(device.index)
