"""patch() on small models with random weights, of each family of transformers that it names."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import mgtune.torch as mt
from conftest import relative_error
from mgtune.torch import _attention

transformers = pytest.importorskip("transformers")

SIZES = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# The family's config, and how many norms, MLPs and residual adds are replaced.
FAMILIES = {
    "LlamaConfig": (5, 2, 2),
    "MistralConfig": (5, 2, 2),
    "Qwen2Config": (5, 2, 2),
    "Qwen3Config": (9, 2, 2),
    "Gemma2Config": (9, 0, 0),
    "Gemma3TextConfig": (13, 0, 0),
    "Phi3Config": (5, 2, 0),
}


def make_model(family: str) -> Any:
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, family)(**SIZES))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model


@pytest.fixture(name="tokens")
def _tokens() -> torch.Tensor:
    return torch.randint(3, 128, (2, 7))


@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_and_gradients(family: str, tokens: torch.Tensor) -> None:
    model = make_model(family)
    original = copy.deepcopy(model)
    report = mt.patch(model)
    norms, mlps, adds = FAMILIES[family]
    kinds = [one.what for one in report.replaced]
    assert kinds.count("RMSNorm") == norms
    assert sum("SwiGLU" in kind for kind in kinds) == mlps
    assert sum("residual" in kind for kind in kinds) == adds
    actual, expected = (one(input_ids=tokens, labels=tokens) for one in (model, original))
    torch.testing.assert_close(actual.logits, expected.logits, atol=2e-5, rtol=1e-4)
    actual.loss.backward()
    expected.loss.backward()
    for (name, one), other in zip(
        model.named_parameters(), original.parameters(), strict=True
    ):
        assert one.grad is not None, name
        torch.testing.assert_close(one.grad, other.grad, atol=2e-5, rtol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_unpatch_restores(family: str, tokens: torch.Tensor) -> None:
    model = make_model(family)
    expected = model(input_ids=tokens).logits
    types = [type(module) for module in model.modules()]
    report = mt.patch(model)
    assert mt.unpatch(model) == len(report.replaced)
    assert [type(module) for module in model.modules()] == types
    assert torch.equal(model(input_ids=tokens).logits, expected)
    assert mt.unpatch(model) == 0


def test_bfloat16_is_as_close_as_the_original(tokens: torch.Tensor) -> None:
    model = make_model("LlamaConfig")
    exact = copy.deepcopy(model).double()(input_ids=tokens).logits
    model.to(torch.bfloat16)
    before = (model(input_ids=tokens).logits.double() - exact).norm()
    mt.patch(model)
    after = (model(input_ids=tokens).logits.double() - exact).norm()
    assert after < 1.2 * before


def test_types_and_state_dicts_stay() -> None:
    model = make_model("LlamaConfig")
    state, norm_type = copy.deepcopy(model.state_dict()), type(model.model.norm)
    mt.patch(model)
    assert isinstance(model.model.norm, norm_type)
    assert type(model.model.norm).__name__ == norm_type.__name__
    assert list(model.state_dict()) == list(state)
    model.load_state_dict(state)
    make_model("LlamaConfig").load_state_dict(model.state_dict())


def test_copies_and_pickles(tokens: torch.Tensor, tmp_path: Path) -> None:
    model = make_model("LlamaConfig")
    mt.patch(model)
    expected = model(input_ids=tokens).logits
    assert torch.equal(copy.deepcopy(model)(input_ids=tokens).logits, expected)
    assert torch.equal(pickle.loads(pickle.dumps(model))(input_ids=tokens).logits, expected)
    torch.save({"model": model, "tokens": tokens, "expected": expected}, tmp_path / "model.pt")
    code = (
        "import torch\n"
        f"saved = torch.load({str(tmp_path / 'model.pt')!r}, weights_only=False)\n"
        "logits = saved['model'](input_ids=saved['tokens']).logits\n"
        "assert torch.equal(logits, saved['expected'])\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_a_saved_model_needs_no_mgtune(tokens: torch.Tensor, tmp_path: Path) -> None:
    model = make_model("LlamaConfig")
    expected = model(input_ids=tokens).logits
    mt.patch(model)
    model.save_pretrained(tmp_path)
    assert "mgtune" not in (tmp_path / "config.json").read_text()
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(loaded(input_ids=tokens).logits, expected)


def test_generate_and_padding(tokens: torch.Tensor) -> None:
    model = make_model("LlamaConfig").eval()
    original = copy.deepcopy(model)
    mt.patch(model)
    options = {"max_new_tokens": 5, "do_sample": False}
    assert torch.equal(model.generate(tokens, **options), original.generate(tokens, **options))
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    actual, expected = (
        one(input_ids=tokens, attention_mask=mask).logits for one in (model, original)
    )
    torch.testing.assert_close(actual[mask.bool()], expected[mask.bool()], atol=2e-5, rtol=1e-4)


def test_a_sliding_window(tokens: torch.Tensor) -> None:
    config = transformers.MistralConfig(**SIZES, sliding_window=4)
    model = transformers.AutoModelForCausalLM.from_config(config)
    original = copy.deepcopy(model)
    mt.patch(model)
    torch.testing.assert_close(
        model(input_ids=tokens).logits, original(input_ids=tokens).logits, atol=2e-5, rtol=1e-4
    )


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("family", ["LlamaConfig", "Qwen3Config"])
def test_compile_builds_no_mask(family: str, use_cache: bool, tokens: torch.Tensor) -> None:
    torch.compiler.reset()
    model = make_model(family)
    model.config.use_cache = use_cache
    expected = model(input_ids=tokens).logits
    mt.patch(model)
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(model, backend=backend)
    torch.testing.assert_close(compiled(input_ids=tokens).logits, expected, atol=2e-5, rtol=1e-4)
    calls = [
        node
        for graph in graphs
        for node in graph.graph.nodes
        if "scaled_dot_product_attention" in str(node.target)
    ]
    assert len(calls) == 2
    assert all(node.kwargs.get("attn_mask") is None for node in calls)
    assert any("rms_norm" in str(node.target) for graph in graphs for node in graph.graph.nodes)


def test_packed_sequences_keep_their_mask() -> None:
    model = make_model("LlamaConfig")
    model.config.use_cache = False
    original = copy.deepcopy(model)
    mt.patch(model)
    tokens = torch.randint(3, 128, (1, 9))
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])  # two sequences in one row
    expected = original(input_ids=tokens, position_ids=positions).logits
    assert not torch.allclose(expected, original(input_ids=tokens).logits, atol=1e-3)
    for run in (model, torch.compile(model, backend="eager")):
        actual = run(input_ids=tokens, position_ids=positions).logits
        torch.testing.assert_close(actual, expected, atol=2e-5, rtol=1e-4)


def test_gradient_checkpointing(tokens: torch.Tensor) -> None:
    model = make_model("LlamaConfig").train()
    mt.patch(model)
    model(input_ids=tokens, labels=tokens).loss.backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model.gradient_checkpointing_enable()
    model(input_ids=tokens, labels=tokens).loss.backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_hooks_see_every_norm(tokens: torch.Tensor) -> None:
    model = make_model("LlamaConfig")
    mt.patch(model)
    expected = model(input_ids=tokens).logits
    seen = []
    norm = model.model.layers[0].post_attention_layernorm
    norm.register_forward_hook(lambda *_: seen.append(1))
    torch.testing.assert_close(model(input_ids=tokens).logits, expected)
    assert seen == [1]


def test_what_is_left_and_why() -> None:
    class OtherRMSNorm(torch.nn.Module):
        def __init__(self, formula: str) -> None:
            super().__init__()
            self.formula = formula
            self.weight = torch.nn.Parameter(torch.ones(64))
            self.eps = 1e-6

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.formula == "raises":
                raise ValueError("no")
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
            return 2 * y if self.formula == "doubled" else y

    model = torch.nn.ModuleDict({word: OtherRMSNorm(word) for word in ("right", "doubled", "raises")})
    model["replaced"] = OtherRMSNorm("right")
    model["replaced"].forward = lambda x: x
    model["meta"] = OtherRMSNorm("right").to("meta")
    model["wide"] = OtherRMSNorm("right").double()
    report = mt.patch(model)
    assert [one.name for one in report.replaced] == ["right"]
    why = {one.name: one.why for one in report.left}
    assert "another formula" in why["doubled"]
    assert "ValueError: no" in why["raises"]
    assert "something else has replaced its forward" in why["replaced"]
    assert "meta device" in why["meta"]
    assert "torch.float64" in why["wide"]
    text = str(report)
    assert "replaced  OtherRMSNorm  x1" in text and "another formula" in text
    assert repr(report) == "PatchReport(replaced=1, left=5)"
    assert [one.why for one in mt.patch(model).left if one.name == "right"] == ["it is patched already"]
    assert "nothing replaced" in str(mt.patch(torch.nn.Linear(2, 2)))


# ---- gated MLPs ----


@pytest.mark.parametrize(("family", "kernel"), [("LlamaConfig", "_kernel"), ("Phi3Config", "_packed_kernel")])
def test_projections_and_swiglu_in_one_kernel(
    family: str, kernel: str, tokens: torch.Tensor, gate_up_kernels: list[str]
) -> None:
    model = make_model(family).bfloat16()
    exact, unpatched = copy.deepcopy(model).double(), copy.deepcopy(model)
    state = copy.deepcopy(model.state_dict())
    report = mt.patch(model, mlp="mgtune")
    assert sum("SwiGLU" in one.what for one in report.replaced) == 2
    for one in (model, exact, unpatched):
        one(input_ids=tokens, labels=tokens).loss.backward()
    assert gate_up_kernels == 2 * [f"{kernel}_with_products"]

    def error_of(some: Any) -> float:
        pairs = zip(some.parameters(), exact.parameters(), strict=True)
        return sum(float((one.grad.double() - other.grad).norm()) for one, other in pairs)

    assert error_of(model) < 1.2 * error_of(unpatched)
    with torch.no_grad():
        logits, expected = (one(input_ids=tokens).logits for one in (model, exact))
    assert relative_error(logits, expected) < 5e-2
    assert gate_up_kernels[2:] == 2 * [kernel]
    assert list(model.state_dict()) == list(state)
    assert all(torch.equal(one, other) for one, other in zip(model.state_dict().values(), state.values()))
    again = pickle.loads(pickle.dumps(model))
    with torch.no_grad():
        assert torch.equal(again(input_ids=tokens).logits, logits)
    assert gate_up_kernels[4:] == 2 * [kernel]
    mt.unpatch(model)
    model(input_ids=tokens)
    assert len(gate_up_kernels) == 6


def test_projections_that_are_called(tokens: torch.Tensor, gate_up_kernels: list[str]) -> None:
    model = make_model("LlamaConfig").bfloat16()
    mt.patch(model, mlp="mgtune")
    seen = []
    model.model.layers[0].mlp.up_proj.register_forward_hook(lambda *_: seen.append(1))
    with torch.no_grad():
        model(input_ids=tokens)
    assert seen == [1] and len(gate_up_kernels) == 1
    biased = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**SIZES, mlp_bias=True)).bfloat16()
    mt.patch(biased, mlp="mgtune")
    with torch.no_grad():
        biased(input_ids=tokens)
    assert len(gate_up_kernels) == 1


def test_auto_leaves_projections_to_pytorch_where_nothing_was_measured(
    tokens: torch.Tensor, gate_up_kernels: list[str]
) -> None:
    model = make_model("LlamaConfig").bfloat16()
    mt.patch(model)
    with torch.no_grad():
        model(input_ids=tokens)
    assert not gate_up_kernels
    with pytest.raises(ValueError, match="mlp is 'fast'; it must be 'auto' or 'mgtune'"):
        mt.patch(model, mlp="fast")


def test_compile_sees_one_operator_for_an_mlp(tokens: torch.Tensor) -> None:
    torch.compiler.reset()
    model = make_model("LlamaConfig").bfloat16()
    mt.patch(model, mlp="mgtune")
    graphs: list[torch.fx.GraphModule] = []
    run = torch.compile(model.model.layers[0].mlp, backend=lambda graph, _: graphs.append(graph) or graph, fullgraph=True)
    x = torch.randn(1, 5, 64).bfloat16()
    assert torch.equal(run(x), model.model.layers[0].mlp(x))
    targets = [str(node.target) for node in graphs[0].graph.nodes if node.op == "call_function"]
    calls = [target for target in targets if "mgtune" in target or "linear" in target]
    assert len(calls) == 2 and "swiglu_gate_up" in calls[0] and "linear" in calls[1], targets


# ---- attention ----

# The kernels have 16-bit dtypes and a head_dim of 64 and more.
WIDE = {"head_dim": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1}


def make_wide_model(family: str, **more: Any) -> Any:
    config = getattr(transformers, family)(**{**SIZES, **WIDE, **more})
    model = transformers.AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model.half().eval()


@pytest.fixture(name="kernels")
def _kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of mgtune's attention kernels that have run."""
    names: list[str] = []
    for name in ("_prefill_kernel", "_decode_kernel"):
        kernel = getattr(_attention, name)

        def spy(*arguments: Any, name: str = name, kernel: Any = kernel) -> Any:
            names.append(name)
            return kernel(*arguments)

        monkeypatch.setattr(_attention, name, spy)
    return names


