"""What a call costs the host, as counts: the package's functions that run, and the operators that PyTorch dispatches.

Times are in results/h200/pytorch.md. They differ between minutes, but these counts do not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch

import mgtune.torch as mt


def functions_of(call: Callable[[], object]) -> list[str]:
    """The functions of the package that a call runs."""
    names: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("mgtune."):
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def operators_of(call: Callable[[], object]) -> list[str]:
    """The operators that a call dispatches, also those that others call."""
    with torch.autograd.profiler.profile() as profile:
        call()
    return [event.name for event in profile.function_events if "::" in event.name]


def matrix(needs_gradient: bool, columns: int = 64) -> torch.Tensor:
    return torch.randn(3, columns, requires_grad=needs_gradient)


def calls(needs_gradient: bool) -> dict[str, Callable[[], object]]:
    """Each functional form."""
    x, residual = matrix(needs_gradient), matrix(needs_gradient)
    weight = torch.nn.Parameter(torch.ones(64), requires_grad=needs_gradient)
    return {
        "rms_norm": lambda: mt.rms_norm(x, weight, 1e-5),
        "add_rms_norm": lambda: mt.add_rms_norm(x, residual, weight, 1e-5),
        "swiglu": lambda: mt.swiglu(x, residual),
        "swiglu_packed": lambda: mt.swiglu_packed(x),
    }


@pytest.mark.parametrize("name", list(calls(False)))
def test_without_a_gradient(name: str) -> None:
    call = calls(False)[name]
    call()  # plans
    assert functions_of(call) == [name]
    assert operators_of(call) == [f"mgtune::_{name}"]


@pytest.mark.parametrize("name", list(calls(False)))
def test_with_a_gradient(name: str) -> None:
    call = calls(True)[name]
    call()
    assert functions_of(call) == [name, "forward"]
    kernel = f"{name}_with_rstd" if "norm" in name else name
    assert operators_of(call) == [f"mgtune::_{kernel}"]


def test_the_module_adds_one_function() -> None:
    norm, x = mt.RMSNorm(64), matrix(True)
    norm(x)
    assert functions_of(lambda: norm(x)) == ["forward", "rms_norm", "forward"]


def test_a_backward_is_one_operator() -> None:
    for call in calls(True).values():
        y = call()
        y = y[0] if isinstance(y, tuple) else y
        assert isinstance(y, torch.Tensor)
        dy = torch.ones_like(y)
        names = operators_of(lambda y=y, dy=dy: y.backward(dy))  # type: ignore[misc]
        assert sum(name.startswith("mgtune::") for name in names) == 1, names
