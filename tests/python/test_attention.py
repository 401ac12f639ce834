"""Attention: the operators, mgtune.torch.attention, and the rule that says which kernels run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from conftest import relative_error

import mgtune.torch as mt
from mgtune.torch import _attention, _attention_rule, _model_attention

OPS = torch.ops.mgtune
SCALE = 0.125
# Of results against float64, relative to the norm.
TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1.5e-2}


def heads(rows: int, count: int, dtype: torch.dtype = torch.bfloat16, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, count, rows, 64, dtype=dtype)


def reference(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float = SCALE,
    causal: bool = False,
    window: int = -1,
    softcap: float = 0.0,
) -> torch.Tensor:
    """In float64, as kernels/attention/README.md defines it."""
    groups = q.shape[1] // k.shape[1]
    wide_k, wide_v = (one.double().repeat_interleave(groups, 1) for one in (k, v))
    logits = scale * q.double() @ wide_k.transpose(-1, -2)
    if softcap > 0:
        logits = softcap * torch.tanh(logits / softcap)
    queries, keys = logits.shape[-2:]
    distance = torch.arange(keys) - torch.arange(queries)[:, None] - (keys - queries)
    hidden = torch.zeros(queries, keys, dtype=torch.bool)
    if causal:
        hidden |= distance > 0
    if window >= 0:
        hidden |= distance.abs() > window
    return logits.masked_fill(hidden, -torch.inf).softmax(-1).nan_to_num(0.0) @ wide_v


def expect_right(actual: torch.Tensor, expected: torch.Tensor) -> None:
    assert actual.shape == expected.shape
    assert relative_error(actual, expected) < TOLERANCES[actual.dtype]


# ---- the operators ----


def test_attention() -> None:
    q, k, v = heads(20, 4), heads(20, 2), heads(20, 2)
    o = OPS.attention(q, k, v, SCALE, True)
    expect_right(o, reference(q, k, v, causal=True))
    assert o.transpose(1, 2).is_contiguous()  # joining the heads copies nothing


def test_attention_with_a_window_and_a_cap() -> None:
    q, k, v = (heads(20, 2, torch.float16) for _ in range(3))
    o = OPS.attention(q, k, v, SCALE, False, 3, 2.0)
    expect_right(o, reference(q, k, v, window=3, softcap=2.0))


def test_attention_on_views() -> None:
    def view(kind: str, count: int) -> torch.Tensor:
        return {
            "transposed": lambda: torch.randn(2, 20, count, 64).bfloat16().transpose(1, 2),
            "packed": lambda: torch.randn(2, count, 20, 3 * 64).bfloat16()[..., 64:128],
            "odd stride": lambda: torch.randn(2, count, 20, 67).bfloat16()[..., :64],
            "odd offset": lambda: torch.randn(2 * count * 20 * 64 + 1).bfloat16()[1:].view(2, count, 20, 64),
            "columns": lambda: torch.randn(2, count, 64, 20).bfloat16().transpose(2, 3),
            "expanded": lambda: torch.randn(2, 1, 20, 64).bfloat16().expand(2, count, 20, 64),
        }[kind]()

    for kind in ("transposed", "packed", "odd stride", "odd offset", "columns", "expanded"):
        q, k, v = view(kind, 4), view(kind, 2), view(kind, 2)
        expect_right(OPS.attention(q, k, v, SCALE, True), reference(q, k, v, causal=True))


def test_values_may_be_narrower_than_keys() -> None:
    q, k, v = torch.randn(2, 4, 20, 192).bfloat16(), torch.randn(2, 2, 20, 192).bfloat16(), torch.randn(2, 2, 20, 128).bfloat16()
    expected = reference(q, k, v, causal=True)
    o = OPS.attention(q, k, v, SCALE, True)
    expect_right(o, expected)
    assert o.transpose(1, 2).is_contiguous()
    torch.library.opcheck(OPS.attention, (q, k, v, SCALE, True), test_utils=("test_schema", "test_faketensor"))
    by_rule = mt.attention(q, k, v, is_causal=True, scale=SCALE, enable_gqa=True, prefer="mgtune")
    assert torch.equal(by_rule, o)
    assert _attention.why_sdpa(q, k, v, None, 0.0, True, None, True, "mgtune") == ""
    starts = torch.tensor([0, 5, 20], dtype=torch.int32)
    tokens = [one[0].transpose(0, 1) for one in (q, k, v)]
    varlen = OPS.attention_varlen(*tokens, starts, starts, 15, 15, SCALE, True)
    part = [one[5:20].transpose(0, 1)[None] for one in tokens]
    expect_right(varlen[5:20], reference(*part, causal=True)[0].transpose(0, 1))
    # Few queries do not run attention_decode, which has no such kernels.
    last = mt.attention(q[:, :, -1:], k, v, scale=SCALE, enable_gqa=True, prefer="mgtune")
    expect_right(last, reference(q[:, :, -1:], k, v))
    with pytest.raises(ValueError, match="k has.*v has"):
        OPS.attention(q, k, v[..., :64], SCALE)
    with pytest.raises(ValueError, match="k has.*v has"):
        OPS.attention_decode(q[:, :, :1], k, v, torch.full((2,), 20, dtype=torch.int32), SCALE)
    with pytest.raises(ValueError, match="192 with values of 128"):
        OPS.attention(q, k, k, SCALE)
    # A static cache that is not full.
    lengths = torch.tensor([[11], [20]], dtype=torch.int32)
    layer = torch.nn.Module()
    layer.num_key_value_groups = 2  # type: ignore[assignment]
    o, _ = _model_attention._attention_of_model(
        layer, q[:, :, -1:], k, v, lengths, scaling=SCALE, prefer="mgtune"
    )
    expected = torch.cat(
        [reference(q[b : b + 1, :, -1:], k[b : b + 1, :, :n], v[b : b + 1, :, :n]) for b, n in ((0, 11), (1, 20))]
    )
    assert relative_error(o.transpose(1, 2), expected) < TOLERANCES[o.dtype]


def packed() -> tuple[torch.Tensor, ...]:
    starts = torch.tensor([0, 5, 5, 20], dtype=torch.int32)
    q, k, v = (torch.randn(20, count, 64).bfloat16() for count in (4, 2, 2))
    return q, k, v, starts, starts


def test_attention_varlen() -> None:
    q, k, v, starts, _ = packed()
    o = OPS.attention_varlen(q, k, v, starts, starts, 15, 15, SCALE, True)
    for low, high in ((0, 5), (5, 20)):
        part = [one[low:high].transpose(0, 1)[None] for one in (q, k, v)]
        expected = reference(*part, causal=True)[0].transpose(0, 1)
        expect_right(o[low:high], expected)
    assert o.is_contiguous()


def test_attention_varlen_of_full_sequences() -> None:
    # The lower ends of these octaves, 4 sequences of 4 tokens, have no room for 49 tokens.
    starts = torch.arange(0, 50, 7, dtype=torch.int32)
    q, k, v = (torch.randn(49, count, 64).bfloat16() for count in (4, 2, 2))
    o = OPS.attention_varlen(q, k, v, starts, starts, 7, 7, SCALE, True)
    part = [one[42:].transpose(0, 1)[None] for one in (q, k, v)]
    expect_right(o[42:], reference(*part, causal=True)[0].transpose(0, 1))


def test_attention_decode_reads_no_row_behind_a_length() -> None:
    q, k, v = heads(1, 4), heads(20, 2), heads(20, 2)
    lengths = torch.tensor([20, 9], dtype=torch.int32)
    expected = [reference(q[i : i + 1], k[i : i + 1, :, :n], v[i : i + 1, :, :n]) for i, n in enumerate(lengths)]
    k[1, :, 9:], v[1, :, 9:] = torch.nan, torch.nan
    expect_right(OPS.attention_decode(q, k, v, lengths, SCALE), torch.cat(expected))
    strided = torch.stack((lengths, lengths), dim=1)[:, 0]
    expect_right(OPS.attention_decode(q, k, v, strided, SCALE), torch.cat(expected))
    nothing = OPS.attention_decode(q, k, v, torch.zeros_like(lengths), SCALE)
    assert torch.equal(nothing, torch.zeros_like(q))


def test_attention_decode_of_several_queries() -> None:
    q, k, v = heads(3, 4), heads(20, 2), heads(20, 2)
    lengths = torch.full((2,), 20, dtype=torch.int32)
    o = OPS.attention_decode(q, k, v, lengths, SCALE, 20, True)
    expect_right(o, reference(q, k, v, causal=True))


def paged() -> tuple[torch.Tensor, ...]:
    k, v = heads(16, 2, batch=4), heads(16, 2, batch=4)
    table = torch.tensor([[3, 1], [0, 2]], dtype=torch.int32)
    return heads(1, 4), k, v, torch.tensor([20, 9], dtype=torch.int32), table


def test_attention_decode_paged() -> None:
    q, k, v, lengths, table = paged()
    o = OPS.attention_decode_paged(q, k, v, lengths, table, SCALE)
    for i, length in enumerate(lengths):
        keys, values = (torch.cat([one[page] for page in table[i]], 1)[:, :length] for one in (k, v))
        expect_right(o[i : i + 1], reference(q[i : i + 1], keys[None], values[None]))


def _inputs(name: str) -> tuple[object, ...]:
    q, k, v = heads(20, 4), heads(20, 2), heads(20, 2)
    return {
        "attention": (q, k, v, SCALE, True),
        "attention_with_lse": (q, k, v, SCALE, True),
        "attention_backward": (q, q, k, v, *OPS.attention_with_lse(q, k, v, SCALE, True), SCALE, True),
        "attention_varlen": (*packed(), 15, 15, SCALE, True),
        "attention_decode": (q[:, :, :1], k, v, torch.tensor([20, 9], dtype=torch.int32), SCALE),
        "attention_decode_paged": (*paged(), SCALE),
    }[name]


WITHOUT_GRADIENT = ["attention_varlen", "attention_decode", "attention_decode_paged"]
NAMES = ["attention", "attention_with_lse", "attention_backward", *WITHOUT_GRADIENT]


@pytest.mark.parametrize("prefix", ["", "_"])
@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name: str, prefix: str) -> None:
    torch.library.opcheck(getattr(OPS, prefix + name).default, _inputs(name))


def gradients(o: torch.Tensor, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Of a loss that grows by a wave for each element of o."""
    wave = torch.sin(torch.arange(o.numel(), dtype=torch.float64)).view(o.shape)
    return torch.autograd.grad(o, inputs, wave.to(o.dtype))


