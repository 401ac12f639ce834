#!/usr/bin/env python3
"""Times attention.decode beside FlashAttention-2 and cuDNN, and prints the tables of results/h200/attention.md.

  scripts/compare_decode.py --library build/libmgruntime.so.0 -o decode.json    on a GPU, about four minutes
  scripts/compare_decode.py --table decode.json                                 the tables of such a file, without a GPU

The implementations are:

  mgtune         what a program runs without a tuned table
  split, even    the first default of this design with four warps in all cases, also where the space leaves it out
  FA2            PyTorch's FLASH_ATTENTION
  cuDNN          PyTorch's CUDNN_ATTENTION
  folded         CUDNN_ATTENTION with the query heads that share a head of keys as rows
  copy           copies half as many bytes as keys and values have: it reads and writes as many as the others read

A case is left out if its keys and values do not fit into 55 % of the GPU's free memory; the largest one has 34 GB.

A time is the median over replays of a CUDA graph. Its launches rotate through sets of keys and values that are
together larger than L2. All implementations of a case take turns.

An output that differs from that of `split` by more than 2 % ends the script.
"""
import argparse
import ctypes
import itertools
import json
import math
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from mgruntime_structures import OpenOptions
from mgtune_for_peers import KERNELS, Runtime, is_static

HEAD_DIM = 128
PEERS = ["FA2", "cuDNN", "folded"]
DESIGNS = ("mgtune", "split", "even")
BATCHES = (1, 2, 3, 5, 8, 13, 16, 17, 24, 32, 33, 48, 64, 96, 128)
LENGTHS = (128, 512, 1024, 3000, 5000, 8192, 12000, 32768)
HEADS = ((32, 8), (28, 4), (24, 8), (16, 16), (64, 8))  # query heads, KV heads
# batch, keys, how lengths differ, rows of a page
OTHER_CASES = ((64, 8192, "uniform", 0), (64, 8192, "one long", 0), (17, 3000, "uniform", 0), (128, 1024, "uniform", 0),
               (16, 8192, "equal", 16), (64, 8192, "uniform", 16))
BANK_BYTES = 34_500_000_000  # keys and values of all cases, at most; random once
BANK_SHARE = 0.55  # of the free memory, at most: a copy of the keys, queries and outputs need the rest
ROTATED_BYTES = 200_000_000  # sets of keys and values together, at least
GRAPH_MS = 2.5
LARGEST_DIFFERENCE = 0.02
WARPS = 4  # of the variants of split and even
SLOW = 1.015  # times over the fastest peer: cases above it have a table of their own
OF_THE_CASE = ("idle", "resident", "total_kv", "uneven", "are_equal", "is_plain")  # constraints with these words ask whether a variant suits a case


def cases():
    """(batch, keys, heads, kv_heads, lengths, rows of a page) of each case, those of the tables first."""
    for heads, kv_heads in HEADS:
        for batch in BATCHES:
            for keys in LENGTHS:
                yield batch, keys, heads, kv_heads, "equal", 0
    for batch, keys, lengths, page in OTHER_CASES:
        yield batch, keys, 32, 8, lengths, page


