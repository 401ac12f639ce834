"""attention(): scaled_dot_product_attention, by mgtune's kernels where they are faster."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mgtune.torch import _functions
from mgtune.torch._attention_rule import FEWEST_QUERIES, HEAD_DIMS_WITH_GRADIENT, is_faster
from mgtune.torch._functions import autocast_changes, check_preference, needs_gradient

PREFERENCES = ("auto", "mgtune", "sdpa")
_DTYPES = frozenset({torch.float16, torch.bfloat16})
HEAD_DIMS = frozenset({64, 96, 128, 256})
LATENT_DIMS = (192, 128)  # the head_dim and the narrower values of multi-head latent attention
_MOST_QUERIES = 16  # of attention_decode

_is_compiling = torch.compiler.is_compiling
_prefill_operator = _functions._operator("attention")
_decode_operator = _functions._operator("attention_decode")
_prefill_kernel = _functions._kernel("attention")
_decode_kernel = _functions._kernel("attention_decode")


def _why_kernels_cannot(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> str:
    """Returns "" if mgtune's kernels compute this call, otherwise why they do not."""
    if attn_mask is not None:
        return "there is a mask"
    if dropout_p != 0.0:
        return "there is dropout"
    tensors = (query, key, value)
    if not _is_compiling() and any(type(one) is not Tensor for one in tensors):
        return "an argument is a subclass of Tensor"
    if any(one.is_nested or one.dim() != 4 for one in tensors):
        return "an argument has other dims than (batch, heads, length, head_dim)"
    if query.dtype not in _DTYPES or key.dtype is not query.dtype or value.dtype is not query.dtype:
        return "there are kernels for float16 and bfloat16, the same for all arguments"
    if key.device != query.device or value.device != query.device:
        return "the arguments are on several devices"
    batch, heads, queries, head_dim = query.shape
    is_latent = (head_dim, value.shape[3]) == LATENT_DIMS
    if key.shape[:3] != value.shape[:3] or key.shape[0] != batch or key.shape[3] != head_dim:
        return "the shapes of the arguments differ"
    if not is_latent and value.shape[3] != head_dim:
        return "the shapes of key and value differ in another way than a head_dim of 192 and 128"
    if not is_latent and head_dim not in HEAD_DIMS:
        return "there are kernels for a head_dim of 64, 96, 128 and 256, and 192 with values of 128"
    if head_dim not in HEAD_DIMS_WITH_GRADIENT and needs_gradient(*tensors):
        return "there are kernels for gradients for a head_dim of 64 and 128"
    kv_heads, keys = key.shape[1], key.shape[2]
    if heads != kv_heads and (not enable_gqa or kv_heads == 0 or heads % kv_heads != 0):
        return "the numbers of heads differ"
    if heads == 0 or keys == 0:
        return "an argument has no elements"
    # PyTorch's first query sees the first key, mgtune's last query sees the last key.
    if is_causal and queries != keys:
        return "it is causal with other numbers of queries and keys"
    if scale is not None and not (0 < scale < math.inf):
        return "scale is not positive"
    if autocast_changes(query):
        return "autocast changes the dtype"
    return ""


def why_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    prefer: str = "auto",
) -> str:
    """Returns "" if attention() with these arguments runs mgtune's kernels, otherwise why it does not."""
    if prefer == "sdpa":
        return "prefer is 'sdpa'"
    # The cheapest checks come first, because most calls end here.
    if prefer == "auto" and (query.dim() != 4 or 1 < query.shape[2] < FEWEST_QUERIES):
        return "mgtune was not measured to be faster"
    why = _why_kernels_cannot(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
    )
    if why:
        return why
    if prefer == "auto" and (
        needs_gradient(query, key, value)  # cuDNN's backward is faster
        or not is_faster(
            query.device,
            query.dtype,
            query.shape[0],
            query.shape[1],
            key.shape[1],
            query.shape[3],
            query.shape[2],
            key.shape[2],
        )
    ):
        return "mgtune was not measured to be faster"
    return "" if _functions._is_ready(query) else "mgtune's kernels do not run here"


