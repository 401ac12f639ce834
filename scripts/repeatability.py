#!/usr/bin/env python3
"""Runs one sweep many times in fresh processes and reports how well the times repeat.

  scripts/repeatability.py --runs 15 --keep runs/ -- --kernel rmsnorm --gpu H200 --dtype bf16 \\
      --problem rows=4096,hidden=4096 --strategy random --budget 8

Everything after -- is passed to `mgtune sweep`. Each run has its own database; a run whose database exists already is not repeated. For
each problem it prints the medians of the picks over the runs, and which variants were picked. Then it prints the results of
`mgtune compare` for all pairs of runs: with the same code, with every time of the second run made 3 % longer, and with one pick at a time
made 3 % longer. Two picks count as the same if they are the same variant, or if one of the two runs declares the other's pick tied with
the fastest.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile


def output(command, codes=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def slow_down(row):
    for part in ("measurement", "final"):
        for key in ("median_ns", "q1_ns", "q3_ns", "min_ns", "median_low_ns", "median_high_ns"):
            if row[part] and row[part].get(key):
                row[part][key] *= 1.03


def compare(mgtune, a, b, slow):
    """Returns the rows of `mgtune compare` for database a and the export b. The rows `slow` of b take 3 % longer."""
    changed = json.loads(json.dumps(b))
    for index in slow:
        slow_down(changed["variants"][index])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(changed, file)
        file.flush()
        return json.loads(output([mgtune, "compare", a, file.name, "--variants", "--json"], codes=(0, 1)))["rows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", metavar="FOLDER", help="where the databases go")
    parser.add_argument("sweep", nargs="+", help="words for mgtune sweep, after --")
    words = parser.parse_args()
    folder = words.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    databases = [os.path.join(folder, f"run{i}.db") for i in range(words.runs)]
    for database in databases:
        if os.path.exists(database):
            continue
        output([words.mgtune, "sweep", *words.sweep, "--db", database], codes=(0, 3))

    picks, exports = [], []
    for database in databases:
        show = [words.mgtune, "show", "--db", database, "--json"]
        picks.append({(p["operator"], p["problem"]): p for p in json.loads(output(show + ["best"]))["picks"]})
        exports.append(json.loads(output(show + ["variants"])))

    print(f"{'problem':<44} {'least':>9} {'median':>9} {'most':>9}  spread  picks")
    for problem in picks[0]:
        times = [run[problem]["median_ns"] / 1e3 for run in picks]
        middle = statistics.median(times)
        variants = [run[problem]["variant"] for run in picks]
        same = all(a == b or a in picks[j][problem]["tied"] or b in picks[i][problem]["tied"]
                   for (i, a), (j, b) in itertools.combinations(enumerate(variants), 2))
        kinds = len(set(variants))
        text = "the same" if kinds == 1 else f"{kinds} variants, " + ("declared ties" if same else "NOT TIED")
        print(f"{' '.join(problem):<44} {min(times):9.3f} {middle:9.3f} {max(times):9.3f}  "
              f"{100 * (max(times) - min(times)) / middle:4.2f} %  {text}")

    pairs = rows = false_alarms = full = seen = single = single_seen = others = 0
    for a, b in itertools.combinations(range(words.runs), 2):
        same = json.loads(output([words.mgtune, "compare", databases[a], databases[b], "--variants", "--json"], codes=(0, 1)))["rows"]
        pairs += 1
        rows += len(same)
        false_alarms += sum(row["verdict"] in ("FASTER", "SLOWER") for row in same)
        variants = exports[b]["variants"]
        for row in compare(words.mgtune, databases[a], exports[b], range(len(variants))):
            if not (row["a"]["cut_short"] or row["b"]["cut_short"]):
                full += 1
                seen += row["verdict"] == "SLOWER"
        for index, variant in enumerate(variants):
            if not variant["is_pick"]:
                continue
            for row in compare(words.mgtune, databases[a], exports[b], [index]):
                if (row["problem"], row["variant"]) == (variant["problem"], variant["variant"]):
                    single += 1
                    single_seen += row["verdict"] == "SLOWER"
                else:
                    others += row["verdict"] in ("FASTER", "SLOWER")
    if pairs:
        print(f"\ncompare, the same code: {pairs} pairs of runs, {rows} rows: {false_alarms} FASTER or SLOWER")
        print(f"compare, everything 3 % slower: {seen} of {full} rows that were measured in full are SLOWER "
              f"({100 * seen / max(full, 1):.1f} %)")
        print(f"compare, one pick 3 % slower: {single_seen} of {single} are SLOWER "
              f"({100 * single_seen / max(single, 1):.1f} %), {others} other rows FASTER or SLOWER")


if __name__ == "__main__":
    main()
