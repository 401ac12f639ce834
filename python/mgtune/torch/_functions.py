"""The functional forms: rms_norm, add_rms_norm, swiglu, swiglu_packed.

In eager mode they call kernels that autograd does not see, inside an autograd.Function if a gradient
is needed. That takes several microseconds less per call than an operator with a gradient.
torch.compile sees the operators of torch.ops.mgtune, and the transforms of torch.func see PyTorch's own.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from mgtune.torch import _fallback, _library

_is_compiling = torch.compiler.is_compiling
_is_grad_enabled = torch.is_grad_enabled
_is_transformed = torch._C._are_functorch_transforms_active
_DTYPES = frozenset({torch.float32, torch.float16, torch.bfloat16})
_DEFAULT_EPS = torch.finfo(torch.float32).eps  # as torch.nn.functional.rms_norm for these dtypes


class _Unregistered:
    """Stands for an operator if there is no library of operators. It is never called."""

    _op = None


def _operator(name: str) -> Any:
    """The operator of torch.ops.mgtune."""
    if not _library.has_operators():
        return _Unregistered
    return getattr(torch.ops.mgtune, name).default


_rms_norm = _operator("rms_norm")
_add_rms_norm = _operator("add_rms_norm")
_swiglu = _operator("swiglu")
_swiglu_packed = _operator("swiglu_packed")


def _kernel(name: str) -> Any:
    """The operator without autograd, and without OpOverload's layer of Python."""
    return _operator(f"_{name}")._op


_rms_norm_kernel = _kernel("rms_norm")
_rms_norm_with_rstd_kernel = _kernel("rms_norm_with_rstd")
_rms_norm_backward_kernel = _kernel("rms_norm_backward")
_add_rms_norm_kernel = _kernel("add_rms_norm")
_add_rms_norm_with_rstd_kernel = _kernel("add_rms_norm_with_rstd")
_add_rms_norm_backward_kernel = _kernel("add_rms_norm_backward")
_swiglu_kernel = _kernel("swiglu")
_swiglu_backward_kernel = _kernel("swiglu_backward")
_swiglu_packed_kernel = _kernel("swiglu_packed")
_swiglu_packed_backward_kernel = _kernel("swiglu_packed_backward")


def refuse_second_derivatives() -> None:
    """Backward runs with gradients enabled only for create_graph=True."""
    if _is_grad_enabled():
        raise RuntimeError(
            "mgtune's gradients cannot be differentiated again: this backward runs with "
            "create_graph=True; use PyTorch's own operators for it"
        )


def check_preference(prefer: str, preferences: tuple[str, ...]) -> None:
    """Raises ValueError if this is none of the words that say which kernels are to run."""
    if prefer not in preferences:
        raise ValueError(f"prefer is {prefer!r}; it must be one of {', '.join(map(repr, preferences))}")


def needs_gradient(*tensors: Tensor) -> bool:
    """Returns whether autograd will ask for a gradient of one of them."""
    return _is_grad_enabled() and any(one.requires_grad for one in tensors)


def autocast_changes(x: Tensor) -> bool:
    """Returns whether PyTorch's products of x have another dtype than x, because of autocast."""
    if x.is_meta:  # there is no autocast
        return False
    device_type = x.device.type
    if not torch.is_autocast_enabled(device_type):
        return False
    return torch.get_autocast_dtype(device_type) is not x.dtype


# The arguments of these functions make up most of the cost of a call: PyTorch looks at every argument
# twice, and takes longest for one that is not a tensor. So the scalars come as one tuple, and rare ones
# are left out.


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, scalars: tuple[float, float]) -> Tensor:
        eps, weight_offset = scalars
        y: Tensor
        if weight_offset:
            y, rstd = _rms_norm_with_rstd_kernel(x, weight, eps, weight_offset)
            ctx.weight_offset = weight_offset
        else:
            y, rstd = _rms_norm_with_rstd_kernel(x, weight, eps)
        ctx.save_for_backward(x, weight, rstd)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor | None, None]:
        refuse_second_derivatives()
        needs_dw = ctx.needs_input_grad[1]
        dx, dw = _rms_norm_backward_kernel(
            dy, *ctx.saved_tensors, getattr(ctx, "weight_offset", 0.0), needs_dw
        )
        return dx, dw if needs_dw else None, None


