"""patch(): mgtune's kernels in the modules of a Hugging Face model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mgtune.torch import _fallback, _model_attention
from mgtune.torch._patched import LAYER_NORM, Change, patched_class, rewritten_forward

_WORDS = {
    "norm": "RMSNorm",
    "gated_mlp": "SwiGLU of gate_proj and up_proj",
    "packed_mlp": "SwiGLU of gate_up_proj",
    "residual_add": f"residual add in {LAYER_NORM}",
}
# How far two computations of one formula may be apart, relative to the norm of the result.
_TOLERANCES = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 4e-2}


@dataclass(frozen=True)
class Replaced:
    """A module that patch() changed."""

    name: str
    class_name: str
    what: str


@dataclass(frozen=True)
class Left:
    """A module that looks as if it could be changed, and why it was not."""

    name: str
    class_name: str
    why: str


@dataclass
class PatchReport:
    """What patch() did. print() shows it as a table."""

    replaced: list[Replaced] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    def __str__(self) -> str:
        replaced = Counter((one.class_name, one.what) for one in self.replaced)
        left = Counter((one.class_name, one.why) for one in self.left)
        if not replaced and not left:
            return "nothing replaced: the model has no RMSNorm and no gated MLP"
        rows = [("replaced", name, count, what) for (name, what), count in replaced.items()]
        rows += [("left", name, count, why) for (name, why), count in left.items()]
        width = max(len(row[1]) for row in rows)
        return "\n".join(
            f"{verb:<8}  {name:<{width}}  x{count:<4} {words}" for verb, name, count, words in rows
        )

    def __repr__(self) -> str:
        return f"PatchReport(replaced={len(self.replaced)}, left={len(self.left)})"


def _sample(rows: int, size: int, like: Tensor) -> Tensor:
    """Inputs that use no random numbers. The last row is small, so that eps matters."""
    x = torch.sin(torch.arange(rows * size, device=like.device, dtype=torch.float32) * 1.7)
    x = x.reshape(rows, size)
    x[-1] *= 1e-3
    return x.to(like.dtype)


def _computes(module: nn.Module, x: Tensor, expected: Tensor) -> bool:
    """Whether the module's own forward gives the expected result, row by row."""
    with torch.autocast(x.device.type, enabled=False):
        result = type(module).forward(module, x)
    if not isinstance(result, Tensor) or result.shape != expected.shape:
        return False
    difference = (result.float() - expected.float()).norm(dim=-1)
    scale = expected.float().norm(dim=-1)
    return bool((difference <= _TOLERANCES[x.dtype] * scale).all())


def _why_not_here(module: nn.Module, parameter: object) -> str:
    if "forward" in vars(module):
        return "something else has replaced its forward"
    if not isinstance(parameter, Tensor):
        return "it has no weight"
    if type(parameter) is not nn.Parameter:
        return f"its weight is a {type(parameter).__name__}"
    if parameter.is_meta:
        return "its weight is on the meta device; patch the model after loading it"
    if parameter.dtype not in _TOLERANCES:
        return f"its weight is {parameter.dtype}; there are kernels for float32, float16, bfloat16"
    return ""


def _norm_change(module: nn.Module) -> Change | str:
    weight = getattr(module, "weight", None)
    if why := _why_not_here(module, weight):
        return why
    assert isinstance(weight, nn.Parameter)
    eps_name = next((name for name in ("variance_epsilon", "eps") if hasattr(module, name)), None)
    if eps_name is None:
        return "it has no attribute variance_epsilon or eps"
    if weight.dim() != 1 or not isinstance(getattr(module, eps_name), float):
        return "its weight is not one row, or its eps is no float"
    x = _sample(3, weight.shape[0], weight)
    # A trial weight, because the module's own weight may be ones, and then 2 * y and (1 + weight) * y
    # are the same.
    trial = nn.Parameter(_sample(1, weight.shape[0], weight)[0] * 250 + 1.5, requires_grad=False)
    module._parameters["weight"] = trial
    try:
        for offset in (0.0, 1.0):
            expected = _fallback.rms_norm(x, trial, getattr(module, eps_name), offset)
            if _computes(module, x, expected):
                return Change("norm", eps_name, offset)
    finally:
        module._parameters["weight"] = weight
    return "it computes another formula than x / rms(x) * weight or * (1 + weight)"


def _mlp_change(module: nn.Module, prefer: str) -> Change | str:
    is_packed = hasattr(module, "gate_up_proj")
    first: Any = module.gate_up_proj if is_packed else module.gate_proj
    weight = getattr(first, "weight", None)
    if why := _why_not_here(module, weight):
        return why
    size = getattr(first, "in_features", None)
    if not isinstance(size, int) or not callable(getattr(module, "down_proj", None)):
        return "its projections are no linear layers"
    assert isinstance(weight, Tensor)
    x = _sample(2, size, weight)
    with torch.autocast(x.device.type, enabled=False):
        if is_packed:
            gate, up = torch.chunk(first(x), 2, dim=-1)
        else:
            gate, up = first(x), module.up_proj(x)  # type: ignore[operator]
        expected = module.down_proj(F.silu(gate) * up)  # type: ignore[operator]
    if not _computes(module, x, expected):
        return "it does not compute down(silu(gate) * up)"
    return Change("packed_mlp" if is_packed else "gated_mlp", prefer=prefer)


