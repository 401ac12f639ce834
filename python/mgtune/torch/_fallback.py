"""The operators as PyTorch's own: what runs where mgtune's kernels cannot.

They compute in float32 and round once, as the kernels do.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor | None, eps: float, weight_offset: float) -> Tensor:
    """See mgtune.torch.rms_norm."""
    if weight is not None and weight_offset != 0.0:
        weight = weight.float() + weight_offset
    if weight is None or weight.dtype == x.dtype:
        return F.rms_norm(x, x.shape[-1:], weight, eps)
    return F.rms_norm(x.float(), x.shape[-1:], weight.float(), eps).to(x.dtype)


def add_rms_norm(
    x: Tensor, residual: Tensor, weight: Tensor | None, eps: float, weight_offset: float
) -> tuple[Tensor, Tensor]:
    """See mgtune.torch.add_rms_norm."""
    s = x + residual
    return rms_norm(s, weight, eps, weight_offset), s


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """See mgtune.torch.swiglu."""
    return (F.silu(gate.float()) * up.float()).to(gate.dtype)


def swiglu_packed(gate_up: Tensor) -> Tensor:
    """See mgtune.torch.swiglu_packed."""
    gate, up = torch.chunk(gate_up, 2, dim=-1)
    return swiglu(gate, up)
