#!/usr/bin/env python3
"""Compares the variant that a program runs without a tuned table with the fastest one that was measured.

  scripts/untuned_losses.py attention.decode results/h200/recorded/random_problems/attention.decode.seed_10.csv.gz

`mgtune explain` says what runs at each problem of the file, for the GPU of --gpu. A file has rows of
`problem,variant,median_ns,sm_mhz,samples,outcome`. Problems at which this variant was not measured are counted, but
have no loss. The largest losses come last.
"""
import argparse
import csv
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SLOWEST = 5


def times_of(path):
    """{problem: {variant: nanoseconds}}"""
    times = {}
    with gzip.open(path) as file:
        for row in csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")):
            if row["median_ns"]:
                times.setdefault(row["problem"], {})[row["variant"]] = float(row["median_ns"])
    return times


def untuned_variant(mgtune, operator, gpu, problem):
    """The variant that runs if the user has no results: they would lie in MGTUNE_DB or below XDG_DATA_HOME."""
    command = [mgtune, "explain", operator, "--problem", problem.replace(" ", ","), "--gpu", gpu, "--json"]
    with tempfile.TemporaryDirectory() as empty:
        ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MGTUNE_DB": "", "XDG_DATA_HOME": empty})
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)}: {ended.stderr}")
    return json.loads(ended.stdout)["chosen"]["variant"]


def losses_of(times, variant_at):
    """[(loss, problem, variant that runs, fastest variant)], the largest loss last; and the number of problems without a loss."""
    losses = []
    for problem, of_variants in times.items():
        variant = variant_at(problem)
        if variant in of_variants:
            fastest = min(of_variants, key=of_variants.get)
            losses.append((of_variants[variant] / of_variants[fastest] - 1, problem, variant, fastest))
    return sorted(losses), len(times) - len(losses)


def summary(losses, without):
    values = [loss for loss, *_ in losses]
    count = len(values)
    median = (values[(count - 1) // 2] + values[count // 2]) / 2
    below = values[(count * 95 + 99) // 100 - 1]
    unknown = f", and {without} without a time of what runs there" if without else ""
    return f"{count} problems{unknown}: median {median:.1%}, 95 % below {below:.1%}, worst {values[-1]:.1%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operator", help="for example attention.decode")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--mgtune", default=str(ROOT / "build" / "mgtune"))
    words = parser.parse_args()
    for path in words.files:
        losses, without = losses_of(times_of(path), lambda problem: untuned_variant(words.mgtune, words.operator, words.gpu, problem))
        if not losses:
            sys.exit(f"{path}: no problem has a time of the variant that runs there")
        print(f"{path.name}: {summary(losses, without)}")
        for loss, problem, variant, fastest in losses[-SLOWEST:]:
            print(f"  {loss:.1%}  {problem}\n         runs {variant}\n      fastest {fastest}")


if __name__ == "__main__":
    main()
