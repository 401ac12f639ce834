"""The peers of scripts/compare_with_peers.py --all compute the same, as far as they run on a CPU."""
import pathlib
import sys

import pytest
import torch

# Beside the tests' folder, where run.sh copies both, or in the repository.
sys.path[:0] = [str(folder / "scripts") for folder in pathlib.Path(__file__).resolve().parents[1:3]]
import peer_implementations as implementations  # noqa: E402

PROBLEMS = {
    **{operator: {"rows": 12, "hidden": 64, "T": "f32"} for operator in implementations.OPERATORS if "attention" not in operator},
    **{operator: {"m": 12, "n": 64, "k": 32, "T": "f32"} for operator in implementations.PRODUCTS},
    "attention.prefill": {"batch": 2, "seq_q": 16, "seq_k": 16, "heads": 4, "kv_heads": 2, "head_dim": 64, "causal": True, "T": "bf16"},
}


def outputs_of(peer, operator, problem, inputs):
    [call] = implementations.calls_of(torch, peer, operator, problem, [inputs])
    outputs = call()
    return outputs if isinstance(outputs, tuple) else (outputs,)


@pytest.mark.parametrize("operator", [operator for operator in PROBLEMS if "attention" not in operator])
def test_peers_agree(operator):
    problem = PROBLEMS[operator]
    torch.manual_seed(1)
    inputs = implementations.inputs_of(torch, operator, problem, device="cpu")
    peers = [peer for peer in implementations.peers_of(operator) if peer.package == "torch" and not peer.is_compiled]
    first, *others = (outputs_of(peer, operator, problem, inputs) for peer in peers)
    for other in others:
        torch.testing.assert_close(other, first)
    assert len(first) == (2 if operator in ("rmsnorm.backward", *implementations.ADDED_NORMS, "swiglu.backward") else 1)
    assert first[0].shape == (12, 64)


def test_gradients_of_added_norms_hold_that_of_the_sum():
    operator, problem = "rmsnorm.add_backward", PROBLEMS["rmsnorm.add_backward"]
    torch.manual_seed(1)
    (x, residual, weight), (dy, dsum) = implementations.inputs_of(torch, operator, problem, device="cpu")
    dx, dw = outputs_of(implementations.EAGER, operator, problem, ((x, residual, weight), (dy, dsum)))
    plain, plain_dw = outputs_of(implementations.EAGER, "rmsnorm.backward", problem, ((x + residual, weight), (dy,)))
    torch.testing.assert_close(dx, plain + dsum)
    torch.testing.assert_close(dw, plain_dw)


def test_attention_of_flash_has_the_layout_of_q():
    operator, problem = "attention.prefill", PROBLEMS["attention.prefill"]
    inputs = implementations.inputs_of(torch, operator, problem, device="cpu")
    (q, k, v), _ = inputs
    [o] = outputs_of(implementations.FLASH, operator, problem, inputs)
    expected = torch.nn.functional.scaled_dot_product_attention(*(each.transpose(1, 2).float() for each in (q, k, v)), is_causal=True,
                                                                enable_gqa=True).transpose(1, 2)
    assert o.shape == q.shape
    torch.testing.assert_close(o.float(), expected, atol=2e-2, rtol=2e-2)


def test_gradients_of_attention_of_flash():
    operator, problem = "attention.backward", PROBLEMS["attention.prefill"]
    inputs = implementations.inputs_of(torch, operator, problem, device="cpu")
    (q, k, v), (dout,) = inputs
    wide = [each.detach().double().requires_grad_() for each in (q, k, v)]
    o = torch.nn.functional.scaled_dot_product_attention(*(each.transpose(1, 2) for each in wide), is_causal=True, enable_gqa=True)
    expected = torch.autograd.grad(o.transpose(1, 2), wide, dout.double())
    for one, other in zip(outputs_of(implementations.FLASH, operator, problem, inputs), expected, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one.double(), other, atol=3e-2, rtol=3e-2)


def test_packed_sequences_are_as_even_as_possible():
    assert implementations.lengths_of({"tokens_q": 11, "sequences": 3}) == [4, 4, 3]
