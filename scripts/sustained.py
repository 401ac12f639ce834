#!/usr/bin/env python3
"""Compares a sweep's ranking of attention variants with their times in a program that launches one of them for seconds.

  MGTUNE_LIBRARY=build/libmgruntime.so.0 scripts/sustained.py --mgtune build/mgtune --folder out \\
      batch=1,seq_q=12345,seq_k=12345,heads=28,kv_heads=4,head_dim=128,causal=true ...

A kernel that is bound by power lets the clocks fall once it has run for a while, so a sweep's short bursts and a program's steady state
differ. For every problem of attention.prefill in bf16 this script sweeps, takes the finalists and the fastest others, --variants in all, and the
default, and lets libmgruntime launch each of them for --seconds: once in this order, once in reverse. It prints the median of the search's
bursts, that of the final, and the sustained one of the second half of the seconds, the last two as TFLOP/s too, and the SM clock and the
power at their end. The column "/ pick's" is the sustained time divided by that of the sweep's pick. With --course, a line below each variant has its
median time in microseconds within parts of the first run. It needs PyTorch and nvidia-smi.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch

import mgtune_for_peers

CALLS = 10  # between two events
COURSE = (0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2)  # seconds; the limits of the parts of --course


def output(command, codes=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def table_of(table, variant, path):
    """Writes the tuned table with this variant as its pick."""
    first = table["tables"][0]
    pick = dict(first["picks"][0], design=variant["design"], parameters=variant["parameters"], tie=False)
    path.write_text(json.dumps(dict(table, tables=[dict(first, picks=[pick])])), encoding="utf-8")
    return path


def clocks():
    """Starts nvidia-smi, which prints the SM clock in MHz and the power in W."""
    return subprocess.Popen(["nvidia-smi", "-i", "0", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits"],
                            stdout=subprocess.PIPE, text=True)


def sustained_ms(problem, database, seconds):
    """The median time of a call in the second half of `seconds`, clock and power at its end, and the course of the run."""
    os.environ["MGTUNE_DB"] = str(database)
    mgtune_for_peers.shared_runtime.cache_clear()

    def tensor(heads):
        return torch.randn(problem["batch"], problem["seq_q"], heads, problem["head_dim"], device="cuda", dtype=torch.bfloat16)

    attention = mgtune_for_peers.Attention(torch)
    launches = [attention.prefill(tensor(problem["heads"]), tensor(problem["kv_heads"]), tensor(problem["kv_heads"]),
                                  problem["causal"]) for _ in range(3)]  # three sets of buffers, in turns
    for launch in launches:
        launch()
    torch.cuda.synchronize()
    times, begin, asked = [], time.time(), None
    while time.time() - begin < seconds or asked is None or asked.poll() is None:
        if asked is None and time.time() - begin > seconds / 2:
            asked = clocks()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for call in range(CALLS):
            launches[call % len(launches)]()
        last.record()
        last.synchronize()
        times.append((time.time() - begin, first.elapsed_time(last) / CALLS))
    mhz, watts = asked.communicate()[0].split(",")
    return statistics.median(ms for at, ms in times if at > seconds / 2), float(mhz), float(watts), course(times)


def course(times):
    """The median microseconds per part of COURSE, as text. `times` are pairs of the seconds since the start and a call's milliseconds."""
    parts = []
    for low, high in zip(COURSE, COURSE[1:]):
        within = [ms * 1e3 for at, ms in times if low <= at < high]
        parts.append(f"{low}-{high} s: {statistics.median(within):.0f}" if within else "")
    return "  ".join(part for part in parts if part)


def compare(words, number, text):
    problem = {name: json.loads(value) for name, value in (word.split("=") for word in text.split(","))}
    db = words.folder / f"sustained_{number}.db"
    output([words.mgtune, "sweep", "--kernel", "attention.prefill", "--gpu", "0", "--dtype", "bf16", "--problem", text,
            "--budget", words.budget, "--db", db], codes=(0, 3))
    shown = json.loads(output([words.mgtune, "show", "--db", db, "--json", "variants"]))["variants"]
    variants = [v for v in shown if v["outcome"] in ("ok", "raced_out") and v["measurement"]["median_ns"]]
    variants.sort(key=lambda v: (v["final"] is None, v["measurement"]["median_ns"]))
    kept = variants[:words.variants] + [v for v in variants[words.variants:] if v["is_pick"] or v["is_default"]]
    table = json.loads(output([words.mgtune, "export", "--db", db]))
    one = words.folder / "one.tuned.json"
    rows = {}
    for order in (kept, kept[::-1]):
        for v in order:
            rows.setdefault(v["variant"], []).append(sustained_ms(problem, table_of(table, v, one), words.seconds))
    one.unlink()
    flops = 4.0 * problem["batch"] * problem["heads"] * problem["head_dim"] * problem["seq_q"] * problem["seq_k"]
    flops /= 2 if problem["causal"] else 1
    pick = statistics.mean(ms for ms, *_ in rows[next(v["variant"] for v in kept if v["is_pick"])])
    print(text)
    print("   burst      final  TFLOP/s  sustained  TFLOP/s   MHz    W  / pick's  variant")
    for v in kept:
        burst, final, runs = v["measurement"]["median_ns"] / 1e6, "-", rows[v["variant"]]
        if v["final"]:
            final = f"{v['final']['median_ns'] / 1e6:6.3f}ms  {flops / v['final']['median_ns'] / 1e3:7.1f}"
        ms, mhz, watts = (statistics.mean(column) for column in list(zip(*runs))[:3])
        marks = (" (pick)" if v["is_pick"] else "") + (" (default)" if v["is_default"] else "")
        print(f"{burst:6.3f}ms  {final:>17}   {ms:6.3f}ms  {flops / ms / 1e9:7.1f}  {mhz:4.0f}  {watts:3.0f}  {ms / pick:8.4f}  "
              f"{v['variant']}{marks}")
        if words.course:
            print(f"    {runs[0][3]}")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."), help="where the databases go")
    parser.add_argument("--budget", default="30s", help="of each sweep")
    parser.add_argument("--variants", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--course", action="store_true", help="print how the time of each variant changes within a run")
    parser.add_argument("problems", nargs="+")
    words = parser.parse_args()
    for number, text in enumerate(words.problems):
        compare(words, number, text)


if __name__ == "__main__":
    main()
