#!/usr/bin/env python3
"""mgtune's kernels as a plug-in for scripts that time several implementations on the same buffers.

  PYTHONPATH=scripts MGTUNE_LIBRARY=build/libmgruntime.so.0 MGTUNE_DB=results.db \\
      python3 bench_norm.py out.json --extra mgtune_for_peers:implementations

implementations() returns {name of the operation: {"mgtune": callable}}. The script calls one with a set of buffers `t`: T rows, H columns, K
columns of x if the operation is a product, dtype "bf16", "fp16" or "fp32", eps, stream() (a CUstream as an integer, or an object with
.cuda_stream), and contiguous tensors with data_ptr() at the attributes that OPERATIONS names. The call fills the outputs in place and returns
None. It only enqueues launches on that stream, so it can be captured into a graph. Plans and workspace are made by callable.prepare(sets), or
by a first call that is not captured. The tensors of a set must stay where they are.

attention(torch) returns a list of one object, which scripts that time attention call: prefill(q, k, v, causal), varlen(q, k, v, cu_seqlens,
longest, causal), decode(q, k, v) and fwdbwd(q, k, v, do, causal). The tensors are torch's, (batch, rows, heads, head_dim) or (tokens, heads,
head_dim). Each function returns a callable. The callable enqueues the launches on torch's current stream and returns the outputs that it
allocated: o, and for fwdbwd o, dq, dk and dv.

  ... python3 bench_attn.py out.json --extra mgtune_for_peers:attention

The order of tensors, dims and scalars is read from kernels/FAMILY/OPERATOR.json beside this folder. The variant that serves a case is
printed to stderr. MGTUNE_LIBRARY names the library (otherwise libmgruntime.so.0), MGTUNE_DB the results (otherwise those of the user), and
MGTUNE_GPU the device (otherwise "auto").
"""
import ctypes
import functools
import json
import math
import os
import pathlib
import sys

from mgruntime_structures import Assignment, OpenOptions, PlanOptions, Range

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "kernels"


def is_static(dim):
    """Whether a dim of an operator file is compiled in, so that a launch does not pass it."""
    return (dim if isinstance(dim, str) else dim["kind"]) == "static"


# operation -> operator, and for each of its tensors the attribute of a set. Optional tensors that
# are not named are left out.
OPERATIONS = {
    "rmsnorm_fwd": ("rmsnorm.forward", {"x": "x", "weight": "w", "y": "y"}),
    "add_rmsnorm_fwd": ("rmsnorm.add_forward",
                        {"x": "x", "residual": "r", "weight": "w", "y": "y", "residual_out": "s"}),
    "rmsnorm_bwd": ("rmsnorm.backward",
                    {"dy": "dy", "x": "x", "weight": "w", "rstd": "rstd", "dx": "dx", "dw": "dw"}),
    "add_rmsnorm_bwd": ("rmsnorm.add_backward",
                        {"dy": "dy", "s": "x", "weight": "w", "rstd": "rstd", "dresidual": "ds",
                         "dx": "dx", "dw": "dw"}),
    "swiglu_fwd": ("swiglu.forward", {"gate": "a", "up": "b", "y": "y"}),
    "swiglu_packed_fwd": ("swiglu.packed_forward", {"gate_up": "ab", "y": "y"}),
    "swiglu_bwd": ("swiglu.backward",
                   {"dy": "dy", "gate": "a", "up": "b", "dgate": "da", "dup": "db"}),
    "mlp_gateup": ("swiglu.gate_up", {"x": "x", "gate_w": "w1", "up_w": "w2", "h": "y"}),
}
DIMS = {"rows": "T", "hidden": "H", "m": "T", "n": "H", "k": "K"}  # others have their defaults
SCALARS = {"eps": lambda t: t.eps, "weight_offset": lambda t: 0.0}
DTYPES = {"bf16": "bf16", "fp16": "f16", "fp32": "f32"}


