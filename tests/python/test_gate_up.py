"""swiglu_gate_up and swiglu_gate_up_packed: the operators and the functional forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from conftest import expect_close, reference_swiglu, relative_error
from test_overhead import operators_of

import mgtune.torch as mt
from mgtune.torch import _gate_up

OPS = torch.ops.mgtune
HALVES = [torch.float16, torch.bfloat16]
SIZE, HIDDEN = 72, 32


def tensors(
    *rows: int, dtype: torch.dtype = torch.bfloat16, needs_gradient: bool = False
) -> list[torch.Tensor]:
    """x, gate_weight and up_weight."""
    shapes = ((*(rows or (5,)), SIZE), (HIDDEN, SIZE), (HIDDEN, SIZE))
    made = [torch.randn(shape).to(dtype) / (1 if i == 0 else 8) for i, shape in enumerate(shapes)]
    return [one.requires_grad_(needs_gradient) for one in made]


def reference(x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor) -> torch.Tensor:
    wide = x.double()
    return reference_swiglu(wide @ gate_weight.double().t(), wide @ up_weight.double().t())


# ---- values and gradients ----


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("rows", [(5,), (2, 3), ()])
def test_values(dtype: torch.dtype, rows: tuple[int, ...], gate_up_kernels: list[str]) -> None:
    x, gate, up = tensors(*rows, dtype=dtype)
    if not rows:
        x = x[0]  # one row, without other dims
    h = mt.swiglu_gate_up(x, gate, up, prefer="mgtune")
    assert h.dtype == dtype and h.is_contiguous()
    expect_close(h, reference(x, gate, up), dtype)
    packed = mt.swiglu_gate_up_packed(x, torch.cat((gate, up)), prefer="mgtune")
    assert torch.equal(packed, h)
    assert gate_up_kernels == ["_kernel", "_packed_kernel"]
    for prefer in ("auto", "linear"):
        expect_close(mt.swiglu_gate_up(x, gate, up, prefer=prefer), reference(x, gate, up), dtype)
    assert len(gate_up_kernels) == 2


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients(dtype: torch.dtype, gate_up_kernels: list[str]) -> None:
    inputs = tensors(2, 5, dtype=dtype, needs_gradient=True)
    dh = torch.randn(2, 5, HIDDEN).to(dtype)
    expected = torch.autograd.grad(reference(*inputs), inputs, dh.double())
    for h in (mt.swiglu_gate_up(*inputs, prefer="mgtune"), OPS.swiglu_gate_up(*inputs)):
        for one, other in zip(torch.autograd.grad(h, inputs, dh), expected, strict=True):
            assert one.dtype == dtype
            expect_close(one, other, dtype)
    weight = torch.cat(inputs[1:]).detach().requires_grad_()
    for h in (
        mt.swiglu_gate_up_packed(inputs[0], weight, prefer="mgtune"),
        OPS.swiglu_gate_up_packed(inputs[0], weight),
    ):
        dx, dweight = torch.autograd.grad(h, (inputs[0], weight), dh)
        expect_close(dx, expected[0], dtype)
        expect_close(dweight, torch.cat(expected[1:]), dtype)
    assert gate_up_kernels == ["_kernel_with_products", "_packed_kernel_with_products"]


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_of_some_inputs(wanted: tuple[int, ...]) -> None:
    inputs = tensors()
    some = [inputs[i].requires_grad_() for i in wanted]
    expected = torch.autograd.grad(reference(*inputs).sum(), some)
    for h in (mt.swiglu_gate_up(*inputs, prefer="mgtune"), OPS.swiglu_gate_up(*inputs)):
        h.sum().backward()
        for one, other in zip(some, expected, strict=True):
            assert one.grad is not None
            expect_close(one.grad, other, torch.bfloat16)
            one.grad = None
    assert all(one.grad is None for one in inputs)


def test_gradients_of_the_packed_weight_alone() -> None:
    x, gate, up = tensors()
    weight = torch.cat((gate, up)).requires_grad_()
    (dweight,) = torch.autograd.grad(mt.swiglu_gate_up_packed(x, weight, prefer="mgtune").sum(), weight)
    (expected,) = torch.autograd.grad(reference(x, *weight.chunk(2)).sum(), weight)
    expect_close(dweight, expected, torch.bfloat16)


def test_gradients_add_up_and_are_changed_in_place() -> None:
    # Both weights' gradients come from one product and lie in one piece of memory.
    inputs = tensors(needs_gradient=True)
    for _ in range(2):
        mt.swiglu_gate_up(*inputs, prefer="mgtune").sum().backward()
    expected = torch.autograd.grad(2 * reference(*inputs).sum(), inputs)
    torch.nn.utils.clip_grad_norm_(inputs, 1e9)
    torch.optim.SGD(inputs[1:2], lr=1.0).zero_grad(set_to_none=False)
    assert not inputs[1].grad.any()  # type: ignore[union-attr]
    expect_close(inputs[2].grad, expected[2], torch.bfloat16)  # type: ignore[arg-type]


@pytest.mark.parametrize("frozen", [(), (1, 2)])
def test_it_keeps_what_two_linears_and_swiglu_keep(frozen: tuple[int, ...]) -> None:
    inputs = tensors(needs_gradient=True)
    for i in frozen:
        inputs[i].requires_grad_(False)

    def kept(prefer: str) -> int:
        """The bytes of activations that the backward needs."""
        pieces: dict[int, int] = {}

        def note(one: torch.Tensor) -> torch.Tensor:
            pieces[one.untyped_storage().data_ptr()] = one.numel() * one.element_size()
            return one

        with torch.autograd.graph.saved_tensors_hooks(note, lambda one: one):
            h = mt.swiglu_gate_up(*inputs, prefer=prefer)
        weights = {one.untyped_storage().data_ptr() for one in inputs[1:]}
        assert h.requires_grad
        return sum(size for place, size in pieces.items() if place not in weights)

    assert kept("mgtune") == kept("linear")


def test_second_derivatives_are_refused() -> None:
    inputs = tensors(needs_gradient=True)
    packed = torch.cat(inputs[1:])
    for h in (
        mt.swiglu_gate_up(*inputs, prefer="mgtune"),
        mt.swiglu_gate_up_packed(inputs[0], packed, prefer="mgtune"),
        mt.swiglu_gate_up(*inputs),
        OPS.swiglu_gate_up(*inputs),
    ):
        with pytest.raises(RuntimeError, match="create_graph=True"):
            torch.autograd.grad(h.sum(), inputs[0], create_graph=True)


def test_checkpointing() -> None:
    inputs = tensors(needs_gradient=True)

    def block(*some: torch.Tensor) -> torch.Tensor:
        return mt.swiglu_gate_up(*some, prefer="mgtune")

    expected = torch.autograd.grad(block(*inputs).sum(), inputs)
    again = torch.utils.checkpoint.checkpoint(block, *inputs, use_reentrant=False)
    for one, other in zip(torch.autograd.grad(again.sum(), inputs), expected, strict=True):
        assert torch.equal(one, other)


# ---- views ----


def views_of_x() -> dict[str, torch.Tensor]:
    """Tensors of 2 x 3 x SIZE."""
    values = torch.randn(6 * SIZE + 1).bfloat16()
    return {
        "columns of a wider one": torch.randn(2, 3, SIZE + 8).bfloat16()[..., :SIZE],
        "odd stride": torch.randn(2, 3, SIZE + 3).bfloat16()[..., :SIZE],
        "odd offset": values[1:].view(2, 3, SIZE),
        "transposed": torch.randn(3, 2, SIZE).bfloat16().transpose(0, 1),
        "columns": torch.randn(2, SIZE, 3).bfloat16().transpose(1, 2),
        "expanded": torch.randn(1, 1, SIZE).bfloat16().expand(2, 3, SIZE),
    }


def test_views_of_x() -> None:
    _, gate, up = tensors()
    for name, x in views_of_x().items():
        h = mt.swiglu_gate_up(x, gate, up, prefer="mgtune")
        assert relative_error(h, reference(x, gate, up)) < 6e-3, name
    x = views_of_x()["columns"].requires_grad_()
    (dx,) = torch.autograd.grad(mt.swiglu_gate_up(x, gate, up, prefer="mgtune").sum(), x)
    expect_close(dx, torch.autograd.grad(reference(x, gate, up).sum(), x)[0], torch.bfloat16)


def test_views_of_a_packed_weight_are_not_copied() -> None:
    x, gate, up = tensors()
    expected = mt.swiglu_gate_up(x, gate, up, prefer="mgtune")
    packed = torch.cat((gate, up))
    wide = torch.cat((gate, up), dim=1)  # rows of both, side by side
    pairs = {
        "halves": packed.chunk(2),
        "columns": (wide[:, :SIZE], wide[:, SIZE:]),
        "alternating rows": (torch.stack((gate, up), dim=1)[:, 0], torch.stack((gate, up), dim=1)[:, 1]),
    }
    for name, (one, other) in pairs.items():
        call = lambda one=one, other=other: mt.swiglu_gate_up(x, one, other, prefer="mgtune")
        assert torch.equal(call(), expected), name
        assert operators_of(call) == ["mgtune::_swiglu_gate_up"], name
    rows = torch.zeros(2 * HIDDEN, SIZE + 8).bfloat16()
    rows[:, :SIZE] = packed
    assert torch.equal(mt.swiglu_gate_up_packed(x, rows[:, :SIZE], prefer="mgtune"), expected)


def test_weights_that_kernels_cannot_read() -> None:
    x, gate, up = tensors()
    odd = torch.empty(HIDDEN * SIZE + 1).bfloat16()[1:].view(HIDDEN, SIZE).copy_(gate)
    for weight in (odd, gate.t().contiguous().t(), gate[:1].expand(HIDDEN, SIZE)):
        expected = reference(x, weight, up)
        assert "aligned" in _gate_up.why_linear(x, (weight, up), "mgtune")
        expect_close(mt.swiglu_gate_up(x, weight, up, prefer="mgtune"), expected, torch.bfloat16)
        expect_close(OPS.swiglu_gate_up(x, weight, up), expected, torch.bfloat16)  # copies it


def test_nothing() -> None:
    x, gate, up = tensors(needs_gradient=True)
    none = torch.empty(0, SIZE).bfloat16().requires_grad_()
    h = mt.swiglu_gate_up(none, gate, up, prefer="mgtune")
    assert h.shape == (0, HIDDEN)
    dx, dgate = torch.autograd.grad(h.sum(), (none, gate))
    assert dx.shape == (0, SIZE) and torch.equal(dgate, torch.zeros_like(gate))
    assert mt.swiglu_gate_up(x, gate[:0], up[:0], prefer="mgtune").shape == (5, 0)
    assert mt.swiglu_gate_up_packed(x, gate[:0], prefer="mgtune").shape == (5, 0)
    narrow = [one[:, :0].detach().requires_grad_() for one in (x, gate, up)]
    h = mt.swiglu_gate_up(*narrow, prefer="mgtune")
    assert torch.equal(h, torch.zeros(5, HIDDEN).bfloat16())
    for one, other in zip(torch.autograd.grad(h.sum(), narrow), narrow, strict=True):
        assert one.shape == other.shape


# ---- what is refused, and what PyTorch computes ----

X, W = torch.zeros(5, SIZE).bfloat16(), torch.zeros(HIDDEN, SIZE).bfloat16()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mt.swiglu_gate_up(X, W[:, :64], W[:, :64]), r"x has the shape \(5, 72\), gate_weight has \(32, 64\)"),
        (lambda: mt.swiglu_gate_up(X, W, W[:16]), r"gate_weight has \(32, 72\) and up_weight has \(16, 72\)"),
        (lambda: mt.swiglu_gate_up(X, W[0], W[0]), r"gate_weight has \(72,\)"),
        (lambda: mt.swiglu_gate_up(X[0, 0], W, W), r"x has the shape \(\)"),
        (lambda: mt.swiglu_gate_up(X, W.to("meta"), W.to("meta")), "x is on cpu, gate_weight is on meta"),
        (lambda: mt.swiglu_gate_up(X, W, W, prefer="sdpa"), "prefer is 'sdpa'; it must be one of 'auto', 'mgtune', 'linear'"),
        (lambda: mt.swiglu_gate_up_packed(X, W[:31]), r"gate_up_weight has the shape \(31, 72\).*even"),
        (lambda: mt.swiglu_gate_up_packed(X, W[:, :64]), r"gate_up_weight has \(32, 64\)"),
        (lambda: mt.SwiGLU(64, 32, prefer="sdpa"), "prefer is 'sdpa'"),
        (lambda: OPS.swiglu_gate_up(X, W[:, :64], W[:, :64]), r"x has the shape \(5, 72\), gate_weight has \(32, 64\)"),
        (lambda: OPS.swiglu_gate_up(X, W, W[:16]), r"gate_weight has the shape \(32, 72\), up_weight has \(16, 72\)"),
        (lambda: OPS.swiglu_gate_up(X[0, 0], W, W), r"x has the shape \(\)"),
        (lambda: OPS.swiglu_gate_up(X.float(), W, W), "float16 and bfloat16, but x is float32"),
        (lambda: OPS.swiglu_gate_up(X, W.half(), W.half()), "x is bfloat16, gate_weight is float16"),
        (lambda: OPS.swiglu_gate_up(X, W, W.half()), "gate_weight is bfloat16, up_weight is float16"),
        (lambda: OPS.swiglu_gate_up(X[:, :60], W[:, :60], W[:, :60]), "5 rows of 60 and each weight has 32 rows.*multiples of 8"),
        (lambda: OPS.swiglu_gate_up_packed(X, W[:20]), "each weight has 10 rows.*multiples of 8"),
        (lambda: OPS.swiglu_gate_up_packed(X, W[:31]), "must be even"),
    ],
)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("why", "arguments"),
    [
        ("'linear'", {"prefer": "linear"}),
        ("measured", {"prefer": "auto"}),
        ("float16 and bfloat16", {"x": X.float(), "weights": (W.float(), W.float())}),
        ("float16 and bfloat16", {"x": X.half()}),
        ("multiple of 8", {"x": X[:, :60], "weights": (W[:, :60], W[:, :60])}),
        ("multiple of 8", {"weights": (W[:20], W[:20])}),
        ("multiple of 8", {"weights": (W[:20],)}),
        ("aligned", {"weights": (W[:, :64][:, ::2], W[:, :32]), "x": X[:, :32]}),
        ("subclass", {"weights": (W.as_subclass(type("Other", (torch.Tensor,), {})), W)}),
        ("nested", {"x": torch.nested.nested_tensor([X, X])}),
    ],
)
def test_when_pytorch_computes_it(why: str, arguments: dict[str, Any]) -> None:
    call = {"x": X, "weights": (W, W), "prefer": "mgtune", **arguments}
    assert why in _gate_up.why_linear(**call)
    assert _gate_up.why_linear(X, (W, W), "mgtune") == ""


def test_dtypes(gate_up_kernels: list[str]) -> None:
    inputs = [one.float() for one in tensors()]
    for prefer in _gate_up.PREFERENCES:
        h = mt.swiglu_gate_up(*inputs, prefer=prefer)
        assert h.dtype == torch.float32
        expect_close(h, reference(*inputs), torch.float32)
    narrow = [one[:, :60] for one in inputs]
    expect_close(mt.swiglu_gate_up(*narrow, prefer="mgtune"), reference(*narrow), torch.float32)
    with pytest.raises(TypeError, match="float32, float16 and bfloat16.*float64"):
        mt.swiglu_gate_up(*(one.double() for one in inputs))
    assert not gate_up_kernels


def test_autocast(gate_up_kernels: list[str]) -> None:
    inputs = tensors()
    with torch.autocast("cpu", torch.bfloat16):
        # As PyTorch's linear: the weights become bfloat16.
        assert mt.swiglu_gate_up(*(one.float() for one in inputs), prefer="mgtune").dtype == torch.bfloat16
        assert "autocast" in _gate_up.why_linear(inputs[0].half(), tuple(one.half() for one in inputs[1:]), "mgtune")
        assert not gate_up_kernels
        mt.swiglu_gate_up(*inputs, prefer="mgtune")
        assert gate_up_kernels == ["_kernel"]
        assert OPS.swiglu_gate_up(*(one.half() for one in inputs)).dtype == torch.float16


# ---- the compiler and torch.func ----

NAMES = ["swiglu_gate_up", "swiglu_gate_up_with_products", "swiglu_gate_up_packed", "swiglu_gate_up_packed_with_products"]


@pytest.mark.parametrize("needs_gradient", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name: str, needs_gradient: bool) -> None:
    x, gate, up = tensors(needs_gradient=needs_gradient)
    inputs = (x, torch.cat((gate, up)).detach().requires_grad_(needs_gradient)) if "packed" in name else (x, gate, up)
    torch.library.opcheck(getattr(OPS, name).default, inputs)
    if not needs_gradient:
        torch.library.opcheck(getattr(OPS, f"_{name}").default, inputs)


@pytest.mark.parametrize("is_packed", [False, True])
def test_compile_and_export(is_packed: bool) -> None:
    torch.compiler.reset()

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
            if is_packed:
                return mt.swiglu_gate_up_packed(x, torch.cat((gate, up)), prefer="mgtune")
            return mt.swiglu_gate_up(x, gate, up, prefer="mgtune")

    inputs = tensors()
    expected = Model()(*inputs)
    compiled = torch.compile(Model(), fullgraph=True, dynamic=True, backend="aot_eager")
    with torch.no_grad():
        assert torch.equal(compiled(*inputs), expected)
        assert torch.equal(compiled(inputs[0][:3], *inputs[1:]), expected[:3])
        rows = torch.export.Dim("rows", min=2, max=64)
        exported = torch.export.export(Model(), tuple(inputs), dynamic_shapes=({0: rows}, None, None))
    assert any("mgtune.swiglu_gate_up" in str(node.target) for node in exported.graph.nodes)
    assert torch.equal(exported.module()(*inputs), expected)
    for one in inputs:
        one.requires_grad_()
    dh = torch.randn(5, HIDDEN).bfloat16()
    for one, other in zip(
        torch.autograd.grad(compiled(*inputs), inputs, dh),
        torch.autograd.grad(Model()(*inputs), inputs, dh),
        strict=True,
    ):
        assert torch.equal(one, other)


def test_an_exported_program_serves_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule depends on the rows, so a program for all rows must not ask it."""

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return mt.swiglu_gate_up(x, W, W)

    monkeypatch.setattr(_gate_up, "is_faster", lambda device, dtype, rows, *sizes: rows > 16)
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(Model(), (X,), dynamic_shapes=({0: rows},))
    assert exported.module()(torch.ones(33, SIZE).bfloat16()).shape == (33, HIDDEN)


