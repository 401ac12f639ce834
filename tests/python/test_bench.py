"""The parts of mgtune.bench that need no GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import torch

from mgtune.bench import __main__ as bench
from mgtune.bench import attention
from mgtune.bench.gate_up import eager_gate_up, gate_ups
from mgtune.bench.norm import eager_norm, norms
from mgtune.bench.swiglu import gates
from mgtune.bench.table import Row, Table
from mgtune.bench.training import kind_of


def test_candidates_compute_the_same() -> None:
    x, weight = torch.randn(3, 64), torch.randn(64)
    for name, norm in norms(compiles=False).items():
        torch.testing.assert_close(norm(x, weight), eager_norm(x, weight), msg=name)
    for gate in gates(compiles=False).values():
        torch.testing.assert_close(gate(x, x), torch.nn.functional.silu(x) * x)
    weights = torch.randn(2, 32, 64) / 8
    expected = eager_gate_up(x, *weights)
    for name, gate_up in gate_ups(compiles=False).items():
        h = gate_up(x.bfloat16(), *weights.bfloat16())
        torch.testing.assert_close(h.float(), expected, atol=5e-2, rtol=5e-2, msg=name)


@pytest.mark.parametrize(
    "case",
    [
        # Shapes of test_attention.py: their kernels are compiled once.
        attention.Case("prefill", (20, 20), 4, 2, 64),
        attention.Case("prefill", (20, 20), 4, 2, 64, is_causal=False),
        attention.Case("varlen", (5, 15), 4, 2, 64),
        attention.Case("decode", (20, 20), 4, 2, 64),
    ],
    ids=str,
)
def test_attentions_compute_the_same(
    case: attention.Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "flash_attn", fake_flash_attn())
    inputs = attention.inputs_of(case, "cpu")
    able = attention.running(attention.attentions(case, "cpu"), case, "cpu")
    # PyTorch has no cuDNN here, and no attention over packed sequences.
    assert list(able) == ["mgtune", *([] if case.kind == "varlen" else ["flash"]), "flash_attn"]
    assert f"does not run {case}: " in capsys.readouterr().err
    results = {name: one(*inputs) for name, one in able.items()}
    for name, result in results.items():
        assert result.shape == inputs[0].shape
        torch.testing.assert_close(result, results["flash_attn"], atol=2e-2, rtol=2e-2, msg=name)


def fake_flash_attn() -> ModuleType:
    """The three functions of flash_attn that the benchmark calls, computed by PyTorch."""

    def dense(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=True
        ).transpose(1, 2)

    def cached(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cache_seqlens: int) -> torch.Tensor:
        return dense(q, k[:, :cache_seqlens], v[:, :cache_seqlens])

    def packed(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, q_starts: torch.Tensor, *_: object, causal: bool
    ) -> torch.Tensor:
        bounds = zip(q_starts[:-1].tolist(), q_starts[1:].tolist(), strict=True)
        parts = [dense(*(one[None, low:high] for one in (q, k, v)), causal=causal) for low, high in bounds]
        return torch.cat(parts, dim=1)[0]

    module: Any = ModuleType("flash_attn")
    module.flash_attn_func, module.flash_attn_with_kvcache, module.flash_attn_varlen_func = dense, cached, packed
    return cast(ModuleType, module)


def test_the_cases_of_attention_have_names() -> None:
    names = [str(case) for case in attention.CASES]
    assert names[0] == "8 x 2048, 32/8 heads of 64, causal"
    assert "8 of 128 to 3072, 32/8 heads of 128, causal" in names
    assert "64 x 8192, 32/8 heads of 128" in names


def test_a_table_of_times() -> None:
    table = Table("title", "us", rows=[Row("one", {"mgtune": 2.0, "other": 3.0}), Row("two", {"mgtune": 1.0})])
    assert str(table).splitlines() == [
        "title",
        "case  mgtune (us)  other (us)  other/mgtune",
        "one          2.00        3.00         1.50x",
        "two          1.00           -             -",
    ]
    rows = table.document()["rows"]
    assert isinstance(rows, list)
    assert rows[0] == {"case": "one", "values": {"mgtune": 2.0, "other": 3.0}, "speedup_over": {"other": 1.5}}


def test_what_one_side_does_not_do_has_no_ratio() -> None:
    table = Table("title", "ms", rows=[Row("one", {"mgtune": 0.0, "other": 3.0})])
    assert str(table).splitlines()[2].split() == ["one", "0.00", "3.00", "-"]
    rows = table.document()["rows"]
    assert isinstance(rows, list) and rows[0]["speedup_over"] == {"other": None}


def test_a_chart(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from mgtune.bench.plot import plot

    table = Table("title", "us", rows=[Row("one", {"mgtune": 2.0}), Row("two", {"mgtune": 1.0, "other": 3.0})])
    plot([table], tmp_path / "chart.svg")
    assert "<svg" in (tmp_path / "chart.svg").read_text()


def test_the_command_line_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    table = Table("title", "us", rows=[Row("one", {"mgtune": 2.0, "other": 3.0})])
    monkeypatch.setattr(bench.mt, "why_unavailable", lambda device: "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(bench.norm, "host_table", lambda: table)
    chart, document = tmp_path / "chart.svg", tmp_path / "figures.json"
    assert bench.main(["--only", "host", "--plot", str(chart), "--json", str(document)]) == 0
    assert "<svg" in chart.read_text() and "1.5" in document.read_text()
    assert "1.50x" in capsys.readouterr().out
    # Without matplotlib it says what to install, and has printed the table.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert bench.main(["--only", "host", "--plot", str(chart)]) == 2
    output = capsys.readouterr()
    assert "pip install mgtune[plot]" in output.err and "1.50x" in output.out


def test_a_table_of_rates() -> None:
    table = Table("title", "tokens/s", True, [Row("one", {"mgtune": 3.0, "other": 2.0})])
    assert str(table).splitlines()[2].endswith("1.50x")


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "attention"),
        ("nvjet_hsh_128x256_64x4", "matrix products"),
        ("rmsnorm_backward<__nv_bfloat16>", "mgtune"),
        ("multi_tensor_apply_kernel<FusedAdamMathFunctor>", "optimizer"),
        ("triton_red_fused_mul", "other (norms, activations, additions, RoPE)"),
        ("triton_poi_fused__to_copy_mul", "other (norms, activations, additions, RoPE)"),
        ("Memcpy DtoD", "copies"),
    ],
)
def test_kinds_of_kernels(kernel: str, kind: str) -> None:
    assert kind_of(kernel) == kind


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--only", "norms"])
    assert "there is no part 'norms'" in capsys.readouterr().err
    if not torch.cuda.is_available():
        assert bench.main([]) == 4
        assert "needs a CUDA GPU" in capsys.readouterr().err
