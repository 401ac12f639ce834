#!/usr/bin/env python3
"""Times gemm.forward and swiglu.gate_up beside cuBLAS, and prints tables.

  scripts/compare_gemm.py --library build/libmgruntime.so.0 -o gemm.json      on a GPU, for three minutes
  scripts/compare_gemm.py --table gemm.json                                   the tables of such a file, without a GPU
  scripts/compare_gemm.py --rows 2048 8192                                    fewer cells: those with so many rows
  scripts/compare_gemm.py --variants FILE ...                                 also these variants: {"name": ["gemm.forward", "DESIGN",
                                                                              {"PARAMETER": value}]}

The cells are the projections of Llama 3.1 8B (and Mistral 7B, which has the same), Llama 3.1 70B and Qwen 2.5 7B, and two squares. `mgtune`
is what a program runs: the tuned variant of the database that --db names, or the default. The others are:
  cuBLAS     torch.nn.functional.linear. Beside swiglu.gate_up: one product of both weights together, without the activation
  eager      the same product, and silu(gate) * up as PyTorch's own kernels
  compiled   the product and the activation under torch.compile(mode="max-autotune-no-cudagraphs"); only with --compile
Inputs are bf16, random and normal. A time is the median over replays of a CUDA graph of about 8 ms, in which the weights take turns among
buffers of 256 MiB together, so that small weights do not stay in L2. All implementations of a case take turns. An output that differs from
cuBLAS's by more than 2 % is an error, which the table shows instead of the time.
"""
import argparse
import ctypes
import json
import math
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from compare_decode import Replays
from mgruntime_structures import OpenOptions
from mgtune_for_peers import KERNELS, Runtime

# n x k of a model's projections: query and output, key and value, up (the gate alike), down.
MODELS = {
    "Llama 3.1 8B": [(4096, 4096), (1024, 4096), (14336, 4096), (4096, 14336)],
    "Llama 3.1 70B": [(8192, 8192), (1024, 8192), (28672, 8192), (8192, 28672)],
    "Qwen 2.5 7B": [(3584, 3584), (512, 3584), (18944, 3584), (3584, 18944)],
}
SQUARES = (4096, 8192)
ROWS = (1, 2, 4, 8, 16, 512, 2048, 8192)
ROTATED_BYTES = 256 << 20
GRAPH_MS = 8
LARGEST_DIFFERENCE = 0.02


def cases(rows):
    """Operator, m, n, k."""
    for m in rows:
        for shapes in MODELS.values():
            for n, k in shapes:
                yield "gemm.forward", m, n, k
            yield "swiglu.gate_up", m, *shapes[2]
    for size in SQUARES:
        if max(rows) >= 512:
            yield "gemm.forward", size, size, size


def dims_of(operator):
    family, name = operator.split(".")
    return list(json.loads((KERNELS / family / f"{name}.json").read_text(encoding="utf-8"))["dims"])


def tensors_of(operator):
    family, name = operator.split(".")
    return list(json.loads((KERNELS / family / f"{name}.json").read_text(encoding="utf-8"))["tensors"])


