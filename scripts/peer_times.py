"""Times the peers of scripts/peer_implementations.py on one GPU, and writes the form that `mgtune peers import` reads.

A time is the median over replays of a CUDA graph. The calls in a graph rotate through sets of inputs that are together at least three
times as large as L2, and as many sets of outputs stay alive. So no call finds its data in L2. The peers of a problem take turns. The
output of each is compared with that of the first one.
"""
import contextlib
import datetime
import json
import math
import statistics
import subprocess
import sys
import time

import peer_implementations as implementations

GRAPH_US = 1200
MOST_CALLS = 256
MOST_SETS = 64
ROUNDS, REPLAYS = 2, 8
LARGEST_DIFFERENCE = 0.02
ATTENTION_HEADS = {"heads": 32, "kv_heads": 8, "head_dim": 128}


def tokens(operator, dtype, *shapes):
    dw = {"dw": True} if operator.startswith("rmsnorm") and operator.endswith("backward") else {}
    return [(operator, {"rows": rows, "hidden": hidden, "T": dtype, **dw}) for rows, hidden in shapes]


def attention(operator, heads, kv_heads, head_dim, seq, causal):
    return operator, {"batch": max(1, 16384 // seq), "seq_q": seq, "seq_k": seq, "heads": heads, "kv_heads": kv_heads,
                      "head_dim": head_dim, **({"causal": True} if causal else {}), "T": "bf16"}


def cases():
    """(operator, problem), those of README.md first: if the time ends, the last ones are left out."""
    yield from tokens("rmsnorm.forward", "bf16", (4096, 4096), (1024, 65536), (8192, 8192))
    yield from tokens("rmsnorm.backward", "bf16", (4096, 4096), (8192, 8192))
    yield from tokens("rmsnorm.add_forward", "bf16", (4096, 4096), (8192, 8192))
    yield from tokens("rmsnorm.add_backward", "bf16", (4096, 4096), (8192, 8192))
    yield from tokens("swiglu.forward", "bf16", (8192, 14336))
    yield from tokens("swiglu.backward", "bf16", (8192, 14336))
    for batch in (1, 8, 64):
        for kv_len in (1024, 8192, 32768):
            yield "attention.decode", {"batch": batch, "q_len": 1, "kv_len": kv_len, **ATTENTION_HEADS, "T": "bf16"}
    for heads, kv_heads, head_dim in ((16, 16, 128), (32, 8, 128), (32, 32, 64), (32, 8, 64)):
        for causal in (True, False):
            yield attention("attention.prefill", heads, kv_heads, head_dim, 4096, causal)
    for seq in (1024, 16384):
        yield attention("attention.prefill", 32, 8, 128, seq, True)
    for heads, kv_heads, head_dim in ((16, 16, 128), (32, 8, 128), (32, 32, 64)):
        for causal in (True, False):
            yield attention("attention.backward", heads, kv_heads, head_dim, 4096, causal)
    for heads, head_dim in ((16, 128), (32, 64)):
        yield attention("attention.backward", heads, heads, head_dim, 1024, True)
    for causal in ({"causal": True}, {}):
        yield "attention.varlen", {"sequences": 8, "tokens_q": 16384, "max_q": 2048, **ATTENTION_HEADS, **causal, "T": "bf16"}
    for m in (8192, 2048, 16, 1):
        yield from (("gemm.forward", {"m": m, "n": n, "k": k, "T": "bf16"}) for n, k in ((4096, 4096), (14336, 4096), (4096, 14336)))
        yield "swiglu.gate_up", {"m": m, "n": 14336, "k": 4096, "T": "bf16"}
    yield from tokens("rmsnorm.forward", "bf16", (32768, 1024), (16384, 2048), (4096, 16384), (131072, 128), (512, 128), (32, 4096),
                      (1, 4096))
    yield from tokens("rmsnorm.backward", "bf16", (32768, 1024), (16384, 2048), (4096, 16384), (1024, 65536), (512, 128))
    yield from tokens("swiglu.forward", "bf16", (8192, 11008), (16, 14336))
    yield from tokens("swiglu.packed_forward", "bf16", (8192, 14336))
    yield from tokens("swiglu.backward", "bf16", (8192, 11008))
    yield from tokens("rmsnorm.add_forward", "bf16", (32, 4096))
    yield from tokens("rmsnorm.forward", "f32", (4096, 4096), (32768, 1024), (1024, 65536))
    yield from tokens("rmsnorm.backward", "f32", (4096, 4096), (8192, 8192))
    yield from tokens("swiglu.forward", "f32", (4096, 11008))
    yield from tokens("swiglu.backward", "f32", (4096, 11008))


def words_of(problem):
    return " ".join(f"{name}={json.dumps(value) if isinstance(value, bool) else value}" for name, value in problem.items())


class Graph:
    """Replays of one CUDA graph, which calls each of `calls` in turn."""

    def __init__(self, torch, calls):
        self.torch = torch
        self.calls = calls  # their tensors live as long as the graph
        for call in calls[:3]:
            call()
        torch.cuda.synchronize()
        [us] = self.elapsed(lambda: [call() for call in calls], 1)
        rounds = max(1, min(math.ceil(GRAPH_US / max(us, 1.0)), MOST_CALLS // len(calls)))
        self.launches = rounds * len(calls)
        self.graph = torch.cuda.CUDAGraph()
        outputs = [None] * len(calls)
        self.graph.capture_begin(capture_error_mode="thread_local")
        try:
            for i in range(self.launches):
                outputs[i % len(calls)] = calls[i % len(calls)]()
        except Exception:
            with contextlib.suppress(Exception):  # the first error says more
                self.graph.capture_end()
            raise
        self.graph.capture_end()
        self.replay()

    def elapsed(self, work, count):
        events = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for begin, end in events:
            begin.record()
            work()
            end.record()
        self.torch.cuda.synchronize()
        return [begin.elapsed_time(end) * 1e3 for begin, end in events]

    def replay(self, count=1):
        return [us / self.launches for us in self.elapsed(self.graph.replay, count)]


def driver_version():
    """"" if it is not known."""
    with contextlib.suppress(OSError):
        call = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(call, capture_output=True, text=True, check=False).stdout.split("\n")[0].strip()
    return ""


class Gpu:
    """The first GPU. Everything runs on a stream of its own, because the default stream cannot be captured."""

    def __init__(self):
        import torch
        import torch._dynamo
        import torch._functorch.config
        torch._functorch.config.donated_buffer = False  # otherwise a compiled gradient could be taken only once
        self.torch = torch
        properties = torch.cuda.get_device_properties(0)
        self.rotated_bytes = 3 * properties.L2_cache_size
        self.name = properties.name
        torch.cuda.set_stream(torch.cuda.Stream())

    def environment(self):
        driver = driver_version()
        triton = implementations.installed({"triton": "triton"}).get("triton")
        framework = f"torch {self.torch.__version__}" + (f", triton {triton}" if triton else "")
        known = {"gpu": self.name, "driver": driver, "cuda": self.torch.version.cuda, "framework": framework}
        return {name: value for name, value in known.items() if value}

    def sets(self, operator, problem):
        torch = self.torch
        torch.cuda.empty_cache()  # frees what the last problem's graphs held
        first = implementations.inputs_of(torch, operator, problem)
        size = sum(tensor.nbytes for part in first for tensor in part)
        most = int(torch.cuda.mem_get_info()[0] // (4 * size))
        count = max(1, min(MOST_SETS, most, max(2, math.ceil(self.rotated_bytes / size))))
        return [first, *(implementations.inputs_of(torch, operator, problem) for _ in range(count - 1))]

    def difference(self, outputs, expected):
        outputs, expected = (each if isinstance(each, (tuple, list)) else (each,) for each in (outputs, expected))
        return max(float((a.float() - b.float()).norm() / b.float().norm().clamp_min(1e-30)) for a, b in zip(outputs, expected))

    def times(self, operator, problem, peers, leave_out):
        """Peer -> microseconds of each replay. `leave_out(peer, reason)` is called for the others."""
        torch, graphs, expected = self.torch, {}, None
        torch._dynamo.reset()
        with torch.no_grad():
            sets = self.sets(operator, problem)
            for peer in peers:
                try:
                    calls = implementations.calls_of(torch, peer, operator, problem, sets)
                    outputs = calls[0]()
                    if expected is None:
                        expected = outputs
                    difference = self.difference(outputs, expected)
                    if not difference <= LARGEST_DIFFERENCE:
                        raise ValueError(f"its output differs from that of {peers[0].name} by {difference:.3f}")
                    graphs[peer] = Graph(torch, calls)
                except Exception as error:  # a peer may fail in any way; the others still count
                    leave_out(peer, first_line(error))
                    torch.cuda.synchronize()  # raises if the GPU is lost
                    torch.cuda.set_stream(torch.cuda.Stream())  # a capture that failed may have left the old one unusable
            times = {peer: [] for peer in graphs}
            for turn in range(ROUNDS):
                for peer in graphs if turn % 2 == 0 else reversed(graphs):
                    times[peer] += graphs[peer].replay(REPLAYS)
        return times


def first_line(error):
    return f"{type(error).__name__}: {error}".split("\n")[0][:200]


def row(peer, version, operator, problem, us):
    us = sorted(us)
    low, high = (us[round(share * (len(us) - 1))] for share in (0.2, 0.8))
    return {"name": peer.name, "version": version.split("+")[0], "operator": operator, "problem": problem, "method": "graph",
            "median_ns": round(statistics.median(us) * 1e3, 1), "low_ns": round(low * 1e3, 1), "high_ns": round(high * 1e3, 1),
            "samples": len(us)}


def write(path, environment, rows):
    head = {"format": 1, **environment, "measured_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    lines = ",\n".join("  " + json.dumps(each) for each in rows)
    path.write_text(json.dumps(head, indent=1).removesuffix("\n}") + f',\n "peers": [\n{lines}\n ]\n}}\n', encoding="utf-8")


def chosen(operators):
    return [case for case in cases() if not operators or case[0] in operators]


def list_cases(operators, versions):
    for operator, problem in chosen(operators):
        names = [peer.name for peer in implementations.peers_of(operator) if peer.package in versions]
        print(f"{operator} {words_of(problem)}: {', '.join(names) or 'none'}")


def absent(versions):
    """A line for each package that is not here."""
    return [f"left out: {name}, because the Python package {module} is not installed"
            for name, module in implementations.PACKAGES.items() if name not in versions]


def time_all(gpu, operators, versions, path, deadline, now=time.monotonic):
    """Rows of the file. It is written after each problem. After the deadline no other problem begins."""
    rows, environment = [], gpu.environment()
    todo = chosen(operators)
    for place, (operator, problem) in enumerate(todo):
        if now() > deadline:
            print(f"left out: the last {len(todo) - place} of {len(todo)} problems, because the time ended; --seconds gives more",
                  file=sys.stderr)
            break
        case = f"{operator} {words_of(problem)}"
        peers = [peer for peer in implementations.peers_of(operator) if peer.package in versions]
        try:
            times = gpu.times(operator, problem, peers,
                              lambda peer, reason, case=case: print(f"left out: {peer.name} of {case}: {reason}", file=sys.stderr))
        except Exception as error:  # for example too little memory for the inputs
            print(f"left out: {case}: {first_line(error)}", file=sys.stderr)
            continue
        rows += [row(peer, versions[peer.package], operator, problem, us) for peer, us in times.items()]
        write(path, environment, rows)
        print(f"{case}: " + ", ".join(f"{peer.name} {statistics.median(us):.2f} us" for peer, us in times.items()), flush=True)
    return rows