class DecodeRuntime(Runtime):
    """A context with a family decode_DESIGN of each of DESIGNS. So no tuned table serves them."""

    def __init__(self, folder, library):
        families = []
        self.variants = {}
        for design in DESIGNS:
            family = folder / f"decode_{design}"
            shutil.copytree(KERNELS / "attention", family)
            for other in ("prefill.json", "varlen.json"):
                (family / other).unlink()
            operator = json.loads((family / "decode.json").read_text(encoding="utf-8"))
            if design != "mgtune":
                content = operator["designs"][design]
                self.variants[design] = next(variant for variant in content["defaults"] if variant["WARPS"] == WARPS)
                constraints = [each for each in content["constraints"] if not any(word in each for word in OF_THE_CASE)]
                operator["designs"] = {design: {**content, "defaults": [self.variants[design]], "constraints": constraints}}
            (family / "decode.json").write_text(json.dumps(operator), encoding="utf-8")
            families.append(os.fsencode(family))
        self.dims = [name for name, dim in operator["dims"].items() if not is_static(dim)]
        self.tensors = list(operator["tensors"])
        self.plans = {}  # one for each design and case: another one would load its module again
        super().__init__(library)
        array = (ctypes.c_char_p * len(families))(*families)
        options = OpenOptions(ctypes.sizeof(OpenOptions), b"auto", None, ctypes.cast(array, ctypes.c_void_p), len(families))
        self.context = ctypes.c_void_p()
        self.must(self.mgr.mgr_open(ctypes.byref(options), ctypes.byref(self.context)))

    def decode(self, torch, design, q, k, v, lengths, table, total):
        """A call that enqueues the launch on torch's current stream, and returns o. `table`: the pages of a paged cache, or None."""
        dims = {"batch": q.shape[0], "q_len": 1, "heads": q.shape[2], "kv_heads": k.shape[2], "total_kv": total}
        words = {"head_dim": str(HEAD_DIM), "T": "bf16"}
        if table is None:
            dims["kv_len"] = k.shape[1]
        else:
            words["paged"] = "true"
            dims.update(kv_len=table.shape[1] * k.shape[1], page_size=k.shape[1], pages=k.shape[0], max_pages=table.shape[1])
        key = (design, *dims.values(), len(words))
        if key not in self.plans:
            plan = self.plan(f"decode_{design}.decode", words, dims)
            self.plans[key] = plan, self.workspace(plan, 0)
        plan, workspace = self.plans[key]
        values = [dims.get(dim, -1) for dim in self.dims]
        values = (ctypes.c_int64 * len(values))(*values)
        o = torch.empty_like(q)
        given = {"q": q, "k": k, "v": v, "o": o, "kv_lens": lengths, "block_table": table}
        pointers = [None if given.get(name) is None else given[name].data_ptr() for name in self.tensors]
        pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        scalars = (ctypes.c_double * 2)(1 / math.sqrt(HEAD_DIM), 1.0)

        def call():
            stream = torch.cuda.current_stream().cuda_stream
            self.must(self.mgr.mgr_launch(plan, stream, values, len(values), pointers, len(pointers), scalars, 2, workspace))
            return o
        return call