class GemmRuntime(Runtime):
    """A context with the built-in operators and a family of each named variant, which has nothing else."""

    def __init__(self, folder, library, database, variants):
        families = []
        for name, (operator, design, defaults) in variants.items():
            family_name, operator_name = operator.split(".")
            family = folder / f"{family_name}_{name}"
            shutil.copytree(KERNELS / family_name, family)
            for other in family.glob("*.json"):
                if other.stem != operator_name:
                    other.unlink()
            file = json.loads((family / f"{operator_name}.json").read_text(encoding="utf-8"))
            file["designs"] = {design: {**file["designs"][design], "defaults": defaults if isinstance(defaults, list) else [defaults]}}
            (family / f"{operator_name}.json").write_text(json.dumps(file), encoding="utf-8")
            families.append(os.fsencode(family))
        super().__init__(library, database=database)
        if families:
            array = (ctypes.c_char_p * len(families))(*families)
            path = os.fsencode(database) if database else None
            options = OpenOptions(ctypes.sizeof(OpenOptions), b"auto", path, ctypes.cast(array, ctypes.c_void_p), len(families))
            self.context = ctypes.c_void_p()
            self.must(self.mgr.mgr_open(ctypes.byref(options), ctypes.byref(self.context)))

    def calls(self, torch, name, case, x, weights):
        """For each set of weights a function that enqueues the launch and returns the output."""
        operator, m, n, k = case
        family, operator_name = operator.split(".")
        plan_name = operator if name == "mgtune" else f"{family}_{name}.{operator_name}"
        dims = {"m": m, "n": n, "k": k}
        plan = self.plan(plan_name, {"T": "bf16"}, dims)
        values = [dims.get(dim, -1) for dim in dims_of(operator)]
        values = (ctypes.c_int64 * len(values))(*values)
        workspace = self.workspace(plan, 0)
        y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

        def call_of(weight):
            given = {"x": x, "w": weight, "y": y}
            if operator == "swiglu.gate_up":
                given = {"x": x, "gate_w": weight[:n], "up_w": weight[n:], "h": y}
            tensors = tensors_of(operator)
            pointers = [given[tensor].data_ptr() if tensor in given else None for tensor in tensors]
            pointers = (ctypes.c_void_p * len(pointers))(*pointers)

            def call():
                stream = torch.cuda.current_stream().cuda_stream
                self.must(self.mgr.mgr_launch(plan, stream, values, len(values), pointers, len(pointers), None, 0, workspace))
                return y
            return call
        print(f"{name} {case}: {self.explain(plan, values).splitlines()[0]}", file=sys.stderr)
        return [call_of(weight) for weight in weights]


def activated(torch, both):
    gate, up = both.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up


def peer_calls(torch, name, case, x, weights):
    linear = torch.nn.functional.linear
    if name == "cuBLAS":
        return [lambda weight=weight: linear(x, weight) for weight in weights]
    if name == "eager":
        return [lambda weight=weight: activated(torch, linear(x, weight)) for weight in weights]
    run = linear if case[0] == "gemm.forward" else lambda x, weight: activated(torch, linear(x, weight))
    compiled = torch.compile(run, mode="max-autotune-no-cudagraphs", dynamic=False)
    return [lambda weight=weight: compiled(x, weight) for weight in weights]


def times_of(torch, runtime, peers, variants, case):
    """Microseconds of each implementation, or why it has none."""
    operator, m, n, k = case
    columns = 2 * n if operator == "swiglu.gate_up" else n
    sets = max(1, min(32, math.ceil(ROTATED_BYTES / (2 * columns * k))))
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    weights = [torch.randn(columns, k, device="cuda", dtype=torch.bfloat16) / math.sqrt(k) for _ in range(sets)]
    product = torch.nn.functional.linear(x, weights[0])
    expected = (product if operator == "gemm.forward" else activated(torch, product.float())).float()
    results, replays = {}, {}
    names = [name for name in peers if operator == "swiglu.gate_up" or name != "eager"]
    names += ["mgtune"] + [name for name, variant in variants.items() if variant[0] == operator]
    for name in names:
        try:
            calls = peer_calls(torch, name, case, x, weights) if name in peers else runtime.calls(torch, name, case, x, weights)
            got = calls[0]().float()
            if got.shape == expected.shape:
                difference = float((got - expected).norm() / expected.norm())
                if not difference <= LARGEST_DIFFERENCE:
                    raise RuntimeError(f"it differs from cuBLAS by {difference:.3f}")
            replays[name] = Replays(torch, calls, GRAPH_MS)
        except RuntimeError as error:
            results[name] = str(error).splitlines()[0][:160]
    for order in (list(replays), list(reversed(replays))):
        for name in order:
            replays[name].replay(3)
    return {**results, **{name: round(statistics.median(each.us), 2) for name, each in replays.items()}}


