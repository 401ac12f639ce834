"""What happens around the operators: fallbacks, old versions, forks, DDP, the program."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import warnings
from importlib.metadata import version

import pytest
import torch

import mgtune
import mgtune.torch as mt
from mgtune.torch import _fallback, _library


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


NORM = "import torch, mgtune.torch as mt; x = torch.ones(2, 64); print(mt.rms_norm(x).sum().item())"


def test_cpu_tensors_run_with_one_warning() -> None:
    result = run(NORM + "; mt.rms_norm(x); mt.swiglu(x, x)")
    assert result.returncode == 0 and float(result.stdout) == pytest.approx(128)
    assert result.stderr.count("emulating a GPU") == 1


def test_without_a_compiler_pytorchs_operators_run(tmp_path: object) -> None:
    result = run(NORM + "; mt.swiglu(x, x)", PATH=os.path.dirname(sys.executable), MGTUNE_CACHE_DIR=f"{tmp_path}/none", CXX="/no/such/compiler")
    assert result.returncode == 0 and float(result.stdout) == pytest.approx(128)
    assert result.stderr.count("PyTorch's own operators do") == 1, result.stderr


def test_strict_makes_that_an_error(tmp_path: object) -> None:
    result = run(
        NORM, PATH=os.path.dirname(sys.executable), MGTUNE_CACHE_DIR=f"{tmp_path}/none", CXX="/no/such/compiler", MGTUNE_STRICT="1"
    )
    assert result.returncode != 0
    assert "mgtune's kernels do not run on cpu" in result.stderr
    assert "MGTUNE_STRICT=1" in result.stderr


def test_without_the_library_of_operators(tmp_path: object) -> None:
    code = (
        "import ctypes\n"
        "def refuse(*_): raise OSError('no such thing')\n"
        "import torch\n"
        "ctypes.CDLL = refuse\n"
        "import mgtune.torch as mt\n"
        "x = torch.ones(2, 64, requires_grad=True)\n"
        "mt.RMSNorm(64)(x).sum().backward()\n"
        "mt.SwiGLU(64, 8)(x); mt.add_rms_norm(x, x)\n"
        "print(mt.why_unavailable('cpu'))\n"
    )
    result = run(code)
    assert result.returncode == 0, result.stderr
    assert "does not load: no such thing" in result.stdout
    assert result.stderr.count("PyTorch's own operators do") == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("weight_dtype", [torch.float32, torch.bfloat16, None])
def test_fallbacks_compute_the_same(dtype: torch.dtype, weight_dtype: torch.dtype | None) -> None:
    if dtype == torch.float32 and weight_dtype == torch.bfloat16:
        pytest.skip("such a weight is refused")
    x, residual = torch.randn(3, 64).to(dtype), torch.randn(3, 64).to(dtype)
    weight = None if weight_dtype is None else torch.randn(64).to(weight_dtype)
    pairs = [
        (_fallback.rms_norm(x, weight, 1e-5, 0.0), mt.rms_norm(x, weight, 1e-5)),
        (_fallback.swiglu(x, residual), mt.swiglu(x, residual)),
        (_fallback.swiglu_packed(x), mt.swiglu_packed(x)),
        *zip(
            _fallback.add_rms_norm(x, residual, weight, 1e-5, 0.0),
            mt.add_rms_norm(x, residual, weight, 1e-5),
            strict=True,
        ),
    ]
    if weight is not None:
        pairs.append((_fallback.rms_norm(x, weight, 1e-5, 1.0), mt.rms_norm(x, weight, 1e-5, 1.0)))
    tolerance = {"atol": 1e-5, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 4e-2, "rtol": 2e-2}
    for theirs, ours in pairs:
        assert theirs.dtype == ours.dtype
        torch.testing.assert_close(theirs, ours, **tolerance)


def test_each_reason_is_told_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            _library.refuse_or_warn(torch.device("cpu"), "a reason of this test")
    assert len(caught) == 1
    assert "a reason of this test" in str(caught[0].message)


@pytest.mark.parametrize("word", ["2.9.1", "1.13.0", "unknown"])
def test_an_old_pytorch_is_refused(word: str) -> None:
    with pytest.raises(ImportError, match=f"2.10 or newer.*{word}"):
        _library.check_torch_version(word)


@pytest.mark.parametrize("word", ["2.10.0", "2.13.0+cpu", "3.0.0a0"])
def test_new_ones_are_not(word: str) -> None:
    _library.check_torch_version(word)


def test_why_unavailable() -> None:
    assert mt.why_unavailable("cpu") == ""
    if not torch.cuda.is_available():
        assert mt.why_unavailable("cuda") != ""
    assert "xpu" in mt.why_unavailable("xpu")


def _in_the_child(queue: multiprocessing.Queue[str]) -> None:
    try:
        mt.rms_norm(torch.ones(2, 64))
        queue.put("it worked")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_a_fork() -> None:
    mt.rms_norm(torch.ones(2, 64))
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[str] = context.Queue()  # type: ignore[assignment]
    child = context.Process(target=_in_the_child, args=(queue,))
    child.start()
    message = queue.get(timeout=60)
    child.join()
    assert "fork" in message


DDP = """
import os, sys, torch, torch.distributed as dist, mgtune.torch as mt
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=sys.argv[2], rank=rank, world_size=2)
torch.manual_seed(0)
model = torch.nn.Sequential(mt.RMSNorm(64), mt.SwiGLU(64, 32))
parallel = torch.nn.parallel.DistributedDataParallel(model)
batch = torch.randn(4, 64)
parallel(batch[2 * rank : 2 * rank + 2]).pow(2).mean().backward()
gradients = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
model(batch).pow(2).mean().backward()
for one, p in zip(gradients, model.parameters()):
    torch.testing.assert_close(one, p.grad, atol=1e-5, rtol=1e-4)
