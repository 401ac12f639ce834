#!/usr/bin/env python3
"""Times variants of attention.prefill beside FlashAttention-2 and cuDNN, and prints tables of TFLOP/s.

  scripts/compare_prefill.py --library build/libmgruntime.so.0 -o prefill.json     on a GPU, for two minutes
  scripts/compare_prefill.py --table prefill.json                                  the tables of such a file, without a GPU
  scripts/compare_prefill.py --variants FILE ...                                   other variants: {"name": ["DESIGN", {"PARAMETER": value}]},
                                                                                   or those of a file that an earlier run wrote

Without --variants each design runs its first default that fits, without a tuned table. The others are PyTorch's FLASH_ATTENTION and
CUDNN_ATTENTION. Where values have another head_dim than keys, FlashAttention-2 gets them padded with zeros. Inputs are bf16, random and
normal, (batch, tokens, heads, head_dim). A time is the median over replays of a CUDA graph of
about 8 ms; all implementations of a case take turns. An output that differs from that of the first peer by more than 2 % is an error, which
the table shows instead of the time. Flops are 2 * batch * heads * tokens * tokens * (head_dim + value_dim), half of it if attention is causal.
"""
import argparse
import ctypes
import json
import math
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
from mgtune_for_peers import KERNELS, Runtime, is_static

PEERS = ["FA2", "cuDNN"]
TOKENS = 16384  # of all sequences of a case together
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
# batch, tokens, heads, kv_heads, head_dim, causal, and the head_dim of the values if it is another one
OTHER_CASES = [(3, 1000, 24, 8, 128, True), (3, 3072, 24, 8, 128, True), (1, 12345, 24, 8, 128, True), (3, 3333, 28, 4, 128, True),
               (3, 1000, 40, 8, 128, False), (3, 3072, 24, 8, 96, True), (4, 4096, 16, 16, 192, True, 128), (4, 4096, 16, 16, 192, False, 128),
               (3, 1000, 16, 16, 192, True, 128)]
GRAPH_MS = 8
LARGEST_DIFFERENCE = 0.02


