"""The classes that patch() gives to modules of a model: subclasses of the module's own class.

A module keeps its parameters, hooks, state dict and type; only its `forward` is another one. Patched
modules can be copied and pickled: what is stored is the class that was patched and what is to be
changed, and the subclass is made again from these.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mgtune.torch import _model_attention
from mgtune.torch._functions import add_rms_norm, rms_norm
from mgtune.torch._gate_up import swiglu_of_layers, swiglu_of_packed_layer


@dataclass(frozen=True)
class Change:
    """What a patched module does differently."""

    kind: str  # "norm", "gated_mlp", "packed_mlp", "residual_add" or "base_model"
    eps_name: str = ""  # norm: the module's attribute
    weight_offset: float = 0.0  # norm
    prefer: str = "auto"  # gated_mlp and packed_mlp: that of mgtune.torch.swiglu_gate_up


def _norm(self: Any, hidden_states: Tensor) -> Tensor:
    change: Change = self._mgtune_change
    return rms_norm(
        hidden_states, self.weight, getattr(self, change.eps_name), change.weight_offset
    )


def _add_and_norm(self: Any, x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
    """A layer with the change "residual_add" calls this. Returns (norm(x + residual), x + residual)."""
    change: Change = self._mgtune_change
    if self._forward_hooks or self._forward_pre_hooks:
        s = x + residual
        return self(s), s  # hooks see the call
    return add_rms_norm(
        x, residual, self.weight, getattr(self, change.eps_name), change.weight_offset
    )


def _gated_mlp(self: Any, x: Tensor) -> Tensor:
    prefer = self._mgtune_change.prefer
    result: Tensor = self.down_proj(swiglu_of_layers(x, self.gate_proj, self.up_proj, prefer))
    return result


def _packed_mlp(self: Any, hidden_states: Tensor) -> Tensor:
    prefer = self._mgtune_change.prefer
    h = swiglu_of_packed_layer(hidden_states, self.gate_up_proj, prefer)
    result: Tensor = self.down_proj(h)
    return result


class _FuseAdd(ast.NodeTransformer):
    """Replaces these three statements by one:

        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.NORM(hidden_states)
    """

    def __init__(self, norm: str) -> None:
        self.count = 0
        self._old = [
            ast.dump(statement)
            for statement in ast.parse(
                "hidden_states = residual + hidden_states\n"
                "residual = hidden_states\n"
                f"hidden_states = self.{norm}(hidden_states)\n"
            ).body
        ]
        self._new = ast.parse(
            f"hidden_states, residual = self.{norm}.add_and_norm(hidden_states, residual)"
        ).body

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        dumps = [ast.dump(statement) for statement in node.body]
        for i in range(len(dumps) - 2):
            if dumps[i : i + 3] == self._old:
                node.body[i : i + 3] = [
                    ast.copy_location(statement, node.body[i]) for statement in self._new
                ]
                self.count += 1
                break
        return node


class _MarkPlainMasks(ast.NodeTransformer):
    """Replaces `create_causal_mask(...)` by a method that also gets whether the batch is plain."""

    def __init__(self) -> None:
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        names = {argument.arg for argument in node.args.args}
        if not {"attention_mask", "position_ids"} <= names:
            return node
        node = self.generic_visit(node)  # type: ignore[assignment]
        marks = ast.parse("mgtune_is_plain = attention_mask is None and position_ids is None").body
        node.body[:0] = [ast.copy_location(statement, node.body[0]) for statement in marks]
        # auto_docstring only makes a docstring, and reads a source file, which this function does not
        # have.
        node.decorator_list = [
            one for one in node.decorator_list if not (isinstance(one, ast.Name) and one.id == "auto_docstring")
        ]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "create_causal_mask" and not node.args:
            self.count += 1
            call = ast.parse("self.causal_mask_of(mgtune_is_plain, create_causal_mask)", mode="eval").body
            assert isinstance(call, ast.Call)
            call.keywords = node.keywords
            return ast.copy_location(call, node)
        return node


LAYER_NORM = "post_attention_layernorm"

_forwards: dict[tuple[type[nn.Module], str], Callable[..., Any] | None] = {}
_patched_classes: dict[tuple[type[nn.Module], Change], type[nn.Module]] = {}


def rewritten_forward(cls: type[nn.Module], kind: str) -> Callable[..., Any] | None:
    """The class's own forward with a few statements replaced.

    So everything else stays as the installed version of transformers has it.

    Args:
        kind: "residual_add", the forward of a decoder layer with the residual add inside the norm
            behind its attention; or "base_model", the forward of a model that makes no causal mask
            for a batch without padding and without positions of its own.

    Returns:
        The function, or None if the source has no such statements.
    """
    if (cls, kind) not in _forwards:
        _forwards[cls, kind] = _rewrite(
            cls, _FuseAdd(LAYER_NORM) if kind == "residual_add" else _MarkPlainMasks()
        )
    return _forwards[cls, kind]


def _rewrite(
    cls: type[nn.Module], transformer: _FuseAdd | _MarkPlainMasks
) -> Callable[..., Any] | None:
    original = inspect.unwrap(cls.forward)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(original)))
    except (OSError, TypeError, SyntaxError):
        return None
    if original.__code__.co_freevars:
        return None
    tree = transformer.visit(tree)
    if transformer.count != 1:
        return None
    ast.fix_missing_locations(tree)
    names: dict[str, Any] = {}
    exec(compile(tree, f"<{cls.__name__}.forward by mgtune>", "exec"), original.__globals__, names)
    forward: Callable[..., Any] = names["forward"]
    return forward


def _members(original: type[nn.Module], change: Change) -> dict[str, Any]:
    if change.kind == "norm":
        return {"forward": _norm, "add_and_norm": _add_and_norm}
    if change.kind == "gated_mlp":
        return {"forward": _gated_mlp}
    if change.kind == "packed_mlp":
        return {"forward": _packed_mlp}
    forward = rewritten_forward(original, change.kind)
    if forward is None:  # a pickle of another version of transformers
        raise RuntimeError(f"the forward of {original.__qualname__} has changed; patch it again")
    if change.kind == "base_model":
        return {"forward": forward, "causal_mask_of": _model_attention.causal_mask_of}
    return {"forward": forward}


def _reduce(self: nn.Module, protocol: int) -> Any:
    return _new_module, (self._mgtune_original, self._mgtune_change), self.__dict__


def patched_class(original: type[nn.Module], change: Change) -> type[nn.Module]:
    """The subclass of `original` with the change. Its name is that of `original`."""
    if (original, change) not in _patched_classes:
        _patched_classes[original, change] = _make_class(original, change)
    return _patched_classes[original, change]


def _make_class(original: type[nn.Module], change: Change) -> type[nn.Module]:
    members = _members(original, change)
    members |= {
        "__doc__": original.__doc__,
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__reduce_ex__": _reduce,
        "_mgtune_original": original,
        "_mgtune_change": change,
    }
    return type(original.__name__, (original,), members)


def _new_module(original: type[nn.Module], change: Change) -> nn.Module:
    """A patched module without its state, as unpickling makes it, perhaps in a new process."""
    _model_attention.register()
    cls = patched_class(original, change)
    return cls.__new__(cls)
