"""RMSNorm, AddRMSNorm and SwiGLU."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from conftest import expect_close, reference_swiglu

import mgtune.torch as mt


@pytest.mark.parametrize("shape", [64, (64,), (2, 32)])
@pytest.mark.parametrize("affine", [True, False])
def test_rms_norm_is_that_of_pytorch(shape: int | tuple[int, ...], affine: bool) -> None:
    ours = mt.RMSNorm(shape, eps=1e-5, elementwise_affine=affine)
    theirs = torch.nn.RMSNorm(shape, eps=1e-5, elementwise_affine=affine)
    if affine:
        torch.nn.init.normal_(theirs.weight)
    ours.load_state_dict(theirs.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.normalized_shape == theirs.normalized_shape
    x = torch.randn(3, 2, 32) if shape == (2, 32) else torch.randn(3, 64)
    expect_close(ours(x), theirs(x), torch.float32)
    assert repr(ours) == repr(theirs)


def test_rms_norm_takes_device_and_dtype() -> None:
    norm = mt.RMSNorm(64, device="meta", dtype=torch.bfloat16)
    assert norm.weight is not None
    assert norm.weight.device.type == "meta" and norm.weight.dtype == torch.bfloat16


def test_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="63"):
        mt.RMSNorm(64)(torch.randn(3, 63))
    with pytest.raises(ValueError, match="63"):
        mt.RMSNorm(64, elementwise_affine=False)(torch.randn(3, 63))
    with pytest.raises(ValueError, match="last dims"):
        mt.RMSNorm((2, 32))(torch.randn(3, 64))


def test_weight_offset_starts_with_factors_of_one() -> None:
    norm, x = mt.RMSNorm(64, weight_offset=1.0), torch.randn(3, 64)
    assert torch.equal(norm.weight, torch.zeros(64))  # type: ignore[arg-type]
    expect_close(norm(x), torch.nn.functional.rms_norm(x, (64,)), torch.float32)
    assert "weight_offset=1.0" in repr(norm)


@pytest.mark.parametrize("shape", [64, (2, 32)])
def test_add_rms_norm(shape: int | tuple[int, ...]) -> None:
    size = (3, 64) if shape == 64 else (3, 2, 32)
    norm, x, residual = mt.AddRMSNorm(shape), torch.randn(size), torch.randn(size)
    y, s = norm(x, residual)
    assert torch.equal(s, x + residual)
    expect_close(y, mt.RMSNorm(shape)(s), torch.float32)


def test_swiglu() -> None:
    mlp, x = mt.SwiGLU(64, 48, bias=True), torch.randn(3, 64)
    gate, up = mlp.w12(x).chunk(2, dim=-1)
    expect_close(mlp(x), mlp.w3(reference_swiglu(gate, up).float()), torch.float32)


@pytest.mark.parametrize("names", [("w1", "w2", "w3"), ("gate_proj", "up_proj", "down_proj")])
@pytest.mark.parametrize("bias", [False, True])
def test_swiglu_loads_separate_projections(names: tuple[str, str, str], bias: bool) -> None:
    gate, up, down = names
    separate = torch.nn.ModuleDict(
        {
            gate: torch.nn.Linear(64, 48, bias=bias),
            up: torch.nn.Linear(64, 48, bias=bias),
            down: torch.nn.Linear(48, 64, bias=bias),
        }
    )
    model = torch.nn.ModuleDict({"mlp": mt.SwiGLU(64, 48, bias=bias)})
    state = {f"mlp.{name}": value for name, value in separate.state_dict().items()}
    model.load_state_dict(state)
    assert len(state) == (6 if bias else 3)  # the caller's dictionary is as it was
    x = torch.randn(3, 64)
    expected = separate[down](reference_swiglu(separate[gate](x), separate[up](x)).float())
    expect_close(model["mlp"](x), expected, torch.float32)
    again = mt.SwiGLU(64, 48, bias=bias)
    again.load_state_dict(model["mlp"].state_dict())
    assert torch.equal(again(x), model["mlp"](x))


def test_copies_and_pickles() -> None:
    model, x = torch.nn.Sequential(mt.RMSNorm(64), mt.SwiGLU(64, 32)), torch.randn(3, 64)
    expected = model(x)
    assert torch.equal(copy.deepcopy(model)(x), expected)
    assert torch.equal(pickle.loads(pickle.dumps(model))(x), expected)
