"""Values, gradients and arguments of the functional forms, on the cpu device."""

from __future__ import annotations

import math
import threading

import pytest
import torch
from conftest import DTYPES, expect_close, reference_norm, reference_swiglu

import mgtune.torch as mt

EPS = 1e-5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "hidden"), [(3, 64), (1, 1), (5, 333)])
def test_rms_norm(dtype: torch.dtype, rows: int, hidden: int) -> None:
    x, weight = torch.randn(rows, hidden, dtype=dtype), torch.randn(hidden, dtype=dtype)
    expect_close(mt.rms_norm(x, weight, EPS), reference_norm(x, weight, EPS), dtype)


def test_rms_norm_of_the_longest_row() -> None:
    x, weight = torch.randn(1, 262144), torch.randn(262144)
    expect_close(mt.rms_norm(x, weight, EPS), reference_norm(x, weight, EPS), torch.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eps_none_is_that_of_pytorch(dtype: torch.dtype) -> None:
    x = 1e-3 * torch.randn(4, 64).to(dtype)
    expected = torch.nn.functional.rms_norm(x, (64,))
    expect_close(mt.rms_norm(x), expected, dtype)


def test_weight_offset() -> None:
    x, weight = torch.randn(3, 64), torch.randn(64)
    expect_close(
        mt.rms_norm(x, weight, EPS, 1.0), reference_norm(x, weight, EPS, 1.0), torch.float32
    )


def test_weight_of_float32_with_bfloat16() -> None:
    x, weight = torch.randn(3, 64).bfloat16(), torch.randn(64)
    y = mt.rms_norm(x, weight, EPS)
    assert y.dtype == torch.bfloat16
    expect_close(y, reference_norm(x, weight, EPS), torch.bfloat16)


def views(dtype: torch.dtype) -> list[torch.Tensor]:
    """Tensors of 2 x 3 x 64 with all kinds of strides and offsets."""
    return [
        torch.randn(2, 3, 64, dtype=dtype),
        torch.randn(2, 3, 100, dtype=dtype)[..., 7:71],
        torch.randn(3, 2, 64, dtype=dtype).transpose(0, 1),
        torch.randn(2, 64, 3, dtype=dtype).transpose(1, 2),
        torch.randn(1, 1, 64, dtype=dtype).expand(2, 3, 64),
        torch.randn(2 * 3 * 64 + 1, dtype=dtype)[1:].view(2, 3, 64),
        torch.randn(4, 3, 64, dtype=dtype)[::2],
    ]


@pytest.mark.parametrize("index", range(len(views(torch.float32))))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_views(index: int, dtype: torch.dtype) -> None:
    x, other, weight = views(dtype)[index], views(dtype)[index], torch.randn(64, dtype=dtype)
    expect_close(mt.rms_norm(x, weight, EPS), reference_norm(x, weight, EPS), dtype)
    y, s = mt.add_rms_norm(x, other, weight, EPS)
    assert torch.equal(s, x + other)
    expect_close(y, reference_norm(x + other, weight, EPS), dtype)
    expect_close(mt.swiglu(x, other), reference_swiglu(x, other), dtype)
    expect_close(mt.swiglu_packed(x), reference_swiglu(x[..., :32], x[..., 32:]), dtype)


def test_a_strided_weight() -> None:
    x, weight = torch.randn(3, 64), torch.randn(128)[::2]
    expect_close(mt.rms_norm(x, weight, EPS), reference_norm(x, weight, EPS), torch.float32)


def test_a_tensor_of_one_dim() -> None:
    x, weight = torch.randn(64, requires_grad=True), torch.randn(64)
    y = mt.rms_norm(x, weight, EPS)
    expect_close(y, reference_norm(x, weight, EPS), torch.float32)
    (actual,) = torch.autograd.grad(y.sum(), x)
    (expected,) = torch.autograd.grad(reference_norm(x, weight, EPS).sum(), x)
    expect_close(actual, expected, torch.float32)
    assert mt.swiglu(x, x).shape == (64,) and mt.swiglu_packed(x).shape == (32,)


def test_a_tensor_without_dims() -> None:
    with pytest.raises(ValueError, match="dim"):
        mt.swiglu(torch.tensor(1.0), torch.tensor(1.0))
    with pytest.raises(ValueError):
        mt.rms_norm(torch.tensor(1.0))


def test_no_rows() -> None:
    x = torch.empty(0, 64, requires_grad=True)
    weight = torch.ones(64, requires_grad=True)
    y = mt.rms_norm(x, weight, EPS)
    assert y.shape == (0, 64)
    y.sum().backward()
    assert x.grad is not None and x.grad.shape == (0, 64)
    assert weight.grad is not None and torch.equal(weight.grad, torch.zeros(64))
    assert mt.swiglu(x, x).shape == (0, 64)
    assert mt.swiglu_packed(x).shape == (0, 32)
    assert mt.add_rms_norm(x, x, weight, EPS)[1].shape == (0, 64)


def test_no_rows_have_gradients() -> None:
    x = torch.empty(0, 64, requires_grad=True)
    y, s = mt.add_rms_norm(x, x, None, EPS)
    for result in (y.sum() + s.sum(), mt.swiglu(x, x).sum(), mt.swiglu_packed(x).sum()):
        (gradient,) = torch.autograd.grad(result, x)
        assert gradient.shape == (0, 64)


def test_rows_without_elements() -> None:
    x, weight = torch.empty(3, 0, requires_grad=True), torch.empty(0, requires_grad=True)
    y, s = mt.add_rms_norm(mt.rms_norm(x, weight, EPS), x, weight, EPS)
    assert y.shape == s.shape == (3, 0)
    for gradient, tensor in zip(torch.autograd.grad((y.sum(), s.sum()), (x, weight)), (x, weight), strict=True):
        assert gradient.shape == tensor.shape
    assert mt.swiglu(x, x).shape == mt.swiglu_packed(x).shape == (3, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_rms_norm(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 64, dtype=dtype, requires_grad=True)
    weight = torch.randn(64, dtype=dtype, requires_grad=True)
    dy = torch.randn(2, 3, 64, dtype=dtype)
    actual = torch.autograd.grad(mt.rms_norm(x, weight, EPS, 0.5), (x, weight), dy)
    expected = torch.autograd.grad(
        reference_norm(x, weight, EPS, 0.5), (x, weight), dy.double()
    )
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype == dtype
        expect_close(one, other, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_add_rms_norm(dtype: torch.dtype) -> None:
    inputs = [torch.randn(6, 64, dtype=dtype, requires_grad=True) for _ in range(2)]
    inputs.append(torch.randn(64, dtype=dtype, requires_grad=True))
    x, residual, weight = inputs
    dy, ds = torch.randn(6, 64, dtype=dtype), torch.randn(6, 64, dtype=dtype)
    actual = torch.autograd.grad(mt.add_rms_norm(x, residual, weight, EPS), inputs, (dy, ds))
    s = (x + residual).double()
    expected = torch.autograd.grad(
        (reference_norm(s, weight, EPS), s), inputs, (dy.double(), ds.double())
    )
    for one, other in zip(actual, expected, strict=True):
        expect_close(one, other, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_swiglu(dtype: torch.dtype) -> None:
    gate, up = (torch.randn(5, 48, dtype=dtype, requires_grad=True) for _ in range(2))
    dy = torch.randn(5, 48, dtype=dtype)
    expected = torch.autograd.grad(reference_swiglu(gate, up), (gate, up), dy.double())
    for one, other in zip(
        torch.autograd.grad(mt.swiglu(gate, up), (gate, up), dy), expected, strict=True
    ):
        expect_close(one, other, dtype)
    packed = torch.cat((gate, up), dim=-1).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(mt.swiglu_packed(packed), packed, dy)
    expect_close(gradient, torch.cat(expected, dim=-1), dtype)


@pytest.mark.parametrize("which", ["x", "weight"])
def test_gradient_of_one_input(which: str) -> None:
    x, weight = torch.randn(3, 64), torch.randn(64)
    wanted = {"x": x, "weight": weight}[which].requires_grad_()
    mt.rms_norm(x, weight, EPS).sum().backward()
    expected = torch.autograd.grad(reference_norm(x, weight, EPS).sum(), wanted)[0]
    assert wanted.grad is not None
    expect_close(wanted.grad, expected, torch.float32)


def test_gradient_of_a_view() -> None:
    x, weight = torch.randn(4, 100, requires_grad=True), torch.randn(64)
    dy = torch.randn(64, 4).t()
    (actual,) = torch.autograd.grad(mt.rms_norm(x[:, 5:69], weight, EPS), x, dy)
    (expected,) = torch.autograd.grad(reference_norm(x[:, 5:69], weight, EPS), x, dy.double())
    expect_close(actual, expected, torch.float32)


def test_gradients_at_odd_pointers() -> None:
    def odd(*sizes: int) -> torch.Tensor:
        """bfloat16 whose first element is aligned to 2 bytes only."""
        return torch.randn(math.prod(sizes) + 1).bfloat16()[1:].view(sizes)

    x, residual, dy, ds = (odd(4, 64).requires_grad_() for _ in range(4))
    weight = odd(64).requires_grad_()
    s = (x + residual).double()
    for results, inputs, expected in (
        ((mt.rms_norm(x, weight, EPS),), (x, weight), (reference_norm(x, weight, EPS),)),
        (mt.add_rms_norm(x, residual, weight, EPS), (x, weight), (reference_norm(s, weight, EPS), s)),
        ((mt.swiglu(x, residual),), (x, residual), (reference_swiglu(x, residual),)),
    ):
        dys = (dy.detach(), ds.detach())[: len(results)]
        for one, other in zip(
            torch.autograd.grad(results, inputs, dys),
            torch.autograd.grad(expected, inputs, [each.double() for each in dys]),
            strict=True,
        ):
            expect_close(one, other, torch.bfloat16)


def test_gradients_with_a_weight_of_float32() -> None:
    x, weight = torch.randn(4, 64).bfloat16().requires_grad_(), torch.randn(64, requires_grad=True)
    dx, dw = torch.autograd.grad(mt.rms_norm(x, weight, EPS).sum(), (x, weight))
    assert dx.dtype == torch.bfloat16 and dw.dtype == torch.float32
    expected = torch.autograd.grad(reference_norm(x, weight, EPS).sum(), (x, weight))
    expect_close(dx, expected[0], torch.bfloat16)
    expect_close(dw, expected[1], torch.bfloat16)


def test_backward_twice() -> None:
    x = torch.randn(3, 64, requires_grad=True)
    y = mt.rms_norm(x, torch.ones(64), EPS)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()  # type: ignore[union-attr]
    y.sum().backward()
    assert torch.equal(x.grad, 2 * first)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()  # the tensors that it needs are freed


def test_second_derivatives_are_refused() -> None:
    x = torch.randn(3, 64, requires_grad=True)
    for y in (mt.rms_norm(x), mt.add_rms_norm(x, x)[0], mt.swiglu(x, x), mt.swiglu_packed(x)):
        with pytest.raises(RuntimeError, match="create_graph=True"):
            torch.autograd.grad(y.sum(), x, create_graph=True)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointing(use_reentrant: bool) -> None:
    x, weight = torch.randn(3, 64, requires_grad=True), torch.randn(64, requires_grad=True)

    def block(x: torch.Tensor) -> torch.Tensor:
        return mt.swiglu_packed(mt.rms_norm(x, weight, EPS))

    expected = torch.autograd.grad(block(x).sum(), (x, weight))
    again = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=use_reentrant)
    again.sum().backward()
    for one, other in zip((x.grad, weight.grad), expected, strict=True):
        assert one is not None and torch.equal(one, other)


def test_inference_mode_then_training() -> None:
    x = torch.randn(3, 80)
    with torch.inference_mode():
        first = mt.rms_norm(x)  # makes the ones that stand for the weight
    x.requires_grad_()
    y = mt.rms_norm(x)
    y.sum().backward()
    assert torch.equal(first, y)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
def test_dtypes_without_kernels(dtype: torch.dtype) -> None:
    x = torch.ones(3, 64, dtype=dtype)
    name = str(dtype)
    for call in (
        lambda: mt.rms_norm(x),
        lambda: mt.rms_norm(x, x[0], EPS),
        lambda: mt.add_rms_norm(x, x),
        lambda: mt.swiglu(x, x),
        lambda: mt.swiglu_packed(x),
    ):
        with pytest.raises(TypeError, match=f"float32, float16 and bfloat16.*{name}"):
            call()
    with pytest.raises(TypeError, match="weight must have x's dtype or float32"):
        mt.rms_norm(torch.ones(3, 64), torch.ones(64, dtype=torch.float16))


def test_shapes_that_do_not_fit() -> None:
    x = torch.ones(3, 64)
    with pytest.raises(ValueError, match=r"\(63,\), but x has \(3, 64\)"):
        mt.rms_norm(x, torch.ones(63), EPS)
    with pytest.raises(ValueError, match=r"63"):
        mt.rms_norm(x.bfloat16(), torch.ones(63), EPS)
    with pytest.raises(ValueError, match=r"\(3, 64\).*\(64,\)"):
        mt.add_rms_norm(x, torch.ones(64))
    with pytest.raises(ValueError, match=r"\(3, 64\).*\(3, 63\)"):
        mt.swiglu(x, torch.ones(3, 63))
    with pytest.raises(ValueError, match="must be even"):
        mt.swiglu_packed(torch.ones(3, 63))


def test_a_tensor_on_the_meta_device() -> None:
    x, weight = torch.ones(3, 64), torch.ones(64, device="meta")
    residual = torch.ones(3, 64, device="meta")
    for call in (
        lambda: mt.rms_norm(x, weight, EPS),
        lambda: mt.add_rms_norm(x, residual, None, EPS),
        lambda: mt.swiglu(residual, x),
        lambda: torch.ops.mgtune.rms_norm(x, weight, EPS),
    ):
        with pytest.raises(ValueError, match="the tensors are on cpu and meta"):
            call()
    assert mt.rms_norm(residual, weight, EPS).is_meta


def test_mixed_dtypes_are_promoted() -> None:
    x, residual = torch.randn(3, 64).bfloat16(), torch.randn(3, 64)
    y, s = mt.add_rms_norm(x, residual, None, EPS)
    assert y.dtype == s.dtype == torch.float32
    assert torch.equal(s, x + residual)
    assert mt.swiglu(x, residual).dtype == torch.float32


def test_autocast_keeps_dtypes() -> None:
    x, weight = torch.randn(3, 64), torch.randn(64)
    with torch.autocast("cpu", torch.bfloat16):
        assert mt.rms_norm(x, weight, EPS).dtype == torch.float32
        y = mt.rms_norm(x.bfloat16(), weight, EPS)
        assert y.dtype == torch.bfloat16
        assert torch.ops.mgtune.rms_norm(x.bfloat16(), weight, EPS).dtype == torch.bfloat16
    expect_close(y, reference_norm(x.bfloat16(), weight, EPS), torch.bfloat16)


def test_two_threads() -> None:
    x, weight = torch.randn(3, 72), torch.randn(72)
    expected = reference_norm(x, weight, EPS)
    failures: list[str] = []

    def work() -> None:
        for _ in range(20):
            y = mt.rms_norm(x, weight, EPS)
            if not torch.allclose(y.double(), expected, atol=1e-5):
                failures.append("wrong")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_flag_of_all_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    from mgtune.torch import _functions

    monkeypatch.setattr(_functions, "_ready_devices", set())
    monkeypatch.setattr(_functions, "_is_every_gpu_ready", False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for word, is_every_one in (("cpu", False), ("cuda:0", False), ("cuda:1", True), ("cpu", True)):
        _functions._remember_ready(torch.device(word))
        assert _functions._is_every_gpu_ready == is_every_one, word
    monkeypatch.setattr(_functions, "_ready_devices", set())
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    _functions._remember_ready(torch.device("cpu"))
    assert not _functions._is_every_gpu_ready


def test_reload_tables() -> None:
    x = torch.randn(3, 64)
    before = mt.rms_norm(x)
    mt.reload_tables()
    assert torch.equal(mt.rms_norm(x), before)
