#!/usr/bin/env python3
"""Times gemm.forward and swiglu.gate_up beside PyTorch (cuBLAS), and prints tables.

  scripts/compare_gemm.py --library build/libmgruntime.so.0 -o gemm.json    on a GPU, for three minutes
  scripts/compare_gemm.py --cells small --compile -o small.json             with torch.compile too: 10 to 20 s per cell
  scripts/compare_gemm.py --table gemm.json --read-gbps 4400                the tables of such a file, without a GPU
  scripts/compare_gemm.py --variants FILE ...                               other variants
  scripts/compare_gemm.py --cells large --products 1280,5120 --rows 512     other products than those of the models

Without --variants, `mgtune` is what a program runs without a tuned table, and each design runs its first default that
fits. FILE has other variants, {"name": ["forward", "DESIGN", {"PARAMETER": value}]}, or was written by an earlier run,
whose variants then run again. The design "all" means the defaults of every design.

The cells are the products of the models of configs/shapes with at least 7 billion parameters:

  large            all projections with 512 to 8192 rows, and two squares
  small            the projections whose weights have 64 MiB or more, with 1 to 16 rows
  gate_up          the gate and up projections with SwiGLU, with 2048 and 8192 rows
  small_gate_up    the same with 1 to 16 rows

The peers of gemm.forward are F.linear with cuBLAS and with the heuristics of cuBLASLt. Those of swiglu.gate_up are
cuBLAS's product with the stacked weights, without the activation (`GEMM alone`), and this product with the activation
in PyTorch (`eager`). --compile adds torch.compile in the mode max-autotune-no-cudagraphs.

Values are bf16 and normal; weights are scaled by 0.02. A time is the median over replays of a CUDA graph of about 8 ms.
All implementations of a cell take turns in six rounds, and another one is first each time. In cells of few rows the
calls of a graph go through weights of 512 MiB, so that no weights are in L2.

An output that differs from the first peer's by more than 2 % is an error. The table then has no time, and the error is
below the tables. The file has the clock and the power of the GPU after each cell.
"""
import argparse
import ctypes
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from compare_decode import Replays
from mgruntime_structures import OpenOptions
from mgtune_for_peers import KERNELS, Runtime

FAMILY = {"forward": "gemm", "gate_up": "swiglu"}
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "qwen2.5-7b", "mistral-7b")
CELLS = ("large", "small", "gate_up", "small_gate_up")
SMALL_ROWS = (1, 2, 4, 8, 16)
SMALLEST_STREAM = 64 << 20
ROTATED_BYTES = 512 << 20
GRAPH_MS = 8
ROUNDS = 6
LARGEST_DIFFERENCE = 0.02


def shapes():
    """(n, k) of the projections, and of those of gate and up."""
    projections, gates = [], []
    for name in MODELS:
        model = json.loads((KERNELS.parent / "configs" / "shapes" / f"{name}.json").read_text(encoding="utf-8"))
        hidden, wide = model["hidden_size"], model["intermediate_size"]
        heads, kv_heads = model["heads"] * model["head_dim"], model["kv_heads"] * model["head_dim"]
        projections += [(heads, hidden), (hidden, heads), (kv_heads, hidden), (wide, hidden), (hidden, wide)]
        gates.append((wide, hidden))
    return list(dict.fromkeys(projections)), list(dict.fromkeys(gates))


def cases(words):
    """(cell, operator, m, n, k)"""
    projections, gates = (words.products, words.products) if words.products else shapes()
    small, large, wide = (words.rows,) * 3 if words.rows else (SMALL_ROWS, (512, 2048, 8192), (2048, 8192))
    for cell in words.cells:
        if cell == "large":
            if not words.products:
                yield from ((cell, "forward", size, size, size) for size in (4096, 8192))
            yield from ((cell, "forward", m, n, k) for n, k in projections for m in large)
        elif cell == "small":
            yield from ((cell, "forward", m, n, k) for n, k in projections if 2 * n * k >= SMALLEST_STREAM for m in small)
        else:
            rows = small if cell == "small_gate_up" else wide
            yield from ((cell, "gate_up", m, n, k) for n, k in gates for m in rows)


