#!/usr/bin/env python3
"""Reports how near the default strategy comes to the fastest variant with a quarter of the evaluations.

  scripts/search_quality.py --mgtune build/ci/mgtune --db results.db --kernel rmsnorm.forward
  scripts/search_quality.py --mgtune build/ci/mgtune exports/*.t4.json
  scripts/search_quality.py --mgtune build/ci/mgtune --evaluations 200 --json --commit 0123abc spaces/*.json.gz > quality.json
  scripts/search_quality.py --print quality.json

The first form uses every problem of the operator for which a sweep visited all variants (`mgtune sweep --strategy exhaustive`). The second
form uses recorded spaces, such as T4 exports of such problems. Each is replayed with 100 seeds; no GPU is needed. A row has the number of
variants in the space, the number of evaluations, and the time of the fastest variant divided by that of the fastest found: mean and worst
over the seeds, and the expectation of random draws. A raced-out variant counts with its measured median. Exit code 1 if a mean is below
--least.

With --json it prints one document with the numbers of each seed. --print makes a table of such a document: the mean after each number of
evaluations, its 95 % interval, and in parentheses the expectation of random draws. Spaces of mgtune's own operators, of which there are many,
have one row per operator: the mean over the problems, the lowest mean of a problem, and in parentheses random draws.
"""
import argparse
import json
import subprocess
import sys

from search_claims import operator_of


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


def document_of(arguments, found):
    seeds = f"--seeds {arguments.seeds} --evaluations {arguments.evaluations} --json"
    simulations = [{key: one[key] for key in ("space", "variants", "fraction_of_optimum", "ci95", "random", "per_seed")} for one in found]
    return {"command": f"scripts/search_quality.py {seeds}", "commit": arguments.commit, "simulations": simulations}


def document_text(document):
    """One space has one line, because there are thousands of seeds."""
    lines = ",\n".join("  " + json.dumps(one, separators=(",", ":")) for one in document["simulations"])
    return (f'{{"command": {json.dumps(document["command"])}, "commit": {json.dumps(document["commit"])},\n'
            f' "simulations": [\n{lines}\n ]}}')


def after(one, key, budget):
    """The entry of a space after a number of evaluations, or after all of its variants if it has fewer."""
    made = [n for n in one[key] if int(n) <= int(budget)]
    return one[key][max(made, key=int)]


def mean(numbers):
    return sum(numbers) / len(numbers)


def print_heading(first, budgets):
    print(f"| {first} | " + " | ".join(f"{budget} evaluations" for budget in budgets) + " |")
    print("|---" * (len(budgets) + first.count("|") + 1) + "|")


def group_text(name, spaces, budgets):
    cells = []
    for n in budgets:
        found = [after(one, "fraction_of_optimum", n) for one in spaces]
        cells.append(f"{mean(found):.3f}, lowest {min(found):.3f} ({mean([after(one, 'random', n) for one in spaces]):.3f})")
    return f"| {name} | {len(spaces)} | " + " | ".join(cells) + " |"


def print_spaces(spaces, budgets):
    print_heading("space", budgets)
    for one in spaces:
        cells = [f"{one['fraction_of_optimum'][n]:.3f} +-{one['ci95'][n]:.3f} ({one['random'][n]:.3f})" for n in budgets]
        print(f"| {one['space']} | " + " | ".join(cells) + " |")
    means = [[mean([one[key][n] for one in spaces]) for key in ("fraction_of_optimum", "random")] for n in budgets]
    print(f"| mean of {len(spaces)} | " + " | ".join(f"**{found:.3f}** ({drawn:.3f})" for found, drawn in means) + " |")


def print_fractions(document):
    simulations = document["simulations"]
    budgets = sorted(max((one["fraction_of_optimum"] for one in simulations), key=lambda found: max(map(int, found))), key=int)
    groups = {}
    for one in simulations:
        groups.setdefault(operator_of(one), []).append(one)
    if alone := groups.pop(None, []):
        print_spaces(alone, budgets)
    if groups:
        print_heading("operator | problems", budgets)
    for name, spaces in groups.items():
        print(group_text(name, spaces, budgets))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


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
    parser.add_argument("--json", action="store_true", help="print one document with the numbers of each seed")
    parser.add_argument("--commit", default="", help="with --json: written into the document")
    parser.add_argument("--print", metavar="DOCUMENT", help="print a table of a document of --json")
    arguments = parser.parse_args()
    if arguments.print:
        document = read(arguments.print)
        print(f"{arguments.print}: `{document['command']}`, commit {document['commit']}")
        print_fractions(document)
        return 0
    if bool(arguments.space) == bool(arguments.kernel):
        parser.error("name recorded spaces, or --kernel")

    found = simulations(arguments)
    if arguments.json:
        print(document_text(document_of(arguments, found)))
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