@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_a_gradient_is_refused(name: str) -> None:
    inputs = _inputs(name)
    inputs[1].requires_grad_()  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match=f"mgtune.{name} has no gradient.*mgtune.torch.attention"):
        getattr(OPS, name)(*inputs)
    with torch.no_grad():
        getattr(OPS, name)(*inputs)


def test_autocast_keeps_the_dtype_of_operators() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        o = OPS.attention(*(heads(20, 2, torch.float16) for _ in range(3)), SCALE, False, 3, 2.0)
    assert o.dtype == torch.float16


def test_attention_of_nothing() -> None:
    q, k = heads(20, 4), heads(20, 2)
    assert OPS.attention(q[:0], k[:0], k[:0], SCALE).shape == (0, 4, 20, 64)
    assert OPS.attention(q[:, :, :0], k, k, SCALE).shape == (2, 4, 0, 64)
    nothing = k[:, :, :0]
    assert torch.equal(OPS.attention(q, nothing, nothing, SCALE), torch.zeros_like(q))
    lengths = torch.zeros(2, dtype=torch.int32)
    assert not OPS.attention_decode(q[:, :, :1], nothing, nothing, lengths, SCALE).any()


Q, K = torch.zeros(2, 4, 20, 64).bfloat16(), torch.zeros(2, 2, 20, 64).bfloat16()
WIDE_Q = torch.zeros(2, 4, 20, 96).bfloat16()
LENGTHS = torch.zeros(2, dtype=torch.int32)
STARTS = torch.tensor([0, 20], dtype=torch.int32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OPS.attention(Q[0], K, K, SCALE), r"q has the shape \(4, 20, 64\); it must be \(batch, heads, rows"),
        (lambda: OPS.attention(Q, K, K[:, :, :9], SCALE), "the shapes must be equal"),
        (lambda: OPS.attention(Q.float(), K, K, SCALE), "float16 and bfloat16, but q is float32"),
        (lambda: OPS.attention(Q.half(), K, K, SCALE), "q is float16, k is bfloat16; they must have the same dtype"),
        (lambda: OPS.attention(Q[..., :48], K, K, SCALE), "head_dim, must be equal"),
        (lambda: OPS.attention(Q[..., :48], K[..., :48], K[..., :48], SCALE), "head_dim 64, 96, 128 and 256"),
        (lambda: OPS.attention(Q[:, :3], K, K, SCALE), "must be a multiple"),
        (lambda: OPS.attention(Q[:1], K, K, SCALE), "the batches must be equal"),
        (lambda: OPS.attention(Q, K, K, 0.0), "scale is 0.0+; it must be positive"),
        (lambda: OPS.attention(Q, K, K, SCALE, False, -2), "window is -2"),
        (lambda: OPS.attention(Q, K, K, SCALE, False, -1, -1.0), "softcap is -1"),
        (lambda: OPS.attention_with_lse(Q, K[:, :, :0], K[:, :, :0], SCALE), "k has no rows"),
        (lambda: OPS.attention_backward(Q, Q, K, K, Q, Q[..., 0], SCALE), r"lse has the shape \(2, 4, 20\) and is bfloat16; it must be float32"),
        (lambda: OPS.attention_backward(Q[:1], Q, K, K, Q, Q[..., 0].float(), SCALE), "q has the shape .*dout"),
        (lambda: OPS.attention_backward(*5 * [WIDE_Q], Q[..., 0].float(), SCALE), "the head_dim is 96; attention_backward has kernels for 64 and 128"),
        (lambda: OPS.attention_decode(Q, K, K, LENGTHS, SCALE), "20 queries for each sequence; attention_decode takes 1 to 16"),
        (lambda: OPS.attention_decode(Q[:, :, :1], K, K, LENGTHS[:1], SCALE), r"kv_lens has the shape \(1\) and is int32; it must be int32 of shape \(2\)"),
        (lambda: OPS.attention_decode(Q[:, :, :1], K, K, LENGTHS.long(), SCALE), "is int64; it must be int32"),
        (lambda: OPS.attention_decode(Q[:, :, :1], K, K, LENGTHS, SCALE, 21), "kv_len is 21.*room for 20 keys"),
        (lambda: OPS.attention_decode_paged(Q[:, :, :1], K, K, LENGTHS, LENGTHS, SCALE), "block_table has the shape"),
        (lambda: OPS.attention_varlen(Q, K, K, STARTS, STARTS, 20, 20, SCALE), r"it must be \(tokens, heads, head_dim\)"),
        (lambda: OPS.attention_varlen(Q[0, 0, :, None], K[0, 0, :, None], K[0, 0, :, None], STARTS, STARTS, 9, 20, SCALE), "max_q is 9.*1 sequences have 20 tokens"),
    ],
)
def test_what_operators_refuse(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ---- mgtune.torch.attention ----


@pytest.mark.parametrize(
    ("queries", "is_causal"), [(20, True), (20, False), (1, False)]
)
def test_it_computes_what_pytorch_computes(queries: int, is_causal: bool) -> None:
    q, k, v = heads(queries, 4), heads(20, 2), heads(20, 2)
    expected = F.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=is_causal, enable_gqa=True
    )
    for prefer in _attention.PREFERENCES:
        o = mt.attention(q, k, v, is_causal=is_causal, enable_gqa=True, prefer=prefer)
        why = _attention.why_sdpa(q, k, v, None, 0.0, is_causal, None, True, prefer)
        assert (why == "") == (prefer == "mgtune")
        expect_right(o, expected)


