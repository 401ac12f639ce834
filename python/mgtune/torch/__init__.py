"""mgtune's kernels for PyTorch.

    import mgtune.torch as mt

    y = mt.rms_norm(x, weight, eps=1e-6)       # also add_rms_norm, swiglu_gate_up, attention
    norm = mt.RMSNorm(4096)                     # in the place of torch.nn.RMSNorm
    mt.patch(model)                             # norms, gated MLPs, attention of a model
    mt.tune(model, *inputs, budget="60s")       # measures the variants for this model's shapes

Where the kernels do not run, PyTorch's own operators do, with one warning that names the reason;
MGTUNE_STRICT=1 makes that an error.
"""

from mgtune.torch import _library

if _library.has_operators():
    from mgtune.torch import _registration

    _registration.register()

from mgtune.torch._attention import attention
from mgtune.torch._functions import add_rms_norm, rms_norm, swiglu, swiglu_packed
from mgtune.torch._gate_up import swiglu_gate_up, swiglu_gate_up_packed
from mgtune.torch._library import reload_tables, why_unavailable
from mgtune.torch._modules import AddRMSNorm, RMSNorm, SwiGLU
from mgtune.torch._patch import Left, PatchReport, Replaced, patch, unpatch
from mgtune.torch._tune import Tuned, TuneReport, tune
from mgtune.torch._warmup import warmup

__all__ = [
    "AddRMSNorm",
    "Left",
    "PatchReport",
    "RMSNorm",
    "Replaced",
    "SwiGLU",
    "TuneReport",
    "Tuned",
    "add_rms_norm",
    "attention",
    "patch",
    "reload_tables",
    "rms_norm",
    "swiglu",
    "swiglu_gate_up",
    "swiglu_gate_up_packed",
    "swiglu_packed",
    "tune",
    "unpatch",
    "warmup",
    "why_unavailable",
]
