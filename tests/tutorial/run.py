#!/usr/bin/env python3
"""Does what a tutorial says, word for word, in an empty folder.

  run.py TUTORIAL.md [--skip WORDS]...

A fenced block after a line that ends in "`NAME`:" is written to the file NAME. A block of kind `sh` is run by bash, which stops at the
first failure. A block of kind `text` shows lines that the block of `sh` before it must have printed, in this order; a line "..." stands for
any others, and digits match any digits. --skip leaves out the sections whose heading contains the words.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks(text, skipped):
    """(heading, line before the block, kind, content) of each fenced block."""
    heading, before, fence, content = "", "", None, []
    for line in text.splitlines():
        if fence is None and line.startswith("```"):
            fence, content = line[3:].strip(), []
        elif fence is not None and line.startswith("```"):
            if not any(words in heading for words in skipped):
                yield heading, before, fence, "\n".join(content) + "\n"
            fence = None
        elif fence is not None:
            content.append(line)
        else:
            if line.startswith("#"):
                heading = line
            before = line.strip() or before


def matches(shown, printed):
    """Whether a line of the tutorial stands for a printed one: digits and blanks may differ."""
    def plain(line):
        return re.sub(r"\s+", " ", re.sub(r"[0-9][0-9.]*", "0", line)).strip()
    return plain(shown) == plain(printed)


def missing(shown, printed):
    """The first line of `shown` that `printed` lacks."""
    lines = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() in ("", "..."):
            continue
        if not any(matches(line, other) for other in lines):
            return line
    return None


def run(tutorial, skipped, folder):
    printed = ""
    for heading, before, kind, content in blocks(tutorial.read_text(encoding="utf-8"), skipped):
        named = re.search(r"`([^`]+)`:$", before)
        if kind == "sh":
            print(content, flush=True)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", content], cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            printed = done.stdout
            print(printed, flush=True)
            if done.returncode != 0:
                return f"{heading}: exit code {done.returncode} of\n{content}"
        elif kind == "text":
            line = missing(content, printed)
            if line is not None:
                return f"{heading}: the tutorial shows a line that was not printed:\n{line}"
        elif named:
            path = folder / named.group(1)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        else:
            return f"{heading}: a block of kind '{kind}' has no file name in the line before it"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tutorial", type=pathlib.Path)
    parser.add_argument("--skip", action="append", default=[])
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failure = run(words.tutorial, words.skip, pathlib.Path(folder))
    if failure:
        sys.exit("FAILED: " + failure)


if __name__ == "__main__":
    main()