class Runtime:
    """libmgruntime with one context. Every failure is a RuntimeError with the library's message."""

    def __init__(self, library=None, device=None, database=None):
        self.mgr = ctypes.CDLL(library or os.environ.get("MGTUNE_LIBRARY", "libmgruntime.so.0"))
        self.mgr.mgr_last_error.restype = ctypes.c_char_p
        self.mgr.mgr_workspace_bytes.restype = ctypes.c_size_t
        self.mgr.mgr_workspace_bytes.argtypes = [ctypes.c_void_p]
        self.mgr.mgr_workspace_init.argtypes = [ctypes.c_void_p] * 3
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.mgr.mgr_launch.argtypes = [pointer, pointer, pointer, size, pointer, size, pointer, size, pointer]
        device = (device or os.environ.get("MGTUNE_GPU", "auto")).encode()
        self.context = ctypes.c_void_p()
        database = os.fsencode(database) if database else None
        options = OpenOptions(ctypes.sizeof(OpenOptions), device, database, None, 0)
        self.must(self.mgr.mgr_open(ctypes.byref(options), ctypes.byref(self.context)))

    def must(self, status):
        if status != 0:
            raise RuntimeError("mgruntime: " + self.mgr.mgr_last_error().decode())

    def plan(self, name, assignments, ranges):
        words = (Assignment * len(assignments))(*(Assignment(n.encode(), v.encode()) for n, v in assignments.items()))
        bounds = (Range * len(ranges))(*(Range(n.encode(), v, v) for n, v in ranges.items()))
        options = PlanOptions(ctypes.sizeof(PlanOptions), name.encode(), words, len(words), bounds, len(bounds))
        plan = ctypes.c_void_p()
        self.must(self.mgr.mgr_plan(self.context, ctypes.byref(options), ctypes.byref(plan)))
        return plan

    def workspace(self, plan, stream):
        """A workspace prepared on the stream; None if the plan needs none."""
        size, memory = self.mgr.mgr_workspace_bytes(plan), ctypes.c_void_p()
        if size == 0:
            return None
        self.must(self.mgr.mgr_allocate(self.context, ctypes.c_size_t(size), ctypes.byref(memory)))
        self.must(self.mgr.mgr_workspace_init(plan, memory, stream))
        self.must(self.mgr.mgr_synchronize(self.context, ctypes.c_void_p(stream)))
        return memory.value

    def explain(self, plan, dims):
        text = ctypes.create_string_buffer(8192)
        self.must(self.mgr.mgr_explain(plan, dims, ctypes.c_size_t(len(dims)), text, ctypes.c_size_t(len(text)), None))
        return text.value.decode().strip()


def merged(value, patch):
    """`value` as the merge patch changes it; new keys take the places that kernels/README.md states."""
    if not isinstance(patch, dict):
        return patch
    members = list(value.items()) if isinstance(value, dict) else []
    place = len(members)
    for key, change in patch.items():
        found = next((i for i, (known, _) in enumerate(members) if known == key), None)
        if found is None:
            if change is None:
                continue
            members.insert(place, (key, None))
            found = place
        members[found] = (key, change if change is None else merged(members[found][1], change))
        place = found + 1
    return {key: member for key, member in members if patch.get(key, member) is not None}


def read_operator_file(path):
    operator = json.loads(path.read_text(encoding="utf-8"))
    base = operator.pop("extends", None)
    return operator if base is None else merged(read_operator_file(path.parent / base), operator)


def read_operator(name):
    family, operator = name.split(".")
    path = KERNELS / family / (operator + ".json")
    if not path.exists():
        raise RuntimeError(f"mgtune has no operator {name} here: there is no {path}")
    return read_operator_file(path)


@functools.cache
def shared_runtime():
    """The one Runtime that all plans share. The first plan opens it."""
    return Runtime()


