"""`python -m mgtune.bench`: see --help."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch

import mgtune
import mgtune.torch as mt
from mgtune.bench import attention, first_call, gate_up, norm, plot, swiglu, training
from mgtune.bench.table import Table

_NO_GPU = 4  # the exit status of the program mgtune for a machine that lacks something

_PARTS = ("norm", "backward", "swiglu", "gate_up", "attention", "host", "first", "train")


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mgtune.bench",
        description="Times mgtune's kernels beside PyTorch's, torch.compile and, where they are "
        "installed, Liger and flash_attn, on the first GPU.",
        epilog="Ratios above 1 mean that mgtune is faster. GPU times: the candidates take turns, the "
        "data is not in the L2 cache, host time does not count; the median of 7 rounds.",
    )
    parser.add_argument(
        "--only",
        metavar="LIST",
        default=",".join(_PARTS),
        help=f"only these parts, with commas: {', '.join(_PARTS)} (default: all)",
    )
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument(
        "--model",
        choices=sorted(training.MODELS),
        default="llama-3.2-1b",
        help="the model of the training step (default: %(default)s)",
    )
    parser.add_argument("--batch", type=int, default=8, help="its batch (default: %(default)s)")
    parser.add_argument(
        "--length", type=int, default=2048, help="its tokens per sequence (default: %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures to a file")
    parser.add_argument(
        "--plot", metavar="FILE", type=Path, help="draw the figures (.svg, .png; needs matplotlib)"
    )
    arguments = parser.parse_args(words)
    arguments.only = arguments.only.split(",")
    for part in arguments.only:
        if part not in _PARTS:
            parser.error(f"--only: there is no part '{part}'; the parts are {', '.join(_PARTS)}")
    return arguments


def _run(arguments: argparse.Namespace) -> list[Table]:
    compiles = not arguments.no_compile
    parts: dict[str, Callable[[], list[Table]]] = {
        "norm": lambda: [norm.forward_table(compiles)],
        "backward": lambda: [norm.both_table(compiles)],
        "swiglu": lambda: [swiglu.swiglu_table(compiles)],
        "gate_up": lambda: [gate_up.gate_up_table(compiles)],
        "attention": attention.attention_tables,
        "host": lambda: [norm.host_table()],
        "first": lambda: [first_call.first_call_table()],
        "train": lambda: training.training_tables(
            arguments.model, arguments.batch, arguments.length, compiles
        ),
    }
    tables = []
    for name, run in parts.items():
        if name not in arguments.only:
            continue
        for table in run():
            print(table, end="\n\n", flush=True)
            tables.append(table)
        torch.cuda.empty_cache()
    return tables


def main(words: list[str] | None = None) -> int:
    """Runs the benchmarks. Returns 0, or 4 if this machine has no GPU for them."""
    arguments = _arguments(words)
    if not torch.cuda.is_available():
        print("mgtune.bench needs a CUDA GPU, and PyTorch sees none here", file=sys.stderr)
        return _NO_GPU
    if reason := mt.why_unavailable("cuda"):
        print(f"mgtune's kernels do not run on this GPU: {reason}", file=sys.stderr)
        return _NO_GPU
    machine = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "mgtune": mgtune.__version__,
    }
    print(", ".join(f"{name} {value}" for name, value in machine.items()), end="\n\n")
    tables = _run(arguments)
    if arguments.json:
        document = {**machine, "tables": [table.document() for table in tables]}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    if arguments.plot:
        try:
            plot.plot(tables, arguments.plot)
        except ImportError:
            print("--plot needs matplotlib: pip install mgtune[plot]", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