dist.destroy_process_group()
"""


def test_distributed_data_parallel(tmp_path: object) -> None:
    init = f"file://{tmp_path}/rendezvous"
    processes = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", DDP, str(rank), init])
        for rank in range(2)
    ]
    assert [process.wait(timeout=240) for process in processes] == [0, 0]


def test_the_program() -> None:
    from mgtune import _program

    output = subprocess.run(
        [str(_program.program()), "--version"], capture_output=True, text=True, check=True
    ).stdout
    if mgtune.__version__ != "0+unknown":
        assert mgtune.__version__ == version("mgtune")
        assert mgtune.__version__ in output


class Model(torch.nn.Module):
    """A norm and an MLP, and attention of a packed projection and of a cache that has room for more."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(mt.RMSNorm(64), mt.SwiGLU(64, 32))

    def forward(self, x: torch.Tensor, qkv: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        q, k, v = (one.view(2, 20, 2, 64).transpose(1, 2) for one in qkv.chunk(3, dim=-1))
        o = mt.attention(q, k, v, is_causal=True, prefer="mgtune")
        first, second = cache[0, :, :, :20], cache[1, :, :, :20]
        o = mt.attention(o[:, :, -1:], first, second, prefer="mgtune")
        y: torch.Tensor = self.layers(x) + o.float().sum()
        return y


# One test, because one sweep at a time may use a device.
def test_tune(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGTUNE_DB", f"{tmp_path}/results.db")
    mt.reload_tables()
    model = Model().train()
    inputs = torch.randn(5, 64), torch.randn(2, 20, 3 * 128).bfloat16(), torch.randn(2, 2, 2, 32, 64).bfloat16()
    before = model(*inputs)
    report = mt.tune(model, *inputs, budget="6s")
    # A slow machine measures some of the problems, and the report names the others.
    names = [f"{row.operator} {row.problem}" for row in report.rows] + report.unmeasured
    problems = {
        operator: dict(word.split("=") for word in words) for operator, *words in (name.split() for name in names)
    }
    assert problems.keys() == {
        "rmsnorm.forward",
        "rmsnorm.backward",
        "swiglu.packed_forward",
        "swiglu.packed_backward",
        "attention.prefill",
        "attention.decode",
    }
    # Views are tuned with their strides: the distances of sequences and of rows in the packed projection, and
    # of sequences and of heads in the cache.
    for name in "qkv":
        assert problems["attention.prefill"][f"{name}_sb"] == str(20 * 3 * 128)
        assert problems["attention.prefill"][f"{name}_ss"] == str(3 * 128)
    for name in "kv":
        assert problems["attention.decode"][f"{name}_sb"] == str(2 * 32 * 64)
        assert problems["attention.decode"][f"{name}_sh"] == str(32 * 64)
    assert report.rows and all(row.tuned_us > 0 for row in report.rows)
    assert "rows=5" in str(report) and "emulation" in str(report)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert "MGTUNE_RECORD" not in os.environ
    torch.testing.assert_close(model(*inputs), before, atol=2e-2, rtol=2e-2)
    assert "patch(model) first" in str(mt.tune(torch.nn.Linear(2, 2), torch.randn(2, 2)))
    with pytest.raises(ValueError, match="'soon'.*'60s'"):
        mt.tune(model, *inputs, budget="soon")
    with pytest.raises(ValueError, match="which device"):
        mt.tune(lambda: None)
    monkeypatch.undo()
    mt.reload_tables()
