"""Attention beside PyTorch's backends and, where it is installed, flash_attn: prefill, packed sequences, decoding."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

import mgtune.torch as mt
from mgtune.bench.table import OURS, Row, Table
from mgtune.bench.timing import Candidate, buffers_for, gpu_times

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]

_BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}


@dataclass(frozen=True)
class Case:
    """Sequences of these lengths, all in bf16. `kind` is "prefill", "varlen" or "decode"."""

    kind: str
    lengths: tuple[int, ...]
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    is_causal: bool = True

    def __str__(self) -> str:
        if len(set(self.lengths)) == 1:
            lengths = f"{len(self.lengths)} x {self.lengths[0]}"
        else:
            lengths = f"{len(self.lengths)} of {min(self.lengths)} to {max(self.lengths)}"
        mask = "" if self.kind == "decode" else ", causal" if self.is_causal else ", full"
        return f"{lengths}, {self.heads}/{self.kv_heads} heads of {self.head_dim}{mask}"


# Llama 3.2 1B and 3.1 8B, and a model in which each head has keys of its own.
CASES = (
    Case("prefill", 8 * (2048,), head_dim=64),
    Case("prefill", 4 * (2048,)),
    Case("prefill", (8192,)),
    Case("prefill", 4 * (2048,), heads=16, kv_heads=16, is_causal=False),
    Case("varlen", 8 * (1024,)),
    Case("varlen", (128, 256, 384, 512, 768, 1024, 2048, 3072)),
    Case("decode", (1024,)),
    Case("decode", (8192,)),
    Case("decode", 8 * (8192,)),
    Case("decode", 64 * (1024,)),
    Case("decode", 64 * (8192,)),
)

_TITLES = {
    "prefill": "Attention over prompts, GPU time",
    "varlen": "Attention over packed sequences, GPU time",
    "decode": "Attention of one query for each sequence (batch x keys), GPU time",
}


def inputs_of(case: Case, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v with the strides that they have in a model."""

    def randn(*sizes: int) -> Tensor:
        return torch.randn(sizes, device=device, dtype=torch.bfloat16)

    batch, longest, head_dim = len(case.lengths), max(case.lengths), case.head_dim
    if case.kind == "varlen":
        tokens = sum(case.lengths)
        q, k, v = (randn(tokens, n, head_dim) for n in (case.heads, case.kv_heads, case.kv_heads))
    elif case.kind == "prefill":
        q, k, v = (
            randn(batch, longest, n, head_dim).transpose(1, 2)
            for n in (case.heads, case.kv_heads, case.kv_heads)
        )
    else:
        q = randn(batch, 1, case.heads, head_dim).transpose(1, 2)
        k, v = (randn(batch, case.kv_heads, longest, head_dim) for _ in range(2))
    return q, k, v


def _bytes_of(case: Case) -> int:
    """How many bytes a launch reads and writes."""
    queries = len(case.lengths) if case.kind == "decode" else sum(case.lengths)
    return 2 * case.head_dim * 2 * (queries * case.heads + sum(case.lengths) * case.kv_heads)


def _flash_attn() -> Any:
    try:
        return importlib.import_module("flash_attn")
    except ImportError:
        return None


def _padded_candidates(case: Case) -> dict[str, Attention]:
    is_causal = case.is_causal and case.kind == "prefill"

    def sdpa(backend: SDPBackend) -> Attention:
        def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(
                    q, k, v, is_causal=is_causal, enable_gqa=case.heads != case.kv_heads
                )

        return call

    candidates: dict[str, Attention] = {
        OURS: lambda q, k, v: mt.attention(
            q, k, v, is_causal=is_causal, enable_gqa=True, prefer="mgtune"
        ),
        **{name: sdpa(backend) for name, backend in _BACKENDS.items()},
    }
    if flash := _flash_attn():

        def flash_attn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            q, k, v = (one.transpose(1, 2) for one in (q, k, v))
            if case.kind == "decode":
                o: Tensor = flash.flash_attn_with_kvcache(q, k, v, cache_seqlens=k.shape[1])
            else:
                o = flash.flash_attn_func(q, k, v, causal=is_causal)
            return o.transpose(1, 2)

        candidates["flash_attn"] = flash_attn
    return candidates


def _packed_candidates(case: Case, device: str) -> dict[str, Attention]:
    starts = torch.tensor([0, *itertools.accumulate(case.lengths)], dtype=torch.int32, device=device)
    longest, scale = max(case.lengths), 1 / math.sqrt(case.head_dim)
    packed: Any = torch.ops.mgtune.attention_varlen.default

    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        o: Tensor = packed(q, k, v, starts, starts, longest, longest, scale, case.is_causal)
        return o

    def flash(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        varlen: Any = importlib.import_module("torch.nn.attention.varlen")
        window = (-1, 0) if case.is_causal else (-1, -1)
        o: Tensor = varlen.varlen_attn(
            q, k, v, starts, starts, longest, longest, window_size=window, enable_gqa=True
        )
        return o

    candidates: dict[str, Attention] = {OURS: ours, "flash": flash}
    if library := _flash_attn():
        candidates["flash_attn"] = lambda q, k, v: library.flash_attn_varlen_func(
            q, k, v, starts, starts, longest, longest, causal=case.is_causal
        )
    return candidates


def attentions(case: Case, device: str = "cuda") -> dict[str, Attention]:
    """The candidates by name. Not every one runs every case."""
    return _packed_candidates(case, device) if case.kind == "varlen" else _padded_candidates(case)


def running(candidates: dict[str, Attention], case: Case, device: str = "cuda") -> dict[str, Attention]:
    """The candidates that can run a case. For the others, the reason goes to stderr."""
    able = {}
    for name, attention in candidates.items():
        try:
            attention(*inputs_of(case, device))
        except (ImportError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            if name == OURS:
                raise
            print(f"{name} does not run {case}: {(str(error) or type(error).__name__).splitlines()[0]}", file=sys.stderr)
        else:
            able[name] = attention
    return able


def _launches(attention: Attention, inputs: list[tuple[Tensor, Tensor, Tensor]]) -> Candidate:
    def launch(i: int) -> None:
        attention(*inputs[i % len(inputs)])

    return launch


def attention_tables() -> list[Table]:
    """One table for each kind of case. Times are of the forward pass."""
    tables = []
    for kind, title in _TITLES.items():
        table = Table(title, "us")
        for case in CASES:
            if case.kind != kind:
                continue
            with torch.no_grad():
                able = running(attentions(case), case)
                inputs = [inputs_of(case, "cuda") for _ in range(buffers_for(_bytes_of(case)))]
                times = gpu_times({name: _launches(one, inputs) for name, one in able.items()})
            table.rows.append(Row(str(case), times))
            del inputs
        tables.append(table)
    return tables