def cases(lengths):
    """The 72 cells of head_dim, heads, causal and length, of which `lengths` selects some; then OTHER_CASES."""
    for head_dim in (128, 64, 256):
        for heads, kv_heads in ((2048 // head_dim, 2048 // head_dim), (32, 8)):
            for causal in (True, False):
                for tokens in lengths:
                    yield TOKENS // tokens, tokens, heads, kv_heads, head_dim, causal
    yield from OTHER_CASES


def value_dim_of(case):
    return case[6] if len(case) > 6 else case[4]


def default_variants():
    operator = json.loads((KERNELS / "attention" / "prefill.json").read_text(encoding="utf-8"))
    return {name: [name, design["defaults"]] for name, design in operator["designs"].items()}


class PrefillRuntime(Runtime):
    """A context with a family prefill_NAME of each variant, which has nothing else. So no tuned table serves it."""

    def __init__(self, folder, library, variants):
        families = []
        for name, (design, defaults) in variants.items():
            family = folder / f"prefill_{name}"
            shutil.copytree(KERNELS / "attention", family)
            for other in ("decode.json", "varlen.json"):
                (family / other).unlink()
            operator = json.loads((family / "prefill.json").read_text(encoding="utf-8"))
            defaults = defaults if isinstance(defaults, list) else [defaults]
            operator["designs"] = {design: {**operator["designs"][design], "defaults": defaults}}
            (family / "prefill.json").write_text(json.dumps(operator), encoding="utf-8")
            families.append(os.fsencode(family))
        self.dims = [name for name, dim in operator["dims"].items() if not is_static(dim)]
        self.tensors = list(operator["tensors"])
        self.workspaces = {}  # of each variant, one for all its cases: they follow one another
        super().__init__(library)
        array = (ctypes.c_char_p * len(families))(*families)
        options = OpenOptions(ctypes.sizeof(OpenOptions), b"auto", None, ctypes.cast(array, ctypes.c_void_p), len(families))
        self.context = ctypes.c_void_p()
        self.must(self.mgr.mgr_open(ctypes.byref(options), ctypes.byref(self.context)))

    def plan_case(self, name, case):
        """The plan, and the dims of a launch."""
        batch, tokens, heads, kv_heads, head_dim, causal = case[:6]
        dims = {"batch": batch, "seq_q": tokens, "seq_k": tokens, "heads": heads, "kv_heads": kv_heads}
        words = {"head_dim": str(head_dim), "value_dim": str(value_dim_of(case)), "T": "bf16", "causal": "true" if causal else "false"}
        values = [dims.get(dim, -1) for dim in self.dims]
        return self.plan(f"prefill_{name}.prefill", words, dims), (ctypes.c_int64 * len(values))(*values)

    def prefill(self, torch, name, case, q, k, v):
        plan, values = self.plan_case(name, case)
        if name not in self.workspaces:
            self.workspaces[name] = self.workspace(plan, 0)
        workspace = self.workspaces[name]
        o = torch.empty(*q.shape[:-1], value_dim_of(case), device=q.device, dtype=q.dtype)
        given = {"q": q, "k": k, "v": v, "o": o}
        pointers = [given[tensor].data_ptr() if tensor in given else None for tensor in self.tensors]
        pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        scalars = (ctypes.c_double * 2)(1 / math.sqrt(q.shape[-1]), 1.0)

        def call():
            stream = torch.cuda.current_stream().cuda_stream
            self.must(self.mgr.mgr_launch(plan, stream, values, len(values), pointers, len(pointers), scalars, 2, workspace))
            return o
        return call


def peer_call(torch, name, q, k, v, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = SDPBackend.FLASH_ATTENTION if name == "FA2" else SDPBackend.CUDNN_ATTENTION
    gqa, value_dim = q.shape[2] != k.shape[2], v.shape[3]
    if name == "FA2":
        v = torch.nn.functional.pad(v, (0, k.shape[3] - value_dim))
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))

    def call():
        with sdpa_kernel(backend):
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=gqa)
        return o[..., :value_dim].transpose(1, 2)
    return call


def times_of(torch, runtime, variants, case):
    """Microseconds of each implementation, or why it has none."""
    batch, tokens, heads, kv_heads, head_dim, causal = case[:6]
    q = torch.randn(batch, tokens, heads, head_dim, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(batch, tokens, kv_heads, width, device="cuda", dtype=torch.bfloat16) for width in (head_dim, value_dim_of(case)))
    results, replays, expected = {}, {}, None
    for name in PEERS + list(variants):
        try:
            call = peer_call(torch, name, q, k, v, causal) if name in PEERS else runtime.prefill(torch, name, case, q, k, v)
            o = call().float()
            expected = o.clone() if expected is None else expected
            difference = float((o - expected).norm() / expected.norm())
            if not difference <= LARGEST_DIFFERENCE:
                raise RuntimeError(f"it differs from {PEERS[0]} by {difference:.3f}")
            replays[name] = Replays(torch, [call], GRAPH_MS)
        except RuntimeError as error:
            results[name] = (str(error) or type(error).__name__).splitlines()[0][:160]
    for order in (list(replays), list(reversed(replays))):
        for name in order:
            replays[name].replay(3)
    return {**results, **{name: round(statistics.median(each.us), 2) for name, each in replays.items()}}


def warm(library, variants, share, shares, lengths):
    """Compiles this share of what measure() runs."""
    kinds = sorted({case[4:] for case in cases(lengths)})
    with tempfile.TemporaryDirectory() as folder:
        runtime = PrefillRuntime(pathlib.Path(folder), library, variants)
        work = [(name, kind) for name in variants for kind in kinds]
        for name, kind in work[share::shares]:
            try:
                runtime.plan_case(name, next(case for case in cases(lengths) if case[4:] == kind))
            except RuntimeError as error:
                print(f"{name} {kind}: {(str(error) or type(error).__name__).splitlines()[0][:200]}", file=sys.stderr)


