"""The products of swiglu_gate_up's backward, which are PyTorch's.

swiglu_packed_backward gives the gradients of gate and up side by side, in one tensor of (rows, 2 * hidden).
So one product gives the gradients of both weights, and one gives dx if the weights are one tensor too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def gate_up_gradients(
    dgate_up: Tensor, x: Tensor | None, weights: Sequence[Tensor | None], needs: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """Returns the gradients of x and of each weight, None for one that is not needed.

    Those of two weights are halves of one tensor, so their memory is freed together.

    Args:
        dgate_up: shape (..., 2 * hidden), the gradients of gate and behind them those of up.
        x: shape (..., size). None if no weight needs a gradient.
        weights: gate's and up's, or one with the rows of both. They may be None if x needs no gradient.
        needs: whether x and each weight need a gradient.
    """
    count, hidden = math.prod(dgate_up.shape[:-1]), dgate_up.shape[-1] // 2
    rows = dgate_up.reshape(count, 2 * hidden)
    dx: Tensor | None = None
    if needs[0]:
        read = [one for one in weights if one is not None]
        if len(read) == 1:
            dx = rows @ read[0]
        else:
            dx = torch.addmm(rows[:, :hidden] @ read[0], rows[:, hidden:], read[1])
        dx = dx.view(*dgate_up.shape[:-1], dx.shape[1])
    if x is None or not any(needs[1:]):
        return dx, *(None for _ in weights)
    x_rows = x.reshape(count, x.shape[-1])
    if len(weights) == 1:
        return dx, rows.t() @ x_rows
    if needs[1] and needs[2]:
        dweights = rows.t() @ x_rows
        return dx, dweights[:hidden], dweights[hidden:]
    half = rows[:, :hidden] if needs[1] else rows[:, hidden:]
    dweight = half.t() @ x_rows
    return (dx, dweight, None) if needs[1] else (dx, None, dweight)
