#!/usr/bin/env python3
"""Measures how often a search that says "a further gain of 2 % is unlikely" is right.

  scripts/search_claims.py --mgtune build/ci/mgtune --seeds 12 --evaluations 800 --commit 0123abc spaces/*.json.gz > claims.json
  scripts/search_claims.py --print claims.json ...

The first form replays recorded spaces (Kernel Tuner caches or T4 results, gzipped or not) with `mgtune simulate --target 0.98` and prints one
JSON document; no GPU is needed. With --rugged 0.15 each time is first multiplied by exp(0.15 x), x from a normal distribution with a fixed
seed: then each configuration has a part of its own that no parameter explains, and the fastest is hard to find.

The second form prints one table of several such documents. A row has the number of configurations, of seeds, of seeds that claimed, the
share of these claims that were true, and the evaluations until then. Exit code 1 if a document without "before" in its name has a space with
fewer than 95 % true claims.
"""
import argparse
import gzip
import json
import math
import os
import random
import subprocess
import sys
import tempfile

LEAST = 0.95


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        text = file.read().rstrip()
    return json.loads(text.rstrip(",") + "}}" if text.endswith(",") else text)


def configurations(document):
    """The parameters of a recording, and the values and the time of each configuration; 0: it failed."""
    if "cache" in document:
        names = document["tune_params_keys"]
        for row in document["cache"].values():
            time = row.get("time")
            works = "__error__" not in row and isinstance(time, (int, float)) and time < 1e19
            yield names, {name: row[name] for name in names}, time if works else 0
        return
    for row in document["results"]:
        times = [m["value"] for m in row["measurements"] if m["name"] == "time"]
        yield list(row["configuration"]), row["configuration"], times[0] if row["invalidity"] == "correct" else 0


def rugged(document, deviation):
    """A Kernel Tuner cache with the same configurations, whose times are disturbed."""
    chance = random.Random(1)
    cache = {}
    names = []
    for names, values, time in configurations(document):
        disturbed = time * math.exp(deviation * chance.gauss(0, 1)) if time else "RuntimeFailedConfig"
        cache[",".join(str(values[name]) for name in names)] = {**values, "time": disturbed}
    return {"tune_params_keys": names, "cache": cache}


def simulate(arguments, space):
    command = [arguments.mgtune, "simulate", "--space", space, "--target", str(arguments.target),
               "--evaluations", str(arguments.evaluations), "--seeds", str(arguments.seeds), "--json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(ended.returncode)
    result = json.loads(ended.stdout)
    return {name: result[name] for name in ("space", "variants", "seeds", "fraction_of_optimum", "random", "target")}


def measure(arguments):
    spaces = []
    for path in arguments.files:
        if not arguments.rugged:
            spaces.append(simulate(arguments, path))
            continue
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.basename(path).removesuffix(".gz").removesuffix(".json")
            disturbed = os.path.join(folder, f"{name}, rugged {arguments.rugged}.json")
            with open(disturbed, "w", encoding="utf-8") as file:
                json.dump(rugged(read(path), arguments.rugged), file)
            spaces.append(simulate(arguments, disturbed))
    options = f"--rugged {arguments.rugged} " if arguments.rugged else ""
    return {"command": f"scripts/search_claims.py {options}--seeds {arguments.seeds} --evaluations {arguments.evaluations} "
                       f"--target {arguments.target}",
            "commit": arguments.commit, "spaces": spaces}


def row_text(space):
    target = space["target"]
    claims, seeds = target["claims"], space["seeds"]
    true = f"{100 * target['true_claims'] / claims:.0f} %" if claims else "-"
    evaluations = target["evaluations"]
    return (f"| {space['space']} | {space['variants']:,} | {claims} of {seeds} | {true} | "
            f"{evaluations['mean']:.0f} ({evaluations['min']} to {evaluations['max']}) |")


def group_text(name, spaces):
    claims = sum(space["target"]["claims"] for space in spaces)
    seeds = sum(space["seeds"] for space in spaces)
    true = sum(space["target"]["true_claims"] for space in spaces)
    worst = min((space["target"]["true_claims"] / space["target"]["claims"] for space in spaces if space["target"]["claims"]), default=1)
    mean = sum(space["target"]["evaluations"]["mean"] for space in spaces) / len(spaces)
    share = f"{100 * true / claims:.0f} %" if claims else "-"
    return f"| {name} | {len(spaces)} | {claims} of {seeds} | {share} | {100 * worst:.0f} % | {mean:.0f} |"


def operator_of(space):
    words = space["space"].split(".rows=")
    return words[0] if len(words) > 1 else None


def print_table(document):
    """There are many spaces of mgtune's own operators, so these have one row per operator."""
    alone = [space for space in document["spaces"] if operator_of(space) is None]
    if alone:
        print("| space | configurations | seeds that claim | true | evaluations |")
        print("|---|---|---|---|---|")
    for space in alone:
        print(row_text(space))
    groups = {}
    for space in document["spaces"]:
        if operator_of(space) is not None:
            groups.setdefault(operator_of(space), []).append(space)
    if groups:
        print("| operator | problems | seeds that claim | true | true at the worst problem | evaluations |")
        print("|---|---|---|---|---|---|")
    for name, spaces in groups.items():
        print(group_text(name, spaces))


def holds(document):
    return all(space["target"]["true_claims"] >= LEAST * space["target"]["claims"] for space in document["spaces"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="recorded spaces; with --print: documents of this script")
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--evaluations", type=int, default=800, help="a seed that has not claimed by then does not")
    parser.add_argument("--target", type=float, default=0.98)
    parser.add_argument("--rugged", type=float, default=0, help="disturb the times by this deviation of their logarithms")
    parser.add_argument("--commit", default="", help="written into the document")
    parser.add_argument("--print", action="store_true", help="print the tables of documents")
    arguments = parser.parse_args()
    if not arguments.print:
        print(json.dumps(measure(arguments), indent=1))
        return 0
    failed = 0
    for path in arguments.files:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        print(f"{path}: `{document['command']}`, commit {document['commit']}")
        print_table(document)
        failed |= "before" not in os.path.basename(path) and not holds(document)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
