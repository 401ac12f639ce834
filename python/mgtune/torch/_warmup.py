"""warmup(): makes the plans that a CUDA graph capture needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def warmup(function: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Calls function(*inputs, **kwargs) once, on a stream of its own, and waits until it has ended.

    An operator compiles and loads its kernels when it first sees a shape, which a CUDA graph capture
    cannot contain. After a warmup with the same shapes nothing is compiled any more. If gradients are
    to be captured too, call backward() in the function.

    Args:
        function: a model, or any function that calls it.
        inputs, kwargs: what it is called with.

    Returns:
        What the function returned.
    """
    if not torch.cuda.is_available():
        return function(*inputs, **kwargs)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = function(*inputs, **kwargs)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    return result
