"""MkDocs calls these functions. They add the pages that are no files of docs/pages: those of the repository, and the generated ones.

MGTUNE_PROGRAM names the program that describes its commands and writes the demo report.
"""
import functools
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import command_pages  # noqa: E402
import header_pages  # noqa: E402
import plots  # noqa: E402
import schema_pages  # noqa: E402
from github_markdown import for_python_markdown  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File, InclusionLevel  # noqa: E402
from repository_pages import BrokenLink, RepositoryPages, page_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = "results/h200/recorded/showcase.db.gz"
PEERS = "results/h200/nvidia-h200.peers.json"
DEMO = "demo/report.html"


def _demo_report(program):
    """The report of a sweep that was recorded on an H200, with the times of other implementations there."""
    with tempfile.TemporaryDirectory() as folder:
        database, report = pathlib.Path(folder, "showcase.db"), pathlib.Path(folder, "report.html")
        database.write_bytes(gzip.decompress((ROOT / RECORDED).read_bytes()))
        for words in (["peers", "import", ROOT / PEERS], ["report", "-o", report]):
            subprocess.run([program, *words, "--db", database], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return report.read_text(encoding="utf-8")


@functools.cache
def _generated():
    return {**command_pages.pages(os.environ["MGTUNE_PROGRAM"]), **schema_pages.pages(ROOT), **header_pages.pages(ROOT)}


def _with_all_of(folder, entry, pages):
    """A navigation entry in which the page of a folder stands for all pages of the folder."""
    if isinstance(entry, dict):
        return {title: _with_all_of(folder, inner, pages) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [_with_all_of(folder, each, pages) for each in entry]
    if entry != folder + "README.md":
        return entry
    return [entry, *sorted(page for page in pages if page.startswith(folder) and page != entry)]


def on_config(config):
    for folder in (command_pages.FOLDER, schema_pages.FOLDER):
        config.nav = _with_all_of(folder, config.nav, _generated())
    return config


def on_files(files, config):
    program = os.environ["MGTUNE_PROGRAM"]
    generated = _generated()
    try:
        repository = RepositoryPages(ROOT, [*generated, DEMO])
        texts = {page: repository.markdown(path) for page, path in repository.pages.items()}
    except BrokenLink as broken:
        raise PluginError(str(broken)) from broken
    for page, path in repository.pages.items():
        if path.startswith("results/"):
            texts[page] = plots.with_charts(texts[page])
    texts |= repository.sources
    texts |= {page: for_python_markdown(text) for page, text in generated.items()}
    for page, text in texts.items():
        there = files.get_file_from_path(page)
        if there is not None:
            files.remove(there)
        files.append(File.generated(config, page, content=text, inclusion=InclusionLevel.INCLUDED))
    for path in repository.images:
        files.append(File.generated(config, page_of(path), abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, DEMO, content=_demo_report(program)))
    return files
