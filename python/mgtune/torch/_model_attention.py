"""Attention in Hugging Face's models: mgtune's where it is faster, without a mask where possible.

`mgtune` is an attention implementation of transformers. A call without a mask runs mgtune's kernels where
mgtune.torch.attention would. All others go to PyTorch's scaled_dot_product_attention or, in a model that
caps its logits (Gemma 2), to the model's own function, because PyTorch has no cap.

PyTorch's fast attention kernels take the flag is_causal but no mask. Models leave the mask out if a
batch has no padding, but not under torch.compile with PyTorch before 2.14: there they build the whole
mask, and a slower kernel runs. `mgtune` leaves it out there too. It needs no values for that, only
shapes: without a padding mask and with as many queries as keys, the mask is the causal one. Without a
cache models also look for several sequences in one row, in the positions that they are called with. If
they are called without any, there is one.

A static cache has room for more keys than there are, which a model hides by a mask. For one query per
sequence mgtune's kernel takes the lengths of the sequences instead: int32 of shape (batch, 1, 1, 1), in
the place of the mask. It has four dims because models pass on a mask of four dims as it is.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from mgtune.torch import _attention
from mgtune.torch._attention_rule import is_faster
from mgtune.torch._functions import needs_gradient

NAME = "mgtune"
# The same, but mgtune's kernels run wherever they can: what patch(attention="mgtune") sets.
_PREFERRING_NAME = "mgtune_preferred"
_NAMES = {"auto": NAME, "mgtune": _PREFERRING_NAME}
# Arguments of create_causal_mask that change the mask, and the cache's names in all versions.
_MORE_THAN_CAUSAL = (
    "attention_mask",
    "cache",
    "past_key_values",
    "or_mask_function",
    "and_mask_function",
    "block_sequence_ids",
)
# Arguments of an attention function that change the result and that only PyTorch's path knows.
_MORE_THAN_ATTENTION = ("position_bias", "s_aux", "output_attentions")
_PREVIOUS = "_mgtune_previous_attention"


def _may_decode(config: Any, batch: int, keys: int, device: Any, dtype: Any, prefer: str) -> bool:
    """Whether mgtune's kernel may compute a decoding step of this model, as far as its config says."""
    heads = getattr(config, "num_attention_heads", None)
    if heads is None or torch.is_grad_enabled():
        return False
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    if prefer == "mgtune":
        return head_dim in _attention.HEAD_DIMS
    return is_faster(torch.device(device), dtype, batch, heads, kv_heads, head_dim, 1, keys)


def _caps_logits(config: Any) -> bool:
    return getattr(config, "attn_logit_softcapping", None) is not None


def _hides_nothing(padding_mask: Tensor | None) -> bool:
    """Whether no sequence is padded. It waits for the GPU, as transformers does for a dynamic cache."""
    if padding_mask is None:
        return True
    return not torch.compiler.is_compiling() and bool(padding_mask.all())


def _causal_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Any = None,
    attention_mask: Any = None,
    local_size: int | None = None,
    allow_is_causal_skip: bool = True,
    prefer: str = "auto",
    **kwargs: Any,
) -> Any:
    """A model calls this to make its mask. The result None means causal, without padding."""
    from transformers.masking_utils import causal_mask_function, eager_mask, sdpa_mask

    config, device, dtype = (kwargs.get(name) for name in ("config", "device", "dtype"))
    caps_logits = _caps_logits(config)
    if caps_logits and torch.is_grad_enabled():
        allow_is_causal_skip = False  # the model's own function takes every mask as a tensor
    is_local = local_size is not None and kv_length >= local_size
    if allow_is_causal_skip and attention_mask is None:
        if not is_local and q_length == kv_length:
            return None
        # One query, at the position of the last key. Its window reaches back to the first key.
        is_last = isinstance(q_offset, int) and q_offset == kv_offset + kv_length - 1
        if q_length == 1 and is_last and (local_size is None or kv_length <= local_size):
            return None
    if (
        q_length == 1
        and local_size is None
        and isinstance(q_offset, Tensor)
        and mask_function is causal_mask_function
        and _may_decode(config, batch_size, kv_length, device, dtype, prefer)
        and _hides_nothing(attention_mask)
    ):
        lengths = (q_offset - kv_offset + 1).to(device=device, dtype=torch.int32)
        return lengths.reshape(-1, 1, 1, 1).expand(batch_size, 1, 1, 1).contiguous()
    return (eager_mask if caps_logits else sdpa_mask)(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        mask_function=mask_function,
        attention_mask=attention_mask,
        local_size=local_size,
        allow_is_causal_skip=allow_is_causal_skip,
        **kwargs,
    )