def test_preferences_are_checked() -> None:
    with pytest.raises(ValueError, match="prefer is 'ours'; it must be one of 'auto', 'mgtune', 'sdpa'"):
        mt.attention(Q, K, K, prefer="ours")


@pytest.mark.parametrize(
    ("why", "arguments"),
    [
        ("mask", {"attn_mask": torch.ones(20, 20, dtype=torch.bool)}),
        ("dropout", {"dropout_p": 0.5}),
        ("scale", {"scale": -1.0}),
        ("numbers of heads", {"key": K, "value": K}),
        ("queries and keys", {"query": Q[:, :, :9], "is_causal": True}),
        ("float16 and bfloat16", {"query": Q.float(), "key": Q.float(), "value": Q.float()}),
        ("other dims", {"query": Q[0], "key": Q[0], "value": Q[0]}),
        ("head_dim", {"query": Q[..., :48], "key": Q[..., :48], "value": Q[..., :48]}),
        ("shapes", {"value": Q[..., :32]}),
        ("gradients", dict.fromkeys(("query", "key", "value"), torch.zeros(2, 4, 20, 96).half().requires_grad_())),
        ("subclass", {"query": torch.nn.Parameter(Q, requires_grad=False)}),
        ("'sdpa'", {"prefer": "sdpa"}),
        ("measured", {"prefer": "auto"}),
    ],
)
def test_when_pytorch_computes_it(why: str, arguments: dict[str, object]) -> None:
    call = {"query": Q, "key": Q, "value": Q, "prefer": "mgtune", **arguments}
    assert why in _attention.why_sdpa(**call)  # type: ignore[arg-type]
    assert _attention.why_sdpa(Q, Q, Q, prefer="mgtune") == ""


