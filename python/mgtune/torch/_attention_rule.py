"""Where mgtune's attention runs instead of PyTorch's: only where a measurement says that it is faster.

The source is results/h200/attention.md: an NVIDIA H200, bfloat16, one query for each sequence, 32 query
heads and 8 heads of keys of 128, beside the faster one of FlashAttention-2 and cuDNN in PyTorch 2.11.
mgtune takes 0.73 to 0.95 of that time with 1 to 8 sequences, from 1,024 keys for each up to 65,536 in
all. With more keys both read the cache at the speed of its memory.

Prefill stays PyTorch's: mgtune is faster than FlashAttention-2 there, but cuDNN uses instructions of
sm_90 that mgtune does not, and may be up to twice as fast. No other GPU, dtype and number of heads was
measured, so there PyTorch's attention runs too.
"""

from __future__ import annotations

import functools

import torch

_GPU = "NVIDIA H200"
_HEADS, _KV_HEADS, _HEAD_DIM = 32, 8, 128
_MOST_SEQUENCES = 8
_FEWEST_KEYS = 1024
_MOST_KEYS_IN_ALL = 65536


@functools.cache
def _gpu_name(index: int | None) -> str:
    return torch.cuda.get_device_name(index)


# torch.compile calls it while it traces.
_gpu_name._dynamo_marked_constant = True  # type: ignore[attr-defined]


def is_faster(
    device: torch.device,
    dtype: torch.dtype,
    batch: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    queries: int,
    keys: int,
) -> bool:
    """Returns whether mgtune was measured to be faster at such a shape, without a mask."""
    return (
        queries == 1
        and device.type == "cuda"
        and dtype is torch.bfloat16
        and (heads, kv_heads, head_dim) == (_HEADS, _KV_HEADS, _HEAD_DIM)
        and 1 <= batch <= _MOST_SEQUENCES
        and keys >= _FEWEST_KEYS
        and batch * keys <= _MOST_KEYS_IN_ALL
        and _GPU in _gpu_name(device.index)
    )