def operator_file(operator):
    return json.loads((KERNELS / FAMILY[operator] / f"{operator}.json").read_text(encoding="utf-8"))


def default_variants():
    return {f"mgtune.{operator}": [operator, "all", []] for operator in FAMILY} | {
        f"{design}.{operator}": [operator, design, content["defaults"]]
        for operator in FAMILY for design, content in operator_file(operator)["designs"].items() if design != "plain"}


class GemmRuntime(Runtime):
    """A context with a family of each variant, which has nothing else. So no tuned table serves it."""

    def __init__(self, folder, library, variants):
        families, self.names, self.plans = [], {}, {}
        for i, (name, (operator, design, defaults)) in enumerate(variants.items()):
            family = folder / f"family_{i}"
            shutil.copytree(KERNELS / FAMILY[operator], family)
            for file in family.glob("*.json"):
                file.unlink()
            description = operator_file(operator)
            defaults = defaults if isinstance(defaults, list) else [defaults]
            if design != "all":
                description["designs"] = {design: {**description["designs"][design], "defaults": defaults}}
            (family / f"{operator}.json").write_text(json.dumps(description), encoding="utf-8")
            families.append(os.fsencode(family))
            self.names[name] = f"family_{i}.{operator}"
        super().__init__(library)
        array = (ctypes.c_char_p * len(families))(*families)
        options = OpenOptions(ctypes.sizeof(OpenOptions), b"auto", None, ctypes.cast(array, ctypes.c_void_p), len(families))
        self.context = ctypes.c_void_p()
        self.must(self.mgr.mgr_open(ctypes.byref(options), ctypes.byref(self.context)))

    def plan_case(self, name, operator, m, n, k):
        """The plan, the dims of a launch, and a workspace."""
        key = (name, m, n, k)
        if key not in self.plans:
            dims = {"m": m, "n": n, "k": k}
            plan = self.plan(self.names[name], {"T": "bf16"}, dims)
            values = [dims.get(dim, -1) for dim in operator_file(operator)["dims"]]
            self.plans[key] = plan, (ctypes.c_int64 * len(values))(*values), self.workspace(plan, 0)
        return self.plans[key]

    def call(self, torch, name, operator, case, tensors):
        plan, values, workspace = self.plan_case(name, operator, *case)
        pointers = [tensors[tensor].data_ptr() if tensor in tensors else None for tensor in operator_file(operator)["tensors"]]
        pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        scalars = (ctypes.c_double * 1)()

        def call():
            stream = torch.cuda.current_stream().cuda_stream
            self.must(self.mgr.mgr_launch(plan, stream, values, len(values), pointers, len(pointers), scalars, 0, workspace))
            return tensors["y" if operator == "forward" else "h"]
        return call


def peers_of(operator, with_compile):
    peers = ["cuBLAS", "cuBLASLt"] if operator == "forward" else ["eager", "GEMM alone"]
    return peers + (["torch.compile"] if with_compile else [])


def peer_calls(torch, peer, operator, sets):
    """One callable for each set of tensors."""
    linear, silu = torch.nn.functional.linear, torch.nn.functional.silu

    def gated(x, w):
        gate, up = linear(x, w).chunk(2, dim=-1)
        return silu(gate) * up

    function = linear if operator == "forward" or peer == "GEMM alone" else gated
    torch.backends.cuda.preferred_blas_library("cublaslt" if peer == "cuBLASLt" else "cublas")
    if peer == "torch.compile":
        torch._dynamo.reset()
        function = torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)
    return [lambda x=tensors["x"], w=tensors["w"]: function(x, w) for tensors in sets]


