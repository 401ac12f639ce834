"""RMSNorm beside the eager formula, torch.nn.functional.rms_norm, torch.compile and Liger."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import mgtune.torch as mt
from mgtune.bench.table import OURS, Row, Table
from mgtune.bench.timing import Candidate, buffers_for, gpu_times, host_times

Norm = Callable[[Tensor, Tensor], Tensor]

_EPS = 1e-6
# rows x hidden: the shape that everybody names, and those of Llama 3.2 1B, 3.1 8B and 3.1 70B.
_SHAPES = ((4096, 4096, "fp16"), (16384, 2048, "bf16"), (8192, 4096, "bf16"), (4096, 8192, "bf16"))
_HIDDEN_SIZES = (1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 8192, 12288, 16384)
_ELEMENTS = 1 << 24
_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def eager_norm(x: Tensor, weight: Tensor) -> Tensor:
    """The formula as Hugging Face's models write it."""
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + _EPS)
    return weight * wide.to(x.dtype)


def _liger() -> Norm | None:
    try:
        functional = importlib.import_module("liger_kernel.transformers.functional")
    except ImportError:
        return None
    liger: Any = functional.liger_rms_norm
    return lambda x, weight: liger(x, weight, _EPS)


def norms(compiles: bool) -> dict[str, Norm]:
    """The candidates by name."""
    candidates: dict[str, Norm] = {
        OURS: lambda x, weight: mt.rms_norm(x, weight, _EPS),
        "F.rms_norm": lambda x, weight: F.rms_norm(x, weight.shape, weight, _EPS),
        "eager": eager_norm,
    }
    if compiles:
        torch.compiler.reset()  # it compiles each function for a few shapes only
        candidates["compile"] = torch.compile(eager_norm, dynamic=False)
    liger = _liger()
    if liger is not None:
        candidates["liger"] = liger
    return candidates


def _forward(norm: Norm, inputs: list[Tensor], weight: Tensor) -> Candidate:
    def launch(i: int) -> None:
        norm(inputs[i % len(inputs)], weight)

    return launch


def _both(norm: Norm, inputs: list[Tensor], weight: Tensor, gradients: list[Tensor]) -> Candidate:
    def launch(i: int) -> None:
        y = norm(inputs[i % len(inputs)], weight)
        torch.autograd.grad(y, (inputs[i % len(inputs)], weight), gradients[i % len(inputs)])

    return launch


def forward_table(compiles: bool) -> Table:
    table = Table("RMSNorm forward, GPU time", "us")
    for rows, hidden, dtype in _SHAPES:
        weight = torch.randn(hidden, device="cuda", dtype=_DTYPES[dtype])
        count = buffers_for(2 * 2 * rows * hidden)
        inputs = [torch.randn(rows, hidden, device="cuda", dtype=weight.dtype) for _ in range(count)]
        launches = {name: _forward(norm, inputs, weight) for name, norm in norms(compiles).items()}
        with torch.no_grad():
            table.rows.append(Row(f"{rows} x {hidden} {dtype}", gpu_times(launches)))
    return table


def both_table(compiles: bool) -> Table:
    """Forward and backward with both gradients, for every hidden size at 16.8 M elements."""
    table = Table("RMSNorm forward and backward, GPU time", "us")
    for hidden in _HIDDEN_SIZES:
        rows = _ELEMENTS // hidden
        weight = torch.randn(hidden, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        count = buffers_for(5 * 2 * rows * hidden)
        shape = (rows, hidden)
        inputs = [
            torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            for _ in range(count)
        ]
        gradients = [torch.randn_like(x) for x in inputs]
        launches = {
            name: _both(norm, inputs, weight, gradients) for name, norm in norms(compiles).items()
        }
        table.rows.append(Row(f"{rows} x {hidden} bf16", gpu_times(launches)))
    return table


def host_table() -> Table:
    """What a call costs the host: a tensor of 2 x 64."""
    table = Table("RMSNorm, host time of a call", "us")
    x = torch.randn(2, 64, device="cuda", dtype=torch.float16)
    weight = torch.ones(64, device="cuda", dtype=torch.float16)

    def calls(x: Tensor, weight: Tensor) -> dict[str, Callable[[], object]]:
        return {
            OURS: lambda: mt.rms_norm(x, weight, _EPS),
            "F.rms_norm": lambda: F.rms_norm(x, (64,), weight, _EPS),
        }

    with torch.no_grad():
        table.rows.append(Row("without gradient", host_times(calls(x, weight))))
    x.requires_grad_()
    weight.requires_grad_()
    table.rows.append(Row("with gradient", host_times(calls(x, weight))))
    return table
