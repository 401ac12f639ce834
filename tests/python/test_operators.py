"""torch.ops.mgtune: opcheck, torch.compile, torch.export and torch.func."""

from __future__ import annotations

import pytest
import torch
from conftest import expect_close, reference_norm

import mgtune.torch as mt


def _inputs(name: str, needs_gradient: bool) -> tuple[object, ...]:
    def matrix(columns: int = 64) -> torch.Tensor:
        return torch.randn(3, columns, requires_grad=needs_gradient)

    weight = torch.randn(64, requires_grad=needs_gradient)
    rstd = torch.rand(3)
    return {
        "rms_norm": (matrix(), weight, 1e-5, 0.5),
        "rms_norm_with_rstd": (matrix(), weight, 1e-5, 0.5),
        "rms_norm_backward": (matrix(), matrix(), weight, rstd, 0.5, True),
        "add_rms_norm": (matrix(), matrix(), weight, 1e-5, 0.5),
        "add_rms_norm_with_rstd": (matrix(), matrix(), weight, 1e-5, 0.5),
        "add_rms_norm_backward": (matrix(), matrix(), matrix(), weight, rstd, 0.5, True),
        "swiglu": (matrix(), matrix()),
        "swiglu_backward": (matrix(), matrix(), matrix()),
        "swiglu_packed": (matrix(),),
        "swiglu_packed_backward": (matrix(32), matrix()),
    }[name]


FORWARD = [
    "rms_norm",
    "rms_norm_with_rstd",
    "add_rms_norm",
    "add_rms_norm_with_rstd",
    "swiglu",
    "swiglu_packed",
]
BACKWARD = [
    "rms_norm_backward",
    "add_rms_norm_backward",
    "swiglu_backward",
    "swiglu_packed_backward",
]


@pytest.mark.parametrize("name", FORWARD)
def test_opcheck_with_gradients(name: str) -> None:
    torch.library.opcheck(getattr(torch.ops.mgtune, name).default, _inputs(name, True))


@pytest.mark.parametrize("prefix", ["", "_"])
@pytest.mark.parametrize("name", FORWARD + BACKWARD)
def test_opcheck_without_gradients(name: str, prefix: str) -> None:
    operator = getattr(torch.ops.mgtune, prefix + name).default
    torch.library.opcheck(operator, _inputs(name, False))


@pytest.mark.parametrize("name", BACKWARD)
@pytest.mark.parametrize("needs_dw", [False])
def test_opcheck_without_dw(name: str, needs_dw: bool) -> None:
    if "norm" in name:
        inputs = (*_inputs(name, False)[:-1], needs_dw)
        torch.library.opcheck(getattr(torch.ops.mgtune, name).default, inputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.int64, torch.bool, torch.complex64])
def test_dtypes_without_kernels(dtype: torch.dtype) -> None:
    x, name = torch.ones(3, 64, dtype=dtype), str(dtype).removeprefix("torch.")
    for call in (
        lambda: torch.ops.mgtune.rms_norm(x, x[0], 1e-5),
        lambda: torch.ops.mgtune.add_rms_norm(x, x, x[0], 1e-5),
        lambda: torch.ops.mgtune.swiglu(x, x),
        lambda: torch.ops.mgtune.swiglu_packed(x),
    ):
        with pytest.raises(ValueError, match=f"float32, float16 and bfloat16, but the tensor is {name}"):
            call()


def test_messages_name_both_dtypes() -> None:
    x = torch.ones(3, 64)
    with pytest.raises(ValueError, match="x is float32, weight is float16; weight must have x's dtype or float32"):
        torch.ops.mgtune.rms_norm(x, torch.ones(64).half(), 1e-5)
    with pytest.raises(ValueError, match="gate is float32, up is float64; they must have the same dtype"):
        torch.ops.mgtune.swiglu(x, x.double())


def _all(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    y = mt.rms_norm(x, weight, 1e-5) + mt.rms_norm(x)
    y, s = mt.add_rms_norm(y, x, weight, 1e-5, 1.0)
    return mt.swiglu(y, s).sum() + mt.swiglu_packed(x).sum()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_has_no_graph_break(backend: str) -> None:
    torch.compiler.reset()
    x, weight = torch.randn(3, 64, requires_grad=True), torch.randn(64, requires_grad=True)
    expected = torch.autograd.grad(_all(x, weight), (x, weight))
    compiled = torch.compile(_all, fullgraph=True, backend=backend)
    actual = torch.autograd.grad(compiled(x, weight), (x, weight))
    for one, other in zip(actual, expected, strict=True):
        expect_close(one, other, torch.float32)
    with torch.no_grad():
        expect_close(compiled(x, weight), _all(x, weight), torch.float32)


def test_compile_with_dynamic_shapes() -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x: mt.rms_norm(x), fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (2, 3, 5):
        x = torch.randn(rows, 64)
        expect_close(compiled(x), reference_norm(x, torch.ones(64), 1.2e-7), torch.float32)


def test_the_first_call_may_be_a_compiled_one() -> None:
    torch.compiler.reset()
    from mgtune.torch import _functions

    _functions._ready_devices.clear()
    x = torch.randn(3, 64)
    compiled = torch.compile(lambda x: mt.rms_norm(x), fullgraph=True, backend="aot_eager")
    expect_close(compiled(x), reference_norm(x, torch.ones(64), 1.2e-7), torch.float32)


def test_export() -> None:
    model = torch.nn.Sequential(mt.RMSNorm(64), mt.SwiGLU(64, 32)).eval()
    x = torch.randn(3, 64)
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: rows},))
    names = {str(node.target) for node in exported.graph.nodes}
    assert {"mgtune.rms_norm.default", "mgtune.swiglu_packed.default"} <= names
    more = torch.randn(5, 64)
    assert torch.equal(exported.module()(more), model(more))


def test_func_transforms() -> None:
    x, weight = torch.randn(3, 64), torch.randn(64)
    gradient = torch.func.grad(lambda x: mt.rms_norm(x, weight, 1e-5).sum())(x)
    each = torch.func.vmap(lambda row: mt.rms_norm(row, weight, 1e-5))(x)
    expect_close(each, mt.rms_norm(x, weight, 1e-5), torch.float32)
    x.requires_grad_()
    expected = torch.autograd.grad(mt.rms_norm(x, weight, 1e-5).sum(), x)[0]
    expect_close(gradient, expected, torch.float32)


def test_meta_tensors_have_shapes() -> None:
    x = torch.empty(3, 64, device="meta")
    assert mt.rms_norm(x).shape == (3, 64)
    assert mt.swiglu_packed(x).shape == (3, 32)


def test_the_import_leaves_the_compiler_alone() -> None:
    import subprocess
    import sys

    code = "import sys, torch, mgtune.torch; assert 'torch._dynamo' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