def peer_call(torch, name, q, k, v):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = SDPBackend.FLASH_ATTENTION if name == "FA2" else SDPBackend.CUDNN_ATTENTION
    batch, _, heads, _ = q.shape
    kv_heads = k.shape[2]
    folded = name == "folded"
    rows = q.view(batch, kv_heads, heads // kv_heads, HEAD_DIM) if folded else q.transpose(1, 2)
    k, v = k.transpose(1, 2), v.transpose(1, 2)

    def call():
        with sdpa_kernel(backend):
            o = torch.nn.functional.scaled_dot_product_attention(rows, k, v, enable_gqa=not folded and heads != kv_heads)
        return o.reshape(batch, 1, heads, HEAD_DIM) if folded else o.transpose(1, 2)
    return call


def copy_call(torch, k):
    """A call that copies the keys."""
    copied = torch.empty_like(k)
    return lambda: copied.copy_(k)


class Replays:
    """Times of a CUDA graph that calls each of `calls` in turn."""

    def __init__(self, torch, calls, graph_ms=GRAPH_MS):
        self.torch = torch
        self.calls = calls  # their tensors live as long as the graph
        for call in calls[:2]:
            call()
        torch.cuda.synchronize()
        begin, end = self.event(), self.event()
        begin.record()
        for call in calls:
            call()
        end.record()
        torch.cuda.synchronize()
        loops = max(1, min(int(graph_ms / max(begin.elapsed_time(end), 1e-3)), 96 // len(calls)))
        self.launches = loops * len(calls)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(loops):
                for call in calls:
                    call()
        self.graph.replay()
        torch.cuda.synchronize()
        self.us = []

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def replay(self, count):
        events = [(self.event(), self.event()) for _ in range(count)]
        for begin, end in events:
            begin.record()
            self.graph.replay()
            end.record()
        self.torch.cuda.synchronize()
        self.us += [begin.elapsed_time(end) / self.launches * 1e3 for begin, end in events]


def lengths_of(torch, batch, keys, lengths):
    if lengths == "uniform":
        return torch.randint(0, keys + 1, (batch,), generator=torch.Generator().manual_seed(batch * keys))
    if lengths == "one long":
        all_lengths = torch.full((batch,), max(1, keys // 64))
        all_lengths[batch // 2] = keys
        return all_lengths
    return torch.full((batch,), keys)


def times_of(torch, runtime, bank, case):
    """Microseconds of each implementation."""
    batch, keys, heads, kv_heads, lengths, page = case
    elements = batch * keys * kv_heads * HEAD_DIM
    sets = max(1, min(48, math.ceil(ROTATED_BYTES / (4 * elements)), bank.numel() // (2 * elements)))
    own = lengths_of(torch, batch, keys, lengths)
    total, own = int(own.sum()), own.to("cuda", torch.int32)
    shape, table = (batch, keys, kv_heads, HEAD_DIM), None
    if page:
        pages = batch * keys // page
        shape = (pages, page, kv_heads, HEAD_DIM)
        table = torch.randperm(pages, generator=torch.Generator().manual_seed(pages)).to(torch.int32).view(batch, keys // page).cuda()
    data = []
    for i in range(sets):
        k, v = (bank[n * elements:(n + 1) * elements].view(shape) for n in (2 * i, 2 * i + 1))
        data.append((torch.randn(batch, 1, heads, HEAD_DIM, device="cuda", dtype=torch.bfloat16), k, v))
    calls = {design: [runtime.decode(torch, design, *each, own, table, total) for each in data] for design in DESIGNS}
    if lengths == "equal" and not page:
        calls.update({name: [peer_call(torch, name, *each) for each in data] for name in PEERS})
    copies = [copy_call(torch, k) for _, k, _ in data]
    expected = calls["split"][0]().float().clone()
    replays = {}
    for name, each in calls.items():
        difference = float((each[0]().float() - expected).norm() / expected.norm().clamp_min(1e-30))
        if not difference <= LARGEST_DIFFERENCE:
            sys.exit(f"{case}: {name} differs from split by {difference:.3f}")
        replays[name] = Replays(torch, each)
    replays["copy"] = Replays(torch, copies)
    for order in (list(replays), list(reversed(replays))):
        for name in order:
            replays[name].replay(4)
    return {name: round(statistics.median(each.us), 2) for name, each in replays.items()}


def measure(library, path):
    import torch
    start = time.monotonic()
    free_bytes, _ = torch.cuda.mem_get_info()
    bank = torch.empty(min(BANK_BYTES, int(BANK_SHARE * free_bytes)) // 2, device="cuda", dtype=torch.bfloat16)
    for part in bank.split(1 << 28):
        part.normal_()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        runtime = DecodeRuntime(pathlib.Path(folder), library)
        try:
            for case in cases():
                batch, keys, _, kv_heads, _, _ = case
                if 2 * batch * keys * kv_heads * HEAD_DIM > bank.numel():
                    continue
                names = ("batch", "keys", "heads", "kv_heads", "lengths", "page")
                rows.append({**dict(zip(names, case)), "us": times_of(torch, runtime, bank, case)})
        except KeyboardInterrupt:
            print("Stopped; the file has the cases before.")
    document = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "variants": runtime.variants, "rows": rows}
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = json.dumps({**document, "rows": []})
    path.write_text(head.removesuffix("]}") + "\n" + lines + "\n]}\n", encoding="utf-8")
    print(f"{len(rows)} cases after {time.monotonic() - start:.0f} s")


def key_bytes(row):
    return row["batch"] * row["keys"] * row["kv_heads"] * HEAD_DIM * 2 * 2  # keys and values, bf16


def ratios(rows, times):
    """times(us) divided by the time of the fastest peer, for each row."""
    return [times(row["us"]) / min(row["us"][peer] for peer in PEERS) for row in rows]


def print_by_heads(rows):
    """`mgtune` over the fastest peer, for each number of heads."""
    print("\n| query heads / KV heads | cases | geometric mean | worst | cases up to 1.03 |\n|" + "---|" * 5)
    for heads, kv_heads in dict.fromkeys((row["heads"], row["kv_heads"]) for row in rows):
        group = ratios([row for row in rows if (row["heads"], row["kv_heads"]) == (heads, kv_heads)], lambda us: us["mgtune"])
        below = sum(ratio <= 1.03 for ratio in group)
        print(f"| {heads} / {kv_heads} | {len(group)} | {statistics.geometric_mean(group):.3f} | {max(group):.3f} | {below} |")


def print_slow_cases(rows):
    """The cases in which `mgtune` takes longer than the fastest peer by more than SLOW, the slowest first."""
    slow = sorted(((ratio, i) for i, ratio in enumerate(ratios(rows, lambda us: us["mgtune"])) if ratio > SLOW), reverse=True)
    if not slow:
        return
    print("\n| heads | batch, kv | " + " | ".join(PEERS) + " | `mgtune` | over the fastest peer |\n|" + "---|" * (len(PEERS) + 4))
    for ratio, i in slow:
        row = rows[i]
        times = " | ".join(f"{row['us'][name]:.1f}" for name in [*PEERS, "mgtune"])
        print(f"| {row['heads']} / {row['kv_heads']} | {row['batch']}, {row['keys']:,} | {times} | {ratio:.3f} |")


def print_by_bytes(rows):
    """`mgtune` by the size of keys and values: its time over that of the fastest peer, the rate at which they are read, and this rate over that of the copy."""
    print("\n| keys and values | cases | geometric mean | GB/s, lowest | GB/s, median | of copy, lowest | of copy, median |\n|" + "---|" * 7)
    bounds = (0, 8, 32, 64, 128, 512, math.inf)
    for low, high in itertools.pairwise(bounds):
        group = [row for row in rows if low << 20 <= key_bytes(row) < (math.inf if high == math.inf else high << 20)]
        if not group:
            continue
        rates = [key_bytes(row) / row["us"]["mgtune"] / 1e3 for row in group]
        of_copy = [row["us"]["copy"] / row["us"]["mgtune"] for row in group if "copy" in row["us"]]
        shares = f"{min(of_copy):.0%} | {statistics.median(of_copy):.0%}" if of_copy else "- | -"
        mean = statistics.geometric_mean(ratios(group, lambda us: us["mgtune"]))
        name = f"from {low} MiB on" if high == math.inf else f"{low} to {high} MiB"
        print(f"| {name} | {len(group)} | {mean:.2f} | {min(rates):,.0f} | {statistics.median(rates):,.0f} | {shares} |")


def print_tables(rows):
    designs = [design for design in DESIGNS if all(design in row["us"] for row in rows)]
    names = PEERS + designs
    titles = [f"`{design}`" for design in designs]
    with_peers = [row for row in rows if all(peer in row["us"] for peer in PEERS)]
    print("| batch, kv | " + " | ".join(PEERS + titles) + " |\n|" + "---|" * (len(names) + 1))
    for row in with_peers:
        if (row["heads"], row["kv_heads"]) == (32, 8):
            print(f"| {row['batch']}, {row['keys']:,} | " + " | ".join(f"{row['us'][name]:.1f}" for name in names) + " |")
    print("\n| lengths, 32 / 8 heads | batch | keys | rows of a page | " + " | ".join(titles) + " |\n|" + "---|" * (len(designs) + 4))
    for row in rows:
        if row not in with_peers:
            times = " | ".join(f"{row['us'][name]:.1f}" for name in designs)
            print(f"| {row['lengths']} | {row['batch']} | {row['keys']:,} | {row['page'] or ''} | {times} |")
    if not with_peers:
        return
    print(f"\nOver the fastest peer, {len(with_peers)} cases:\n\n| | geometric mean | worst | cases up to 1.03 |\n|---|---|---|---|")
    summaries = {f"`{design}`": ratios(with_peers, lambda us, design=design: us[design]) for design in designs}
    summaries["the faster one"] = ratios(with_peers, lambda us: min(us["split"], us["even"]))
    for name, each in summaries.items():
        print(f"| {name} | {statistics.geometric_mean(each):.3f} | {max(each):.2f} | {sum(ratio <= 1.03 for ratio in each)} |")
    if "mgtune" in designs:
        print_by_heads(with_peers)
        print_slow_cases(with_peers)
        print_by_bytes(with_peers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("decode.json"), help="default: decode.json")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="print the tables of a file, measure nothing")
    words = parser.parse_args()
    if words.table is None:
        measure(words.library, words.output)
    print_tables(json.loads((words.table or words.output).read_text(encoding="utf-8"))["rows"])


if __name__ == "__main__":
    main()
