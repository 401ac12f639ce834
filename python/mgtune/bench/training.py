"""A training step of a Llama with random weights: tokens per second, patched and not."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

import mgtune.torch as mt
from mgtune.bench.table import Row, Table

# The figures of the models' configs.
MODELS: dict[str, dict[str, Any]] = {
    "llama-3.2-1b": {
        "vocab_size": 128256,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "tie_word_embeddings": True,
    },
    "llama-3.2-3b": {
        "vocab_size": 128256,
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 28,
        "num_attention_heads": 24,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "tie_word_embeddings": True,
    },
}

_OTHER = "other (norms, activations, additions, RoPE)"
_KINDS = (
    ("attention", ("flash", "fmha", "attention", "cudnn")),
    ("matrix products", ("gemm", "cutlass", "nvjet", "cublas", "xmma")),
    ("mgtune", ("rmsnorm", "swiglu", "mgtune")),
    ("optimizer", ("adam", "multi_tensor")),
    ("loss", ("softmax", "nll", "cross_entropy")),
    ("copies", ("memcpy", "memset", "copy")),
)


def kind_of(kernel: str) -> str:
    """The kind of work that a kernel does, by its name."""
    name = kernel.lower()
    if name.startswith("triton_"):  # named after everything that was fused into it
        return _OTHER
    for kind, words in _KINDS:
        if any(word in name for word in words):
            return kind
    return _OTHER


def make_model(name: str, seed: int = 0) -> Any:
    """A Llama with random weights in bf16, in training mode."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        **MODELS[name], max_position_embeddings=8192, rms_norm_eps=1e-5, use_cache=False
    )
    with torch.device("cuda"):
        model: Any = LlamaForCausalLM(config)
    return model.to(torch.bfloat16).train()


def make_step(model: Any, tokens: torch.Tensor, compiles: bool) -> Callable[[], torch.Tensor]:
    """Makes a step of forward, backward and AdamW. It returns the loss without waiting for the GPU."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    run = torch.compile(model) if compiles else model

    def step() -> torch.Tensor:
        loss: torch.Tensor = run(input_ids=tokens, labels=tokens).loss
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def seconds_of(step: Callable[[], torch.Tensor], steps: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def profile_of(step: Callable[[], torch.Tensor], steps: int = 3) -> dict[str, float]:
    """GPU time of a step by kind of kernel, and the time without any kernel, in ms."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    cuda = torch._C._autograd.DeviceType.CUDA
    kernels = [event for event in profiler.events() or () if event.device_type == cuda]
    times: Counter[str] = Counter()
    for kernel in kernels:
        times[kind_of(kernel.name)] += kernel.device_time_total / 1e3 / steps
    begin = min(kernel.time_range.start for kernel in kernels)
    end = max(kernel.time_range.end for kernel in kernels)
    busy = sum(times.values())
    return {**dict(times.most_common()), "no kernel": (end - begin) / 1e3 / steps - busy}


_ROUNDS = 7
_STEPS = 3  # per round


def training_tables(name: str, batch: int, length: int, compiles: bool) -> list[Table]:
    """Tokens per second, and what the time of a step consists of.

    The unpatched and the patched model take turns for some rounds, so that a change of the clocks
    meets both.
    """
    rates = Table(f"A training step of {name}, batch {batch}, length {length}, bf16", "tokens/s", True)
    shares = Table("GPU time of such a step by kind of kernel", "ms")
    tokens = torch.randint(0, MODELS[name]["vocab_size"], (batch, length), device="cuda")
    for mode in ("eager", "compile") if compiles else ("eager",):
        steps = {}
        for label in ("unpatched", "mgtune"):
            model = make_model(name)
            if label == "mgtune":
                mt.patch(model)
            steps[label] = make_step(model, tokens, mode == "compile")
            seconds_of(steps[label], 2)  # compiles, makes the optimizer's state
        samples: dict[str, list[float]] = {label: [] for label in steps}
        for number in range(_ROUNDS):
            for label in sorted(steps, reverse=number % 2 == 1):
                samples[label].append(batch * length / seconds_of(steps[label], _STEPS))
        for word, choose in (("median", statistics.median), ("slowest", min), ("fastest", max)):
            rates.rows.append(
                Row(f"{mode}, {word}", {label: choose(values) for label, values in samples.items()})
            )
        profiles = {label: profile_of(step) for label, step in steps.items()}
        for kind in dict.fromkeys(kind for times in profiles.values() for kind in times):
            shares.rows.append(
                Row(f"{mode}: {kind}", {label: times.get(kind, 0.0) for label, times in profiles.items()})
            )
        del steps, model
        torch.compiler.reset()
        torch.cuda.empty_cache()
    return [rates, shares]
