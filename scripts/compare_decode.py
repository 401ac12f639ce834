#!/usr/bin/env python3
"""Times attention.decode's designs `split` and `even` beside FlashAttention-2 and cuDNN of PyTorch.

  MGTUNE_LIBRARY=build/ci/libmgruntime.so.0 OUT=FOLDER scripts/compare_decode.py

Runs in the root of the repository, on a GPU with 24 GB or more. The times are medians of CUDA graphs, whose launches rotate through sets of keys
and values that are larger than L2. FOLDER/decode.json gets all times; the table goes to standard output. SECONDS_IN_ALL (140) ends it early.
"""


import ctypes, json, math, os, shutil, statistics, sys, tempfile, time
T0 = time.time()
BUDGET = float(os.environ.get("SECONDS_IN_ALL", "140"))
import torch, torch.nn.functional as F
from torch.nn.attention import SDPBackend as SB, sdpa_kernel
from mgruntime_structures import OpenOptions
from mgtune_for_peers import Runtime
D = 128

def even(rows=16, n=16, w=4, s=3, b=2, least=2):
    return ("even", dict(ROWS=rows, BLOCK_N=n, WARPS=w, STAGES=s, BLOCKS_PER_SM=b, LEAST=least, PDL=True))
VARIANTS = {
    "split": ("split", dict(ROWS=16, BLOCK_N=16, WARPS=4, STAGES=3, BLOCKS_PER_SM=1, GRID_BLOCKS=2, COMBINE="last_block", PDL=True)),
    "w4s2b2l1": even(s=2, least=1), "w4s2b2l2": even(s=2), "w4s2b2l4": even(s=2, least=4),
    "w4s3b2l2": even(), "w4s3b2l4": even(least=4), "w8s2b1l1": even(w=8, s=2, b=1, least=1), "w8s3b1l2": even(w=8, b=1), "w2s4b3l4": even(w=2, s=4, b=3, least=4),
    "w4s3b1l1": even(b=1, least=1), "w4s3b1l2": even(b=1), "w2s3b2l2": even(w=2), "n32w4s3b1l2": even(n=32, b=1),
}
FIRST = ["split", "w4s2b2l2", "w4s3b1l2"]  # also where the time is short

# Each variant is a family of its own with one default, so no tuned table is used.
root = tempfile.mkdtemp()
for name, (design, values) in VARIANTS.items():
    folder = os.path.join(root, "f_" + name)
    shutil.copytree("kernels/attention", folder)
    for other in ("prefill.json", "varlen.json"):
        os.remove(os.path.join(folder, other))
    path = os.path.join(folder, "decode.json")
    text = json.load(open(path))
    description = text
    text["designs"] = {design: text["designs"][design]}
    fallback = dict(values)
    if design == "even":  # for wider groups, where shared memory holds less
        fallback.update(STAGES=2, WARPS=4, BLOCKS_PER_SM=1 if values["WARPS"] == 8 else 2, BLOCK_N=16)
    text["designs"][design]["defaults"] = [values] + ([fallback] if fallback != values else [])
    json.dump(text, open(path, "w"))

class Here(Runtime):
    def __init__(self):
        super().__init__()
        folders = [os.fsencode(os.path.join(root, "f_" + n)) for n in VARIANTS]
        array = (ctypes.c_char_p * len(folders))(*folders)
        options = OpenOptions(ctypes.sizeof(OpenOptions), b"auto", None, ctypes.cast(array, ctypes.c_void_p), len(folders))
        self.context = ctypes.c_void_p()
        self.must(self.mgr.mgr_open(ctypes.byref(options), ctypes.byref(self.context)))
runtime = Here()
explained = {}

def ours(name, q, k, v, lens, total=None, table=None, page_size=None):
    dims = {"batch": q.shape[0], "q_len": q.shape[1], "heads": q.shape[2], "kv_heads": k.shape[2]}
    words = {"head_dim": str(D), "T": "bf16"}
    if table is None:
        dims["kv_len"] = k.shape[1]
    else:
        words["paged"] = "true"
        dims.update(kv_len=table.shape[1] * page_size, page_size=page_size, pages=k.shape[0], max_pages=table.shape[1])
    if total is not None:
        dims["total_kv"] = total
    o = torch.empty_like(q)
    key = (name, json.dumps(dims), json.dumps(words))
    if key not in explained:
        plan = runtime.plan(f"f_{name}.decode", words, dims)
        values = [dims.get(dim, -1) for dim in description["dims"] if dim != "head_dim"]
        values = (ctypes.c_int64 * len(values))(*values)
        text = runtime.explain(plan, values)
        explained[key] = plan, values, runtime.workspace(plan, 0), [l.strip() for l in text.splitlines() if "variant" in l][:1]
    plan, values, workspace, _ = explained[key]
    tensors = {"q": q, "k": k, "v": v, "o": o, "kv_lens": lens, "block_table": table}
    pointers = [tensors[t].data_ptr() if tensors.get(t) is not None else None for t in description["tensors"]]
    pointers = (ctypes.c_void_p * len(pointers))(*pointers)
    scalars = (ctypes.c_double * 2)(1 / math.sqrt(D), 1.0)
    def call():
        runtime.must(runtime.mgr.mgr_launch(plan, torch.cuda.current_stream().cuda_stream, values, len(values), pointers,
                                            len(pointers), scalars, 2, workspace))
        return o
    return call

