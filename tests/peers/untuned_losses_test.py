"""scripts/untuned_losses.py, and what results/h200/untuned.md says with it."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import untuned_losses  # noqa: E402

MGTUNE = os.environ.get("MGTUNE_PROGRAM")
RECORDED = ROOT / "results/h200/recorded/random_problems"


class UntunedLosses(unittest.TestCase):
    def test_a_loss_is_relative_to_the_fastest_variant(self):
        times = {"n=1": {"a": 12.0, "b": 10.0}, "n=2": {"a": 10.0, "b": 30.0}, "n=3": {"b": 1.0}}
        losses, without = untuned_losses.losses_of(times, lambda problem: "a")
        self.assertEqual([(round(loss, 3), problem, fastest) for loss, problem, _, fastest in losses],
                         [(0.0, "n=2", "a"), (0.2, "n=1", "b")])
        self.assertEqual(untuned_losses.summary(losses, without),
                         "2 problems, and 1 without a time of what runs there: median 10.0%, 95 % below 20.0%, worst 20.0%")

    @unittest.skipIf(MGTUNE is None, "needs MGTUNE_PROGRAM, the path of mgtune")
    def test_the_page_says_what_the_ladder_of_decode_loses(self):
        page = (ROOT / "results/h200/untuned.md").read_text(encoding="utf-8")
        for name in ("attention.decode.seed_10", "attention.decode.seed_9", "attention.decode.paged", "attention.decode"):
            times = untuned_losses.times_of(RECORDED / f"{name}.csv.gz")
            losses, without = untuned_losses.losses_of(times, lambda problem: untuned_losses.untuned_variant(MGTUNE, "attention.decode", "H200", problem))
            self.assertIn(f"{name}.csv.gz: {untuned_losses.summary(losses, without)}", page)


if __name__ == "__main__":
    unittest.main()