def test_vmap_runs_pytorchs_products(gate_up_kernels: list[str]) -> None:
    x, gate, up = tensors()
    each = torch.func.vmap(lambda row: mt.swiglu_gate_up(row, gate, up, prefer="mgtune"))(x)
    expect_close(each, reference(x, gate, up), torch.bfloat16)
    pairs = torch.stack((gate, up))
    each = torch.func.vmap(lambda weight: mt.swiglu_gate_up(x, weight, up, prefer="mgtune"))(pairs)
    expect_close(each[0], reference(x, gate, up), torch.bfloat16)
    gradient = torch.func.grad(lambda x: mt.swiglu_gate_up(x, gate, up, prefer="mgtune").sum())(x)
    x.requires_grad_()
    expect_close(gradient, torch.autograd.grad(reference(x, gate, up).sum(), x)[0], torch.bfloat16)
    assert not gate_up_kernels


def test_meta_tensors_have_shapes() -> None:
    x, gate, up = (one.to("meta") for one in tensors())
    for prefer in _gate_up.PREFERENCES:
        assert mt.swiglu_gate_up(x, gate, up, prefer=prefer).shape == (5, HIDDEN)
        assert mt.swiglu_gate_up_packed(x, gate, prefer=prefer).shape == (5, HIDDEN // 2)