def measure(library, variants, lengths, path, seconds):
    start = time.monotonic()
    shares = min(12, os.cpu_count() or 1)
    command = [sys.executable, __file__, "--library", library, "--lengths", *map(str, lengths)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(variants, file)
        file.flush()
        processes = [subprocess.Popen([*command, "--variants", file.name, "--warm", f"{i}/{shares}"]) for i in range(shares)]
        for process in processes:
            process.wait()
    print(f"compiled after {time.monotonic() - start:.0f} s", flush=True)
    import torch
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        runtime = PrefillRuntime(pathlib.Path(folder), library, variants)
        for case in cases(lengths):
            if time.monotonic() - start > seconds:
                print(f"stopped after {seconds} s, before {case}")
                break
            names = ("batch", "tokens", "heads", "kv_heads", "head_dim", "causal", "value_dim")
            rows.append({**dict(zip(names, case)), "us": times_of(torch, runtime, variants, case)})
    document = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "variants": variants}
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(json.dumps(document)[:-1] + ', "rows": [\n' + lines + "\n]}\n", encoding="utf-8")
    print(f"{len(rows)} cases after {time.monotonic() - start:.0f} s", flush=True)


def tflops(row, name):
    us = row["us"].get(name)
    widths = row["head_dim"] + row.get("value_dim", row["head_dim"])
    flops = 2 * row["batch"] * row["heads"] * row["tokens"] ** 2 * widths / (2 if row["causal"] else 1)
    return flops / us / 1e6 if isinstance(us, float) else None


def print_tables(document):
    rows, names = document["rows"], PEERS + list(document["variants"])
    print("| head_dim | heads | causal | batch x tokens | " + " | ".join(names) + " | best / best peer |\n|" + "---|" * (len(names) + 5))
    ratios = []
    for row in rows:
        rates = {name: tflops(row, name) for name in names}
        own = [rate for name, rate in rates.items() if name not in PEERS and rate]
        peers = [rate for name, rate in rates.items() if name in PEERS and rate]
        ratio = max(own) / max(peers) if own and peers else None
        ratios += [ratio] if ratio else []
        texts = " | ".join(f"{rate:.0f}" if rate else "-" for rate in rates.values())
        head_dim = f"{row['head_dim']}, {row['value_dim']}" if "value_dim" in row else row["head_dim"]
        print(f"| {head_dim} | {row['heads']}/{row['kv_heads']} | {'yes' if row['causal'] else 'no'} | {row['batch']} x "
              f"{row['tokens']:,} | {texts} | " + (f"{ratio:.2f} |" if ratio else "- |"))
    if ratios:
        print(f"\nBest of ours over the best peer: geometric mean {statistics.geometric_mean(ratios):.3f}, worst {min(ratios):.2f}")
    errors = {f"{name}: {us}" for row in rows for name, us in row["us"].items() if isinstance(us, str)}
    for error in sorted(errors):
        print(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("--variants", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS), help="tokens per sequence of the cells (default: all)")
    parser.add_argument("--seconds", type=float, default=240, help="no further case begins after this time (default: 240)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("prefill.json"), help="default: prefill.json")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="print the tables of a file, measure nothing")
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.table is None:
        variants = json.loads(words.variants.read_text(encoding="utf-8")) if words.variants else default_variants()
        variants = variants.get("variants", variants)
        if words.warm:
            share, shares = map(int, words.warm.split("/"))
            return warm(words.library, variants, share, shares, words.lengths)
        measure(words.library, variants, words.lengths, words.output, words.seconds)
    print_tables(json.loads((words.table or words.output).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
