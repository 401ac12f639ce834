#!/usr/bin/env python3
"""Tunes the problems of the tuned tables in a folder again, and checks that a program runs what the new tables name.

  scripts/retune.py --mgtune build/mgtune --library build/libmgruntime.so.0 --gpu H200 results/h200/

Every problem of every *.tuned.json in the folder is swept into a new database (--db) by the method that its table names, for --seconds
each. Picks that whole tokens decided (the method token) are made again by `mgtune sweep --model NAME` for each --model. `mgtune export`
then writes the tables over the old ones. Finally each table is opened as a program would open it (mgr_open), every problem is planned,
and the variant that mgr_explain reports is compared with the table's. The exit code is 1 if any of them differs.
"""
import argparse
import ctypes
import json
import pathlib
import subprocess
import sys

from mgtune_for_peers import Runtime, is_static, read_operator


def picks_of(folder):
    """(operator, pick) of every tuned table in the folder."""
    for path in sorted(folder.glob("*.tuned.json")):
        for table in json.loads(path.read_text(encoding="utf-8"))["tables"]:
            for pick in table["picks"]:
                yield path, table["operator"], pick


def sweep(words):
    if not words.model and any(pick["method"] == "token" for _, _, pick in picks_of(words.folder)):
        sys.exit("the tables have picks that whole tokens decided (method token), which would be lost: name their models with --model")
    groups = {}
    for model in words.model:
        call = [words.mgtune, "sweep", "--model", model, "--gpu", words.gpu, "--db", words.db, "--budget", "10m"]
        print(" ".join(call), file=sys.stderr, flush=True)
        if subprocess.run(call, check=False, stdout=subprocess.DEVNULL).returncode not in (0, 3):
            sys.exit(f"{model}: the sweep failed")
    for _, operator, pick in picks_of(words.folder):
        if pick["method"] == "token":
            continue
        problem = dict(word.split("=") for word in pick["problem"].split())
        dtype = problem.pop("T")
        groups.setdefault((operator, dtype, pick["method"]), []).append(",".join(f"{k}={v}" for k, v in problem.items()))
    for (operator, dtype, method), problems in groups.items():
        call = [words.mgtune, "sweep", "--kernel", operator, "--gpu", words.gpu, "--dtype", dtype,
                "--db", words.db, "--budget", f"{words.seconds * len(problems)}s"]
        if method != "emulation":  # of the cpu device, which has no other
            call += ["--method", method]
        for problem in problems:
            call += ["--problem", problem]
        print(" ".join(call), file=sys.stderr, flush=True)
        if subprocess.run(call, check=False, stdout=subprocess.DEVNULL).returncode not in (0, 3):  # 3: some variants failed
            sys.exit(f"{operator}: the sweep failed")


def variant_of(pick):
    words = (f"{name}={json.dumps(value) if isinstance(value, bool) else value}" for name, value in pick["parameters"].items())
    return " ".join([pick["design"], *words])


def program_runs(runtime, operator, problem):
    """The variant that a program runs for the problem."""
    assignments = dict(word.split("=") for word in problem.split())
    dims, ranges = [], {}
    for name, dim in read_operator(operator)["dims"].items():
        if is_static(dim):
            continue
        if name in assignments:
            ranges[name] = int(assignments.pop(name))
        dims.append(ranges.get(name, -1))
    plan = runtime.plan(operator, assignments, ranges)
    text = runtime.explain(plan, (ctypes.c_int64 * len(dims))(*dims))
    return next(" ".join(line.split()[1:]) for line in text.splitlines() if line.startswith("variant"))


def check(words):
    differ = count = 0
    runtimes = {}
    for path, operator, pick in picks_of(words.folder):
        if path not in runtimes:
            runtimes[path] = Runtime(words.library, words.gpu, str(path))
        runs = program_runs(runtimes[path], operator, pick["problem"])
        count += 1
        if runs != variant_of(pick):
            differ += 1
            print(f"{operator} {pick['problem']}: the table names {variant_of(pick)}, a program runs {runs}")
    print(f"{count} problems of {len(runtimes)} tables: a program runs the table's variant for {count - differ}")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("--gpu", default="auto")
    parser.add_argument("--db", default="retune.db", help="the sweeps' database; a sweep that was stopped continues in it")
    parser.add_argument("--seconds", type=int, default=10, help="per problem")
    parser.add_argument("--model", action="append", default=[], help="a model whose tokens choose picks, such as llama-3.2-1b; may be repeated")
    parser.add_argument("--check", action="store_true", help="only check the tables as they are")
    parser.add_argument("folder", type=pathlib.Path)
    words = parser.parse_args()
    if not words.check:
        sweep(words)
        call = [words.mgtune, "export", "--db", words.db, "-o", f"{words.folder}/"]
        if subprocess.run(call, check=False).returncode != 0:
            sys.exit("the export failed")
    return 1 if check(words) else 0


if __name__ == "__main__":
    sys.exit(main())
