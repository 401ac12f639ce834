"""Attention in Hugging Face's models: PyTorch's scaled_dot_product_attention, without a mask if possible.

PyTorch's fast attention kernels take the flag is_causal but no mask. Models leave the mask out if a
batch has no padding, but not under torch.compile with PyTorch before 2.14: there they build the whole
mask, and a slower kernel runs. `mgtune` is an attention implementation of transformers that leaves it
out there too. It needs no values for that, only shapes: without a padding mask and with as many
queries as keys, the mask is the causal one. Without a cache models also look for several sequences in
one row, in the positions that they are called with. If they are called without any, there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch import nn

NAME = "mgtune"
# Arguments of create_causal_mask that change the mask, and the cache's names in all versions.
_MORE_THAN_CAUSAL = (
    "attention_mask",
    "cache",
    "past_key_values",
    "or_mask_function",
    "and_mask_function",
    "block_sequence_ids",
)
_PREVIOUS = "_mgtune_previous_attention"


def _causal_mask(
    q_length: int,
    kv_length: int,
    attention_mask: Any = None,
    local_size: int | None = None,
    allow_is_causal_skip: bool = True,
    **kwargs: Any,
) -> Any:
    """What a model calls for its mask. None means causal, without padding."""
    from transformers.masking_utils import sdpa_mask

    is_local = local_size is not None and kv_length >= local_size
    if allow_is_causal_skip and attention_mask is None and not is_local and q_length == kv_length:
        return None
    return sdpa_mask(
        q_length=q_length,
        kv_length=kv_length,
        attention_mask=attention_mask,
        local_size=local_size,
        allow_is_causal_skip=allow_is_causal_skip,
        **kwargs,
    )


def causal_mask_of(
    self: Any, is_plain: bool, create_causal_mask: Callable[..., Any], **kwargs: Any
) -> Any:
    """What a patched model calls for create_causal_mask(**kwargs).

    `is_plain`: the model was called without a mask and without positions.
    """
    config = kwargs["config"]
    if (
        is_plain
        and config._attn_implementation == NAME
        and getattr(config, "is_causal", True)
        and all(kwargs.get(name) is None for name in _MORE_THAN_CAUSAL)
    ):
        return None
    return create_causal_mask(**kwargs)


def register() -> None:
    """Makes the name known to transformers, if this process has loaded it."""
    if "transformers" not in sys.modules:
        return
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(NAME, sdpa_attention_forward)
    ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, _causal_mask)


def use_without_mask(model: nn.Module) -> str | None:
    """Sets a model's attention to `mgtune`.

    Returns:
        "" if it was set, otherwise why not, or None if this is no model of transformers that uses
        scaled_dot_product_attention.
    """
    config = getattr(model, "config", None)
    if getattr(config, "_attn_implementation", None) != "sdpa":
        return None
    if not hasattr(model, "set_attn_implementation"):
        return "this version of transformers cannot change the attention of a model"
    # Models that make their masks in another way would not ask the registered function.
    namespace = vars(sys.modules[type(model).__module__])
    if "create_causal_mask" not in namespace or "ALL_ATTENTION_FUNCTIONS" not in namespace:
        return "it makes its masks in its own way"
    register()
    model.set_attn_implementation(NAME)  # type: ignore[operator]
    setattr(model, _PREVIOUS, "sdpa")
    return ""


def restore(model: nn.Module) -> bool:
    """Gives a model its own attention back. Returns whether it had been changed."""
    previous = vars(model).get(_PREVIOUS)
    if previous is None:
        return False
    model.set_attn_implementation(previous)  # type: ignore[operator]
    delattr(model, _PREVIOUS)
    return True
