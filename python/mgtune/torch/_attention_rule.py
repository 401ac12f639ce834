"""Where mgtune's attention runs instead of PyTorch's: only where a measurement says that it is faster.

The source is results/h200/attention.md: an NVIDIA H200, bfloat16, one query for each sequence, 32 query
heads and 8 heads of keys of 128, beside the faster one of FlashAttention-2 and cuDNN in PyTorch 2.11.
mgtune takes 0.73 to 0.95 of that time with 1 to 8 sequences, from 1,024 keys for each up to 65,536 in
all. With more keys both read the cache at the speed of its memory.

Prefill of whole sequences runs mgtune's kernels with a head_dim of 128, from 2,048 queries for each
sequence and 131,072 rows in all on (results/h200/pytorch.md): they are 1.02 to 1.20 times as fast as
cuDNN there. No other GPU, dtype and number of heads was measured, so there PyTorch's attention runs.
Attention with its gradient takes 0.90 to 1.26 times as long as with cuDNN at a head_dim of 128, less
only up to 1,024 causal queries (results/h200/attention.md), so PyTorch's runs there too.
"""

from __future__ import annotations

import torch

from mgtune.torch._gpu import gpu_name

_GPU = "NVIDIA H200"
_HEADS, _KV_HEADS, _HEAD_DIM = 32, 8, 128
_MOST_SEQUENCES = 8
_FEWEST_KEYS = 1024
_MOST_KEYS_IN_ALL = 65536
FEWEST_QUERIES = 2048
HEAD_DIMS_WITH_GRADIENT = frozenset({64, 128})  # those of attention.backward
_FEWEST_ROWS = 131072  # batch * heads * queries


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
    if device.type != "cuda" or dtype is not torch.bfloat16 or head_dim != _HEAD_DIM:
        return False
    if queries == 1:
        is_measured = (
            (heads, kv_heads) == (_HEADS, _KV_HEADS)
            and 1 <= batch <= _MOST_SEQUENCES
            and keys >= _FEWEST_KEYS
            and batch * keys <= _MOST_KEYS_IN_ALL
        )
    else:
        is_measured = (
            queries == keys >= FEWEST_QUERIES and batch * heads * queries >= _FEWEST_ROWS
        )
    return is_measured and _GPU in gpu_name(device.index)
