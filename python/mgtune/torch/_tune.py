"""tune(): measures the variants of every kernel that a model runs, for the shapes that it runs."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from mgtune import _program
from mgtune.torch import _library


@dataclass(frozen=True)
class Tuned:
    """A kernel and a shape, and the times of the built-in default and of what runs from now on."""

    operator: str
    problem: str
    default_us: float
    tuned_us: float
    variant: str

    @property
    def speedup(self) -> float:
        return self.default_us / self.tuned_us


@dataclass
class TuneReport:
    """What tune() found. print() shows it as a table, and below it what was not measured."""

    rows: list[Tuned] = field(default_factory=list)
    unmeasured: list[str] = field(default_factory=list)  # "operator problem" of the other problems
    is_emulation: bool = False  # times of the cpu device say nothing about a GPU

    def __str__(self) -> str:
        parts = [self._table()] if self.rows else []
        if self.unmeasured:
            count = "1 problem was" if len(self.unmeasured) == 1 else f"{len(self.unmeasured)} problems were"
            names = "\n".join(f"  {name}" for name in self.unmeasured)
            parts.append(
                f"{count} not measured, because the budget ended before or because no variant runs on this "
                f"device. In the first case a larger budget helps:\n{names}"
            )
        if not parts:
            return "nothing tuned: the model called no operator of mgtune; call patch(model) first"
        if self.is_emulation:
            parts.append("emulation: these times say nothing about a GPU")
        return "\n".join(parts)

    def _table(self) -> str:
        header = ("operator", "problem", "default us", "tuned us", "speedup")
        lines = [
            (row.operator, row.problem, f"{row.default_us:.2f}", f"{row.tuned_us:.2f}", f"{row.speedup:.2f}x")
            for row in self.rows
        ]
        widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in [header, *lines]
        )

    def __repr__(self) -> str:
        return f"TuneReport({len(self.rows)} problems)"


@contextmanager
def _recording(path: str) -> Iterator[None]:
    """Plans that are made inside write the problems that they launch to the file."""
    before = os.environ.get("MGTUNE_RECORD")
    os.environ["MGTUNE_RECORD"] = path
    _library.reload_tables()
    try:
        yield
    finally:
        if before is None:
            del os.environ["MGTUNE_RECORD"]
        else:
            os.environ["MGTUNE_RECORD"] = before
        _library.reload_tables()


def _run_once(model: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Forward, and backward if the model trains. Leaves gradients as they were."""
    is_training = bool(getattr(model, "training", False)) and torch.is_grad_enabled()
    if not is_training:
        with torch.no_grad():
            model(*inputs, **kwargs)
        return
    output = model(*inputs, **kwargs)
    loss = _scalar_of(output)
    if loss is None or not loss.requires_grad:
        return
    parameters = [one for one in model.parameters() if one.requires_grad]
    torch.autograd.grad(loss, parameters, allow_unused=True)


def _scalar_of(output: Any) -> torch.Tensor | None:
    """A scalar that depends on the output: its loss if it has one, otherwise the sum of a tensor."""
    loss = getattr(output, "loss", None)
    if isinstance(loss, torch.Tensor):
        return loss
    if isinstance(output, torch.Tensor):
        return output.float().sum()
    if isinstance(output, (tuple, list)) and output:
        return _scalar_of(output[0])
    logits = getattr(output, "logits", None)
    if logits is None:
        logits = getattr(output, "last_hidden_state", None)
    return logits.float().sum() if isinstance(logits, torch.Tensor) else None


def _seconds(budget: str | float) -> float:
    if isinstance(budget, (int, float)):
        if not 0 < budget < math.inf:
            raise ValueError(f"budget is {budget}; it must be a positive number of seconds")
        return float(budget)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", budget.strip())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"budget is {budget!r}; write a time such as '60s', '10m' or '1h'")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


class _Progress:
    """A line on the terminal, or an output cell of a notebook; nothing anywhere else."""

    def __init__(self, seconds: float, problems: int) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._problems = problems
        self._is_terminal = sys.stderr.isatty()
        self._display: Any = None
        ipython = sys.modules.get("IPython")
        if not self._is_terminal and ipython is not None and ipython.get_ipython() is not None:
            from IPython.display import display  # type: ignore[import-not-found]

            self._display = display({"text/plain": self._text()}, raw=True, display_id=True)

    def _text(self) -> str:
        passed = time.monotonic() - self._start
        share = min(1.0, passed / self._seconds)
        bar = "#" * int(30 * share)
        return f"tuning {self._problems} problems [{bar:<30}] {passed:.0f} of {self._seconds:.0f} s"

    def show(self) -> None:
        if self._is_terminal:
            print("\r" + self._text(), end="", file=sys.stderr, flush=True)
        elif self._display is not None:
            self._display.update({"text/plain": self._text()}, raw=True)

    def end(self) -> None:
        if self._is_terminal:
            print("\r" + " " * 79 + "\r", end="", file=sys.stderr, flush=True)