class Operation:
    """One row of OPERATIONS as a callable on sets of buffers."""

    def __init__(self, operation):
        self.operation = operation
        self.name, self.attributes = OPERATIONS[operation]
        self.plans = {}       # (T, H, K, dtype) -> plan, dims
        self.workspaces = {}  # (T, H, K, dtype), stream -> address

    def supports(self, t):
        return t.dtype in DTYPES

    def prepare(self, sets):
        for t in sets:
            self.arguments(t)

    def __call__(self, t):
        stream = stream_of(t)
        arguments = getattr(t, "mgtune_arguments", None)
        if arguments is None or arguments[0] != (self.name, stream):
            arguments = self.arguments(t)
        _, plan, dims, tensors, scalars, workspace = arguments
        shared_runtime().must(shared_runtime().mgr.mgr_launch(
            plan, stream, dims, len(dims), tensors, len(tensors), scalars, len(scalars), workspace))

    def arguments(self, t):
        """The arguments of mgr_launch for this set on its stream. They are kept with the set."""
        stream, key = stream_of(t), (t.T, t.H, getattr(t, "K", None), t.dtype)
        description = read_operator(self.name)
        if key not in self.plans:
            self.plans[key] = self.make_plan(description, t)
        plan, dims = self.plans[key]
        if (key, stream) not in self.workspaces:
            self.workspaces[key, stream] = shared_runtime().workspace(plan, stream)
        tensors = [getattr(t, self.attributes[name]).data_ptr() if name in self.attributes else None
                   for name in description["tensors"]]
        scalars = [SCALARS[name](t) for name in description.get("scalars", {})]
        t.mgtune_arguments = ((self.name, stream), plan, dims, (ctypes.c_void_p * len(tensors))(*tensors),
                              (ctypes.c_double * len(scalars))(*scalars), self.workspaces[key, stream])
        return t.mgtune_arguments

    def make_plan(self, description, t):
        assignments, ranges, dims = {}, {}, []
        for name, dim in description["dims"].items():
            if name not in DIMS and isinstance(dim, str):
                raise RuntimeError(f"{self.name} has a dim {name} that a set of buffers does not give")
            if is_static(dim):
                if name in DIMS:
                    assignments[name] = str(getattr(t, DIMS[name]))
                continue
            if name in DIMS:
                ranges[name] = getattr(t, DIMS[name])
            dims.append(ranges.get(name, -1))
        for name in description["dtypes"]:
            assignments[name] = DTYPES[t.dtype]
        for name, tensor in description["tensors"].items():
            if name in self.attributes:
                if tensor.get("optional"):
                    assignments[name] = "true"
            elif not tensor.get("optional"):
                raise RuntimeError(f"{self.name} has a tensor {name} that a set of buffers does not give")
        for name in description.get("scalars", {}):
            if name not in SCALARS:
                raise RuntimeError(f"{self.name} has a scalar {name} that a set of buffers does not give")
        plan = shared_runtime().plan(self.name, assignments, ranges)
        dims = (ctypes.c_int64 * len(dims))(*dims)
        tell(f"{self.name} {t.T} x {t.H} {t.dtype}", plan, dims)
        return plan, dims


