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

from mgtune.torch import _attention
from mgtune.torch._functions import add_rms_norm, rms_norm, swiglu, swiglu_packed


@dataclass(frozen=True)
class Change:
    """What a patched module does differently."""

    kind: str  # "norm", "gated_mlp", "packed_mlp" or "residual_add"
    eps_name: str = ""  # norm: the module's attribute
    weight_offset: float = 0.0  # norm


def _norm(self: Any, hidden_states: Tensor) -> Tensor:
    change: Change = self._mgtune_change
    return rms_norm(
        hidden_states, self.weight, getattr(self, change.eps_name), change.weight_offset
    )


def _add_and_norm(self: Any, x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:
    """What a layer with the change "residual_add" calls: (norm(x + residual), x + residual)."""
    change: Change = self._mgtune_change
    if self._forward_hooks or self._forward_pre_hooks:
        s = x + residual
        return self(s), s  # hooks see the call
    return add_rms_norm(
        x, residual, self.weight, getattr(self, change.eps_name), change.weight_offset
    )


def _gated_mlp(self: Any, x: Tensor) -> Tensor:
    result: Tensor = self.down_proj(swiglu(self.gate_proj(x), self.up_proj(x)))
    return result


def _packed_mlp(self: Any, hidden_states: Tensor) -> Tensor:
    result: Tensor = self.down_proj(swiglu_packed(self.gate_up_proj(hidden_states)))
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


LAYER_NORM = "post_attention_layernorm"


_layer_forwards: dict[type[nn.Module], Callable[..., Any] | None] = {}
_patched_classes: dict[tuple[type[nn.Module], Change], type[nn.Module]] = {}


def fused_layer_forward(layer: type[nn.Module]) -> Callable[..., Any] | None:
    """The forward of a decoder layer with the residual add inside the norm behind its attention.

    It is the class's own source with three statements replaced, so everything else stays as the
    installed version of transformers has it. None if the source has no such statements.
    """
    if layer not in _layer_forwards:
        _layer_forwards[layer] = _make_layer_forward(layer)
    return _layer_forwards[layer]


def _make_layer_forward(layer: type[nn.Module]) -> Callable[..., Any] | None:
    original = inspect.unwrap(layer.forward)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(original)))
    except (OSError, TypeError, SyntaxError):
        return None
    if original.__code__.co_freevars:
        return None
    transformer = _FuseAdd(LAYER_NORM)
    tree = transformer.visit(tree)
    if transformer.count != 1:
        return None
    ast.fix_missing_locations(tree)
    names: dict[str, Any] = {}
    exec(compile(tree, f"<{layer.__name__}.forward by mgtune>", "exec"), original.__globals__, names)
    forward: Callable[..., Any] = names["forward"]
    return forward


def _members(original: type[nn.Module], change: Change) -> dict[str, Any]:
    if change.kind == "norm":
        return {"forward": _norm, "add_and_norm": _add_and_norm}
    if change.kind == "gated_mlp":
        return {"forward": _gated_mlp}
    if change.kind == "packed_mlp":
        return {"forward": _packed_mlp}
    forward = fused_layer_forward(original)
    if forward is None:
        raise RuntimeError(
            f"this version of {original.__qualname__} has no residual add that mgtune can fuse"
        )
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
    _attention.register()
    cls = patched_class(original, change)
    return cls.__new__(cls)
