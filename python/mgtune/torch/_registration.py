"""What the operators of torch.ops.mgtune need besides their kernels: shapes, gradients, autocast.

The kernels are registered by the library of operators, for CUDA and CPU tensors. Here are the fake
kernels (the shapes of results, for torch.compile and torch.export), the formulas of the gradients,
and the rule for autocast: every operator keeps the dtypes that it is given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mgtune.torch._attention_rule import HEAD_DIMS_WITH_GRADIENT
from mgtune.torch._gate_up_gradients import gate_up_gradients

_ops = torch.ops.mgtune
# The registrations hold as long as this object lives.
_implementations = torch.library.Library("mgtune", "IMPL")  # type: ignore[no-untyped-call]


def _implement(name: str, function: Callable[..., Any]) -> None:
    """Sets what autograd does with an operator."""
    _implementations.impl(name, function, "Autograd")  # type: ignore[no-untyped-call]


def _contiguous_like(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _rstd_like(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[:-1], dtype=torch.float32)


def _norm(x: Tensor, weight: Tensor, eps: float, weight_offset: float = 0.0) -> Tensor:
    return _contiguous_like(x)


def _norm_with_rstd(
    x: Tensor, weight: Tensor, eps: float, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    return _contiguous_like(x), _rstd_like(x)


def _norm_backward(
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    rstd: Tensor,
    weight_offset: float = 0.0,
    needs_dw: bool = True,
) -> tuple[Tensor, Tensor]:
    return _contiguous_like(x), weight.new_empty(weight.shape if needs_dw else (0,))


def _add_norm(
    x: Tensor, residual: Tensor, weight: Tensor, eps: float, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    return _contiguous_like(x), _contiguous_like(x)


def _add_norm_with_rstd(
    x: Tensor, residual: Tensor, weight: Tensor, eps: float, weight_offset: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    return _contiguous_like(x), _contiguous_like(x), _rstd_like(x)


def _add_norm_backward(
    dy: Tensor,
    ds: Tensor,
    s: Tensor,
    weight: Tensor,
    rstd: Tensor,
    weight_offset: float = 0.0,
    needs_dw: bool = True,
) -> tuple[Tensor, Tensor]:
    return _contiguous_like(s), weight.new_empty(weight.shape if needs_dw else (0,))


def _swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return _contiguous_like(gate)


def _swiglu_backward(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    return _contiguous_like(gate), _contiguous_like(gate)


def _swiglu_packed(gate_up: Tensor) -> Tensor:
    return gate_up.new_empty((*gate_up.shape[:-1], gate_up.shape[-1] // 2))


def _swiglu_packed_backward(dy: Tensor, gate_up: Tensor) -> Tensor:
    return _contiguous_like(gate_up)


def _gate_up(x: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    return x.new_empty((*x.shape[:-1], gate_weight.shape[0]))


def _gate_up_with_products(
    x: Tensor, gate_weight: Tensor, up_weight: Tensor
) -> tuple[Tensor, Tensor]:
    h = _gate_up(x, gate_weight, up_weight)
    return h, x.new_empty((*x.shape[:-1], 2 * gate_weight.shape[0]))


def _gate_up_packed(x: Tensor, gate_up_weight: Tensor) -> Tensor:
    return x.new_empty((*x.shape[:-1], gate_up_weight.shape[0] // 2))


def _gate_up_packed_with_products(x: Tensor, gate_up_weight: Tensor) -> tuple[Tensor, Tensor]:
    h = _gate_up_packed(x, gate_up_weight)
    return h, x.new_empty((*x.shape[:-1], gate_up_weight.shape[0]))


def _rows_of_all_heads(q: Tensor, columns: int | None = None) -> Tensor:
    """An output like q, (batch, heads, rows, columns), with the heads of a row side by side."""
    batch, heads, rows, head_dim = q.shape
    return q.new_empty((batch, rows, heads, columns or head_dim)).transpose(1, 2)


def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    causal: bool = False,
    window: int = -1,
    softcap: float = 0.0,
) -> Tensor:
    return _rows_of_all_heads(q, v.shape[-1])


def _attention_with_lse(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    causal: bool = False,
    window: int = -1,
    softcap: float = 0.0,
) -> tuple[Tensor, Tensor]:
    return _rows_of_all_heads(q, v.shape[-1]), q.new_empty(q.shape[:3], dtype=torch.float32)


def _attention_backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    scale: float,
    causal: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    return _rows_of_all_heads(q), _rows_of_all_heads(k), _rows_of_all_heads(v)


def _attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_starts: Tensor,
    k_starts: Tensor,
    max_q: int,
    max_k: int,
    scale: float,
    causal: bool = False,
    window: int = -1,
    softcap: float = 0.0,
) -> Tensor:
    return q.new_empty((*q.shape[:-1], v.shape[-1]))


def _attention_decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    kv_lens: Tensor,
    scale: float,
    kv_len: int = -1,
    causal: bool = False,
    window: int = -1,
    softcap: float = 0.0,
) -> Tensor:
    return _rows_of_all_heads(q)


def _attention_decode_paged(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    kv_lens: Tensor,
    block_table: Tensor,
    scale: float,
    kv_len: int = -1,
    causal: bool = False,
    window: int = -1,
    softcap: float = 0.0,
) -> Tensor:
    return _rows_of_all_heads(q)


_ATTENTION_WITHOUT_GRADIENT: dict[str, Callable[..., Any]] = {
    "attention_varlen": _attention_varlen,
    "attention_decode": _attention_decode,
    "attention_decode_paged": _attention_decode_paged,
}

_FAKES: dict[str, Callable[..., Any]] = {
    "rms_norm": _norm,
    "rms_norm_with_rstd": _norm_with_rstd,
    "rms_norm_backward": _norm_backward,
    "add_rms_norm": _add_norm,
    "add_rms_norm_with_rstd": _add_norm_with_rstd,
    "add_rms_norm_backward": _add_norm_backward,
    "swiglu": _swiglu,
    "swiglu_backward": _swiglu_backward,
    "swiglu_packed": _swiglu_packed,
    "swiglu_packed_backward": _swiglu_packed_backward,
    "swiglu_gate_up": _gate_up,
    "swiglu_gate_up_with_products": _gate_up_with_products,
    "swiglu_gate_up_packed": _gate_up_packed,
    "swiglu_gate_up_packed_with_products": _gate_up_packed_with_products,
    "attention": _attention,
    "attention_with_lse": _attention_with_lse,
    "attention_backward": _attention_backward,
    **_ATTENTION_WITHOUT_GRADIENT,
}


def _on_one_device(fake: Callable[..., Any]) -> Callable[..., Any]:
    """The fake kernel, which refuses tensors of several devices.

    PyTorch also calls it if only some of the tensors are on the meta device. Nothing would then compute
    the result.
    """

    @functools.wraps(fake)
    def checked(*arguments: Any, **options: Any) -> Any:
        tensors = [one for one in (*arguments, *options.values()) if isinstance(one, Tensor)]
        devices = sorted({str(one.device) for one in tensors})
        if len(devices) > 1:
            raise ValueError(f"the tensors are on {' and '.join(devices)}; they must be on one device")
        return fake(*arguments, **options)

    return checked


# Each gradient is computed by an operator that has no gradient itself: a second derivative raises
# PyTorch's error for such an operator.


def _register_norm_gradients() -> None:
    def save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        x, weight, _, ctx.weight_offset = inputs
        ctx.save_for_backward(x, weight, output[1])
        ctx.mark_non_differentiable(output[1])

    def backward(ctx: Any, dy: Tensor, _: Any) -> tuple[Tensor, Tensor | None, None, None]:
        x, weight, rstd = ctx.saved_tensors
        needs_dw = ctx.needs_input_grad[1]
        dx, dw = _ops.rms_norm_backward(dy, x, weight, rstd, ctx.weight_offset, needs_dw)
        return dx, dw if needs_dw else None, None, None

    torch.library.register_autograd("mgtune::rms_norm_with_rstd", backward, setup_context=save)

    def save_sum(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        _, _, weight, _, ctx.weight_offset = inputs
        ctx.save_for_backward(output[1], weight, output[2])
        ctx.mark_non_differentiable(output[2])

    def backward_sum(
        ctx: Any, dy: Tensor, ds: Tensor, _: Any
    ) -> tuple[Tensor, Tensor, Tensor | None, None, None]:
        s, weight, rstd = ctx.saved_tensors
        needs_dw = ctx.needs_input_grad[2]
        dx, dw = _ops.add_rms_norm_backward(dy, ds, s, weight, rstd, ctx.weight_offset, needs_dw)
        return dx, dx, dw if needs_dw else None, None, None

    torch.library.register_autograd(
        "mgtune::add_rms_norm_with_rstd", backward_sum, setup_context=save_sum
    )


def _register_swiglu_gradients() -> None:
    def save(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        dgate, dup = _ops.swiglu_backward(dy, *ctx.saved_tensors)
        return dgate, dup

    torch.library.register_autograd("mgtune::swiglu", backward, setup_context=save)

    def backward_packed(ctx: Any, dy: Tensor) -> Tensor:
        result: Tensor = _ops.swiglu_packed_backward(dy, *ctx.saved_tensors)
        return result

    torch.library.register_autograd("mgtune::swiglu_packed", backward_packed, setup_context=save)


def _register_gate_up_gradients() -> None:
    """Registers the gradients: a kernel and PyTorch's products. The compiler sees each of them."""

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        x, *weights = inputs
        kept = x if any(ctx.needs_input_grad[1:]) else None
        read = weights if ctx.needs_input_grad[0] else [None] * len(weights)
        ctx.save_for_backward(kept, output[1], *read)
        ctx.mark_non_differentiable(output[1])

    def backward(ctx: Any, dh: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        # PyTorch would only warn, and a part of the second derivative would be lost. The module is
        # imported here because it needs the operators to be registered.
        from mgtune.torch._functions import refuse_second_derivatives

        refuse_second_derivatives()
        x, gate_up, *weights = ctx.saved_tensors
        dgate_up = _ops.swiglu_packed_backward(dh, gate_up)
        return gate_up_gradients(dgate_up, x, weights, ctx.needs_input_grad)

    for name in ("swiglu_gate_up", "swiglu_gate_up_packed"):
        torch.library.register_autograd(
            f"mgtune::{name}_with_products", backward, setup_context=save
        )
        _implement(name, _form_without_products(name))


def _form_without_products(name: str) -> Callable[..., Tensor]:
    """A form that calls the form with products if a gradient is needed: the backward reads them."""
    kernel, with_products = getattr(_ops, f"_{name}"), getattr(_ops, f"{name}_with_products")

    def call(x: Tensor, *weights: Tensor) -> Tensor:
        result: Tensor
        if _needs_gradient(x, *weights):
            result, _ = with_products(x, *weights)
            return result
        result = kernel(x, *weights)
        return result

    return call


def _needs_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _register_attention_gradients() -> None:
    def save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        q, k, v, ctx.scale, ctx.causal, window, softcap = inputs
        if q.shape[-1] not in HEAD_DIMS_WITH_GRADIENT or window != -1 or softcap != 0.0:
            raise RuntimeError(
                "torch.ops.mgtune.attention has a gradient for a head_dim of 64 and 128, without a window "
                "and a softcap; use mgtune.torch.attention, which runs PyTorch's attention otherwise, or "
                "torch.no_grad()"
            )
        ctx.save_for_backward(q, k, v, *output)
        ctx.mark_non_differentiable(output[1])

    def backward(
        ctx: Any, dout: Tensor, _: Any
    ) -> tuple[Tensor, Tensor, Tensor, None, None, None, None]:
        # PyTorch would only warn, and the second derivative would be lost. The module is imported here
        # because it needs the operators to be registered.
        from mgtune.torch._functions import refuse_second_derivatives

        refuse_second_derivatives()
        dq, dk, dv = _ops.attention_backward(dout, *ctx.saved_tensors, ctx.scale, ctx.causal)
        return dq, dk, dv, None, None, None, None

    torch.library.register_autograd("mgtune::attention_with_lse", backward, setup_context=save)

    def attention(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        scale: float,
        causal: bool = False,
        window: int = -1,
        softcap: float = 0.0,
    ) -> Tensor:
        """The form without lse calls the one with it if a gradient is needed, which needs lse."""
        result: Tensor
        if _needs_gradient(q, k, v):
            result, _ = _ops.attention_with_lse(q, k, v, scale, causal, window, softcap)
            return result
        result = _ops._attention(q, k, v, scale, causal, window, softcap)
        return result

    _implement("attention", attention)


def _register_forms_without_rstd() -> None:
    """The forms without rstd call those with it if a gradient is needed, which needs rstd."""

    def rms_norm(x: Tensor, weight: Tensor, eps: float, weight_offset: float = 0.0) -> Tensor:
        result: Tensor
        if _needs_gradient(x, weight):
            result, _ = _ops.rms_norm_with_rstd(x, weight, eps, weight_offset)
            return result
        result = _ops._rms_norm(x, weight, eps, weight_offset)
        return result

    def add_rms_norm(
        x: Tensor, residual: Tensor, weight: Tensor, eps: float, weight_offset: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        if _needs_gradient(x, residual, weight):
            y, s, _ = _ops.add_rms_norm_with_rstd(x, residual, weight, eps, weight_offset)
            return y, s
        y, s = _ops._add_rms_norm(x, residual, weight, eps, weight_offset)
        return y, s

    _implement("rms_norm", rms_norm)
    _implement("add_rms_norm", add_rms_norm)


def _refuse_other_gradients_of_attention() -> None:
    """Without a backward kernel a call that needs a gradient raises, instead of losing it."""

    def refusing(name: str) -> Callable[..., Tensor]:
        kernel = getattr(_ops, f"_{name}")

        def call(q: Tensor, k: Tensor, v: Tensor, *rest: Any, **options: Any) -> Tensor:
            if _needs_gradient(q, k, v):
                raise RuntimeError(
                    f"torch.ops.mgtune.{name} has no gradient, but q, k or v needs one; use "
                    "mgtune.torch.attention, which runs PyTorch's attention then, or torch.no_grad()"
                )
            result: Tensor = kernel(q, k, v, *rest, **options)
            return result

        return call

    for name in _ATTENTION_WITHOUT_GRADIENT:
        _implement(name, refusing(name))


def register() -> None:
    """Registers everything. Call it once, after the library of operators was loaded."""
    for name, fake in _FAKES.items():
        fake = _on_one_device(fake)
        torch.library.register_fake(f"mgtune::{name}", fake)
        # The same kernel for eager calls, which autograd does not see.
        torch.library.register_fake(f"mgtune::_{name}", fake)
        _implement(f"_{name}", torch.library.fallthrough_kernel)
    _register_norm_gradients()
    _register_swiglu_gradients()
    _register_forms_without_rstd()
    _register_gate_up_gradients()
    _register_attention_gradients()
    _refuse_other_gradients_of_attention()
