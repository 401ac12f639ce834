#!/usr/bin/env python3
"""Reports how near the default strategy comes to the fastest variant with a quarter of the evaluations.

  scripts/search_quality.py --mgtune build/ci/mgtune --db results.db --kernel rmsnorm.forward
  scripts/search_quality.py --mgtune build/ci/mgtune exports/*.t4.json

The first form uses every problem of the operator for which a sweep visited all variants (`mgtune sweep --strategy exhaustive`). The second
form uses recorded spaces, such as T4 exports of such problems. Each is replayed with 100 seeds; no GPU is needed. A row has the number of
variants in the space, the number of evaluations, and the time of the fastest variant divided by that of the fastest found: mean and worst
over the seeds, and the expectation of random draws. A raced-out variant counts with its measured median. Exit code 1 if a mean is below
--least.
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
