#!/usr/bin/env python3
"""How near to the fastest variant the default strategy comes with a quarter of the evaluations.

  scripts/search_quality.py --mgtune build/ci/mgtune --db results.db --kernel rmsnorm.forward
  scripts/search_quality.py --mgtune build/ci/mgtune exports/*.t4.json

The first form takes every problem of the operator of which a sweep visited all variants
(`mgtune sweep --strategy exhaustive`), the second recorded spaces, such as T4 exports of those. Each
is replayed with 100 seeds: no GPU is needed. A row says how many variants the space has, how many
evaluations there were, and the fastest variant's time over that of the fastest found, mean and
worst over the seeds, beside the expectation of drawing at random. A raced-out variant counts with
the median that was measured of it. Exit code 1 when a mean is below --least.
"""
import argparse
import json
import subprocess
import sys


def simulate(arguments, words):
    command = [arguments.mgtune, "simulate", *words, "--strategy", arguments.strategy, "--evaluations",
               arguments.evaluations, "--seeds", str(arguments.seeds), "--json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(ended.returncode)
    result = json.loads(ended.stdout)
    return result.get("simulations", [result])


def simulations(arguments):
    if arguments.space:
        return [one for space in arguments.space for one in simulate(arguments, ["--space", space])]
    words = ["--kernel", arguments.kernel]
    if arguments.db:
        words += ["--db", arguments.db]
    if arguments.problem:
        words += ["--problem", arguments.problem]
    return simulate(arguments, words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space", nargs="*", help="recorded spaces; instead of --kernel")
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--db", help="database of results (default: the user's)")
    parser.add_argument("--kernel", help="operator or family")
    parser.add_argument("--problem", help="only problems with these values: T=bf16")
    parser.add_argument("--strategy", default="adaptive")
    parser.add_argument("--evaluations", default="25%", help="share of each space, or a number (default: 25%%)")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--least", type=float, default=0, help="the least mean that passes")
    parser.add_argument("--json", action="store_true", help="print what mgtune simulate said")
    arguments = parser.parse_args()
    if bool(arguments.space) == bool(arguments.kernel):
        parser.error("name recorded spaces, or --kernel")

    found = simulations(arguments)
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        print(f"{'variants':>8} {'evaluations':>11} {'mean':>7} {'+-':>6} {'worst':>7} {'random':>7}  space")
    means, worsts = [], []
    for one in found:
        last = max(one["fraction_of_optimum"], key=int)
        means.append(one["fraction_of_optimum"][last])
        worsts.append(one["worst"][last])
        if not arguments.json:
            print(f"{one['variants']:>8} {last:>11} {means[-1]:>7.4f} {one['ci95'][last]:>6.4f} {worsts[-1]:>7.4f} "
                  f"{one['random'][last]:>7.4f}  {one['space']}")
    print(f"{len(found)} spaces: mean {sum(means) / len(means):.4f}, lowest mean {min(means):.4f}, "
          f"worst seed {min(worsts):.4f}", file=sys.stderr if arguments.json else sys.stdout)
    return 1 if min(means) < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