class Attention:
    """attention.prefill, attention.varlen and attention.decode on tensors of torch."""

    name = "mgtune"

    def __init__(self, torch):
        self.torch = torch
        self.lengths = {}  # batch, length -> tensor: as in a model, one for many calls
        self.plans = {}    # problem -> plan, dims, workspace: calls follow one another

    def prefill(self, q, k, v, causal):
        o = self.torch.empty_like(q)
        dims = {"batch": q.shape[0], "seq_q": q.shape[1], "seq_k": k.shape[1]}
        tensors = {"q": q, "k": k, "v": v, "o": o}
        for name, tensor in tensors.items():
            dims.update(zip((f"{name}_sb", f"{name}_ss", f"{name}_sh"), tensor.stride()))
        return self.launcher("attention.prefill", dims, tensors, causal)

    def varlen(self, q, k, v, starts, longest, causal):
        o = self.torch.empty_like(q)
        dims = {"sequences": starts.shape[0] - 1, "tokens_q": q.shape[0], "tokens_k": k.shape[0],
                "max_q": longest, "max_k": longest}
        tensors = {"q": q, "k": k, "v": v, "o": o}
        for name, tensor in tensors.items():
            dims.update(zip((f"{name}_ss", f"{name}_sh"), tensor.stride()))
        return self.launcher("attention.varlen", dims, {**tensors, "q_starts": starts, "k_starts": starts}, causal)

    def decode(self, q, k, v):
        """All sequences of the cache are full."""
        batch, kv_len = k.shape[0], k.shape[1]
        if (batch, kv_len) not in self.lengths:
            self.lengths[batch, kv_len] = self.torch.full((batch,), kv_len, dtype=self.torch.int32, device=q.device)
        o = self.torch.empty_like(q)
        dims = {"batch": batch, "q_len": q.shape[1], "kv_len": kv_len}
        tensors = {"q": q, "k": k, "v": v, "o": o}
        for name, tensor in tensors.items():
            dims.update(zip((f"{name}_sb", f"{name}_ss", f"{name}_sh"), tensor.stride()))
        return self.launcher("attention.decode", dims, {**tensors, "kv_lens": self.lengths[batch, kv_len]}, False)

    def fwdbwd(self, q, k, v, dout, causal):
        """Prefill with the sums that the backward needs (lse), and the backward."""
        batch, seq_q, heads, _ = q.shape
        inputs = {"q": q, "k": k, "v": v, "o": self.torch.empty_like(q)}
        lse = self.torch.empty((batch, heads, seq_q), dtype=self.torch.float32, device=q.device)
        grads = {f"d{name}": self.torch.empty_like(inputs[name]) for name in "qkv"}
        sizes = {"batch": batch, "seq_q": seq_q, "seq_k": k.shape[1]}

        def strides(tensors):
            return {f"{name}_s{axis}": value for name, tensor in tensors.items() for axis, value in zip("bsh", tensor.stride())}

        forward = self.launcher("attention.prefill", {**sizes, **strides(inputs)}, {**inputs, "lse": lse}, causal)
        tensors = {**inputs, **grads, "dout": dout}
        backward = self.launcher("attention.backward", {**sizes, **strides(tensors)}, {**tensors, "lse": lse}, causal)

        def launch():
            forward()
            backward()
            return inputs["o"], grads["dq"], grads["dk"], grads["dv"]
        return launch

    def launcher(self, name, dims, tensors, causal):
        """Makes a plan for these dims. The callable keeps the tensors."""
        q, k = tensors["q"], tensors["k"]
        dtype = {"torch.bfloat16": "bf16", "torch.float16": "f16"}.get(str(q.dtype))
        if dtype is None:
            raise NotImplementedError(f"{name} has no {q.dtype}")
        head_dim = q.shape[-1]
        dims = {**dims, "heads": q.shape[-2], "kv_heads": k.shape[-2]}
        description, runtime = read_operator(name), shared_runtime()
        words = {"head_dim": str(head_dim), "T": dtype, "causal": "true" if causal else "false"}
        words.update({tensor: "true" for tensor in tensors if description["tensors"][tensor].get("optional")})
        problem = f"{name} {words} {dims}"
        if problem not in self.plans:
            plan = runtime.plan(name, words, dims)
            values = [dims.get(name, -1) for name, dim in description["dims"].items() if not is_static(dim)]
            values = (ctypes.c_int64 * len(values))(*values)
            self.plans[problem] = plan, values, runtime.workspace(plan, 0)
            tell(problem, plan, values)
        plan, values, workspace = self.plans[problem]
        pointers = [tensors[tensor].data_ptr() if tensor in tensors else None for tensor in description["tensors"]]
        pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        scalars = [{"scale": 1 / math.sqrt(head_dim), "softcap": 1.0}[name] for name in description["scalars"]]
        scalars = (ctypes.c_double * len(scalars))(*scalars)

        def launch():
            stream = self.torch.cuda.current_stream().cuda_stream
            runtime.must(runtime.mgr.mgr_launch(plan, stream, values, len(values), pointers, len(pointers), scalars,
                                                len(scalars), workspace))
            return tensors["o"]
        return launch


def tell(case, plan, dims):
    """Prints to stderr which variant serves the case."""
    lines = [" ".join(line.split()) for line in shared_runtime().explain(plan, dims).splitlines()]
    told = [line for line in lines if line.startswith(("variant ", "chosen "))]
    print(f"mgtune: {case}: " + ", ".join(told), file=sys.stderr, flush=True)


def stream_of(t):
    stream = t.stream()
    return getattr(stream, "cuda_stream", stream) or 0


def implementations():
    return {operation: {"mgtune": Operation(operation)} for operation in OPERATIONS}


def attention(torch):
    return [Attention(torch)]
