#!/usr/bin/env python3
"""Times other implementations (peers) on a GPU.

  scripts/compare_with_peers.py --all -o nvidia-h200.peers.json

times those of every operator in one run, within --seconds, and writes the file that `mgtune peers import` reads: PyTorch as written
(eager), F.rms_norm, torch.compile, scaled_dot_product_attention with FlashAttention and cuDNN, and Liger and flash-attn where they are
installed. What is absent or fails is left out with a line that says so. --only names operators, --list prints what would be timed and
needs no GPU. This needs PyTorch, and nothing of mgtune's.

  scripts/compare_with_peers.py --peers bench_norm.py --mgtune build/mgtune \\
      --library build/libmgruntime.so.0 --database peers.db --folder out --gpu H200

tunes the norms and SwiGLU, times them together with the implementations of another script, and prints one table. It sweeps every case of
CASES into the database by the method `graph`, in which launches follow one another as in that script. Then it runs the script RUNS times,
with scripts/mgtune_for_peers.py in addition to the script's own implementations. The script writes one JSON file per run:
{"results": [{"op", "dtype", "shape", "impl", "status", "us", "pct_copy_same_bytes"}]}. The table has the median over the runs, that of
the fastest other implementation, and the bar: percent of the copy rate at the same bytes, or microseconds. --only selects operations of
that script. --table prints the table of existing files and needs no GPU.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

RUNS = 3
SECONDS_PER_CASE = 40

# operation, dtype, rows, columns, bar: percent of copy, or microseconds
CASES = [
    ("rmsnorm_fwd", "bf16", 4096, 4096, "97 %"), ("rmsnorm_fwd", "bf16", 8192, 8192, "99 %"),
    ("rmsnorm_fwd", "bf16", 32768, 1024, "99 %"), ("rmsnorm_fwd", "bf16", 16384, 2048, "97 %"),
    ("rmsnorm_fwd", "bf16", 4096, 16384, "98 %"), ("rmsnorm_fwd", "bf16", 1024, 65536, "90 %"),
    ("rmsnorm_fwd", "bf16", 131072, 128, "98 %"), ("rmsnorm_fwd", "bf16", 512, 128, "1.2 us"),
    ("rmsnorm_fwd", "bf16", 32, 4096, "1.6 us"), ("rmsnorm_fwd", "bf16", 1, 4096, "1.4 us"),
    ("rmsnorm_fwd", "fp32", 4096, 4096, "98 %"),
    ("add_rmsnorm_fwd", "bf16", 4096, 4096, "96 %"), ("add_rmsnorm_fwd", "bf16", 8192, 8192, "98 %"),
    ("rmsnorm_bwd", "bf16", 4096, 4096, "75 %"), ("rmsnorm_bwd", "bf16", 8192, 8192, "88 %"),
    ("rmsnorm_bwd", "bf16", 32768, 1024, "85 %"), ("rmsnorm_bwd", "bf16", 16384, 2048, "85 %"),
    ("rmsnorm_bwd", "bf16", 4096, 16384, "85 %"), ("rmsnorm_bwd", "bf16", 1024, 65536, "75 %"),
    ("rmsnorm_bwd", "bf16", 512, 128, "4.0 us"),
    ("add_rmsnorm_bwd", "bf16", 4096, 4096, "75 %"), ("add_rmsnorm_bwd", "bf16", 8192, 8192, "88 %"),
    ("swiglu_fwd", "bf16", 8192, 11008, "101 %"), ("swiglu_fwd", "bf16", 8192, 14336, "101 %"),
    ("swiglu_fwd", "bf16", 16, 14336, "1.8 us"), ("swiglu_fwd", "fp32", 4096, 11008, "101 %"),
    ("swiglu_bwd", "bf16", 8192, 11008, "101 %"), ("swiglu_bwd", "bf16", 8192, 14336, "101 %"),
    ("swiglu_bwd", "fp32", 4096, 11008, "101 %"),
    ("swiglu_packed_fwd", "bf16", 8192, 14336, "101 %"),
]


def sweep(words, cases):
    from mgtune_for_peers import DTYPES, OPERATIONS, read_operator

    groups = {}
    for operation, dtype, rows, columns, _ in cases:
        groups.setdefault((operation, OPERATIONS[operation][0], dtype), []).append((rows, columns))
    for (operation, operator, dtype), shapes in groups.items():
        optional = [name for name, tensor in read_operator(operator)["tensors"].items()
                    if tensor.get("optional") and name in OPERATIONS[operation][1]]
        call = [words.mgtune, "sweep", "--kernel", operator, "--gpu", words.gpu, "--dtype", DTYPES[dtype],
                "--method", "graph", "--db", words.database, "--budget", f"{SECONDS_PER_CASE * len(shapes)}s"]
        for rows, columns in shapes:
            call += ["--problem", ",".join([f"rows={rows}", f"hidden={columns}"] + [f"{o}=true" for o in optional])]
        print(" ".join(call), file=sys.stderr, flush=True)
        if subprocess.run(call, check=False).returncode not in (0, 3):  # 3: some variants failed
            sys.exit(f"{operator}: the sweep failed")


def run_peers(words, cases):
    scripts = str(pathlib.Path(__file__).resolve().parent)
    environment = dict(os.environ, MGTUNE_DB=words.database, MGTUNE_LIBRARY=words.library, MGTUNE_GPU="0",
                       PYTHONPATH=scripts + os.pathsep + os.environ.get("PYTHONPATH", ""))
    operations = ",".join(dict.fromkeys(case[0] for case in cases))
    for run in range(RUNS):
        out = words.folder / f"peers-{run + 1}.json"
        call = [sys.executable, str(words.peers), str(out), "--extra", "mgtune_for_peers:implementations",
                "--ops", operations, "--dtypes", ",".join(dict.fromkeys(case[1] for case in cases))]
        if subprocess.run(call, check=False, env=environment).returncode != 0:
            sys.exit(f"{words.peers}: run {run + 1} failed")


def table(runs, cases):
    """Lines of text. `runs`: the results of each run."""
    medians = {}  # (operation, dtype, shape) -> implementation -> (us, percent of copy)
    failures = []
    for results in runs:
        for row in results:
            key = (row["op"], row["dtype"], row["shape"])
            if row["status"] == "ok":
                medians.setdefault(key, {}).setdefault(row["impl"], []).append((row["us"], row["pct_copy_same_bytes"]))
            elif row["impl"] == "mgtune":
                failures.append(f"{' '.join(key)}: {row['status']} {row.get('error', row.get('rel_err', ''))}")
    lines = [f"{'operation':<18} {'dtype':<5} {'rows x columns':>16}  {'mgtune':>9} {'of copy':>8}"
             f"  {'fastest other':>22}  {'of it':>6}  {'bar':>7}"]
    for operation, dtype, rows, columns, bar in cases:
        found = medians.get((operation, dtype, f"{rows}x{columns}"), {})
        each = {name: [statistics.median(column) for column in zip(*values)] for name, values in found.items()}
        head = f"{operation:<18} {dtype:<5} {f'{rows} x {columns}':>16}  "
        if "mgtune" not in each:
            lines.append(head + "not measured")
            continue
        us, percent = each.pop("mgtune")
        met = percent >= float(bar[:-2]) if bar.endswith("%") else us <= float(bar[:-2])
        other = min(each, key=lambda name: each[name][0], default=None)
        beside = f"{'none':>22}  {'':>6}"
        if other:
            text = f"{each[other][0]:.2f} us {other}"
            beside = f"{text:>22}  {us / each[other][0]:>5.2f}x"
        lines.append(head + f"{us:>6.2f} us {percent:>6.1f} %  {beside}  {bar:>7} {'met' if met else 'missed'}")
    return lines + failures


def time_peers(words, parser):
    import peer_implementations
    import peer_times

    operators = [word for word in words.only.split(",") if word]
    for operator in operators:
        if operator not in peer_implementations.OPERATORS:
            parser.error(f"--only {operator}: --all knows {', '.join(peer_implementations.OPERATORS)}")
    versions = peer_implementations.installed()
    for line in peer_times.absent(versions):
        print(line, file=sys.stderr)
    if words.list:
        peer_times.list_cases(operators, versions)
        return
    if "torch" not in versions:
        sys.exit("--all needs PyTorch: python3 -m pip install torch")
    start = time.monotonic()  # of the import of PyTorch too, which takes seconds
    rows = peer_times.time_all(peer_times.Gpu(), operators, versions, words.output, start + words.seconds)
    if not rows:
        sys.exit("no implementation could be timed")
    print(f"wrote {len(rows)} times to {words.output} after {time.monotonic() - start:.0f} s\n"
          f"Next: mgtune peers import {words.output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="time the peers of every operator, and write the file of their times")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("peers.json"), help="of --all (default: peers.json)")
    parser.add_argument("--seconds", type=float, default=80, help="of --all: after this time it begins no other problem (default: 80)")
    parser.add_argument("--list", action="store_true", help="print what --all would time, and time nothing")
    parser.add_argument("--peers", type=pathlib.Path, help="the script that times the others")
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("--database", default="peers.db")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."), help="for peers-1.json and so on")
    parser.add_argument("--gpu", default="auto")
    parser.add_argument("--only", default="", metavar="OPERATION,...",
                        help="of --all: operators such as rmsnorm.forward")
    parser.add_argument("--table", action="store_true", help="print the table of the folder's files, run nothing")
    words = parser.parse_args()
    if words.all or words.list:
        time_peers(words, parser)
        return
    only = [word for word in words.only.split(",") if word]
    cases = [case for case in CASES if not only or case[0] in only]
    if not words.table:
        if words.peers is None:
            parser.error("--all is needed, or --peers: the script that times the others")
        words.folder.mkdir(parents=True, exist_ok=True)
        sweep(words, cases)
        run_peers(words, cases)
    files = sorted(words.folder.glob("peers-*.json"))
    if not files:
        sys.exit(f"no peers-*.json in {words.folder}")
    runs = [json.loads(file.read_text(encoding="utf-8"))["results"] for file in files]
    print("\n".join(table(runs, cases)))


if __name__ == "__main__":
    main()