def run_with_cache(model: Any, tokens: torch.Tensor, cache: Any, steps: int = 3) -> list[torch.Tensor]:
    """The logits of a prompt, and of each of the steps that decode the same next tokens."""
    with torch.no_grad():
        logits = [model(input_ids=tokens, past_key_values=cache, use_cache=True).logits]
        for step in range(steps):
            token = tokens[:, step : step + 1]
            logits.append(model(input_ids=token, past_key_values=cache, use_cache=True).logits)
    return logits


def make_cache(kind: str, model: Any) -> Any:
    if kind == "dynamic":
        return transformers.DynamicCache(config=model.config)
    return transformers.StaticCache(config=model.config, max_cache_len=15)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
@pytest.mark.parametrize("family", FAMILIES)
def test_attention_with_a_cache(
    family: str, kind: str, tokens: torch.Tensor, kernels: list[str]
) -> None:
    has_window = family in ("MistralConfig", "Gemma2Config", "Gemma3TextConfig")
    more: dict[str, Any] = {"sliding_window": 8} if has_window else {}
    if family == "Gemma2Config":
        more["attn_logit_softcapping"] = 0.3  # so low that it matters
    model = make_wide_model(family, **more)
    previous = model.config._attn_implementation
    assert previous == ("eager" if family == "Gemma2Config" else "sdpa")
    expected = run_with_cache(model, tokens, make_cache(kind, model))
    report = mt.patch(model, attention="mgtune")
    assert "attention and its causal mask" in [one.what for one in report.replaced]
    actual = run_with_cache(model, tokens, make_cache(kind, model))
    for one, other in zip(actual, expected, strict=True):
        assert relative_error(one, other) < 1e-2
    if kind == "dynamic":
        assert kernels == ["_prefill_kernel"] + 3 * ["_decode_kernel"]
    elif not more:
        assert kernels[-3:] == 3 * ["_decode_kernel"]
    mt.unpatch(model)
    assert model.config._attn_implementation == previous
    count = len(kernels)
    for one, other in zip(run_with_cache(model, tokens, make_cache(kind, model)), expected, strict=True):
        assert torch.equal(one, other)
    assert len(kernels) == count


