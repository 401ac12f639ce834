"""What all Python tests share: the references, the tolerances, and which tests this machine can run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mgtune.torch as mt
from mgtune.torch import _gate_up, _library

# Of results and gradients against float64, relative to the norm.
TOLERANCES = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 6e-3}
DTYPES = list(TOLERANCES)


def relative_error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    actual, expected = actual.detach(), expected.detach()
    difference = (actual.double().cpu() - expected.double().cpu()).norm()
    return float(difference / expected.double().cpu().norm().clamp_min(1e-30))


def expect_close(actual: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype) -> None:
    assert actual.shape == expected.shape
    assert relative_error(actual, expected) < TOLERANCES[dtype]


def reference_norm(
    x: torch.Tensor, weight: torch.Tensor, eps: float, offset: float = 0.0
) -> torch.Tensor:
    wide = x.double()
    return wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps) * (weight.double() + offset)


def reference_swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return gate.double() * torch.sigmoid(gate.double()) * up.double()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    no_gpu = "" if torch.cuda.is_available() else "there is no GPU"
    no_gpu = no_gpu or mt.why_unavailable("cuda")
    for item in items:
        if no_gpu and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=no_gpu))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA GPU")
    # Without its library every test would pass on PyTorch's own operators.
    assert _library.has_operators(), f"nothing of mgtune is tested: {_library._library.problem}"


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    torch.manual_seed(0)


@pytest.fixture(name="gate_up_kernels")
def _gate_up_kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels of swiglu_gate_up that eager calls have run."""
    names: list[str] = []
    for name in ("_kernel", "_packed_kernel", "_kernel_with_products", "_packed_kernel_with_products"):
        kernel = getattr(_gate_up, name)

        def spy(*arguments: Any, name: str = name, kernel: Any = kernel) -> Any:
            names.append(name)
            return kernel(*arguments)

        monkeypatch.setattr(_gate_up, name, spy)
    return names