def _sweep(shapes: Path, device: str, seconds: float) -> dict[str, Any]:
    """Runs the sweep in a child process. Returns what it printed."""
    problems = len(shapes.read_text().splitlines())
    command = [str(_program.program()), "sweep", "--shapes", str(shapes), "--gpu", device]
    command += ["--budget", f"{max(1, round(seconds))}s", "--json"]
    progress = _Progress(seconds, problems)
    with (
        tempfile.TemporaryFile("w+") as messages,
        tempfile.TemporaryFile("w+") as results,
        subprocess.Popen(command, stdout=results, stderr=messages) as process,
    ):
        try:
            while process.poll() is None:
                progress.show()
                time.sleep(0.2)
        except KeyboardInterrupt:
            process.terminate()  # the sweep stores what it has measured
            process.wait()
            raise
        finally:
            progress.end()
        results.seek(0)
        messages.seek(0)
        text = results.read()
        # 3: some variants failed, which a sweep is there to find out.
        if process.returncode not in (0, 3) or not text:
            raise RuntimeError(
                f"'{' '.join(command)}' ended with {process.returncode}:\n{messages.read()}"
            )
    document: dict[str, Any] = json.loads(text)
    return document


def _device_of(model: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device:
    for value in (*inputs, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            return value.device
    for parameter in getattr(model, "parameters", lambda: ())():
        return torch.device(parameter.device)
    raise ValueError("neither the inputs nor the model have a tensor that says which device to tune")


def tune(model: Any, *inputs: Any, budget: str | float = "60s", **kwargs: Any) -> TuneReport:
    """Tunes mgtune's kernels for the shapes that model(*inputs, **kwargs) launches.

    The model runs once, with gradients if it is in training mode, and every operator is recorded.
    Then a child process measures variants for these problems, so this process keeps its memory and
    its context. The results go into the user's database ($MGTUNE_DB, otherwise results.db in the
    user's data folder), which later processes use too, and this process uses them from its next call
    on. CUDA graphs that were captured before keep the kernels that they have.

    Nothing else may run on the GPU meanwhile: it would disturb the measurements.

    Args:
        model: a module or a function, usually after mgtune.torch.patch(model).
        inputs, kwargs: what it is called with.
        budget: the time for measuring, in seconds or as "60s", "10m", "1h". What is being measured
            when it ends is finished.

    Returns:
        A table of the problems, with the times of the default variant and of the tuned one. The
        report also names the problems that were not measured, because the budget ended before or no
        variant runs on this device. What runs for them does not change.

    Raises:
        ValueError: the budget is no time, or nothing says which device to tune.
        RuntimeError: kernels do not run on this device, or the sweep failed; with its message.
    """
    seconds = _seconds(budget)
    device = _device_of(model, inputs, kwargs)
    if reason := _library.why_unavailable(device):
        raise RuntimeError(f"mgtune's kernels do not run on {device}: {reason}")
    with tempfile.TemporaryDirectory(prefix="mgtune-tune-") as folder:
        shapes = Path(folder) / "shapes.jsonl"
        with _recording(str(shapes)):
            _run_once(model, inputs, kwargs)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        report = TuneReport(is_emulation=device.type != "cuda")
        if not shapes.is_file():
            return report
        name = "cpu" if device.type == "cpu" else _gpu_name(device)
        document = _sweep(shapes, name, seconds)
    _library.reload_tables()
    for sweep in document["sweeps"]:
        for pick in sweep["picks"]:
            tuned = pick["median_ns"] / 1e3
            default = (pick["default_median_ns"] or pick["median_ns"]) / 1e3
            report.rows.append(
                Tuned(pick["operator"], pick["problem"], default, tuned, pick["variant"])
            )
        report.unmeasured += [
            f"{problem['operator']} {problem['problem']}" for problem in sweep["unmeasured"]
        ]
    report.rows.sort(key=lambda row: row.tuned_us - row.default_us)
    return report


def _gpu_name(device: torch.device) -> str:
    """The GPU as the child process names it: its UUID, which CUDA_VISIBLE_DEVICES does not renumber."""
    index = torch.cuda.current_device() if device.index is None else device.index
    uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    return str(index) if uuid is None else f"GPU-{uuid}"