class _AddRmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, residual: Tensor, weight: Tensor, scalars: tuple[float, float]
    ) -> tuple[Tensor, Tensor]:
        eps, weight_offset = scalars
        if weight_offset:
            y, s, rstd = _add_rms_norm_with_rstd_kernel(x, residual, weight, eps, weight_offset)
            ctx.weight_offset = weight_offset
        else:
            y, s, rstd = _add_rms_norm_with_rstd_kernel(x, residual, weight, eps)
        ctx.save_for_backward(s, weight, rstd)
        return y, s

    @staticmethod
    def backward(ctx: Any, dy: Tensor, ds: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        refuse_second_derivatives()
        needs_dw = ctx.needs_input_grad[2]
        dx, dw = _add_rms_norm_backward_kernel(
            dy, ds, *ctx.saved_tensors, getattr(ctx, "weight_offset", 0.0), needs_dw
        )
        return dx, dx, dw if needs_dw else None, None


class _Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        result: Tensor = _swiglu_kernel(gate, up)
        return result

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        refuse_second_derivatives()
        gate, up = ctx.saved_tensors
        dgate, dup = _swiglu_backward_kernel(dy, gate, up)
        return dgate, dup


class _SwigluPacked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate_up: Tensor) -> Tensor:
        ctx.save_for_backward(gate_up)
        result: Tensor = _swiglu_packed_kernel(gate_up)
        return result

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        refuse_second_derivatives()
        (gate_up,) = ctx.saved_tensors
        result: Tensor = _swiglu_packed_backward_kernel(dy, gate_up)
        return result


def _apply_of(function: type[torch.autograd.Function]) -> Any:
    """Function.apply without its extra work for torch.func, whose calls never get here."""
    return super(torch.autograd.Function, function).apply  # type: ignore[misc]


_apply_rms_norm = _apply_of(_RmsNorm)
_apply_add_rms_norm = _apply_of(_AddRmsNorm)
_apply_swiglu = _apply_of(_Swiglu)
_apply_swiglu_packed = _apply_of(_SwigluPacked)

# The devices on which kernels run, and whether all GPUs are among them. Asking the flag costs half as
# much as asking the set.
_ready_devices: set[torch.device] = set()
_is_every_gpu_ready = False


def _is_ready_now(device: torch.device) -> bool:
    reason = _library.why_unavailable(device)
    if reason:
        _library.refuse_or_warn(device, reason)
        return False
    if device.type == "cpu":
        _library.warn_once(
            "mgtune runs on CPU tensors by emulating a GPU, which is slow and meant for tests"
        )
    return True


# torch.compiler.assume_constant_result does the same, but it would import all of torch.compile.
_is_ready_now._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _remember_ready(device: torch.device) -> None:
    global _is_every_gpu_ready
    _ready_devices.add(device)
    gpus = sum(one.type == "cuda" for one in _ready_devices)
    _is_every_gpu_ready = 0 < gpus == torch.cuda.device_count()


def _is_ready(x: Tensor) -> bool:
    """Returns whether kernels run for this tensor. Raises TypeError for a dtype without kernels.

    Inside torch.func's transforms PyTorch's own operators run, because they support all transforms.
    """
    if x.dtype not in _DTYPES:
        raise TypeError(
            f"mgtune has kernels for float32, float16 and bfloat16, but the tensor is {x.dtype}"
        )
    if _is_transformed():
        return False
    if x.device in _ready_devices:
        return True
    if x.is_meta:
        return _library.has_operators()
    is_ready = _is_ready_now(x.device)
    if is_ready and not _is_compiling():
        _remember_ready(x.device)
    return is_ready