def sdpa(backend, fold):
    def make(q, k, v):
        B, _, H, _ = q.shape
        HK = k.shape[2]
        kt, vt = k.transpose(1, 2), v.transpose(1, 2)
        if fold:
            qf = q.view(B, HK, H // HK, D)
            def call():
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(qf, kt, vt).reshape(B, 1, H, D)
        else:
            qt = q.transpose(1, 2)
            def call():
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(qt, kt, vt, enable_gqa=H != HK).transpose(1, 2)
        return call
    return make
PEERS = {"fa2": sdpa(SB.FLASH_ATTENTION, False), "cudnn": sdpa(SB.CUDNN_ATTENTION, False), "cudnn_fold": sdpa(SB.CUDNN_ATTENTION, True)}

class Timed:
    def __init__(self, calls, target_ms):
        self.calls = calls  # their tensors live as long as the graph
        for c in calls[:2]: c()
        torch.cuda.synchronize()
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record(); [c() for c in calls]; b.record(); torch.cuda.synchronize()
        loops = max(1, min(int(target_ms / max(a.elapsed_time(b), 1e-3)), 96 // len(calls)))
        self.graph, self.count = torch.cuda.CUDAGraph(), loops * len(calls)
        with torch.cuda.graph(self.graph):
            for _ in range(loops):
                for c in calls: c()
        self.graph.replay(); torch.cuda.synchronize()
        self.samples = []
    def round(self, n):
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(n)]
        for a, b in events:
            a.record(); self.graph.replay(); b.record()
        torch.cuda.synchronize()
        self.samples += [a.elapsed_time(b) / self.count * 1e3 for a, b in events]

bank = torch.empty(int(18.5e9) // 2, device="cuda", dtype=torch.bfloat16)
for i in range(0, bank.numel(), 1 << 28):
    bank[i:i + (1 << 28)].normal_()

def measure(makers, sets):
    live, out = [], {}
    first = None
    for name, calls in makers.items():
        try:
            calls = [make() for make in calls]
            got = calls[0]().float().clone()
            if first is None: first = got
            error = float((got - first).norm() / first.norm().clamp_min(1e-30))
            out[name] = {"difference": error}
            live.append((name, Timed(calls, 2.5)))
        except Exception as e:
            out[name] = {"error": f"{type(e).__name__}: {e}"[:200]}
    for r in range(2):
        for name, t in (live if r == 0 else reversed(live)): t.round(4)
    for name, t in live:
        out[name]["us"] = statistics.median(t.samples)
    return out

results = []
def cell(B, S, H, HK, names, peers, ragged=None, page=None):
    if time.time() - T0 > BUDGET: return
    per = B * S * HK * D
    sets = max(1, min(48, math.ceil(200e6 / (4 * per))))
    lens = None
    gen = torch.Generator().manual_seed(B * S)
    if ragged == "uniform": lens = torch.randint(0, S + 1, (B,), generator=gen)
    elif ragged == "one_long": lens = torch.full((B,), max(1, S // 64)); lens[B // 2] = S
    total = B * S if lens is None else int(lens.sum())
    if ragged: sets = max(1, min(sets, 12))
    if 2 * per * sets > bank.numel(): sets = max(1, bank.numel() // (2 * per))
    if 2 * per > bank.numel(): return
    device_lens = torch.full((B,), S, dtype=torch.int32, device="cuda") if lens is None else lens.to("cuda", torch.int32)
    table = None
    shape = (B, S, HK, D)
    if page:
        pages = B * S // page
        table = torch.randperm(pages, generator=gen).to(torch.int32).view(B, S // page).cuda()
        shape = (pages, page, HK, D)
    data = []
    for i in range(sets):
        k = bank[2 * i * per:(2 * i + 1) * per].view(shape)
        v = bank[(2 * i + 1) * per:(2 * i + 2) * per].view(shape)
        data.append((torch.randn(B, 1, H, D, device="cuda", dtype=torch.bfloat16), k, v))
    makers = {n: [lambda n=n, d=d: ours(n, *d, device_lens, total if ragged else None, table, page) for d in data] for n in names}
    if not ragged and not page:
        makers.update({n: [lambda n=n, d=d: PEERS[n](*d) for d in data] for n in peers})
    out = measure(makers, sets)
    row = {"batch": B, "keys": S, "heads": H, "kv_heads": HK, "lengths": ragged or "equal", "page": page or 0, "bytes": 4 * total * HK * D, "sets": sets, "times": out}
    results.append(row)
    us = {n: r.get("us") for n, r in out.items()}
    gb = lambda n: f"{row['bytes'] / us[n] * 1e-3 / copy * 100:4.0f}%" if us.get(n) else ""
    bad = [n for n, r in out.items() if r.get("difference", 0) > 0.02 or "error" in r]
    print(f"{B:4d} x {S:6d} {H:3d}/{HK:2d} {ragged or '':9s}{('p%d' % page) if page else '':4s}", " ".join(f"{n}={us[n]:.1f}" if us[n] else f"{n}=err" for n in us),
          "of copy:", " ".join(f"{n} {gb(n)}" for n in us if us[n] and n in FIRST), ("BAD " + " ".join(f"{n}:{out[n]}" for n in bad)) if bad else "", flush=True)
    if len(results) % 10 == 0: save()

def save():
    json.dump({"gpu": torch.cuda.get_device_name(), "copy_gbps": copy, "variants": {str(k[0]) : v[3] for k, v in explained.items()}, "rows": results},
              open(os.path.join(os.environ["OUT"], "decode.json"), "w"))

a, b = bank[:1 << 29], bank[1 << 30:(1 << 30) + (1 << 29)]
for _ in range(3): b.copy_(a)
s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
s.record(); [b.copy_(a) for _ in range(10)]; e.record(); torch.cuda.synchronize()
copy = 10 * 2 * a.numel() * 2 / s.elapsed_time(e) * 1e-6
print("copy GB/s", round(copy), "after", round(time.time() - T0, 1), "s", flush=True)
ALL, P = list(VARIANTS), list(PEERS)
# With every variant.
for B, S in ((1, 1024), (1, 8192), (17, 1024), (17, 5000), (48, 5000), (8, 8192), (64, 1024), (17, 128), (3, 512), (64, 8192), (128, 128)):
    cell(B, S, 32, 8, ALL, P)
print("ragged and paged after", round(time.time() - T0, 1), flush=True)
for B, S, how in ((64, 8192, "uniform"), (64, 8192, "one_long"), (17, 3000, "uniform"), (128, 1024, "uniform")):
    cell(B, S, 32, 8, FIRST, [], ragged=how)
cell(16, 8192, 32, 8, FIRST, [], page=16)
cell(64, 8192, 32, 8, FIRST, [], ragged="uniform", page=16)
print("the table after", round(time.time() - T0, 1), flush=True)
for B in (1, 2, 5, 13, 16, 24, 33, 48, 64, 96, 128, 3, 8, 17, 32):
    for S in (128, 1024, 3000, 12000, 512, 8192, 32768):
        cell(B, S, 32, 8, FIRST, P)
        if B in (1, 17, 33) and S in (128, 1024, 3000, 8192):
            for H, HK in ((28, 4), (24, 8), (16, 16), (64, 8)): cell(B, S, H, HK, FIRST, P)
save()
worst, logs = [], {}
for r in results:
    t = {n: x["us"] for n, x in r["times"].items() if "us" in x}
    best = min((t[n] for n in P if n in t), default=None)
    if best is None: continue
    for n in FIRST:
        if n in t:
            logs.setdefault(n, []).append(math.log(t[n] / best))
            worst.append((t[n] / best, n, r["batch"], r["keys"], r["heads"], r["kv_heads"]))
for n in FIRST:
    print(n, "geometric mean", round(math.exp(statistics.mean(logs[n])), 3), "over", len(logs[n]), "cells; worst", [tuple(round(x, 2) if isinstance(x, float) else x for x in w) for w in sorted((w for w in worst if w[1] == n), reverse=True)[:8]])
print("variants", {k[0]: v[3] for k, v in explained.items()})
print("ended after", round(time.time() - T0, 1), "s")
