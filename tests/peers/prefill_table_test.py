"""The table of wgmma in results/h200/attention.md is what scripts/compare_prefill.py prints of the recorded times."""
import contextlib
import io
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import compare_prefill  # noqa: E402


def printed(document):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        compare_prefill.print_tables(document)
    return text.getvalue().splitlines()


class PrefillTable(unittest.TestCase):
    def test_the_page_has_what_is_recorded(self):
        page = (ROOT / "results/h200/attention.md").read_text(encoding="utf-8")
        for title, name, fewest in (("Prefill by wgmma", "prefill.designs", 40), ("Head dim 192", "prefill.192", 4),
                                    ("Polynomials for exponentials", "polynomials", 15)):
            lines = printed(json.loads((ROOT / f"results/h200/attention.{name}.json").read_text(encoding="utf-8")))
            section = page.partition(f"## {title}")[2].partition("\n## ")[0]
            published = [line for line in section.splitlines() if line.startswith("|")]
            self.assertGreater(len(published), fewest)
            self.assertEqual([line for line in published if line not in lines], [])

    def test_a_rate_is_flops_over_time_and_an_error_has_none(self):
        row = {"batch": 1, "tokens": 1000, "heads": 1, "kv_heads": 1, "head_dim": 64, "causal": True,
               "us": {"FA2": 2.0, "cuDNN": 1.0, "wgmma": 0.5, "mma_sync": "no design serves this"}}
        lines = printed({"variants": {"wgmma": [], "mma_sync": []}, "rows": [row]})
        self.assertIn("| 64 | 1/1 | yes | 1 x 1,000 | 64 | 128 | 256 | - | 2.00 |", lines)
        self.assertIn("mma_sync: no design serves this", lines)


if __name__ == "__main__":
    unittest.main()