@functools.lru_cache(maxsize=64)
def _cached_ones(count: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.ones(count, dtype=dtype, device=device)


def _ones(x: Tensor) -> Tensor:
    """The weight of a norm without one."""
    if x.dim() == 0:
        raise ValueError("x has no dims; a norm needs one at least")
    if _is_compiling() or type(x) is not Tensor:
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


def _alike(x: Tensor, name: str, other: Tensor, other_name: str) -> tuple[Tensor, Tensor]:
    """Both tensors in the wider one of their dtypes. Raises ValueError if their shapes differ."""
    if x.shape != other.shape:
        raise ValueError(
            f"{name} has the shape {tuple(x.shape)}, {other_name} has {tuple(other.shape)}; "
            "the shapes must be equal"
        )
    if x.dtype is not other.dtype:
        dtype = torch.promote_types(x.dtype, other.dtype)
        x, other = x.to(dtype), other.to(dtype)
    return x, other


def _check_packed(gate_up: Tensor) -> None:
    """Raises ValueError if the last dim has no halves."""
    if gate_up.dim() == 0 or gate_up.shape[-1] % 2 != 0:
        raise ValueError(
            f"gate_up has the shape {tuple(gate_up.shape)}; its last dim holds gates and ups, so it "
            "must be even"
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
    # The path of most calls comes first: each line of Python costs a tenth of a microsecond.
    if (
        weight is None
        or _is_compiling()
        or _is_transformed()
        or not (x.is_cuda and _is_every_gpu_ready or x.device in _ready_devices)
    ):
        if not _is_ready(x):
            return _fallback.rms_norm(x, weight, eps, weight_offset)
        if weight is None:
            weight = _ones(x)
        _check_norm(x, weight)
        if _is_compiling():
            result: Tensor = _rms_norm(x, weight, eps, weight_offset)
            return result
    try:
        if (x.requires_grad or weight.requires_grad) and _is_grad_enabled():
            result = _apply_rms_norm(x, weight, (eps, weight_offset))
        elif weight_offset:
            result = _rms_norm_kernel(x, weight, eps, weight_offset)
        else:
            result = _rms_norm_kernel(x, weight, eps)
    except ValueError:  # the kernel checks its arguments; these checks have better messages
        _is_ready(x)
        _check_norm(x, weight)
        raise
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
    if eps is None:
        eps = _DEFAULT_EPS
    if (
        weight is None
        or _is_compiling()
        or _is_transformed()
        or not (x.is_cuda and _is_every_gpu_ready or x.device in _ready_devices)
    ):
        x, residual = _alike(x, "x", residual, "residual")
        if not _is_ready(x):
            return _fallback.add_rms_norm(x, residual, weight, eps, weight_offset)
        if weight is None:
            weight = _ones(x)
        _check_norm(x, weight)
        if _is_compiling():
            y, s = _add_rms_norm(x, residual, weight, eps, weight_offset)
            return y, s
    try:
        if (
            x.requires_grad or residual.requires_grad or weight.requires_grad
        ) and _is_grad_enabled():
            y, s = _apply_add_rms_norm(x, residual, weight, (eps, weight_offset))
        elif weight_offset:
            y, s = _add_rms_norm_kernel(x, residual, weight, eps, weight_offset)
        else:
            y, s = _add_rms_norm_kernel(x, residual, weight, eps)
    except ValueError:
        if x.dtype is not residual.dtype:
            return add_rms_norm(*_alike(x, "x", residual, "residual"), weight, eps, weight_offset)
        _alike(x, "x", residual, "residual")
        _is_ready(x)
        _check_norm(x, weight)
        raise
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
    result: Tensor
    if (
        _is_compiling()
        or _is_transformed()
        or not (gate.is_cuda and _is_every_gpu_ready or gate.device in _ready_devices)
    ):
        gate, up = _alike(gate, "gate", up, "up")
        if not _is_ready(gate):
            return _fallback.swiglu(gate, up)
        if _is_compiling():
            result = _swiglu(gate, up)
            return result
    try:
        if (gate.requires_grad or up.requires_grad) and _is_grad_enabled():
            result = _apply_swiglu(gate, up)
        else:
            result = _swiglu_kernel(gate, up)
    except ValueError:
        if gate.dtype is not up.dtype:
            return swiglu(*_alike(gate, "gate", up, "up"))
        _alike(gate, "gate", up, "up")
        _is_ready(gate)
        raise
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
    result: Tensor
    if (
        _is_compiling()
        or _is_transformed()
        or not (gate_up.is_cuda and _is_every_gpu_ready or gate_up.device in _ready_devices)
    ):
        _check_packed(gate_up)
        if not _is_ready(gate_up):
            return _fallback.swiglu_packed(gate_up)
        if _is_compiling():
            result = _swiglu_packed(gate_up)
            return result
    try:
        if gate_up.requires_grad and _is_grad_enabled():
            result = _apply_swiglu_packed(gate_up)
        else:
            result = _swiglu_packed_kernel(gate_up)
    except ValueError:
        _check_packed(gate_up)
        _is_ready(gate_up)
        raise
    return result
