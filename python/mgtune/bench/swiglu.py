"""SwiGLU beside eager PyTorch, torch.compile and Liger."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import mgtune.torch as mt
from mgtune.bench.table import OURS, Row, Table
from mgtune.bench.timing import Candidate, buffers_for, gpu_times

Gate = Callable[[Tensor, Tensor], Tensor]

# rows x hidden of Llama 3.2 1B, 3.1 8B and 3.1 70B.
_SHAPES = ((16384, 8192), (8192, 14336), (4096, 28672))


def eager_swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return F.silu(gate) * up


def gates(compiles: bool) -> dict[str, Gate]:
    """The candidates by name."""
    candidates: dict[str, Gate] = {OURS: mt.swiglu, "eager": eager_swiglu}
    if compiles:
        candidates["compile"] = torch.compile(eager_swiglu, dynamic=False)
    try:
        liger: Any = importlib.import_module("liger_kernel.ops.swiglu").LigerSiLUMulFunction
        candidates["liger"] = liger.apply
    except ImportError:
        pass
    return candidates


def _forward(swiglu: Gate, pairs: list[tuple[Tensor, Tensor]]) -> Candidate:
    def launch(i: int) -> None:
        swiglu(*pairs[i % len(pairs)])

    return launch


def _both(swiglu: Gate, pairs: list[tuple[Tensor, Tensor]], dy: Tensor) -> Candidate:
    def launch(i: int) -> None:
        pair = pairs[i % len(pairs)]
        torch.autograd.grad(swiglu(*pair), pair, dy)

    return launch


def swiglu_table(compiles: bool) -> Table:
    table = Table("SwiGLU, GPU time", "us")
    for rows, hidden in _SHAPES:
        shape = (rows, hidden)
        pairs = [
            (
                torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True),
                torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True),
            )
            for _ in range(buffers_for(3 * 2 * rows * hidden))
        ]
        dy = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        candidates = gates(compiles)
        with torch.no_grad():
            times = gpu_times({name: _forward(one, pairs) for name, one in candidates.items()})
        table.rows.append(Row(f"{rows} x {hidden} bf16 forward", times))
        times = gpu_times({name: _both(one, pairs, dy) for name, one in candidates.items()})
        table.rows.append(Row(f"{rows} x {hidden} bf16 forward and backward", times))
    return table
