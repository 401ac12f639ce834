"""gate_proj, up_proj and SwiGLU in one kernel, beside PyTorch's products."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

import mgtune.torch as mt
from mgtune.bench.swiglu import eager_swiglu
from mgtune.bench.table import OURS, Row, Table
from mgtune.bench.timing import Candidate, buffers_for, gpu_times

GateUp = Callable[[Tensor, Tensor, Tensor], Tensor]
Inputs = tuple[Tensor, Tensor, Tensor]

# rows x hidden x size: projections of Llama 3.1 8B and 3.2 1B.
_SHAPES = (
    (1, 14336, 4096),
    (16, 14336, 4096),
    (512, 14336, 4096),
    (2048, 14336, 4096),
    (8192, 14336, 4096),
    (16384, 8192, 2048),
)
_FEWEST_ROWS_OF_TRAINING = 512


def eager_gate_up(x: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    return eager_swiglu(F.linear(x, gate_weight), F.linear(x, up_weight))


def gate_ups(compiles: bool) -> dict[str, GateUp]:
    """The candidates by name. `linear` means PyTorch's products, then mgtune's SwiGLU."""
    candidates: dict[str, GateUp] = {
        OURS: partial(mt.swiglu_gate_up, prefer="mgtune"),
        "linear": partial(mt.swiglu_gate_up, prefer="linear"),
        "eager": eager_gate_up,
    }
    if compiles:
        torch.compiler.reset()  # it compiles each function for a few shapes only
        candidates["compile"] = torch.compile(eager_gate_up, dynamic=False)
    return candidates


def _inputs_of(rows: int, hidden: int, size: int) -> list[Inputs]:
    def matrix(height: int, scale: float) -> Tensor:
        made = scale * torch.randn(height, size, device="cuda", dtype=torch.bfloat16)
        return made.requires_grad_()

    count = buffers_for(2 * size * (rows + 2 * hidden))
    return [(matrix(rows, 1), matrix(hidden, 0.02), matrix(hidden, 0.02)) for _ in range(count)]


def _forward(gate_up: GateUp, inputs: list[Inputs]) -> Candidate:
    def launch(i: int) -> None:
        gate_up(*inputs[i % len(inputs)])

    return launch


def _both(gate_up: GateUp, inputs: list[Inputs], dh: Tensor) -> Candidate:
    def launch(i: int) -> None:
        some = inputs[i % len(inputs)]
        torch.autograd.grad(gate_up(*some), some, dh)

    return launch


def gate_up_table(compiles: bool) -> Table:
    table = Table("Gate and up projections with SwiGLU, GPU time", "us")
    for rows, hidden, size in _SHAPES:
        name = f"{rows} x {hidden} x {size} bf16"
        inputs, candidates = _inputs_of(rows, hidden, size), gate_ups(compiles)
        with torch.no_grad():
            times = gpu_times({key: _forward(one, inputs) for key, one in candidates.items()})
        table.rows.append(Row(f"{name} forward", times))
        if rows < _FEWEST_ROWS_OF_TRAINING:
            continue
        dh = torch.randn(rows, hidden, device="cuda", dtype=torch.bfloat16)
        times = gpu_times({key: _both(one, inputs, dh) for key, one in candidates.items()})
        table.rows.append(Row(f"{name} forward and backward", times))
    return table
