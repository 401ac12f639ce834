"""Gradients of attention: those of the operators and of mgtune.torch.attention."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from conftest import relative_error
from test_attention import OPS, SCALE, TOLERANCES, expect_right, gradients, heads, reference

import mgtune.torch as mt
from mgtune.torch import _attention


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("causal", "queries"), [(True, 20), (False, 20), (True, 12), (False, 1)])
def test_gradients(causal: bool, queries: int, dtype: torch.dtype) -> None:
    inputs = [heads(queries, 4, dtype), heads(20, 2, dtype), heads(20, 2, dtype)]
    wide = [one.double().requires_grad_() for one in inputs]
    expected = gradients(reference(*wide, causal=causal), *wide)
    for one in inputs:
        one.requires_grad_()
    actual = gradients(OPS.attention(*inputs, SCALE, causal), *inputs)
    for one, other in zip(actual, expected, strict=True):
        expect_right(one, other)
    again = gradients(OPS.attention(*inputs, SCALE, causal), *inputs)
    assert all(torch.equal(one, other) for one, other in zip(actual, again, strict=True))


def test_gradients_of_views_and_of_one_input() -> None:
    packed_rows = torch.randn(2, 20, 3 * 2 * 128).half().requires_grad_()
    q, k, v = packed_rows.view(2, 20, 3, 2, 128).permute(2, 0, 3, 1, 4)
    (actual,) = gradients(OPS.attention(q, k, v, SCALE, True), packed_rows)
    wide = packed_rows.detach().double().requires_grad_()
    expected = gradients(reference(*wide.view(2, 20, 3, 2, 128).permute(2, 0, 3, 1, 4), causal=True), wide)
    expect_right(actual, expected[0])
    q, k, v = (one.detach() for one in (q, k, v))
    k.requires_grad_()
    (one,) = gradients(OPS.attention(q, k, v, SCALE), k)
    wide = k.detach().double().requires_grad_()
    expect_right(one, *gradients(reference(q, wide, v), wide))


def test_gradients_of_nothing() -> None:
    q, k = heads(20, 4), heads(20, 2)
    o, lse = OPS.attention_with_lse(q, k, k, SCALE)
    for shape in ((slice(0),), (slice(None), slice(None), slice(0))):
        dq, dk, dv = OPS.attention_backward(q[shape], q[shape], k[: len(q[shape])], k[: len(q[shape])], o[shape], lse[shape], SCALE)
        assert dq.shape == q[shape].shape
        assert not dk.any() and not dv.any()
    nothing = k[:, :, :0]
    assert not OPS.attention_backward(q, q, nothing, nothing, o, lse, SCALE)[0].any()


def test_gradients_that_have_no_kernel_are_refused() -> None:
    q = heads(20, 2).requires_grad_()
    for inputs in ((q, q, q, SCALE, False, 3), (q, q, q, SCALE, False, -1, 2.0)):
        with pytest.raises(RuntimeError, match="mgtune.attention has a gradient for a head_dim of 64 and 128"):
            OPS.attention(*inputs)
    wide = torch.randn(1, 1, 20, 96).half().requires_grad_()
    with pytest.raises(RuntimeError, match="without a window and a softcap; use mgtune.torch.attention"):
        OPS.attention(wide, wide, wide, SCALE)
    with pytest.raises(RuntimeError, match="create_graph=True"):
        torch.autograd.grad(OPS.attention(q, q, q, SCALE).sum(), q, create_graph=True)


@pytest.mark.parametrize("queries", [20, 4])
def test_gradients_are_those_of_pytorch(queries: int) -> None:
    inputs = [heads(rows, 2).requires_grad_() for rows in (queries, 20, 20)]
    causal = queries == 20
    expected = gradients(F.scaled_dot_product_attention(*inputs, is_causal=causal), *inputs)
    actual = gradients(mt.attention(*inputs, is_causal=causal, prefer="mgtune"), *inputs)
    for one, other in zip(actual, expected, strict=True):
        assert relative_error(one, other) < TOLERANCES[torch.bfloat16]
    # It was not measured with its gradient.
    assert "measured" in _attention.why_sdpa(*inputs, is_causal=causal)
    for one, other in zip(gradients(mt.attention(*inputs, is_causal=causal), *inputs), expected, strict=True):
        assert torch.equal(one, other)
