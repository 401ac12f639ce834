"""swiglu_gate_up(): both products of a gated MLP and SwiGLU, by one kernel where that is faster.

If a gradient is needed, the kernel also stores gate and up, for swiglu_packed_backward.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mgtune.torch import _functions
from mgtune.torch._functions import (
    autocast_changes,
    check_preference,
    needs_gradient,
    refuse_second_derivatives,
    swiglu,
    swiglu_packed,
)
from mgtune.torch._gate_up_gradients import gate_up_gradients
from mgtune.torch._gate_up_rule import is_faster

PREFERENCES = ("auto", "mgtune", "linear")
_DTYPES = frozenset({torch.float16, torch.bfloat16})
_TYPES = frozenset({Tensor, nn.Parameter})
_UNIT = 8  # elements, 16 bytes: dims and distances between rows are multiples of this
_MOST_WEIGHT_ROWS = 4194304
_MOST_ROWS = 2**29  # exclusive

_is_compiling = torch.compiler.is_compiling
_is_exporting = torch.compiler.is_exporting
_operator = _functions._operator("swiglu_gate_up")
_packed_operator = _functions._operator("swiglu_gate_up_packed")
_kernel = _functions._kernel("swiglu_gate_up")
_packed_kernel = _functions._kernel("swiglu_gate_up_packed")
_kernel_with_products = _functions._kernel("swiglu_gate_up_with_products")
_packed_kernel_with_products = _functions._kernel("swiglu_gate_up_packed_with_products")
_backward_kernel = _functions._kernel("swiglu_packed_backward")


class _GateUp(torch.autograd.Function):
    """swiglu_gate_up of x and two weights, or of x and a packed one, with a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        run = _packed_kernel_with_products if len(weights) == 1 else _kernel_with_products
        h: Tensor
        h, gate_up = run(x, *weights)
        kept = x if any(ctx.needs_input_grad[1:]) else None  # as PyTorch's linear keeps it
        read = weights if ctx.needs_input_grad[0] else [None] * len(weights)
        ctx.save_for_backward(kept, gate_up, *read)
        return h

    @staticmethod
    def backward(ctx: Any, dh: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        x, gate_up, *weights = ctx.saved_tensors
        dgate_up = _backward_kernel(dh, gate_up)
        return gate_up_gradients(dgate_up, x, weights, ctx.needs_input_grad)


_apply = _functions._apply_of(_GateUp)


def _check(x: Tensor, weights: dict[str, Tensor]) -> None:
    """Raises ValueError if the shapes or devices do not fit. The keys are the arguments' names."""
    shapes = [tuple(one.shape) for one in weights.values()]
    if (
        x.dim() == 0
        or any(len(shape) != 2 or shape != shapes[0] for shape in shapes)
        or x.shape[-1] != shapes[0][1]
    ):
        words = " and ".join(f"{name} has {shape}" for name, shape in zip(weights, shapes))
        raise ValueError(
            f"x has the shape {tuple(x.shape)}, {words}; a weight must have the shape (rows, the last "
            "dim of x), and two weights the same one"
        )
    if len(weights) == 1 and shapes[0][0] % 2 != 0:
        raise ValueError(
            f"gate_up_weight has the shape {shapes[0]}; it holds the rows of gate and up, so their "
            "number must be even"
        )
    for name, weight in weights.items():
        if weight.device != x.device:
            raise ValueError(
                f"x is on {x.device}, {name} is on {weight.device}; they must be on one device"
            )


def _can_read(weight: Tensor) -> bool:
    """Whether kernels read this weight without a copy of it."""
    if weight.stride(1) != 1 or weight.stride(0) % _UNIT != 0 or weight.stride(0) < weight.shape[1]:
        return False
    # torch.compile has no pointers. The operator copies a weight that it cannot read.
    return _is_compiling() or weight.data_ptr() % 16 == 0


def _why_the_kernel_cannot(x: Tensor, weights: tuple[Tensor, ...]) -> str:
    """Returns "" if the kernel computes this call, otherwise why it does not."""
    if _functions._is_transformed():
        return "it is inside a transform of torch.func"
    tensors = (x, *weights)
    if not _is_compiling() and any(type(one) not in _TYPES for one in tensors):
        return "an argument is a subclass of Tensor"
    if any(one.is_nested for one in tensors):
        return "an argument is nested"
    if x.dtype not in _DTYPES or any(one.dtype is not x.dtype for one in weights):
        return "there are kernels for float16 and bfloat16, the same for all arguments"
    if autocast_changes(x):
        return "autocast changes the dtype"
    columns, hidden = x.shape[-1], weights[0].shape[0] * len(weights) // 2
    if columns % _UNIT != 0 or hidden % _UNIT != 0:
        return "a dim is no multiple of 8"
    if hidden > _MOST_WEIGHT_ROWS or columns >= _MOST_ROWS or math.prod(x.shape[:-1]) >= _MOST_ROWS:
        return "a dim is too large"
    if not all(_can_read(one) for one in weights):
        return "a weight is not aligned to 16 bytes, or its rows are not"
    return ""


def why_linear(x: Tensor, weights: tuple[Tensor, ...], prefer: str) -> str:
    """Returns "" if one kernel computes this call, otherwise why PyTorch's linear does."""
    if prefer == "linear":
        return "prefer is 'linear'"
    if prefer == "auto":
        # The cheapest checks come first, because most calls end here. A program of torch.export also
        # serves other numbers of rows than the one that it is made with.
        if needs_gradient(x, *weights) or _is_exporting():
            return "mgtune was not measured to be faster"
        hidden = weights[0].shape[0] * len(weights) // 2
        rows = math.prod(x.shape[:-1])
        if not is_faster(x.device, x.dtype, rows, hidden, x.shape[-1]):
            return "mgtune was not measured to be faster"
    why = _why_the_kernel_cannot(x, weights)
    if why:
        return why
    return "" if _functions._is_ready(x) else "mgtune's kernels do not run here"


def _run(x: Tensor, weights: tuple[Tensor, ...]) -> Tensor:
    """Runs the kernel for arguments for which why_linear() is ""."""
    is_packed = len(weights) == 1
    result: Tensor
    if _is_compiling():
        run: Any = _packed_operator if is_packed else _operator
    elif needs_gradient(x, *weights):
        run = _apply
    else:
        run = _packed_kernel if is_packed else _kernel
    result = run(x, *weights)
    return result


def swiglu_gate_up(
    x: Tensor, gate_weight: Tensor, up_weight: Tensor, *, prefer: str = "auto"
) -> Tensor:
    """Returns swiglu(x @ gate_weight.T, x @ up_weight.T): a gated MLP up to its last projection.

    One kernel computes it where a measurement says that this is faster: on an H200, in bfloat16, without
    a gradient, for weights of 14,336 rows and more (_gate_up_rule.py). In all other cases PyTorch's
    linear computes the products, and swiglu() follows.

    The kernel computes in float32 and rounds h once; PyTorch's products are rounded before SwiGLU. If a
    gradient is needed, it also stores gate and up, which PyTorch's products store too.

    Args:
        x: shape (..., size).
        gate_weight, up_weight: shape (hidden, size), as torch.nn.Linear has them.
        prefer: "auto", the rule above; "mgtune", one kernel wherever it computes the call: float16 or
            bfloat16, the same for all arguments, hidden and size multiples of 8, and weights whose rows
            are aligned to 16 bytes; "linear", PyTorch's products.

    Returns:
        A contiguous tensor of shape (..., hidden).

    Raises:
        TypeError: a dtype without kernels.
        ValueError: the shapes or the devices do not fit, or `prefer` is another word.
        RuntimeError: with MGTUNE_STRICT=1, if mgtune's kernels were to run and cannot; in a CUDA graph
            capture, if they were to run and no call before had such a shape (see mgtune.torch.warmup).
    """
    check_preference(prefer, PREFERENCES)
    _check(x, {"gate_weight": gate_weight, "up_weight": up_weight})
    if why_linear(x, (gate_weight, up_weight), prefer):
        return swiglu(F.linear(x, gate_weight), F.linear(x, up_weight))
    return _run(x, (gate_weight, up_weight))


def swiglu_gate_up_packed(x: Tensor, gate_up_weight: Tensor, *, prefer: str = "auto") -> Tensor:
    """swiglu_gate_up with one weight of shape (2 * hidden, size): the rows of gate, then the rows of up.

    Its gradient is one tensor as well. Two views of a packed weight, passed to swiglu_gate_up, need no
    copy either, but each of their gradients is then added to a tensor of the whole weight's size.

    Args:
        x: shape (..., size).
        gate_up_weight: shape (2 * hidden, size), as gate_up_proj of Phi-3 has it.
        prefer: as in swiglu_gate_up.

    Returns:
        A contiguous tensor of shape (..., hidden).

    Raises:
        As swiglu_gate_up. ValueError also if the number of rows of the weight is odd.
    """
    check_preference(prefer, PREFERENCES)
    _check(x, {"gate_up_weight": gate_up_weight})
    if why_linear(x, (gate_up_weight,), prefer):
        return swiglu_packed(F.linear(x, gate_up_weight))
    return _run(x, (gate_up_weight,))


def _is_plain(layer: nn.Module) -> bool:
    """Whether layer(x) is x times the layer's weight and nothing else happens.

    Subclasses of nn.Linear and of its weight may be quantized, wrapped or sharded, and hooks expect to be
    called.
    """
    return (
        type(layer) is nn.Linear
        and type(layer.weight) is nn.Parameter
        and layer.bias is None
        and "forward" not in layer.__dict__
        and not (
            layer._forward_hooks
            or layer._forward_pre_hooks
            or layer._backward_hooks
            or layer._backward_pre_hooks
            or nn.modules.module._has_any_global_hook()
        )
    )


def swiglu_of_layers(x: Tensor, gate: nn.Module, up: nn.Module, prefer: str) -> Tensor:
    """Returns swiglu(gate(x), up(x)), by one kernel where that is faster and both layers are plain."""
    if _is_plain(gate) and _is_plain(up):
        weights: Any = gate.weight, up.weight
        if weights[0].shape == weights[1].shape and not why_linear(x, weights, prefer):
            return _run(x, weights)
    return swiglu(gate(x), up(x))


def swiglu_of_packed_layer(x: Tensor, gate_up: nn.Module, prefer: str) -> Tensor:
    """Returns swiglu_packed(gate_up(x)), by one kernel where that is faster and the layer is plain."""
    if _is_plain(gate_up):
        weights: Any = (gate_up.weight,)
        if not why_linear(x, weights, prefer):
            return _run(x, weights)
    return swiglu_packed(gate_up(x))
