#!/usr/bin/env python3
"""scripts/mgtune_for_peers.py on the cpu device, with arrays of ctypes in place of a framework's.

  MGTUNE_LIBRARY=.../libmgruntime.so python3 plugin_test.py

The operators that this tree has give what the formulas give; those that it lacks are named.
"""
import ctypes
import math
import os
import pathlib
import random
import struct
import sys
import types
import unittest

os.environ["MGTUNE_GPU"] = "cpu"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import mgtune_for_peers as plugin  # noqa: E402

ROWS, HIDDEN, EPS = 3, 40, 1e-6


class Tensor:
    """fp32, 64-byte aligned, with what the plug-in asks of a tensor."""

    def __init__(self, values):
        self.memory = (ctypes.c_byte * (4 * len(values) + 64))()
        offset = -ctypes.addressof(self.memory) % 64
        self.array = (ctypes.c_float * len(values)).from_buffer(self.memory, offset)
        self.array[:] = values

    def data_ptr(self):
        return ctypes.addressof(self.array)


def normal(count):
    return Tensor([random.gauss(0, 1) for _ in range(count)])


def poisoned(count):
    return Tensor([math.nan] * count)


def make_set(**tensors):
    return types.SimpleNamespace(T=ROWS, H=HIDDEN, dtype="fp32", eps=EPS, stream=lambda: 0, **tensors)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


class HalfTensor:
    """fp16, contiguous, with what the plug-in asks of a tensor of torch."""

    dtype = "torch.float16"
    device = "cpu"

    def __init__(self, shape, values):
        self.shape = shape
        self.memory = (ctypes.c_byte * (2 * len(values) + 64))()
        self.offset = -ctypes.addressof(self.memory) % 64
        struct.pack_into(f"{len(values)}e", self.memory, self.offset, *values)

    def data_ptr(self):
        return ctypes.addressof(self.memory) + self.offset

    def stride(self):
        return [math.prod(self.shape[i + 1:]) for i in range(len(self.shape))]

    def values(self):
        return struct.unpack_from(f"{math.prod(self.shape)}e", self.memory, self.offset)


def normal_halves(*shape):
    return HalfTensor(shape, [random.gauss(0, 1) for _ in range(math.prod(shape))])


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


class FakeTorch:
    class cuda:
        @staticmethod
        def current_stream():
            return types.SimpleNamespace(cuda_stream=0)

    int32, float32 = "int32", "float32"

    @staticmethod
    def empty(shape, dtype, device):
        return poisoned(math.prod(shape))

    @staticmethod
    def empty_like(tensor):
        return HalfTensor(tensor.shape, [math.nan] * math.prod(tensor.shape))

    @staticmethod
    def full(shape, value, dtype, device):
        tensor = types.SimpleNamespace(memory=(ctypes.c_int32 * shape[0])(*[value] * shape[0]))
        tensor.data_ptr = lambda: ctypes.addressof(tensor.memory)
        return tensor


