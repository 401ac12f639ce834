"""When swiglu_gate_up runs as one kernel: layers that have hooks, a rule from measurements, tuning."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import expect_close
from test_gate_up import HIDDEN, SIZE, reference, tensors

import mgtune.torch as mt
from mgtune import _program
from mgtune.torch import _functions, _gate_up, _gate_up_rule, _tune

# ---- layers ----


def linear(**options: Any) -> torch.nn.Linear:
    return torch.nn.Linear(SIZE, HIDDEN, **{"bias": False, "dtype": torch.bfloat16, **options})


class OtherLinear(torch.nn.Linear):
    """As a quantized or a sharded layer: another forward, or none that is known here."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


class Adapter(torch.nn.Module):
    """As a layer with an adapter of low rank has it: a weight of its own and more."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.layer = layer

    @property
    def weight(self) -> torch.Tensor:
        return self.layer.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + 1


def with_own_forward() -> torch.nn.Linear:
    layer = linear()
    layer.forward = lambda x: 3 * F.linear(x, layer.weight)  # type: ignore[method-assign]
    return layer


def with_hook(register: str) -> torch.nn.Linear:
    layer = linear()
    getattr(layer, register)(lambda *_: None)
    return layer


def parametrized() -> torch.nn.Linear:
    layer = linear()
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", torch.nn.Tanh())
    return layer


OTHERS: dict[str, Callable[[], torch.nn.Module]] = {
    "bias": lambda: linear(bias=True),
    "subclass": lambda: OtherLinear(SIZE, HIDDEN, bias=False, dtype=torch.bfloat16),
    "adapter": lambda: Adapter(linear()),
    "own forward": with_own_forward,
    "forward hook": lambda: with_hook("register_forward_hook"),
    "forward pre-hook": lambda: with_hook("register_forward_pre_hook"),
    "backward hook": lambda: with_hook("register_full_backward_hook"),
    "backward pre-hook": lambda: with_hook("register_full_backward_pre_hook"),
    "parametrized": parametrized,
}


@pytest.mark.parametrize("name", OTHERS)
def test_layers_that_do_more_are_called(name: str, gate_up_kernels: list[str]) -> None:
    x, plain, other = tensors()[0], linear(), OTHERS[name]()
    with torch.no_grad():
        for gate, up in ((plain, other), (other, plain)):
            expected = mt.swiglu(gate(x), up(x))
            assert torch.equal(_gate_up.swiglu_of_layers(x, gate, up, "mgtune"), expected)
        expected = mt.swiglu_packed(other(x))
        assert torch.equal(_gate_up.swiglu_of_packed_layer(x, other, "mgtune"), expected)
        assert not gate_up_kernels
        _gate_up.swiglu_of_layers(x, plain, linear(), "mgtune")
        _gate_up.swiglu_of_packed_layer(x, plain, "mgtune")
    assert gate_up_kernels == ["_kernel", "_packed_kernel"]


def test_hooks_of_all_modules_are_called(gate_up_kernels: list[str]) -> None:
    x, gate, up = tensors()[0], linear(), linear()
    seen: list[torch.nn.Module] = []
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(module))
    with torch.no_grad():
        _gate_up.swiglu_of_layers(x, gate, up, "mgtune")
        handle.remove()
        assert seen == [gate, up] and not gate_up_kernels
        _gate_up.swiglu_of_layers(x, gate, up, "mgtune")
    assert gate_up_kernels == ["_kernel"]


def test_the_module(gate_up_kernels: list[str]) -> None:
    mlp = mt.SwiGLU(64, HIDDEN, dtype=torch.bfloat16, prefer="mgtune")
    assert repr(mlp).startswith("SwiGLU(\n  prefer='mgtune'\n")
    assert "prefer" not in repr(mt.SwiGLU(64, HIDDEN))
    plain = mt.SwiGLU(64, HIDDEN, dtype=torch.bfloat16)
    plain.load_state_dict(mlp.state_dict())
    assert list(plain.state_dict()) == ["w12.weight", "w3.weight"]
    x = torch.randn(3, 64).bfloat16()
    wide = [one.double() for one in mlp.w12.weight.chunk(2)]
    expected = reference(x, *wide) @ mlp.w3.weight.double().t()
    expect_close(mlp(x), expected, torch.bfloat16)
    assert gate_up_kernels == ["_packed_kernel_with_products"]
    expect_close(plain(x), expected, torch.bfloat16)
    mt.SwiGLU(64, HIDDEN, bias=True, dtype=torch.bfloat16, prefer="mgtune")(x)
    assert len(gate_up_kernels) == 1
    torch.compiler.reset()
    compiled = torch.compile(mlp, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), mlp(x))


# ---- the rule ----


def _measured() -> dict[tuple[int, int, int], float]:
    """m, n, k -> the time of cuBLAS's product of both weights over mgtune's, in the last run of the page."""
    # Beside the tests where run.sh copies it, two folders up in the source tree.
    roots = Path(__file__).resolve().parents[1:3]
    path = next(root for root in roots if (root / "results").is_dir()) / "results/h200/gemm.md"
    pattern = r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|.*\| mgtune_gate_up \| [\d.]+ \| ([\d.]+) \| \d+ \|$"
    number = lambda word: int(word.replace(",", ""))
    return {
        (number(m), number(n), number(k)): float(ratio)
        for m, n, k, ratio in re.findall(pattern, path.read_text(), re.M)
    }


def test_the_rule_is_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _measured()
    assert len(measured) == 21
    monkeypatch.setattr(_gate_up_rule, "gpu_name", lambda index: "NVIDIA H200")
    gpu = torch.device("cuda", 0)

    def rule(m: int = 2048, n: int = 14336, k: int = 4096, device: Any = gpu, dtype: Any = torch.bfloat16) -> bool:
        return _gate_up_rule.is_faster(device, dtype, m, n, k)

    for (m, n, k), ratio in measured.items():
        # SwiGLU follows the product. From 2,048 rows on it takes 3 % of the product's time or more. With few rows
        # it takes 1.4 us, which are to pay for the counters of each call, so the kernel itself must not be slower.
        assert rule(m, n, k) == (ratio > 0.97 if m >= 2048 else ratio >= 1 and k <= 4096), (m, n, k)
    assert rule(5) and rule(100000) and rule(2048, 20000, 10000)
    for other in (
        {"m": 0},
        {"m": 17},
        {"m": 2047},
        {"n": 11008},
        {"k": 2048},
        {"dtype": torch.float16},
        {"device": torch.device("cpu")},
    ):
        assert not rule(**other), other  # type: ignore[arg-type]
    for name in ("NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "NVIDIA L4"):
        monkeypatch.setattr(_gate_up_rule, "gpu_name", lambda index, name=name: name)
        assert not rule()


def test_auto_asks_the_rule(monkeypatch: pytest.MonkeyPatch, gate_up_kernels: list[str]) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(_gate_up, "is_faster", lambda *sizes: asked.append(sizes) or True)
    x, gate, up = tensors(2, 3)
    mt.swiglu_gate_up(x, gate, up)
    mt.swiglu_gate_up_packed(x, torch.cat((gate, up)))
    assert asked == 2 * [(x.device, torch.bfloat16, 6, HIDDEN, SIZE)]
    assert gate_up_kernels == ["_kernel", "_packed_kernel"]
    mt.swiglu_gate_up(x, gate.requires_grad_(), up)  # was not measured
    assert len(asked) == len(gate_up_kernels) == 2


def test_tune_measures_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[str] = []

    def sweep(shapes: Path, device: str, seconds: float) -> dict[str, Any]:
        """In the place of measuring: the program says what it would try."""
        recorded.extend(shapes.read_text().splitlines())
        command = [str(_program.program()), "sweep", "--shapes", str(shapes), "--gpu", device, "--dry-run"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert re.search(r"swiglu.gate_up .* mma_sync +\d+ +[1-9]", output), output
        return {"sweeps": []}

    monkeypatch.setattr(_tune, "_sweep", sweep)
    mlp = mt.SwiGLU(SIZE, HIDDEN, dtype=torch.bfloat16, prefer="mgtune")
    mt.tune(mlp.train(), tensors()[0])
    mt.tune(mlp.eval(), tensors()[0])
    problems = [json.loads(line)["problem"] for line in recorded if "gate_up" in line]
    assert problems == [
        # Gate and up are stored side by side.
        "m=5 n=32 k=72 gate_stride=64 up_stride=64 T=bf16 gate=true up=true",
        "m=5 n=32 k=72 T=bf16",
    ]


def test_without_kernels(monkeypatch: pytest.MonkeyPatch, gate_up_kernels: list[str]) -> None:
    monkeypatch.setattr(_functions, "_is_ready", lambda x: False)
    inputs = tensors()
    assert "do not run here" in _gate_up.why_linear(inputs[0], tuple(inputs[1:]), "mgtune")
    monkeypatch.setattr(_functions, "_ready_devices", set())
    monkeypatch.setattr(_functions, "_is_every_gpu_ready", False)
    expect_close(mt.swiglu_gate_up(*inputs, prefer="mgtune"), reference(*inputs), torch.bfloat16)
    assert not gate_up_kernels
