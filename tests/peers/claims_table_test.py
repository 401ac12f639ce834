"""The tables of results/search.md and results/search_quality.md are what scripts print of the recorded claims and fractions."""
import contextlib
import io
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import search_claims  # noqa: E402
import search_quality  # noqa: E402


def printed(document):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        search_claims.print_table(document)
    return text.getvalue().splitlines()


def space(name, claims, true_claims, seeds=20, mean=150):
    return {"space": name, "variants": 1234, "seeds": seeds,
            "target": {"target": 0.98, "claims": claims, "true_claims": true_claims, "evaluations": {"mean": mean, "min": 101, "max": 200}}}


class ClaimsTable(unittest.TestCase):
    def documents(self):
        paths = sorted((ROOT / "results/search").glob("*.json"))
        self.assertEqual(len(paths), 7)
        return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}

    def test_the_page_has_what_is_recorded(self):
        lines = [line for document in self.documents().values() for line in printed(document)]
        page = (ROOT / "results/search.md").read_text(encoding="utf-8")
        published = [line for line in page.splitlines() if line.startswith("|")]
        self.assertGreater(len(published), 25)
        self.assertEqual([line for line in published if line not in lines], [])
        self.assertEqual([line for line in lines if line not in published], [], "a row that is not on the page")

    def test_claims_hold_at_every_space(self):
        for name, document in self.documents().items():
            self.assertEqual(document["spaces"][0]["target"]["target"], 0.98)
            self.assertTrue(document["commit"])
            if "before" not in name:
                self.assertTrue(search_claims.holds(document), name)

    def test_a_false_claim_in_ten_does_not_hold(self):
        self.assertTrue(search_claims.holds({"spaces": [space("a", 20, 19), space("b", 0, 0)]}))
        self.assertFalse(search_claims.holds({"spaces": [space("a", 20, 20), space("b", 10, 9)]}))

    def test_rows(self):
        lines = printed({"spaces": [space("gemm.L4", 20, 19), space("hotspot.L4", 0, 0),
                                    space("rmsnorm.forward.rows=1-T=bf16", 20, 20), space("rmsnorm.forward.rows=2-T=bf16", 10, 9, 20, 250)]})
        self.assertIn("| gemm.L4 | 1,234 | 20 of 20 | 95 % | 150 (101 to 200) |", lines)
        self.assertIn("| hotspot.L4 | 1,234 | 0 of 20 | - | 150 (101 to 200) |", lines)
        self.assertIn("| rmsnorm.forward | 2 | 30 of 40 | 97 % | 90 % | 200 |", lines)

    def test_disturbed_times_keep_failures_and_repeat(self):
        cache = {"tune_params_keys": ["a"], "cache": {str(i): {"a": i, "time": 2.0 if i else "InvalidConfig"} for i in range(50)}}
        first, second = search_claims.rugged(cache, 0.15), search_claims.rugged(cache, 0.15)
        self.assertEqual(first, second)
        times = [row["time"] for row in first["cache"].values()]
        self.assertEqual(times[0], "RuntimeFailedConfig")
        self.assertGreater(len(set(times[1:])), 40)


class QualityTable(unittest.TestCase):
    def documents(self):
        paths = sorted((ROOT / "results/search/quality").glob("*.json"))
        self.assertEqual(len(paths), 2)
        return [search_quality.read(path) for path in paths]

    def test_the_page_has_what_is_recorded(self):
        page = (ROOT / "results/search_quality.md").read_text(encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as text:
            for document in self.documents():
                search_quality.print_fractions(document)
                self.assertIn(f"`{document['command']}`, commit {document['commit']}", page)
        published = [line for line in page.splitlines() if line.startswith("|")]
        self.assertEqual(sorted(published), sorted(text.getvalue().splitlines()))

    def test_means_are_those_of_the_seeds(self):
        for one in (one for document in self.documents() for one in document["simulations"]):
            for budget, mean in one["fraction_of_optimum"].items():
                found = [seed["fraction_of_optimum"][budget] for seed in one["per_seed"]]
                self.assertAlmostEqual(sum(found) / len(found), mean, msg=one["space"])

    def test_an_operator_has_one_row(self):
        def problem(rows, found, drawn):
            return {"space": f"gpu.rmsnorm.forward.rows={rows}-T=bf16", "fraction_of_optimum": found, "random": drawn}

        with contextlib.redirect_stdout(io.StringIO()) as text:
            search_quality.print_fractions({"simulations": [problem(1, {"20": 0.8, "30": 1.0}, {"20": 0.6, "30": 1.0}),
                                                            problem(2, {"20": 0.9, "50": 0.95}, {"20": 0.7, "50": 0.9})]})
        self.assertEqual(text.getvalue().splitlines(), [
            "| operator | problems | 20 evaluations | 50 evaluations |", "|---|---|---|---|",
            "| gpu.rmsnorm.forward | 2 | 0.850, lowest 0.800 (0.650) | 0.975, lowest 0.950 (0.950) |"])


if __name__ == "__main__":
    unittest.main()