@functools.lru_cache(maxsize=16)
def _cached_lengths(batch: int, keys: int, device: torch.device, stream: int) -> Tensor:
    with torch.inference_mode(False):
        return torch.full((batch,), keys, dtype=torch.int32, device=device)


def _full_lengths(key: Tensor) -> Tensor:
    """The lengths of sequences that fill their cache. All layers of a decoding step share them."""
    batch, keys = key.shape[0], key.shape[2]
    if _is_compiling() or (key.is_cuda and torch.cuda.is_current_stream_capturing()):
        return torch.full((batch,), keys, dtype=torch.int32, device=key.device)
    # Per stream: another stream must not read lengths that this stream has not written yet.
    stream = torch.cuda.current_stream(key.device).cuda_stream if key.is_cuda else 0
    return _cached_lengths(batch, keys, key.device, stream)


def run_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
    scale: float | None,
    softcap: float = 0.0,
    kv_lens: Tensor | None = None,
) -> Tensor:
    """Runs mgtune's kernel for arguments for which why_sdpa() is "".

    `kv_lens`: how many keys each sequence has, if it does not fill its rows of key. There are at most 16
    queries then, and it is not causal. With `kv_lens` or `softcap` there is no gradient.
    """
    if scale is None:
        scale = query.shape[3] ** -0.5
    result: Tensor
    has_gradient = needs_gradient(query, key, value)  # decoding has none
    if kv_lens is not None or (
        query.shape[2] <= _MOST_QUERIES
        and not is_causal
        and not has_gradient
        and query.shape[3] in HEAD_DIMS
    ):
        run: Any = _decode_operator if _is_compiling() else _decode_kernel
        if kv_lens is None:
            kv_lens = _full_lengths(key)
        result = run(query, key, value, kv_lens, scale, -1, False, -1, softcap)
    else:
        run = _prefill_operator if has_gradient or _is_compiling() else _prefill_kernel
        result = run(query, key, value, scale, is_causal, -1, softcap)
    return result


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    prefer: str = "auto",
) -> Tensor:
    """Returns softmax(scale * query @ key^T + mask) @ value for each head.

    It takes what torch.nn.functional.scaled_dot_product_attention takes and gives the same result.
    mgtune's kernels run where a measurement says that they are faster: on an H200, in bfloat16, with a
    head_dim of 128. That is prefill of sequences of 2,048 tokens and more, and one query for each of 1
    to 8 sequences with 32 query heads, 8 heads of keys, and 1,024 to 65,536 keys (_attention_rule.py).
    With a gradient cuDNN is faster in most cases. PyTorch's attention runs in all other cases.

    Args:
        query: shape (batch, heads, queries, head_dim).
        key, value: shape (batch, kv_heads, keys, head_dim). kv_heads is heads or, with enable_gqa, a
            divisor of it; consecutive query heads share a head of keys. value may have another
            head_dim.
        attn_mask, dropout_p: as in PyTorch's function, which runs if there is one.
        is_causal: query i sees the keys up to key i.
        scale: None means 1 / sqrt(head_dim).
        enable_gqa: whether kv_heads may be less than heads.
        prefer: "auto", the rule above; "mgtune", mgtune's kernels wherever they compute the call: float16
            or bfloat16, a head_dim of 64, 96, 128 or 256 (with a gradient 64 or 128), or of 192 with
            values of 128, no mask or dropout, and as many queries as keys if it is causal; "sdpa",
            PyTorch's attention.

    Returns:
        A tensor of query's dtype and shape, with the head_dim of value.

    Raises:
        ValueError: `prefer` is another word.
        RuntimeError: what PyTorch's function raises for arguments that do not fit; with
            MGTUNE_STRICT=1, if mgtune's kernels were to run and cannot; in a CUDA graph capture, if
            they were to run and no call before had such a shape (see mgtune.torch.warmup).
    """
    check_preference(prefer, PREFERENCES)
    if why_sdpa(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, prefer
    ):
        return F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=attn_mask,
            dropout_p=dropout_p,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )
    return run_kernel(query, key, value, is_causal, scale)
