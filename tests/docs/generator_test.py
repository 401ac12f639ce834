#!/usr/bin/env python3
"""Tests of docs/generator: Markdown, links, charts and generated pages, on small examples with planted faults."""
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/generator"))

import check_links  # noqa: E402
import command_pages  # noqa: E402
import header_pages  # noqa: E402
import plots  # noqa: E402
import schema_pages  # noqa: E402
from github_markdown import for_python_markdown, replace_links  # noqa: E402
from repository_pages import BrokenLink, RepositoryPages  # noqa: E402


def tree(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pathlib.Path(folder)


class Markdown(unittest.TestCase):
    def test_a_list_a_table_and_a_block_may_follow_a_paragraph(self):
        self.assertEqual(for_python_markdown("words:\n- one\n- two"), "words:\n\n- one\n- two")
        self.assertEqual(for_python_markdown("words:\n| a | b |\n|---|---|\n| 1 | 2 |"), "words:\n\n| a | b |\n|---|---|\n| 1 | 2 |")
        self.assertEqual(for_python_markdown("words:\n```sh\nls\n```"), "words:\n\n```sh\nls\n```")

    def test_what_belongs_to_an_item_is_indented_by_four(self):
        self.assertEqual(for_python_markdown("- item\n\n  | a | b |\n  |---|---|\n\n  more\n- next\n  - inner\n\nend"),
                         "- item\n\n    | a | b |\n    |---|---|\n\n    more\n- next\n    - inner\n\nend")
        self.assertEqual(for_python_markdown("1. one\n   goes on\n2. two"), "1. one\n    goes on\n2. two")

    def test_code_is_left_alone(self):
        text = "```text\nwords:\n- no list\n  [no link](x)\n```\n`[no](y)` and [a link](z)"
        self.assertEqual(for_python_markdown(text), text)
        self.assertEqual(replace_links(text, str.upper), text.replace("(z)", "(Z)"))

    def test_a_line_that_begins_with_a_dash_inside_of_a_paragraph_of_an_item_stays(self):
        self.assertEqual(for_python_markdown("- a\n- b"), "- a\n- b")


class Repository(unittest.TestCase):
    def test_links_lead_to_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            root = tree(folder, {
                "README.md": "[a](kernels/README.md#x) [b](kernels) [c](kernels/a.cu) [d](tables) [e](https://example.org)",
                "kernels/README.md": "[up](../README.md) [guide](../docs/pages/guide.md)", "kernels/a.cu": "int a;", "tables/t.txt": "1",
                "docs/pages/guide.md": "[kernels](../../kernels/README.md) [made](reference/c.md#f)", "build/README.md": "[broken](none.md)"})
            pages = RepositoryPages(root, ["reference/c.md"])
            self.assertEqual(sorted(pages.pages), ["README.md", "guide.md", "kernels/README.md"])
            self.assertEqual(pages.markdown("README.md"), "[a](kernels/README.md#x) [b](kernels/README.md) [c](source/kernels/a.cu.md) "
                                                          "[d](source/tables/README.md) [e](https://example.org)")
            self.assertEqual(pages.markdown("kernels/README.md"), "[up](../README.md) [guide](../guide.md)")
            self.assertEqual(pages.markdown("docs/pages/guide.md"), "[kernels](kernels/README.md) [made](reference/c.md#f)")
            self.assertIn("```c++\nint a;\n```", pages.sources["source/kernels/a.cu.md"])
            self.assertIn("[t.txt](t.txt.md)", pages.sources["source/tables/README.md"])

    def test_a_file_that_is_no_text_is_named_with_its_size(self):
        with tempfile.TemporaryDirectory() as folder:
            root = tree(folder, {"README.md": "[a](times) [b](times/t.gz)", "times/t.txt": "1", "times/more/u.txt": "2"})
            (root / "times/t.gz").write_bytes(b"\x1f\x8b\xff")
            pages = RepositoryPages(root)
            self.assertEqual(pages.markdown("README.md"), "[a](source/times/README.md) [b](source/times/t.gz.md)")
            self.assertTrue(pages.sources["source/times/README.md"].endswith("\n- [more/](more/README.md)\n- `t.gz`, 3 bytes\n- [t.txt](t.txt.md)\n"))
            self.assertIn("\n3 bytes that are no text.\n", pages.sources["source/times/t.gz.md"])
            self.assertIn("- [u.txt](u.txt.md)", pages.sources["source/times/more/README.md"])

    def test_the_links_of_this_repository_lead_somewhere(self):
        texts = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/pages").rglob("*.md"))
        commands = re.findall(r"reference/commands/[\w-]+\.md", texts)  # the program prints these; scripts/docs.sh has it
        generated = [*commands, *schema_pages.pages(ROOT), *header_pages.pages(ROOT), "demo/report.html"]
        self.assertGreater(len(RepositoryPages(ROOT, generated).sources), 0)

    def test_a_link_to_nothing_is_refused(self):
        for link in ("none.md", "../outside.md", "reference/c.md"):
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(BrokenLink, link):
                RepositoryPages(tree(folder, {"README.md": f"[x]({link})"}), ["reference/c.md"])


class Links(unittest.TestCase):
    def broken(self, files):
        with tempfile.TemporaryDirectory() as folder:
            return list(check_links.broken_links(tree(folder, files)))

    def test_good_links_pass(self):
        self.assertEqual(self.broken({"index.html": '<a href="a/">a</a><a href="a/index.html#here">b</a><a href="https://x.org/y">c</a>',
                                      "a/index.html": '<h2 id="here">h</h2><img src="../p.png"><a href="#here">x</a>', "p.png": ""}), [])

    def test_broken_links_are_named(self):
        self.assertEqual(self.broken({"index.html": '<a href="b.html">a</a><a href="a.html#gone">b</a><img src="p.png">', "a.html": "<p>"}),
                         ["index.html: b.html: the site has no such file", "index.html: a.html#gone: the page has no such anchor",
                          "index.html: p.png: the site has no such file"])


class Charts(unittest.TestCase):
    def test_peers(self):
        text = "| operator | rows x hidden | mgtune | best peer |\n|---|---|---|---|\n| f | 1 x 2 | 2.0 us | 3.0 us |\n| f | 3 x 4 | 4.0 us | 2.0 us |"
        (end, title, svg), = plots.charts(text)
        self.assertEqual(end, 4)
        self.assertEqual(title, "Time of the best peer divided by the time of mgtune")
        self.assertIn(">1.50x<", svg)
        self.assertIn(">0.50x<", svg)
        self.assertIn("f 3 x 4", svg)

    def test_a_block_of_the_bench(self):
        block = "```\nSwiGLU, GPU time\ncase  mgtune (us)  compile (us)  compile/mgtune\n8 x 4 bf16  10.00  12.00  1.20x\n```"
        (_, title, svg), = plots.charts(block)
        self.assertEqual(title, "SwiGLU, GPU time: time of the other divided by the time of mgtune")
        self.assertIn(">1.20x<", svg)

    def test_other_tables_have_none(self):
        self.assertEqual(plots.charts("| file | what |\n|---|---|\n| a | b |\n\n```\nls\n```"), [])
        alone = "```\nAttention, GPU time\ncase   mgtune (us)\n8 x 1024        140.25\n```"
        self.assertEqual(plots.charts(alone), [])

    def test_the_committed_pages_have_charts(self):
        found = {page.name: len(plots.charts(page.read_text(encoding="utf-8"))) for page in (ROOT / "results").glob("*/*.md")}
        for page in ("norms.md", "attention.md", "pytorch.md", "README.md"):
            self.assertGreater(found[page], 0, page)


class Results(unittest.TestCase):
    def test_every_output_begins_with_the_command_that_printed_it(self):
        outputs = list((ROOT / "results").rglob("*.txt"))
        self.assertGreater(len(outputs), 10)
        for output in outputs:
            head = output.read_text(encoding="utf-8").splitlines()[:4]
            self.assertTrue(any(line.startswith("$ ") for line in head), f"{output} does not begin with '$ COMMAND'")

    def test_every_page_of_figures_has_commands(self):
        for page in (ROOT / "results").glob("*/*.md"):
            text = page.read_text(encoding="utf-8")
            self.assertRegex(text, r"(?m)(^mgtune |`mgtune |`scripts/|^scripts/|`python -m mgtune)", page)


class Reference(unittest.TestCase):
    def test_a_command(self):
        text = ("Do a thing\nUsage: mgtune thing [OPTIONS] FILE\n\nPositionals:\n  FILE (required)      The file\n\nOptions:\n"
                "  -h,--help           Print this help\n  --only a|b          One of <these>\n\nNotes.\nExample: mgtune thing x\n")
        page = command_pages.page("thing", text)
        self.assertIn("| `FILE (required)` | The file |", page)
        self.assertIn("| `--only a|b` | One of &lt;these> |", page)
        self.assertIn("```text\nNotes.\nExample: mgtune thing x\n```", page)

    def test_commands(self):
        self.assertEqual(command_pages.commands("x\nCommands:\n  new    Write it\n  show   Print it\n\nFirst steps:\n  a\n"),
                         [("new", "Write it"), ("show", "Print it")])

    def test_every_key_of_the_operator_schema(self):
        pages = schema_pages.pages(ROOT)
        for key in ("`tensors`", "`reference.command`", "`[].NAME`", "## design"):
            self.assertIn(key, pages["reference/schemas/operator.md"])

    def test_every_function_and_class_of_the_headers(self):
        pages = header_pages.pages(ROOT)
        header = (ROOT / "runtime/include/mgruntime/mgruntime.h").read_text(encoding="utf-8")
        functions = [line.split("(")[0].split()[-1].lstrip("*") for line in header.splitlines() if line.startswith("MGR_API ")]
        self.assertGreater(len(functions), 15)
        for name in [*functions, "mgr_status_t", "mgr_open_options_t"]:
            self.assertIn(f"\n### {name}\n", pages["reference/mgruntime.h.md"])
        for name in ("Result", "Context", "Plan", "Buffer"):
            self.assertIn(f"\n## {name}\n", pages["reference/mgruntime.hpp.md"])
        self.assertNotIn("private:", pages["reference/mgruntime.hpp.md"])


if __name__ == "__main__":
    unittest.main()
