"""The tables in results/h200/gemm.md are what scripts/compare_gemm.py prints of the recorded times."""
import contextlib
import io
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import compare_gemm  # noqa: E402


def printed(document, read_gbps=None):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        compare_gemm.print_tables(document, read_gbps)
    return text.getvalue().splitlines()


class GemmTable(unittest.TestCase):
    def test_the_page_has_what_is_recorded(self):
        lines = []
        for name in ("gemm.designs.json", "gemm.compile.json", "gemm.swapped.json"):
            lines += printed(json.loads((ROOT / "results/h200" / name).read_text(encoding="utf-8")))
        page = (ROOT / "results/h200/gemm.md").read_text(encoding="utf-8")
        published = [line for line in page.splitlines() if line.startswith("|")]
        self.assertGreater(len(published), 90)
        self.assertEqual([line for line in published if line not in lines], [])

    def test_a_rate_is_flops_over_time_or_weights_over_time(self):
        rows = [{"cell": "large", "operator": "forward", "m": 1000, "n": 1000, "k": 1000, "us": {"cuBLAS": 4.0, "ours": 5.0}, "sm_mhz": 1500},
                {"cell": "small", "operator": "forward", "m": 1, "n": 1000, "k": 1000, "us": {"cuBLAS": 2.0, "ours": 1.0}, "sm_mhz": 1500}]
        lines = printed({"variants": {"ours": ["forward", "all", []]}, "rows": rows}, 4000)
        self.assertIn("| 1,000 | 1,000 | 1,000 | 500 | 400 | ours | 0.800 | 1500 |", lines)
        self.assertIn("| 1 | 1,000 | 1,000 | 25% | 50% | ours | 2.000 | 1500 |", lines)


if __name__ == "__main__":
    unittest.main()