def test_auto_leaves_attention_to_pytorch_where_nothing_was_measured(
    tokens: torch.Tensor, kernels: list[str]
) -> None:
    model = make_wide_model("LlamaConfig")
    mt.patch(model)
    for kind in ("dynamic", "static"):
        run_with_cache(model, tokens, make_cache(kind, model))
    assert not kernels
    with pytest.raises(ValueError, match="attention is 'fast'; it must be 'auto' or 'mgtune'"):
        mt.patch(model, attention="fast")


def test_attention_trains(tokens: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[torch.Tensor] = []
    operator = _attention._prefill_operator
    monkeypatch.setattr(_attention, "_prefill_operator", lambda *inputs: calls.append(inputs[0]) or operator(*inputs))
    model = make_wide_model("LlamaConfig").train()
    original = copy.deepcopy(model).double()
    mt.patch(model, attention="mgtune")
    for one in (model, original):
        one(input_ids=tokens, labels=tokens, use_cache=False).loss.backward()
    assert len(calls) == 1
    for parameter, other in zip(model.parameters(), original.parameters(), strict=True):
        assert relative_error(parameter.grad, other.grad) < 2e-2


@pytest.mark.parametrize("family", ["LlamaConfig", "Gemma2Config"])
def test_attention_with_gradients_is_the_models(
    family: str, tokens: torch.Tensor, kernels: list[str]
) -> None:
    model = make_wide_model(family).float().train()
    original = copy.deepcopy(model)
    mt.patch(model, attention="mgtune")
    for one in (model, original):
        one(input_ids=tokens, labels=tokens).loss.backward()
    with torch.no_grad():  # float32 has no kernels
        actual, expected = (one(input_ids=tokens).logits for one in (model, original))
    torch.testing.assert_close(actual, expected, atol=2e-5, rtol=1e-4)
    assert not kernels
    for parameter, other in zip(model.parameters(), original.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, atol=2e-5, rtol=1e-3)


def test_attention_with_padding(tokens: torch.Tensor, kernels: list[str]) -> None:
    model = make_wide_model("LlamaConfig")
    options = {"max_new_tokens": 3, "do_sample": False, "output_logits": True}
    mask = torch.ones_like(tokens)
    mask[0, :3] = 0
    for padding in (mask, torch.ones_like(tokens)):
        for cache in ("dynamic", "static"):
            options |= {"attention_mask": padding, "cache_implementation": cache}
            options |= {"return_dict_in_generate": True, "disable_compile": True}
            expected = model.generate(tokens, **options).logits
            mt.patch(model, attention="mgtune")
            actual = model.generate(tokens, **options).logits
            mt.unpatch(model)
            for one, other in zip(actual, expected, strict=True):
                assert relative_error(one, other) < 1e-2
            # The kernels take no padding mask.
            assert bool(kernels) == bool(padding.all())
            kernels.clear()


def test_a_static_cache_under_compile(tokens: torch.Tensor) -> None:
    torch.compiler.reset()
    model = make_wide_model("LlamaConfig")
    expected = run_with_cache(model, tokens, make_cache("static", model))
    mt.patch(model, attention="mgtune")
    names: list[str] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        names.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    cache = make_cache("static", model)
    with torch.no_grad():
        model(input_ids=tokens, past_key_values=cache, use_cache=True)
        step = torch.compile(model, backend=backend, fullgraph=True)
        actual = step(input_ids=tokens[:, :1], past_key_values=cache, use_cache=True).logits
    assert relative_error(actual, expected[1]) < 1e-2
    assert any("attention_decode" in name for name in names)


def test_soft_capped_attention_is_left(tokens: torch.Tensor) -> None:
    model = make_model("Gemma2Config")
    left = [one.why for one in mt.patch(model).left]
    assert any("it caps its logits" in why for why in left)
    assert model.config._attn_implementation == "eager"
