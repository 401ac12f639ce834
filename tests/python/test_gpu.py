"""What only a GPU shows. Each test skips where there is none."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from conftest import DTYPES, expect_close, reference_norm, reference_swiglu, relative_error

import mgtune.torch as mt

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows", "hidden"), [(1, 8), (3, 333), (17, 64), (4096, 4096), (2, 262144), (1000, 5120)]
)
def test_values_and_gradients(dtype: torch.dtype, rows: int, hidden: int) -> None:
    x, residual, dy, ds = (torch.randn(rows, hidden, device="cuda", dtype=dtype) for _ in range(4))
    weight = torch.randn(hidden, device="cuda", dtype=dtype, requires_grad=True)
    x.requires_grad_()
    y = mt.rms_norm(x, weight, 1e-6)
    expected = reference_norm(x, weight, 1e-6)
    expect_close(y, expected, dtype)
    for one, other in zip(
        torch.autograd.grad(y, (x, weight), dy),
        torch.autograd.grad(expected, (x, weight), dy.double()),
        strict=True,
    ):
        expect_close(one, other, dtype)
    y, s = mt.add_rms_norm(x, residual, weight, 1e-6)
    exact = (x + residual).double()
    for one, other in zip(
        torch.autograd.grad((y, s), (x, weight), (dy, ds)),
        torch.autograd.grad(
            (reference_norm(exact, weight, 1e-6), exact), (x, weight), (dy.double(), ds.double())
        ),
        strict=True,
    ):
        expect_close(one, other, dtype)
    gate, up = residual.requires_grad_(), ds.requires_grad_()
    for one, other in zip(
        torch.autograd.grad(mt.swiglu(gate, up), (gate, up), dy),
        torch.autograd.grad(reference_swiglu(gate, up), (gate, up), dy.double()),
        strict=True,
    ):
        expect_close(one, other, dtype)


def test_pointers_aligned_to_two_bytes() -> None:
    x = torch.randn(64 * 1024 + 1, device="cuda", dtype=torch.bfloat16)[1:].view(64, 1024)
    weight = torch.randn(1025, device="cuda", dtype=torch.bfloat16)[1:]
    expect_close(mt.rms_norm(x, weight, 1e-6), reference_norm(x, weight, 1e-6), torch.bfloat16)


def test_capture_in_a_graph() -> None:
    x = torch.randn(64, 1024, device="cuda", requires_grad=True)
    weight = torch.randn(1024, device="cuda", requires_grad=True)

    def both() -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(mt.rms_norm(x, weight, 1e-6).sum(), (x, weight))

    mt.warmup(both)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = both()
    with torch.no_grad():
        x.copy_(torch.randn_like(x))
    graph.replay()
    for one, other in zip(captured, both(), strict=True):
        assert torch.equal(one, other)


def test_a_shape_that_was_never_planned_is_not_captured() -> None:
    x = torch.randn(5, 776, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=r"never planned.*warmup"), torch.cuda.graph(graph):
        mt.rms_norm(x, torch.ones(776, device="cuda"))
    expect_close(
        mt.rms_norm(x), reference_norm(x, torch.ones(776, device="cuda"), 1.2e-7), torch.float32
    )


def test_other_streams_and_freed_tensors() -> None:
    weight = torch.randn(4096, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(3)]
    results = []
    torch.cuda.synchronize()
    for i in range(12):
        with torch.cuda.stream(streams[i % 3]):
            x = torch.full((512, 4096), float(i + 1), device="cuda")
            torch.cuda._sleep(100_000)
            results.append(mt.rms_norm(x, weight, 0.0))
            del x  # the allocator may give its memory to the next launch of this stream
    torch.cuda.synchronize()
    for y in results:
        torch.testing.assert_close(y, weight.expand(512, -1), atol=1e-5, rtol=1e-5)


def test_a_result_that_another_stream_reads() -> None:
    side, weight = torch.cuda.Stream(), torch.ones(4096, device="cuda")
    copies = []
    for i in range(8):
        y = mt.rms_norm(torch.full((512, 4096), float(i + 1), device="cuda"), weight, 0.0)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(100_000)
            copies.append(y.clone())
        y.record_stream(side)
        del y  # its memory must wait for the other stream
    torch.cuda.synchronize()
    for one in copies:
        torch.testing.assert_close(one, torch.ones_like(one), atol=1e-5, rtol=1e-5)


def test_another_device_than_the_current_one() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    x = torch.randn(64, 1024, device="cuda:1")
    assert torch.cuda.current_device() == 0
    expect_close(mt.rms_norm(x), reference_norm(x, torch.ones(1024, device="cuda:1"), 1.2e-7), torch.float32)
    assert torch.cuda.current_device() == 0


def test_inputs_on_two_devices() -> None:
    with pytest.raises(ValueError, match="weight is on cpu, the other tensors on cuda:0"):
        mt.rms_norm(torch.ones(2, 64, device="cuda"), torch.ones(64))


def test_compile() -> None:
    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y, s = mt.add_rms_norm(mt.rms_norm(x, weight), x, weight)
        return mt.swiglu(y, s)

    x = torch.randn(64, 1024, device="cuda", requires_grad=True)
    weight = torch.randn(1024, device="cuda", requires_grad=True)
    compiled = torch.compile(function, fullgraph=True)
    for one, other in zip(
        torch.autograd.grad(compiled(x, weight).sum(), (x, weight)),
        torch.autograd.grad(function(x, weight).sum(), (x, weight)),
        strict=True,
    ):
        expect_close(one, other, torch.float32)


def test_autocast() -> None:
    x, weight = torch.randn(4, 64, device="cuda"), torch.ones(64, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        assert mt.rms_norm(x.bfloat16(), weight).dtype == torch.bfloat16


def test_tune(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGTUNE_DB", f"{tmp_path}/results.db")
    mt.reload_tables()
    norm = mt.RMSNorm(2048, device="cuda", dtype=torch.bfloat16).train()
    x = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    report = mt.tune(norm, x, budget="10s")
    assert {row.operator for row in report.rows} == {"rmsnorm.forward", "rmsnorm.backward"}
    assert not report.is_emulation
    assert all(row.speedup > 0.9 for row in report.rows), str(report)
    print(report)
    assert norm.weight is not None
    expect_close(norm(x), reference_norm(x, norm.weight, 1.2e-7), torch.bfloat16)
    monkeypatch.undo()
    mt.reload_tables()


def test_a_row_without_other_dims() -> None:
    x = torch.randn(4096, device="cuda", requires_grad=True)
    y = mt.rms_norm(x)
    expect_close(y, reference_norm(x, torch.ones_like(x), 1.2e-7), torch.float32)
    y.sum().backward()


@pytest.mark.parametrize("rows", [1, 16, 100, 2048])
def test_gate_up(rows: int) -> None:
    x = torch.randn(rows, 1024, device="cuda").bfloat16().requires_grad_()
    weight = (torch.randn(2 * 2816, 1024, device="cuda") / 32).bfloat16().requires_grad_()
    dh = torch.randn(rows, 2816, device="cuda").bfloat16()
    gate, up = (x.double() @ half.double().t() for half in weight.chunk(2))
    expected = torch.autograd.grad(reference_swiglu(gate, up), (x, weight), dh.double())
    packed = mt.swiglu_gate_up_packed(x, weight, prefer="mgtune")
    h = mt.swiglu_gate_up(x, *weight.chunk(2), prefer="mgtune")
    assert torch.equal(h, packed)
    expect_close(h, reference_swiglu(gate, up), torch.bfloat16)
    for some in (packed, h):
        for one, other in zip(torch.autograd.grad(some, (x, weight), dh), expected, strict=True):
            expect_close(one, other, torch.bfloat16)
    with torch.no_grad():
        expect_close(mt.swiglu_gate_up_packed(x, weight, prefer="mgtune"), h, torch.bfloat16)


def test_gate_up_in_a_graph() -> None:
    x = torch.randn(16, 1024, device="cuda").bfloat16()
    weight = (torch.randn(2 * 2816, 1024, device="cuda") / 32).bfloat16()

    def project() -> torch.Tensor:
        return mt.swiglu_gate_up_packed(x, weight, prefer="mgtune")

    mt.warmup(project)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = project()
    for _ in range(2):  # the counters in its workspace are as before
        x.copy_(torch.randn_like(x))
        graph.replay()
        assert torch.equal(captured, project())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_attention(dtype: torch.dtype) -> None:
    q = torch.randn(2, 200, 32, 128, device="cuda", dtype=dtype).transpose(1, 2)
    k, v = (torch.randn(2, 8, 200, 128, device="cuda", dtype=dtype) for _ in range(2))
    for queries, is_causal in ((200, True), (200, False), (1, False)):
        inputs = q[:, :, :queries], k, v
        options = {"is_causal": is_causal, "enable_gqa": True}
        o = mt.attention(*inputs, **options, prefer="mgtune")  # type: ignore[arg-type]
        wide = [one.double() for one in inputs]
        expected = torch.nn.functional.scaled_dot_product_attention(*wide, **options)
        expect_close(o, expected, dtype)


@pytest.mark.parametrize("head_dim", [64, 128])
def test_gradients_of_attention(head_dim: int) -> None:
    def head(rows: int, count: int) -> torch.Tensor:
        return torch.randn(2, count, rows, head_dim, device="cuda", dtype=torch.bfloat16)

    for queries, keys, causal in ((300, 300, True), (130, 333, False)):
        inputs = [head(queries, 8), head(keys, 2), head(keys, 2)]
        wide = [one.double().requires_grad_() for one in inputs]
        for one in inputs:
            one.requires_grad_()
        dout = head(queries, 8)
        options: dict[str, Any] = {"is_causal": causal, "enable_gqa": True}
        expected = torch.autograd.grad(
            torch.nn.functional.scaled_dot_product_attention(*wide, **options), wide, dout.double()
        )
        runs = [
            torch.autograd.grad(mt.attention(*inputs, **options, prefer="mgtune"), inputs, dout)
            for _ in range(2)
        ]
        for one, again, other in zip(*runs, expected, strict=True):
            assert relative_error(one, other) < 1.5e-2
            assert torch.equal(one, again)


def test_attention_in_a_graph() -> None:
    q = torch.randn(2, 32, 1, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(2, 8, 700, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def decode() -> torch.Tensor:
        return mt.attention(q, k, v, enable_gqa=True, prefer="mgtune")

    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=r"attention.decode was never planned.*warmup"):
        with torch.cuda.graph(graph):
            decode()
    mt.warmup(decode)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = decode()
    q.copy_(torch.randn_like(q))
    graph.replay()
    assert torch.equal(captured, decode())


def test_a_decoding_step_that_auto_takes() -> None:
    q = torch.randn(8, 32, 1, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(8, 8, 1024, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    o = mt.attention(q, k, v, enable_gqa=True)
    wide = [one.double() for one in (q, k, v)]
    expect_close(
        o, torch.nn.functional.scaled_dot_product_attention(*wide, enable_gqa=True), torch.bfloat16
    )