class AttentionTest(unittest.TestCase):
    HEAD_DIM = 64

    def setUp(self):
        random.seed(2)
        (self.attention,) = plugin.attention(FakeTorch)

    def row(self, q, ks, vs):
        logits = [sum(a * b for a, b in zip(q, k)) / math.sqrt(self.HEAD_DIM) for k in ks]
        weights = [math.exp(logit - max(logits)) for logit in logits]
        return [sum(w * v[d] for w, v in zip(weights, vs)) / sum(weights) for d in range(self.HEAD_DIM)]

    def rows(self, tensor, head, heads):
        size, values = self.HEAD_DIM, tensor.values()
        starts = range(head * size, len(values), heads * size)
        return [values[i:i + size] for i in starts]

    def expect_head(self, out, q, k, v, head, heads, starts):
        keys, values = self.rows(k, 0, 1), self.rows(v, 0, 1)
        queries, outputs = self.rows(q, head, heads), self.rows(out, head, heads)
        for start, end in zip(starts, starts[1:]):
            for i in range(start, end):
                exact = self.row(queries[i], keys[start:i + 1], values[start:i + 1])
                for a, b in zip(outputs[i], exact):
                    self.assertAlmostEqual(a, b, delta=4e-3)

    def test_prefill(self):
        q, k, v = normal_halves(1, 9, 2, 64), normal_halves(1, 9, 1, 64), normal_halves(1, 9, 1, 64)
        call = self.attention.prefill(q, k, v, True)
        for out in (call(), call()):
            for head in (0, 1):
                self.expect_head(out, q, k, v, head, 2, [0, 9])

    def test_varlen(self):
        q, k, v = normal_halves(9, 2, 64), normal_halves(9, 1, 64), normal_halves(9, 1, 64)
        starts = types.SimpleNamespace(shape=(4,), memory=(ctypes.c_int32 * 4)(0, 3, 3, 9))
        starts.data_ptr = lambda: ctypes.addressof(starts.memory)
        out = self.attention.varlen(q, k, v, starts, 6, True)()
        for head in (0, 1):
            self.expect_head(out, q, k, v, head, 2, [0, 3, 3, 9])

    def test_decode(self):
        q, k, v = normal_halves(1, 1, 2, 64), normal_halves(1, 9, 1, 64), normal_halves(1, 9, 1, 64)
        call = self.attention.decode(q, k, v)
        for out in (call(), call()):
            for head in (0, 1):
                exact = self.row(self.rows(q, head, 2)[0], self.rows(k, 0, 1), self.rows(v, 0, 1))
                for a, b in zip(self.rows(out, head, 2)[0], exact):
                    self.assertAlmostEqual(a, b, delta=4e-3)

    def test_forward_and_backward(self):
        q, k, v = normal_halves(1, 9, 2, 64), normal_halves(1, 9, 1, 64), normal_halves(1, 9, 1, 64)
        dout = normal_halves(1, 9, 2, 64)
        out, dq, dk, dv = self.attention.fwdbwd(q, k, v, dout, True)()
        keys, values = self.rows(k, 0, 1), self.rows(v, 0, 1)
        dkeys, dvalues = ([[0.0] * self.HEAD_DIM for _ in range(9)] for _ in range(2))
        scale = 1 / math.sqrt(self.HEAD_DIM)
        for head in (0, 1):
            self.expect_head(out, q, k, v, head, 2, [0, 9])
            for i, (query, grad, dquery) in enumerate(zip(self.rows(q, head, 2), self.rows(dout, head, 2), self.rows(dq, head, 2))):
                logits = [scale * dot(query, key) for key in keys[:i + 1]]
                weights = [math.exp(logit - max(logits)) for logit in logits]
                weights = [weight / sum(weights) for weight in weights]
                products = [dot(grad, value) for value in values[:i + 1]]
                mean = dot(weights, products)
                exact = [0.0] * self.HEAD_DIM
                for j, (weight, product) in enumerate(zip(weights, products)):
                    dlogit = scale * weight * (product - mean)
                    exact = [total + dlogit * x for total, x in zip(exact, keys[j])]
                    dkeys[j] = [total + dlogit * x for total, x in zip(dkeys[j], query)]
                    dvalues[j] = [total + weight * x for total, x in zip(dvalues[j], grad)]
                self.expect_row(dquery, exact)
        for tensor, expected in ((dk, dkeys), (dv, dvalues)):
            for row, exact in zip(self.rows(tensor, 0, 1), expected):
                self.expect_row(row, exact)

    def expect_row(self, row, exact):
        for a, b in zip(row, exact, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-2 * (1 + abs(b)))

    def test_other_dtypes_are_skipped(self):
        q = normal_halves(1, 9, 1, 64)
        q.dtype = "torch.float32"
        with self.assertRaisesRegex(NotImplementedError, "attention.prefill has no torch.float32"):
            self.attention.prefill(q, q, q, False)


