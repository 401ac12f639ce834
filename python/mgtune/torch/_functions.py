"""The functional forms: rms_norm, add_rms_norm, swiglu, swiglu_packed.

In eager mode they do not go through PyTorch's dispatcher for gradients, which would cost several
microseconds a call: without a gradient they call the kernel below autograd, and with one they use an
autograd.Function of their own. torch.compile, torch.func and subclasses of tensors see the plain
operators of torch.ops.mgtune.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mgtune.torch import _fallback, _library

_BelowAutograd = torch._C._AutoDispatchBelowAutograd
_DTYPES = frozenset({torch.float32, torch.float16, torch.bfloat16})
_DEFAULT_EPS = torch.finfo(torch.float32).eps  # as torch.nn.functional.rms_norm for these dtypes

if _library.has_operators():
    _rms_norm = torch.ops.mgtune.rms_norm.default
    _rms_norm_with_rstd = torch.ops.mgtune.rms_norm_with_rstd.default
    _rms_norm_backward = torch.ops.mgtune.rms_norm_backward.default
    _add_rms_norm = torch.ops.mgtune.add_rms_norm.default
    _add_rms_norm_with_rstd = torch.ops.mgtune.add_rms_norm_with_rstd.default
    _add_rms_norm_backward = torch.ops.mgtune.add_rms_norm_backward.default
    _swiglu = torch.ops.mgtune.swiglu.default
    _swiglu_backward = torch.ops.mgtune.swiglu_backward.default
    _swiglu_packed = torch.ops.mgtune.swiglu_packed.default
    _swiglu_packed_backward = torch.ops.mgtune.swiglu_packed_backward.default


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, weight_offset: float) -> Tensor:
        with _BelowAutograd():
            y, rstd = _rms_norm_with_rstd(x, weight, eps, weight_offset)
        ctx.save_for_backward(x, weight, rstd)
        ctx.weight_offset = weight_offset
        result: Tensor = y
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        x, weight, rstd = ctx.saved_tensors
        needs_dw = ctx.needs_input_grad[1]
        with _BelowAutograd():
            dx, dw = _rms_norm_backward(dy, x, weight, rstd, ctx.weight_offset, needs_dw)
        return dx, dw if needs_dw else None, None, None


class _AddRmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, residual: Tensor, weight: Tensor, eps: float, weight_offset: float
    ) -> tuple[Tensor, Tensor]:
        with _BelowAutograd():
            y, s, rstd = _add_rms_norm_with_rstd(x, residual, weight, eps, weight_offset)
        ctx.save_for_backward(s, weight, rstd)
        ctx.weight_offset = weight_offset
        return y, s

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dy: Tensor, ds: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, None, None]:
        s, weight, rstd = ctx.saved_tensors
        needs_dw = ctx.needs_input_grad[2]
        with _BelowAutograd():
            dx, dw = _add_rms_norm_backward(dy, ds, s, weight, rstd, ctx.weight_offset, needs_dw)
        return dx, dx, dw if needs_dw else None, None, None


class _Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        with _BelowAutograd():
            result: Tensor = _swiglu(gate, up)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        with _BelowAutograd():
            dgate, dup = _swiglu_backward(dy, gate, up)
        return dgate, dup


class _SwigluPacked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate_up: Tensor) -> Tensor:
        ctx.save_for_backward(gate_up)
        with _BelowAutograd():
            result: Tensor = _swiglu_packed(gate_up)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (gate_up,) = ctx.saved_tensors
        with _BelowAutograd():
            result: Tensor = _swiglu_packed_backward(dy, gate_up)
        return result


# Whether kernels run, by the device's type and index. Asked for once per device.
_ready: dict[tuple[bool, int], bool] = {}


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _is_ready_now(device_type: str, index: int) -> bool:
    device = torch.device(device_type, index) if device_type == "cuda" else torch.device(device_type)
    reason = _library.why_unavailable(device)
    if reason:
        _library.refuse_or_warn(device, reason)
        return False
    if device_type == "cpu":
        _library.warn_once(
            "mgtune runs on CPU tensors by emulating a GPU, which is slow and meant for tests"
        )
    return True


def _is_ready(x: Tensor) -> bool:
    """Returns whether kernels run for this tensor. Raises TypeError for a dtype without kernels."""
    if x.dtype not in _DTYPES:
        raise TypeError(
            f"mgtune has kernels for float32, float16 and bfloat16, but the tensor is {x.dtype}"
        )
    key = (x.is_cuda, x.get_device())
    ready = _ready.get(key)
    if ready is not None:
        return ready
    if x.is_meta:
        return _library.has_operators()
    ready = _is_ready_now(x.device.type, x.get_device())
    if not torch.compiler.is_compiling() and (x.is_cuda or x.device.type == "cpu"):
        _ready[key] = ready
    return ready


def _is_eager() -> bool:
    """Returns whether nothing but autograd and the kernel needs to see the call."""
    return not (torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active())


@functools.lru_cache(maxsize=64)
def _cached_ones(count: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.ones(count, dtype=dtype, device=device)


def _ones(x: Tensor) -> Tensor:
    """The weight of a norm without one."""
    if not _is_eager() or type(x) is not Tensor:
        return torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    if x.is_cuda and torch.cuda.is_current_stream_capturing():
        # A graph's memory has no values outside its replays.
        return torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    return _cached_ones(x.shape[-1], x.dtype, x.device)


def _check_norm(x: Tensor, weight: Tensor) -> None:
    """Raises TypeError or ValueError for a weight that does not fit x."""
    if weight.dtype is not x.dtype and weight.dtype is not torch.float32:
        raise TypeError(
            f"x is {x.dtype} and weight is {weight.dtype}; weight must have x's dtype or float32"
        )
    if weight.shape != x.shape[-1:]:
        raise ValueError(
            f"weight has the shape {tuple(weight.shape)}, but x has {tuple(x.shape)}; "
            "weight must have the shape of x's last dim"
        )


def rms_norm(
    x: Tensor, weight: Tensor | None = None, eps: float | None = None, weight_offset: float = 0.0
) -> Tensor:
    """Returns x / sqrt(mean(x^2) + eps) * (weight + weight_offset), over the last dim.

    It computes in float32 and rounds once. Under autocast it keeps x's dtype.

    Args:
        x: shape (..., hidden), float32, float16 or bfloat16, with any strides; hidden is at most
            262,144.
        weight: shape (hidden,), of x's dtype or float32. None means ones.
        eps: added to the mean of squares. None means torch.finfo(torch.float32).eps, as in
            torch.nn.functional.rms_norm.
        weight_offset: added to the weight; 1.0 for Gemma.

    Returns:
        A contiguous tensor of x's shape and dtype.

    Raises:
        TypeError: x or weight has another dtype.
        ValueError: the shapes or the devices do not fit.
        RuntimeError: with MGTUNE_STRICT=1, if kernels do not run on x's device; in a CUDA graph
            capture, if no call before had such a shape (see mgtune.torch.warmup).
    """
    if eps is None:
        eps = _DEFAULT_EPS
    if not _is_ready(x):
        return _fallback.rms_norm(x, weight, eps, weight_offset)
    if weight is None:
        weight = _ones(x)
    elif weight.dtype is not x.dtype or weight.shape != x.shape[-1:]:
        _check_norm(x, weight)
    result: Tensor
    if not _is_eager():
        result = _rms_norm(x, weight, eps, weight_offset)
        return result
    if (x.requires_grad or weight.requires_grad) and torch.is_grad_enabled():
        result = _RmsNorm.apply(x, weight, eps, weight_offset)
        return result
    with _BelowAutograd():
        result = _rms_norm(x, weight, eps, weight_offset)
    return result


def add_rms_norm(
    x: Tensor,
    residual: Tensor,
    weight: Tensor | None = None,
    eps: float | None = None,
    weight_offset: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Adds the residual and norms the sum: s = x + residual, y = rms_norm(s, weight, eps).

    The sum is rounded to its dtype before it is normed, as two operators would do it. If x and
    residual have different dtypes, both are converted to the wider one first.

    Args:
        x: shape (..., hidden), float32, float16 or bfloat16.
        residual: the shape of x.
        weight, eps, weight_offset: as in rms_norm.

    Returns:
        (y, s), both contiguous and of x's shape.

    Raises:
        As rms_norm.
    """
    if x.dtype is not residual.dtype:
        dtype = torch.promote_types(x.dtype, residual.dtype)
        x, residual = x.to(dtype), residual.to(dtype)
    if x.shape != residual.shape:
        raise ValueError(
            f"x has the shape {tuple(x.shape)}, residual has {tuple(residual.shape)}; "
            "the shapes must be equal"
        )
    if eps is None:
        eps = _DEFAULT_EPS
    if not _is_ready(x):
        return _fallback.add_rms_norm(x, residual, weight, eps, weight_offset)
    if weight is None:
        weight = _ones(x)
    elif weight.dtype is not x.dtype or weight.shape != x.shape[-1:]:
        _check_norm(x, weight)
    if not _is_eager():
        y, s = _add_rms_norm(x, residual, weight, eps, weight_offset)
    elif (
        x.requires_grad or residual.requires_grad or weight.requires_grad
    ) and torch.is_grad_enabled():
        y, s = _AddRmsNorm.apply(x, residual, weight, eps, weight_offset)
    else:
        with _BelowAutograd():
            y, s = _add_rms_norm(x, residual, weight, eps, weight_offset)
    return y, s


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """Returns silu(gate) * up, that is gate * sigmoid(gate) * up, element by element.

    It computes in float32 and rounds once. If the dtypes differ, both tensors are converted to the
    wider one first.

    Args:
        gate: any shape, float32, float16 or bfloat16, with any strides.
        up: the shape of gate.

    Returns:
        A contiguous tensor of gate's shape.

    Raises:
        TypeError: a dtype without kernels.
        ValueError: the shapes or the devices differ.
        RuntimeError: as rms_norm.
    """
    if gate.dtype is not up.dtype:
        dtype = torch.promote_types(gate.dtype, up.dtype)
        gate, up = gate.to(dtype), up.to(dtype)
    if gate.shape != up.shape:
        raise ValueError(
            f"gate has the shape {tuple(gate.shape)}, up has {tuple(up.shape)}; "
            "the shapes must be equal"
        )
    if not _is_ready(gate):
        return _fallback.swiglu(gate, up)
    result: Tensor
    if not _is_eager():
        result = _swiglu(gate, up)
    elif (gate.requires_grad or up.requires_grad) and torch.is_grad_enabled():
        result = _Swiglu.apply(gate, up)
    else:
        with _BelowAutograd():
            result = _swiglu(gate, up)
    return result


def swiglu_packed(gate_up: Tensor) -> Tensor:
    """Returns silu(gate) * up, where gate and up are the halves of the last dim.

    Args:
        gate_up: shape (..., 2 * hidden), float32, float16 or bfloat16, with any strides.

    Returns:
        A contiguous tensor of shape (..., hidden).

    Raises:
        As swiglu. ValueError also if the last dim is odd.
    """
    if gate_up.dim() == 0 or gate_up.shape[-1] % 2 != 0:
        raise ValueError(
            f"gate_up has the shape {tuple(gate_up.shape)}; its last dim holds gates and ups, so it "
            "must be even"
        )
    if not _is_ready(gate_up):
        return _fallback.swiglu_packed(gate_up)
    result: Tensor
    if not _is_eager():
        result = _swiglu_packed(gate_up)
    elif gate_up.requires_grad and torch.is_grad_enabled():
        result = _SwigluPacked.apply(gate_up)
    else:
        with _BelowAutograd():
            result = _swiglu_packed(gate_up)
    return result