def _attention_of_model(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    prefer: str = "auto",
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """A layer calls this for its attention, with tensors of (batch, heads, length, head_dim)."""
    lengths = None
    if attention_mask is not None and attention_mask.dtype is torch.int32:
        lengths = attention_mask.flatten()
    if (lengths is not None or attention_mask is None) and all(
        kwargs.get(name) in (None, False) for name in _MORE_THAN_ATTENTION
    ):
        if is_causal is None:
            is_causal = bool(getattr(module, "is_causal", True))
        is_causal = query.shape[2] > 1 and is_causal
        softcap = kwargs.get("softcap") or 0.0
        has_kernel = (softcap == 0.0 and lengths is None) or not needs_gradient(
            query, key, value
        )
        if lengths is not None and query.shape[3] not in _attention.HEAD_DIMS:
            has_kernel = False  # attention_decode has none for values that are narrower than keys
        if has_kernel and not _attention.why_sdpa(
            query, key, value, None, dropout, is_causal, scaling, True, prefer
        ):
            o = _attention.run_kernel(query, key, value, is_causal, scaling, softcap, lengths)
            return o.transpose(1, 2).contiguous(), None
    if lengths is not None:
        attention_mask = torch.arange(key.shape[2], device=key.device) < lengths[:, None]
        attention_mask = attention_mask[:, None, None, :]
    forward = _own_function if kwargs.get("softcap") is not None else _sdpa
    return forward(module, query, key, value, attention_mask, dropout, scaling, is_causal, **kwargs)


def _sdpa(*arguments: Any, **kwargs: Any) -> tuple[Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    result: tuple[Tensor, None] = sdpa_attention_forward(*arguments, **kwargs)
    return result


def _own_function(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float,
    scaling: float | None,
    is_causal: bool | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """The attention function in the module's own source, which adds the mask to the logits."""
    queries, keys = query.shape[2], key.shape[2]
    if attention_mask is None:
        attention_mask = query.new_ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    if attention_mask.dtype is torch.bool:
        lowest = torch.finfo(query.dtype).min
        attention_mask = query.new_zeros(()).where(attention_mask, lowest)
    forward: Callable[..., tuple[Tensor, Tensor | None]] = vars(sys.modules[type(module).__module__])[
        "eager_attention_forward"
    ]
    return forward(module, query, key, value, attention_mask, dropout, scaling, **kwargs)


def causal_mask_of(
    self: Any, is_plain: bool, create_causal_mask: Callable[..., Any], **kwargs: Any
) -> Any:
    """A patched model calls this instead of create_causal_mask(**kwargs).

    `is_plain`: the model was called without a mask and without positions.
    """
    config = kwargs["config"]
    if (
        is_plain
        and config._attn_implementation in _NAMES.values()
        and getattr(config, "is_causal", True)
        and not (_caps_logits(config) and torch.is_grad_enabled())
        and all(kwargs.get(name) is None for name in _MORE_THAN_CAUSAL)
    ):
        return None
    return create_causal_mask(**kwargs)


def register() -> None:
    """Makes the names known to transformers, if this process has loaded it."""
    if "transformers" not in sys.modules:
        return
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    for prefer, name in _NAMES.items():
        function = functools.partial(_attention_of_model, prefer=prefer)
        ALL_ATTENTION_FUNCTIONS.register(name, function)
        ALL_MASK_ATTENTION_FUNCTIONS.register(name, functools.partial(_causal_mask, prefer=prefer))


def use(model: nn.Module, prefer: str) -> str | None:
    """Sets a model's attention to mgtune's. `prefer` is "auto" or "mgtune".

    Returns:
        "" if it was set, otherwise why not, or None if this is no model of transformers.
    """
    config = getattr(model, "config", None)
    previous = getattr(config, "_attn_implementation", None)
    if previous is None or not hasattr(model, "set_attn_implementation"):
        return None
    if previous in _NAMES.values():
        return "it is patched already"
    if _caps_logits(config):
        # PyTorch has no such attention, so the rule of mgtune.torch.attention says nothing of it.
        if prefer == "auto":
            return "it caps its logits, and mgtune was not measured beside the model's own function"
    elif previous != "sdpa":
        return f"it uses the implementation {previous!r}, not 'sdpa'"
    # Models that make their masks in another way would not ask the registered function.
    namespace = vars(sys.modules[type(model).__module__])
    if "create_causal_mask" not in namespace or "ALL_ATTENTION_FUNCTIONS" not in namespace:
        return "it makes its masks in its own way"
    register()
    model.set_attn_implementation(_NAMES[prefer])  # type: ignore[operator]
    setattr(model, _PREVIOUS, previous)
    return ""


def restore(model: nn.Module) -> bool:
    """Gives a model its own attention back. Returns whether it had been changed."""
    previous = vars(model).get(_PREVIOUS)
    if previous is None:
        return False
    model.set_attn_implementation(previous)  # type: ignore[operator]
    delattr(model, _PREVIOUS)
    return True