class PluginTest(unittest.TestCase):
    def setUp(self):
        random.seed(1)
        self.calls = {name: table["mgtune"] for name, table in plugin.implementations().items()}

    def run_it(self, operation, t, again=True):
        call = self.calls[operation]
        self.assertTrue(call.supports(t))
        call.prepare([t])
        self.assertIsNone(call(t))
        if again:
            call(t)

    def expect(self, tensor, expected):
        for i, (value, exact) in enumerate(zip(tensor.array, expected, strict=True)):
            self.assertAlmostEqual(value, exact, delta=1e-5 * (1 + abs(exact)), msg=f"at {i}")

    def test_swiglu_forward(self):
        n = ROWS * HIDDEN
        t = make_set(a=normal(n), b=normal(n), y=poisoned(n))
        self.run_it("swiglu_fwd", t)
        self.expect(t.y, [a * sigmoid(a) * b for a, b in zip(t.a.array, t.b.array)])

    def test_swiglu_packed_forward(self):
        t = make_set(ab=normal(2 * ROWS * HIDDEN), y=poisoned(ROWS * HIDDEN))
        self.run_it("swiglu_packed_fwd", t)
        expected = []
        for row in range(ROWS):
            start = 2 * row * HIDDEN
            gate, up = t.ab.array[start:start + HIDDEN], t.ab.array[start + HIDDEN:start + 2 * HIDDEN]
            expected += [a * sigmoid(a) * b for a, b in zip(gate, up)]
        self.expect(t.y, expected)

    def test_swiglu_backward(self):
        n = ROWS * HIDDEN
        t = make_set(dy=normal(n), a=normal(n), b=normal(n), da=poisoned(n), db=poisoned(n))
        self.run_it("swiglu_bwd", t)
        elements = list(zip(t.dy.array, t.a.array, t.b.array))
        self.expect(t.da, [d * b * sigmoid(a) * (1 + a * (1 - sigmoid(a))) for d, a, b in elements])
        self.expect(t.db, [d * a * sigmoid(a) for d, a, b in elements])

    def test_gate_up(self):
        hidden, width = 16, 24
        x, w1, w2 = normal_halves(ROWS, width), normal_halves(hidden, width), normal_halves(hidden, width)
        t = types.SimpleNamespace(T=ROWS, H=hidden, K=width, dtype="fp16", stream=lambda: 0, x=x, w1=w1, w2=w2,
                                  y=HalfTensor((ROWS, hidden), [math.nan] * (ROWS * hidden)))
        self.run_it("mlp_gateup", t)
        rows, gates, ups = ([tensor.values()[i:i + width] for i in range(0, len(tensor.values()), width)] for tensor in (x, w1, w2))
        exact = [dot(row, gate) * sigmoid(dot(row, gate)) * dot(row, up) for row in rows for gate, up in zip(gates, ups)]
        for a, b in zip(t.y.values(), exact, strict=True):
            self.assertAlmostEqual(a, b, delta=4e-3 * (1 + abs(b)))

    def norm(self, rows, weight):
        rstd = [1 / math.sqrt(sum(x * x for x in row) / HIDDEN + EPS) for row in rows]
        return [x * r * w for row, r in zip(rows, rstd) for x, w in zip(row, weight)], rstd

    def rows_of(self, tensor):
        return [list(tensor.array[i:i + HIDDEN]) for i in range(0, ROWS * HIDDEN, HIDDEN)]

    def test_rmsnorm_forward(self):
        n = ROWS * HIDDEN
        t = make_set(x=normal(n), w=normal(HIDDEN), y=poisoned(n), rstd=poisoned(ROWS))
        self.run_it("rmsnorm_fwd", t)
        self.expect(t.y, self.norm(self.rows_of(t.x), t.w.array)[0])
        self.assertTrue(all(math.isnan(r) for r in t.rstd.array))

    def test_rmsnorm_add_forward(self):
        self.need("rmsnorm.add_forward")
        n = ROWS * HIDDEN
        t = make_set(x=normal(n), r=normal(n), w=normal(HIDDEN), y=poisoned(n), s=poisoned(n))
        self.run_it("add_rmsnorm_fwd", t)
        total = Tensor([a + b for a, b in zip(t.x.array, t.r.array)])
        self.expect(t.s, total.array)
        self.expect(t.y, self.norm(self.rows_of(total), t.w.array)[0])

    def gradients(self, t):
        rows, dys = self.rows_of(t.x), self.rows_of(t.dy)
        dx, dw = [], [0.0] * HIDDEN
        for x, dy, r in zip(rows, dys, t.rstd.array):
            g = [d * w for d, w in zip(dy, t.w.array)]
            mean = sum(a * b for a, b in zip(g, x)) / HIDDEN
            dx += [r * gi - xi * r ** 3 * mean for gi, xi in zip(g, x)]
            dw = [total + d * xi * r for total, d, xi in zip(dw, dy, x)]
        return dx, dw

    def backward_set(self, **more):
        n = ROWS * HIDDEN
        t = make_set(x=normal(n), dy=normal(n), w=normal(HIDDEN), dx=poisoned(n), dw=poisoned(HIDDEN), **more)
        t.rstd = Tensor(self.norm(self.rows_of(t.x), t.w.array)[1])
        return t

    def test_rmsnorm_backward(self):
        self.need("rmsnorm.backward")
        t = self.backward_set()
        self.run_it("rmsnorm_bwd", t)
        dx, dw = self.gradients(t)
        self.expect(t.dx, dx)
        self.expect(t.dw, dw)

    def test_rmsnorm_add_backward(self):
        self.need("rmsnorm.add_backward")
        t = self.backward_set(ds=normal(ROWS * HIDDEN))
        self.run_it("add_rmsnorm_bwd", t)
        dx, dw = self.gradients(t)
        self.expect(t.dx, [a + b for a, b in zip(dx, t.ds.array)])
        self.expect(t.dw, dw)

    def need(self, operator):
        try:
            plugin.read_operator(operator)
        except RuntimeError as error:
            self.skipTest(str(error))

    def test_a_missing_operator_is_named(self):
        with self.assertRaisesRegex(RuntimeError, r"no operator swiglu\.sideways here: there is no .*sideways\.json"):
            plugin.read_operator("swiglu.sideways")

    def test_a_tensor_that_no_set_has_is_named(self):
        call = self.calls["swiglu_fwd"]
        call.attributes = {"gate": "a", "y": "y"}
        n = ROWS * HIDDEN
        with self.assertRaisesRegex(RuntimeError, "swiglu.forward has a tensor up"):
            call(make_set(a=normal(n), y=poisoned(n)))
        call.name, call.attributes = plugin.OPERATIONS["swiglu_fwd"]

    def test_what_the_library_says_is_passed_on(self):
        t = make_set(a=normal(1), b=normal(1), y=poisoned(1))
        t.H = 262145
        with self.assertRaisesRegex(RuntimeError, "mgruntime: .*262144"):
            self.calls["swiglu_fwd"](t)


if __name__ == "__main__":
    unittest.main()