def _layer_change(module: nn.Module) -> Change | str:
    norm = getattr(module, LAYER_NORM)
    change = getattr(norm, "_mgtune_change", None)
    if change is None or change.kind != "norm":
        return f"its {LAYER_NORM} was not replaced"
    if "forward" in vars(module):
        return "something else has replaced its forward"
    if rewritten_forward(type(module), "residual_add") is None:
        return "its forward does not add the residual right before the norm"
    return Change("residual_add")


def _change(module: nn.Module, mlp: str) -> Change | str | None:
    """The change for a module, or why there is none, or None if it is no module for kernels."""
    if hasattr(module, "_mgtune_change"):
        return "it is patched already"
    try:
        with torch.no_grad():
            if type(module).__name__.endswith("RMSNorm"):
                return _norm_change(module)
            if hasattr(module, "gate_up_proj") or (
                hasattr(module, "gate_proj") and hasattr(module, "up_proj")
            ):
                return _mlp_change(module, mlp)
            if hasattr(module, "self_attn") and hasattr(module, LAYER_NORM):
                return _layer_change(module)
    except Exception as error:  # somebody else's module may raise anything on a sample
        return f"trying it failed: {type(error).__name__}: {error}"
    return None


def patch(model: nn.Module, *, attention: str = "auto", mlp: str = "auto") -> PatchReport:
    """Replaces the norms, gated MLPs and attention of a model by mgtune's kernels, in place.

    It knows modules by what they compute: each candidate is run on a small sample and compared with
    the formula of the kernel. So it works for Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3 (norms),
    Phi-3, and for models that are built of the same parts. Where a decoder layer adds the residual
    right before a norm, both become one kernel. Parameters, state dicts and types stay.

    Attention becomes mgtune.torch.attention, through the attention interface of transformers: PyTorch's
    attention, and mgtune's kernels for the decoding steps where they were measured to be faster, with a
    dynamic or a static cache. A causal mask is left out where that changes nothing.

    A gated MLP runs one kernel for gate_proj, up_proj and SwiGLU where mgtune.torch.swiglu_gate_up would,
    without calling these layers. It calls them if they are more than an nn.Linear without a bias: with
    hooks, quantized, wrapped by an adapter.

    Args:
        model: any module, for example a Hugging Face model. Its weights must be loaded.
        attention: "auto", or "mgtune" for mgtune's attention wherever it computes the same, see
            mgtune.torch.attention. This is for tests, and for GPUs and shapes that were not measured.
        mlp: likewise "auto", or "mgtune" for one kernel wherever it computes the same, see
            mgtune.torch.swiglu_gate_up.

    Returns:
        What was replaced, and why the rest was left. print() shows a table.

    Raises:
        ValueError: `attention` or `mlp` is another word.
    """
    for name, word in (("attention", attention), ("mlp", mlp)):
        if word not in ("auto", "mgtune"):
            raise ValueError(f"{name} is {word!r}; it must be 'auto' or 'mgtune'")
    report = PatchReport()
    # Children come before their parents, because a layer is changed if its norm was.
    for name, module in reversed(list(model.named_modules())):
        change = _change(module, mlp)
        if change is None:
            continue
        class_name = type(module).__name__
        if isinstance(change, str):
            report.left.append(Left(name, class_name, change))
            continue
        module.__class__ = patched_class(type(module), change)
        report.replaced.append(Replaced(name, class_name, _WORDS[change.kind]))
    report.replaced.reverse()
    report.left.reverse()
    why = _model_attention.use(model, attention)
    if why == "":
        _leave_out_plain_masks(model)
        report.replaced.append(Replaced("", type(model).__name__, "attention and its causal mask"))
    elif why is not None:
        report.left.append(Left("", type(model).__name__, f"attention: {why}"))
    return report


def _leave_out_plain_masks(model: nn.Module) -> None:
    for module in model.modules():
        if "forward" in vars(module) or hasattr(module, "_mgtune_change"):
            continue
        if rewritten_forward(type(module), "base_model") is not None:
            module.__class__ = patched_class(type(module), Change("base_model"))


def unpatch(model: nn.Module) -> int:
    """Undoes patch(). Returns how many changes it undid."""
    count = 0
    for module in model.modules():
        original = getattr(type(module), "_mgtune_original", None)
        if original is not None:
            # Masks and attention are one change.
            count += 0 if getattr(module, "_mgtune_change").kind == "base_model" else 1
            module.__class__ = original
        count += _model_attention.restore(module)
    return count