def sets_of(torch, operator, m, n, k, cell):
    """Sets of tensors; w of gate_up is stacked, gate first."""
    rows = n if operator == "forward" else 2 * n
    count = max(2, -(-ROTATED_BYTES // (2 * rows * k))) if cell.startswith("small") else 1
    sets = []
    for _ in range(count):
        def random(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
        tensors = {"x": random(m, k), "w": random(rows, k) * 0.02}
        output = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        if operator == "forward":
            tensors["y"] = output
        else:
            tensors.update(gate_w=tensors["w"][:n], up_w=tensors["w"][n:], h=output)
        sets.append(tensors)
    return sets


def order_of_turn(names, turn):
    """The order of a turn. The clock depends on what ran before, so the place of a name, and which name is before it, change between turns."""
    first = turn // 2 % max(1, len(names))
    order = names[first:] + names[:first]
    return order if turn % 2 == 0 else order[::-1]


def times_of(torch, runtime, variants, with_compile, cell, operator, m, n, k):
    """Microseconds of each implementation, or the reason why there is no time."""
    sets = sets_of(torch, operator, m, n, k, cell)
    results, replays, expected = {}, {}, None
    own = [name for name, variant in variants.items() if variant[0] == operator]
    peers = peers_of(operator, with_compile)
    for name in peers + own:
        try:
            if name in peers:
                calls = peer_calls(torch, name, operator, sets)
            else:
                calls = [runtime.call(torch, name, operator, (m, n, k), tensors) for tensors in sets]
            if name != "GEMM alone":
                value = calls[0]().float()
                expected = value.clone() if expected is None else expected
                difference = float((value - expected).norm() / expected.norm())
                if not difference <= LARGEST_DIFFERENCE:
                    raise RuntimeError(f"it differs from {peers[0]} by {difference:.3f}")
            replays[name] = Replays(torch, calls, GRAPH_MS)
        except Exception as error:  # whatever torch.compile raises
            results[name] = (str(error) or type(error).__name__).splitlines()[0][:160]
    for turn in range(ROUNDS):
        for name in order_of_turn(list(replays), turn):
            replays[name].replay(2)
    return {**results, **{name: round(statistics.median(each.us), 2) for name, each in replays.items()}}


def clock_and_power():
    command = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits", "--id=0"]
    try:
        clock, power = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.split(",")
        return {"sm_mhz": float(clock), "watts": float(power)}
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}


def warm(words, variants, share, shares):
    """Compiles this share of what measure() runs."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = GemmRuntime(pathlib.Path(folder), words.library, variants)
        for name, variant in list(variants.items())[share::shares]:
            for case in cases(words):
                if case[1] == variant[0]:
                    try:
                        runtime.plan_case(name, *case[1:])
                    except RuntimeError as error:
                        print(f"{name} {case}: {(str(error) or type(error).__name__).splitlines()[0][:200]}", file=sys.stderr)


def measure(words, variants):
    start = time.monotonic()
    shares = max(1, min(12, os.cpu_count() or 1, len(variants)))
    command = [sys.executable, __file__, "--library", words.library, "--cells", *words.cells]
    command += ["--products", *(f"{n},{k}" for n, k in words.products)] if words.products else []
    command += ["--rows", *map(str, words.rows)] if words.rows else []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(variants, file)
        file.flush()
        processes = [subprocess.Popen([*command, "--variants", file.name, "--warm", f"{i}/{shares}"], stderr=subprocess.DEVNULL)
                     for i in range(shares)]
        for process in processes:
            process.wait()
    print(f"compiled after {time.monotonic() - start:.0f} s", flush=True)
    import torch
    document = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "variants": variants, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        runtime = GemmRuntime(pathlib.Path(folder), words.library, variants)
        for case in cases(words):
            if time.monotonic() - start > words.seconds:
                print(f"stopped after {words.seconds:.0f} s, before {case}")
                break
            us = times_of(torch, runtime, variants, words.compile, *case)
            document["rows"].append({**dict(zip(("cell", "operator", "m", "n", "k"), case)), "us": us, **clock_and_power()})
    head = json.dumps({name: value for name, value in document.items() if name != "rows"})
    lines = ",\n".join(json.dumps(row) for row in document["rows"])
    words.output.write_text(head[:-1] + ', "rows": [\n' + lines + "\n]}\n", encoding="utf-8")
    print(f"{len(document['rows'])} cells after {time.monotonic() - start:.0f} s", flush=True)


def rate(row, us, read_gbps):
    """TFLOP/s, or the share of the read bandwidth in cells of few rows."""
    weights = 1 if row["operator"] == "forward" else 2
    if not row["cell"].startswith("small"):
        return f"{2 * weights * row['m'] * row['n'] * row['k'] / us / 1e6:.0f}"
    gbps = 2 * weights * row["n"] * row["k"] / us / 1e3
    return f"{gbps / read_gbps:.0%}" if read_gbps else f"{gbps:.0f}"


def print_tables(document, read_gbps):
    """The unit is TFLOP/s; in cells of few rows it is the share of the read bandwidth, or GB/s of weights."""
    for cell in dict.fromkeys(row["cell"] for row in document["rows"]):
        rows = [row for row in document["rows"] if row["cell"] == cell]
        operator = rows[0]["operator"]
        own = [name for name, variant in document["variants"].items() if variant[0] == operator]
        peers = [name for name in peers_of(operator, True) if any(name in row["us"] for row in rows)]
        print(f"\n{cell}: {operator}, {'weights read per second' if cell.startswith('small') else 'TFLOP/s'}\n")
        print("| m | n | k | " + " | ".join(peers + own) + " | best | best / best peer |" +
              (" best / GEMM alone |" if operator == "gate_up" else "") + " MHz |\n|" + "---|" * (len(peers + own) + 6 + (operator == "gate_up")))
        ratios, alone = [], []
        for row in rows:
            us = {name: value for name, value in row["us"].items() if isinstance(value, float)}
            fastest = min((name for name in own if name in us), key=us.get, default=None)
            rivals = [us[name] for name in peers if name in us and name != "GEMM alone"]
            texts = [rate(row, us[name], read_gbps) if name in us else "-" for name in peers + own]
            texts.append(fastest or "-")
            for reference, kept in ([(min(rivals, default=None), ratios)] +
                                    ([(us.get("GEMM alone"), alone)] if operator == "gate_up" else [])):
                if fastest and reference:
                    kept.append(reference / us[fastest])
                texts.append(f"{reference / us[fastest]:.3f}" if fastest and reference else "-")
            print(f"| {row['m']:,} | {row['n']:,} | {row['k']:,} | " + " | ".join(texts) + f" | {row.get('sm_mhz', 0):.0f} |")
        for name, kept in (("the best peer", ratios), ("GEMM alone", alone)):
            if kept:
                print(f"\nThe best of ours is {statistics.geometric_mean(kept):.3f} times as fast as {name} (geometric mean), {min(kept):.3f} at worst")
    errors = {f"{name}: {us}" for row in document["rows"] for name, us in row["us"].items() if isinstance(us, str)}
    for error in sorted(errors):
        print(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("--variants", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS), help="default: all")
    parser.add_argument("--products", nargs="+", metavar="N,K", type=lambda text: tuple(map(int, text.split(","))),
                        help="products with these numbers of columns, instead of those of the models and the squares")
    parser.add_argument("--rows", nargs="+", type=int, metavar="M", help="these numbers of rows in all cells")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too")
    parser.add_argument("--seconds", type=float, default=240, help="no further cell begins after this time (default: 240)")
    parser.add_argument("--read-gbps", type=float, help="the read bandwidth that mgtune calibrate measured, for the tables")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("gemm.json"), help="default: gemm.json")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="print the tables of a file, measure nothing")
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.table is None:
        variants = json.loads(words.variants.read_text(encoding="utf-8")) if words.variants else default_variants()
        variants = variants.get("variants", variants)
        if words.warm:
            share, shares = map(int, words.warm.split("/"))
            return warm(words, variants, share, shares)
        measure(words, variants)
    print_tables(json.loads((words.table or words.output).read_text(encoding="utf-8")), words.read_gbps)


if __name__ == "__main__":
    main()
