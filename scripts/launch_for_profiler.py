#!/usr/bin/env python3
"""Launches tuned RMSNorm kernels over rotating buffers under a profiler (needs NumPy).

This compares the measurements of `mgtune sweep` with those of Nsight Compute for the same variants:

  ncu --clock-control none --cache-control none --metrics gpu__time_duration.sum --csv \\
      -k regex:rmsnorm_forward scripts/launch_for_profiler.py --database results.db 4096x4096 > ncu.csv
  scripts/launch_for_profiler.py --table ncu.csv --database results.db --mgtune mgtune 4096x4096

The second form prints one row per shape: the median in the database, the median of ncu's durations, and the difference. Shapes are
ROWSxHIDDEN in bf16. Each is launched 60 times; the first 10 launches are not counted.
"""
import argparse
import csv
import ctypes
import json
import statistics
import subprocess
import sys

from mgruntime_structures import Assignment, OpenOptions, PlanOptions, Range

LAUNCHES, WARM_UP = 60, 10
L2_BYTES = 60 << 20


def launch(library, database, shapes):
    import numpy

    mgr = ctypes.CDLL(library)
    mgr.mgr_last_error.restype = ctypes.c_char_p

    def must(status):
        if status != 0:
            sys.exit(f"mgruntime: {mgr.mgr_last_error().decode()}")

    context = ctypes.c_void_p()
    options = OpenOptions(ctypes.sizeof(OpenOptions), b"auto", database.encode(), None, 0)
    must(mgr.mgr_open(ctypes.byref(options), ctypes.byref(context)))

    def buffer(values):
        memory = ctypes.c_void_p()
        must(mgr.mgr_allocate(context, ctypes.c_size_t(values.nbytes), ctypes.byref(memory)))
        must(mgr.mgr_copy_to_device(context, memory, values.ctypes.data_as(ctypes.c_void_p),
                                    ctypes.c_size_t(values.nbytes)))
        return memory

    random = numpy.random.default_rng(1)

    def normal(count):  # bf16: the upper half of a float
        values = random.standard_normal(count, dtype=numpy.float32)
        return (values.view(numpy.uint32) >> 16).astype(numpy.uint16)

    for rows, hidden in shapes:
        assignments = (Assignment * 2)(Assignment(b"hidden", str(hidden).encode()), Assignment(b"T", b"bf16"))
        ranges = (Range * 1)(Range(b"rows", rows, rows))
        plan = ctypes.c_void_p()
        wanted = PlanOptions(ctypes.sizeof(PlanOptions), b"rmsnorm.forward", assignments, 2, ranges, 1)
        must(mgr.mgr_plan(context, ctypes.byref(wanted), ctypes.byref(plan)))
        sets = max(2, -(-3 * L2_BYTES // (4 * rows * hidden)))
        x = normal(rows * hidden)
        weight = buffer(normal(hidden))
        tensors = [(ctypes.c_void_p * 4)(buffer(x), weight, buffer(x), None) for _ in range(sets)]
        dims, scalars = (ctypes.c_int64 * 2)(rows, -1), (ctypes.c_double * 2)(1e-5, 0)
        for turn in range(LAUNCHES):
            must(mgr.mgr_launch(plan, None, dims, ctypes.c_size_t(2), tensors[turn % sets], ctypes.c_size_t(4),
                                scalars, ctypes.c_size_t(2), None))
        must(mgr.mgr_synchronize(context, None))
        for row in tensors:
            mgr.mgr_free(context, ctypes.c_void_p(row[0]))
            mgr.mgr_free(context, ctypes.c_void_p(row[2]))


def table(path, database, mgtune, shapes):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.startswith('"')]
    durations = []
    for row in csv.DictReader(lines):
        if row["Metric Name"] != "gpu__time_duration.sum":
            continue
        scale = {"ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6}[row["Metric Unit"]]
        durations.append(float(row["Metric Value"].replace(",", "")) * scale)
    if len(durations) != LAUNCHES * len(shapes):
        sys.exit(f"{path}: {len(durations)} launches, expected {LAUNCHES} for each of {len(shapes)} shapes")
    best = json.loads(subprocess.run([mgtune, "show", "best", "--json", "--db", database], check=True,
                                     capture_output=True, text=True).stdout)
    print(f"{'rows x hidden':>14}  {'mgtune':>10}  {'ncu':>10}  difference")
    for i, (rows, hidden) in enumerate(shapes):
        ncu = statistics.median(durations[i * LAUNCHES + WARM_UP:(i + 1) * LAUNCHES])
        ours = [pick["median_ns"] for pick in best["picks"]
                if f"rows={rows} hidden={hidden} " in pick["problem"] + " "]
        print(f"{f'{rows} x {hidden}':>14}  {ours[0] / 1e3:7.2f} us  {ncu / 1e3:7.2f} us  "
              f"{(ours[0] - ncu) / 1e3:+.2f} us, {100 * (ours[0] / ncu - 1):+.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", metavar="ROWSxHIDDEN")
    parser.add_argument("--database", required=True)
    parser.add_argument("--library", default="libmgruntime.so.0")
    parser.add_argument("--mgtune", default="mgtune")
    parser.add_argument("--table", metavar="CSV")
    words = parser.parse_args()
    shapes = [tuple(int(word) for word in shape.split("x")) for shape in words.shapes]
    if words.table:
        table(words.table, words.database, words.mgtune, shapes)
    else:
        launch(words.library, words.database, shapes)


if __name__ == "__main__":
    main()
