"""The tables in results/h200/tokens.md are what was recorded."""
import argparse
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import compare_logits  # noqa: E402
import compare_token  # noqa: E402



def page(gpu):
    return (ROOT / f"results/{gpu}/tokens.md").read_text(encoding="utf-8").splitlines()


def benched(gpu):
    """The rows of the page for each `mgengine bench` in tokens.txt."""
    name = None
    for line in (ROOT / f"results/{gpu}/tokens.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("$ "):
            call = re.match(r"\$ mgengine bench --model (\S+)[^#]*(?:# (.*))?$", line)
            name = call and call[1] + (f", {call[2]}" if call[2] else "")
        row = re.fullmatch(r" +(\d+) +([\d.]+) +[\d.]+ +([\d.]+) +([\d.]+) %", line)
        if name and row:
            yield f"| {name} | {int(row[1]):,} | {float(row[2]):.0f} | {float(row[3]):,.0f} | {float(row[4]):.1f} % |"
        row = re.fullmatch(r" +(\d+) +(\d+) +([\d.]+) +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) %", line)
        if row:  # of several batches
            yield f"| {row[1]} | {int(row[2]):,} | {float(row[3]):.0f} | {float(row[4]):,.0f} | {float(row[5]):.1f} % |"


class TokenTable(unittest.TestCase):
    def test_the_page_has_what_is_recorded(self):
        for gpu, least in (("h200", 30), ("h100", 10)):
            rows = list(benched(gpu))
            self.assertGreaterEqual(len(rows), least)
            self.assertEqual([row for row in rows if row not in page(gpu)], [])
            lines = list(compare_token.table(json.loads((ROOT / f"results/{gpu}/tokens.json").read_text(encoding="utf-8"))))
            self.assertEqual([line for line in lines if line not in page(gpu)], [])

    def test_the_page_has_the_distances_from_f32(self):
        recorded = json.loads((ROOT / "results/h200/logits.json").read_text(encoding="utf-8"))
        lines = list(compare_logits.table(recorded["distances"]))
        self.assertEqual(len(lines), 4)
        self.assertEqual([line for line in lines if line not in page("h200")], [])
        self.assertTrue(compare_logits.is_as_near(*recorded["distances"].values()))
        words = argparse.Namespace(**recorded["arguments"], library="/a/libmgengine.so.0", output="/b/logits.json")
        text = compare_logits.document(recorded["torch"], words, recorded["distances"])
        self.assertEqual(text, (ROOT / "results/h200/logits.json").read_text(encoding="utf-8"))

    def test_a_larger_distance_is_not_near(self):
        def distances(mean, agreement):
            return {"mean": mean, "agreement": agreement}

        theirs = distances(1e-3, 0.9)
        self.assertTrue(compare_logits.is_as_near(theirs, distances(1e-3, 0.895)))
        self.assertFalse(compare_logits.is_as_near(theirs, distances(1.05e-3, 0.9)))
        self.assertFalse(compare_logits.is_as_near(theirs, distances(1e-3, 0.88)))
        self.assertFalse(compare_logits.is_as_near(theirs, distances(float("nan"), 0.9)))

    def test_the_limit_is_bytes_over_bandwidth(self):
        times = {str(at): 2.0 for at in compare_token.POSITIONS}
        results = {"model": "m", "bandwidth": 4000, "bytes": {str(at): 4_000_000 for at in compare_token.POSITIONS},
                   "us": {"mgengine": times, "eager": {at: 5.0 for at in times}}}
        self.assertIn("| m | 128 | 2 us | 50.0 % |  | 5 us (2.50x) |", list(compare_token.table(results)))

    def test_positions_end_with_those_of_the_model(self):
        def positions(name):
            return compare_token.positions_of(json.loads((ROOT / f"configs/models/{name}.json").read_text(encoding="utf-8")))

        self.assertEqual(positions("gpt2"), [1, 128, 512, 1023])
        self.assertEqual(positions("llama-3.2-1b"), [1, 128, 512, 2047])
        self.assertEqual(compare_token.positions_of({"max_position_embeddings": 100}), [1, 99])


if __name__ == "__main__":
    unittest.main()
