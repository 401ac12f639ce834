"""The tables of decode in results/h200/attention.md are what scripts/compare_decode.py prints of the recorded times."""
import contextlib
import io
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import compare_decode  # noqa: E402


def printed(rows):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        compare_decode.print_tables(rows)
    return text.getvalue().splitlines()


def row(batch, split, even, **other):
    us = {"FA2": 40.0, "cuDNN": 20.0, "folded": 30.0, "split": split, "even": even}
    return {"batch": batch, "keys": 1024, "heads": 32, "kv_heads": 8, "lengths": "equal", "page": 0, "us": us, **other}


class DecodeTable(unittest.TestCase):
    def test_the_page_has_what_is_recorded(self):
        recorded = json.loads((ROOT / "results/h200/attention.decode.designs.json").read_text(encoding="utf-8"))
        lines = printed(recorded["rows"])
        page = (ROOT / "results/h200/attention.md").read_text(encoding="utf-8").partition("## Decode without a tuned table")[2]
        published = [line for line in page.splitlines() if line.startswith("|")]
        self.assertGreater(len(published), 30)
        self.assertEqual([line for line in published if line not in lines], [])

    def test_ratios_are_over_the_fastest_peer(self):
        lines = printed([row(17, 30.0, 20.0), row(1, 10.0, 20.0), row(16, 1.0, 1.0, heads=28)])
        self.assertIn("| 17, 1,024 | 40.0 | 20.0 | 30.0 | 30.0 | 20.0 |", lines)
        self.assertFalse(any(line.startswith("| 16,") for line in lines))
        self.assertIn("| `even` | 0.368 | 1.00 | 3 |", lines)
        self.assertIn("| the faster one | 0.292 | 1.00 | 3 |", lines)

    def test_each_number_of_heads_has_a_row_and_slow_cases_have_a_table(self):
        times = {"FA2": 9.0, "cuDNN": 8.0, "folded": 10.0, "split": 8.0, "even": 8.0}
        lines = printed([row(17, 8.0, 8.0, us={**times, "mgtune": 8.4}, heads=28, kv_heads=4), row(1, 8.0, 8.0, us={**times, "mgtune": 4.0}),
                         row(2, 8.0, 8.0, us={**times, "mgtune": 8.8})])
        self.assertIn("| 32 / 8 | 2 | 0.742 | 1.100 | 1 |", lines)
        self.assertIn("| 28 / 4 | 1 | 1.050 | 1.050 | 0 |", lines)
        slow = [line for line in lines if line.endswith(("1.100 |", "1.050 |"))]
        self.assertEqual(slow, ["| 32 / 8 | 2, 1,024 | 9.0 | 8.0 | 10.0 | 8.8 | 1.100 |", "| 28 / 4 | 17, 1,024 | 9.0 | 8.0 | 10.0 | 8.4 | 1.050 |"])

    def test_cases_without_peers_have_a_table_of_their_own(self):
        lines = printed([row(2, 10.0, 20.0), row(64, 8.0, 4.0, lengths="uniform", us={"split": 8.0, "even": 4.0})])
        self.assertIn("| uniform | 64 | 1,024 |  | 8.0 | 4.0 |", lines)
        self.assertEqual(printed([])[-1], "|---|---|---|---|---|---|---|")  # the script was stopped at its first case


if __name__ == "__main__":
    unittest.main()
