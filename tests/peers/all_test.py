#!/usr/bin/env python3
"""scripts/compare_with_peers.py --all without a GPU: a stand-in for the GPU has made-up times."""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import peer_implementations as implementations  # noqa: E402
import peer_times  # noqa: E402
from mgtune_for_peers import read_operator  # noqa: E402


class StandInGpu:
    """torch.compile fails, and is left out as on a GPU. Packed sequences need more memory than there is."""

    def environment(self):
        return {"gpu": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "framework": "torch 2.11.0"}

    def times(self, operator, problem, peers, leave_out):
        if operator == "attention.varlen":
            raise MemoryError("CUDA out of memory\nand more")
        for peer in peers:
            if peer.is_compiled:
                leave_out(peer, "RuntimeError: no compiler")
        return {peer: [20.0, 21.0, 22.5, 30.0] for peer in peers if not peer.is_compiled}


def run(operators, versions, deadline=1000):
    clock = iter(range(10000))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said, \
            contextlib.redirect_stdout(io.StringIO()):
        path = pathlib.Path(folder, "peers.json")
        rows = peer_times.time_all(StandInGpu(), operators, versions, path, deadline, now=lambda: next(clock))
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None, rows, said.getvalue()


class AllTest(unittest.TestCase):
    def test_the_file_has_every_operator(self):
        document, rows, said = run([], {"torch": "2.11.0+cu130"})
        self.assertEqual({row["operator"] for row in document["peers"]}, set(implementations.OPERATORS) - {"attention.varlen"})
        self.assertRegex(said, r"left out: attention.varlen .*: MemoryError: CUDA out of memory\n")
        self.assertEqual(document["peers"], rows)
        self.assertEqual(document["gpu"], "NVIDIA H200")
        self.assertRegex(document["measured_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        first = rows[0]
        self.assertEqual((first["name"], first["version"], first["method"]), ("eager PyTorch", "2.11.0", "graph"))
        self.assertEqual((first["median_ns"], first["low_ns"], first["high_ns"], first["samples"]), (21750.0, 21000.0, 22500.0, 4))
        self.assertIn("left out: torch.compile of rmsnorm.forward rows=4096 hidden=4096 T=bf16: RuntimeError: no compiler", said)

    def test_absent_packages_are_named_and_left_out(self):
        self.assertEqual(peer_times.absent({"torch": "2"}),
                         ["left out: Liger, because the Python package liger_kernel is not installed",
                          "left out: flash-attn, because the Python package flash_attn is not installed"])
        _, rows, _ = run(["attention.decode"], {"torch": "2"})
        self.assertEqual({row["name"] for row in rows}, {"SDPA flash", "SDPA cuDNN", "SDPA cuDNN folded"})
        _, rows, _ = run(["attention.decode"], {"torch": "2", "flash-attn": "2.8.3"})
        self.assertIn(("flash-attn", "2.8.3"), {(row["name"], row["version"]) for row in rows})

    def test_after_the_time_the_rest_is_left_out(self):
        _, rows, said = run(["attention.decode"], {"torch": "2"}, deadline=1)
        self.assertEqual(len(rows), 2 * 3)
        self.assertIn("left out: the last 7 of 9 problems", said)

    def test_the_operators_have_these_dims(self):
        names = {operator: {**(description := read_operator(operator))["dims"], **description["dtypes"], **description.get("flags", {}),
                            **description["tensors"]} for operator in implementations.OPERATORS}
        for operator, problem in peer_times.cases():
            self.assertLessEqual(set(problem), set(names[operator]), operator)
        words = [(operator, peer_times.words_of(problem)) for operator, problem in peer_times.cases()]
        self.assertEqual(len(words), len(set(words)))

    def test_the_words_of_a_shell(self):
        script = [sys.executable, str(SCRIPTS / "compare_with_peers.py")]
        listed = subprocess.run([*script, "--list", "--only", "swiglu.backward"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(listed.splitlines()), 3)
        self.assertTrue(listed.startswith("swiglu.backward rows=8192 hidden=14336 T=bf16: "))
        wrong = subprocess.run([*script, "--all", "--only", "swiglu_bwd"], capture_output=True, text=True, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--only swiglu_bwd: --all knows rmsnorm.forward, ", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
