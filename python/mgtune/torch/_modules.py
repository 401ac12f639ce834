"""The modules: RMSNorm, AddRMSNorm, SwiGLU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mgtune.torch._functions import add_rms_norm, check_preference, rms_norm
from mgtune.torch._gate_up import PREFERENCES, swiglu_of_packed_layer


class RMSNorm(nn.Module):
    """A drop-in for torch.nn.RMSNorm: the same arguments, state dict and results.

    y = x / sqrt(mean(x^2) + eps) * (weight + weight_offset), over the last dims of x.

    Args:
        normalized_shape: the sizes of the last dims of x, or the size of the last one.
        eps: added to the mean of squares; None means torch.finfo(torch.float32).eps.
        elementwise_affine: whether there is a weight.
        device, dtype: of the weight.
        weight_offset: added to the weight. Gemma stores weight - 1 and takes 1.0.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        weight_offset: float = 0.0,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight_offset = weight_offset
        self.weight: nn.Parameter | None
        if elementwise_affine:
            self.weight = nn.Parameter(
                torch.empty(self.normalized_shape, device=device, dtype=dtype)
            )
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Makes the factors ones: the weight becomes 1 - weight_offset."""
        if self.weight is not None:
            nn.init.constant_(self.weight, 1.0 - self.weight_offset)

    def _rows(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """x and the weight with one last dim in the place of normalized_shape."""
        if len(self.normalized_shape) == 1:
            return x, self.weight
        dims = len(self.normalized_shape)
        if tuple(x.shape[-dims:]) != self.normalized_shape:
            raise ValueError(
                f"x has the shape {tuple(x.shape)}; its last dims must be {self.normalized_shape}"
            )
        weight = None if self.weight is None else self.weight.reshape(-1)
        return x.reshape(*x.shape[:-dims], math.prod(self.normalized_shape)), weight

    def forward(self, x: Tensor) -> Tensor:
        """Norms x, of shape (..., *normalized_shape)."""
        if self.elementwise_affine and len(self.normalized_shape) == 1:  # most calls
            return rms_norm(x, self.weight, self.eps, self.weight_offset)
        rows, weight = self._rows(x)
        if weight is None and rows.shape[-1] != math.prod(self.normalized_shape):
            raise ValueError(
                f"x has the shape {tuple(x.shape)}; its last dim must be {self.normalized_shape[0]}"
            )
        y = rms_norm(rows, weight, self.eps, self.weight_offset)
        return y if rows is x else y.reshape(x.shape)

    def extra_repr(self) -> str:
        text = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return text if self.weight_offset == 0.0 else f"{text}, weight_offset={self.weight_offset}"


class AddRMSNorm(RMSNorm):
    """RMSNorm of a sum: forward(x, residual) returns (norm(x + residual), x + residual).

    The arguments are those of RMSNorm. One kernel reads x and the residual once and writes both
    results.
    """

    def forward(self, x: Tensor, residual: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Adds and norms. Both tensors have the shape (..., *normalized_shape)."""
        rows, weight = self._rows(x)
        if rows is x:
            return add_rms_norm(x, residual, weight, self.eps, self.weight_offset)
        y, s = add_rms_norm(
            rows, residual.reshape(rows.shape), weight, self.eps, self.weight_offset
        )
        return y.reshape(x.shape), s.reshape(x.shape)


# The names that the three projections have in checkpoints: gate, up, down.
_CHECKPOINT_NAMES = (("w1", "w2", "w3"), ("gate_proj", "up_proj", "down_proj"))


class SwiGLU(nn.Module):
    """A gated MLP: w3(silu(w1 x) * (w2 x)), with w1 and w2 in one matrix.

    Its parameters are `w12.weight`, of shape (2 * hidden, d_model), whose first half is w1, and
    `w3.weight`, of shape (d_model, hidden). It also loads state dicts with separate projections:
    w1, w2 and w3, or gate_proj, up_proj and down_proj.

    One kernel computes silu(w1 x) * (w2 x) where mgtune.torch.swiglu_gate_up would, unless w12 has a bias or
    hooks, or was replaced by another module.

    Args:
        d_model: the size of the last dim of the input and the output.
        hidden: the size between the projections.
        bias: whether the projections have a bias.
        device, dtype: of the parameters.
        prefer: "auto", "mgtune" or "linear", see mgtune.torch.swiglu_gate_up.

    Raises:
        ValueError: `prefer` is another word.
    """

    prefer: str = "auto"  # modules that earlier versions pickled have none of their own

    def __init__(
        self,
        d_model: int,
        hidden: int,
        bias: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        prefer: str = "auto",
    ) -> None:
        super().__init__()
        check_preference(prefer, PREFERENCES)
        self.prefer = prefer
        self.w12 = nn.Linear(d_model, 2 * hidden, bias=bias, device=device, dtype=dtype)
        self.w3 = nn.Linear(hidden, d_model, bias=bias, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Maps x, of shape (..., d_model), to the same shape."""
        result: Tensor = self.w3(swiglu_of_packed_layer(x, self.w12, self.prefer))
        return result

    def extra_repr(self) -> str:
        return "" if self.prefer == "auto" else f"prefer={self.prefer!r}"

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for gate, up, down in _CHECKPOINT_NAMES:
            for kind in ("weight", "bias"):
                gate_key, up_key = f"{prefix}{gate}.{kind}", f"{prefix}{up}.{kind}"
                if gate_key in state_dict and up_key in state_dict:
                    halves = [state_dict.pop(gate_key), state_dict.pop(up_key)]
                    state_dict[f"{prefix}w12.{kind}"] = torch.cat(halves)
                if down != "w3" and f"{prefix}{down}.{kind}" in state_dict:
                    state_dict[f"{prefix}w3.{kind}"] = state_dict.pop(f"{prefix}{down}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
