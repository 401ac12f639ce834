"""The name of a GPU, by which rules know where a kernel was measured to be faster."""

from __future__ import annotations

import functools

import torch


@functools.cache
def gpu_name(index: int | None) -> str:
    """The product name of a GPU, for example "NVIDIA H200". None is the current one."""
    return torch.cuda.get_device_name(index)


# torch.compile calls it while it traces.
gpu_name._dynamo_marked_constant = True  # type: ignore[attr-defined]
