#!/usr/bin/env python3
"""The table of scripts/compare_with_peers.py, of made-up results."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import compare_with_peers as compare  # noqa: E402

CASES = [("swiglu_fwd", "bf16", 8192, 11008, "101 %"), ("swiglu_fwd", "bf16", 16, 14336, "1.8 us"),
         ("swiglu_bwd", "bf16", 8192, 11008, "101 %")]


def row(impl, us, percent, op="swiglu_fwd", shape="8192x11008", status="ok", **more):
    return dict(op=op, dtype="bf16", shape=shape, impl=impl, status=status, us=us, pct_copy_same_bytes=percent, **more)


class TableTest(unittest.TestCase):
    def test_medians_beside_the_fastest_other(self):
        runs = [[row("mgtune", us, 102.5), row("eager", 215.0, 59.0), row("compile", us + 1, 101.0)]
                for us in (124.0, 190.0, 125.0)]
        lines = compare.table(runs, CASES[:1])
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[1], r"^swiglu_fwd +bf16 +8192 x 11008 +125\.00 us +102\.5 % +126\.00 us compile +0\.99x"
                                   r" +101 % met$")

    def test_bars_in_microseconds(self):
        lines = compare.table([[row("mgtune", 1.9, 60.0, shape="16x14336")]], CASES[1:2])
        self.assertRegex(lines[1], r"1\.90 us +60\.0 % +none +1\.8 us missed$")

    def test_what_failed_is_said(self):
        runs = [[row("mgtune", 0, 0, op="swiglu_bwd", status="error", error="RuntimeError: no")]]
        lines = compare.table(runs, CASES[2:])
        self.assertTrue(lines[1].endswith("not measured"))
        self.assertEqual(lines[2], "swiglu_bwd bf16 8192x11008: error RuntimeError: no")

    def test_every_case_has_an_operator(self):
        from mgtune_for_peers import OPERATIONS
        for case in compare.CASES:
            self.assertIn(case[0], OPERATIONS)
            self.assertRegex(case[4], r"^[0-9.]+ (%|us)$")


if __name__ == "__main__":
    unittest.main()