def test_under_autocast_pytorch_casts() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert "autocast" in _attention.why_sdpa(Q.half(), Q.half(), Q.half(), prefer="mgtune")
        assert _attention.why_sdpa(Q, Q, Q, prefer="mgtune") == ""
        assert mt.attention(Q.half(), Q.half(), Q.half()).dtype == torch.bfloat16


def test_meta_tensors_have_shapes() -> None:
    for prefer in _attention.PREFERENCES:
        assert mt.attention(*(one.to("meta") for one in (Q, K, K)), enable_gqa=True, prefer=prefer).shape == Q.shape


@pytest.mark.parametrize("queries", [20, 1])
def test_compile_and_export(queries: int) -> None:
    torch.compiler.reset()

    class Model(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return mt.attention(q, k, v, is_causal=queries > 1, enable_gqa=True, prefer="mgtune")

    inputs = heads(queries, 4), heads(20, 2), heads(20, 2)
    expected = Model()(*inputs)
    compiled = torch.compile(Model(), fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        assert torch.equal(compiled(*inputs), expected)
        exported = torch.export.export(Model(), inputs)
    assert any("mgtune.attention" in str(node.target) for node in exported.graph.nodes)
    assert torch.equal(exported.module()(*inputs), expected)
    inputs[0].requires_grad_()
    (gradient,) = gradients(compiled(*inputs), inputs[0])
    assert torch.equal(gradient, *gradients(Model()(*inputs), inputs[0]))


def test_vmap_runs_pytorchs_attention() -> None:
    each = torch.func.vmap(lambda q: mt.attention(q, q, q, prefer="mgtune"))(Q[None])
    assert torch.equal(each[0], F.scaled_dot_product_attention(Q, Q, Q))


# ---- the rule ----


def _measured() -> dict[tuple[int, int], float]:
    """Batch and keys -> mgtune's time over the faster of FlashAttention-2 and cuDNN."""
    # Beside the tests where run.sh copies it, two folders up in the source tree.
    roots = Path(__file__).resolve().parents[1:3]
    path = next(root for root in roots if (root / "results").is_dir()) / "results/h200/attention.md"
    rows = re.findall(r"^\| (\d+), ([\d,]+) \|.*\| ([\d.]+) \| [\d.]+ % \|$", path.read_text(), re.M)
    return {(int(batch), int(keys.replace(",", ""))): float(ratio) for batch, keys, ratio in rows}


def test_the_rule_is_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _measured()
    assert len(measured) == 9
    monkeypatch.setattr(_attention_rule, "gpu_name", lambda index: "NVIDIA H200")

    def rule(batch: int = 1, keys: int = 8192, **other: object) -> bool:
        call: dict[str, object] = {
            "device": torch.device("cuda", 0),
            "dtype": torch.bfloat16,
            "heads": 32,
            "kv_heads": 8,
            "head_dim": 128,
            "queries": 1,
            **other,
        }
        return _attention_rule.is_faster(batch=batch, keys=keys, **call)  # type: ignore[arg-type]

    for (batch, keys), ratio in measured.items():
        assert rule(batch, keys) == (ratio <= 0.95), (batch, keys)
    assert rule(4, 2000)
    assert rule(4, 2048, queries=2048) and rule(1, 8192, queries=8192, heads=16)
    for other in ({"queries": 8000}, {"heads": 8, "queries": 8192}, {"head_dim": 64, "queries": 8192}):
        assert not rule(1, **other), other
    # What was not measured is PyTorch's.
    assert not rule(1, 100) and not rule(16, 1024)
    for other in (
        {"device": torch.device("cpu")},
        {"dtype": torch.float16},
        {"heads": 16},
        {"kv_heads": 32},
        {"head_dim": 64},
        {"queries": 2},
    ):
        assert not rule(**other), other
    for name in ("NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "NVIDIA L4"):
        monkeypatch.setattr(_attention_rule, "gpu_name", lambda index, name=name: name)
        assert not rule()