def measure(words, variants, peers):
    import torch
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        runtime = GemmRuntime(pathlib.Path(folder), words.library, words.db, variants)
        for case in cases(words.rows):
            if time.monotonic() - start > words.seconds:
                print(f"stopped after {words.seconds} s, before {case}")
                break
            rows.append({**dict(zip(("operator", "m", "n", "k"), case)), "us": times_of(torch, runtime, peers, variants, case)})
            torch.cuda.empty_cache()
    document = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "peers": peers, "variants": variants}
    lines = ",\n".join(json.dumps(row) for row in rows)
    words.output.write_text(json.dumps(document)[:-1] + ', "rows": [\n' + lines + "\n]}\n", encoding="utf-8")
    print(f"{len(rows)} cases after {time.monotonic() - start:.0f} s", flush=True)


def rate(row, name):
    """TFLOP/s from 512 rows on, otherwise GB/s of weights; None without a time."""
    us, parts = row["us"].get(name), 2 if row["operator"] == "swiglu.gate_up" else 1
    if not isinstance(us, float):
        return None
    elements = parts * row["n"] * row["k"]
    return 2 * row["m"] * elements / us / 1e6 if row["m"] >= 512 else 2 * elements / us / 1e3


def print_tables(document):
    variants = document["variants"]
    for operator in ("gemm.forward", "swiglu.gate_up"):
        for is_large in (True, False):
            rows = [row for row in document["rows"] if row["operator"] == operator and (row["m"] >= 512) == is_large]
            if rows:
                print_table(operator, rows, document["peers"], [name for name in variants if variants[name][0] == operator], is_large)


def print_table(operator, rows, peers, variants, is_large):
    names = [name for name in peers if operator == "swiglu.gate_up" or name != "eager"] + ["mgtune"] + variants
    print(f"\n{operator}, {'TFLOP/s' if is_large else 'GB/s of weights'}:\n")
    print("| m | n | k | " + " | ".join(names) + " | mgtune / cuBLAS |" + (" best / cuBLAS |" if variants else ""))
    print("|" + "---|" * (len(names) + (5 if variants else 4)))
    ratios = {"mgtune": [], "best": []}
    for row in rows:
        rates = {name: rate(row, name) for name in names}
        text = f"| {row['m']:,} | {row['n']:,} | {row['k']:,} | " + " | ".join(f"{each:.0f}" if each else "-" for each in rates.values()) + " |"
        own = {name: rates[name] for name in ["mgtune"] + variants if rates[name]}
        for column, best in (("mgtune", own.get("mgtune")), ("best", max(own.values(), default=None))):
            if column == "best" and not variants:
                continue
            if best and rates["cuBLAS"]:
                ratios[column].append(best / rates["cuBLAS"])
                text += f" {ratios[column][-1]:.3f} |"
            else:
                text += " - |"
        print(text)
    for column, values in ratios.items():
        if values:
            print(f"\n{column} over cuBLAS: geometric mean {statistics.geometric_mean(values):.3f}, worst {min(values):.3f}")
    for error in sorted({f"{name}: {us}" for row in rows for name, us in row["us"].items() if isinstance(us, str)}):
        print(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("--db", type=pathlib.Path, help="database of results (default: the user's)")
    parser.add_argument("--variants", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too, which takes minutes more")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="rows of x of the cells (default: all)")
    parser.add_argument("--seconds", type=float, default=240, help="no further case begins after this time (default: 240)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("gemm.json"), help="default: gemm.json")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="print the tables of a file, measure nothing")
    words = parser.parse_args()
    if words.table is None:
        variants = json.loads(words.variants.read_text(encoding="utf-8")) if words.variants else {}
        variants = variants.get("variants", variants)
        measure(words, variants, ["cuBLAS", "eager"] + (["compiled"] if words.compile else []))
    print_tables(json.loads((words.table or words.output).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
