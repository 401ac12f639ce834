#!/usr/bin/env python3
"""Fits the constants of the estimate of gemm.forward on Hopper to measured times, and says how good they are.

  scripts/fit_gemm_estimate.py results/h200/recorded/random_problems/gemm.forward.csv.gz

kernels/gemm/README.md has the formula ("The estimate"), kernels/gemm/forward.json its rounded constants. The times are
of tiles of any size, in rows `problem,variant,median_ns,sm_mhz,samples,outcome`, and are converted to clocks: by the
measured clock for products of 200 flops per byte and more, which the GPU's power limits, otherwise by 1,980 MHz. Only
times up to 1.7 times that of the fastest variant of a problem count. Long times of products that the power limits are
left out, because few samples of them were taken. Needs numpy and scipy.
"""
import argparse
import csv
import gzip
import io
import pathlib

import numpy as np
from scipy.optimize import least_squares

SMS = 132
MOST_OF_BEST = 1.7
FLOPS_PER_BYTE = 200
LONG_CLOCKS = 150_000

# Name: first guess, lowest, highest value.
CONSTANTS = {
    "begin": (3400, 0, 9000),  # of a launch
    "end": (0.15, 0, 0.3),  # per element of a tile
    "slab_64": (300, 100, 500),  # least clocks of 64 columns of k, in slabs of 64
    "slab_128": (220, 60, 500),  # the same in slabs of 128
    "products": (0.9, 0.5, 1.5),  # relative to the peak rate of the tensor cores
    "arrivals": (128, 30, 400),  # bytes per clock that arrive in an SM
    "arrivals_split": (60, 20, 400),  # if blocks share k
    "half_arrivals": (1.8, 0.8, 2.5),  # times as many if at most half of the SMs work
    "contention": (2.9, 0, 6),
    "half_contention": (0.3, 0, 2),
    "exchange": (17, 4, 60),  # bytes of sums per clock
    "pairs": (90, 0, 900),  # clocks per block of CLUSTER, if blocks share k
    "memory": (1900, 1200, 2600),  # bytes per clock of the GPU
    "stream_k": (10500, 0, 20000),
    "stream_k_exchange": (40, 10, 200),
}


def words(text):
    parts = text.split()
    return parts[0], dict(part.split("=", 1) for part in parts if "=" in part)


def features(problem, variant):
    """What the estimate reads of a variant at a problem."""
    _, dims = words(problem)
    design, values = words(variant)
    m, n, k = (int(dims[name]) for name in "mnk")
    cluster, split = int(values.get("CLUSTER", 1)), int(values.get("CLUSTER_K", 1))
    is_swapped = design.startswith("wgmma_swapped")
    # The side of a tile that whole wgmmas make, 64 elements each. Recordings made before 2026-11-29 have the wide design
    # as a parameter, HALVES, of wgmma_swapped, and that of 64 rows as one consumer of wgmma.
    halves = 2 if design == "wgmma_swapped_wide" else int(values.get("HALVES", 1))
    width = 64 * halves * int(values.get("CONSUMERS", 1 if design == "wgmma_single" else 2))
    length = int(values["BLOCK_M" if is_swapped else "BLOCK_N"])
    rows, columns = (length, width) if is_swapped else (width, length)
    tiles = -(-m // (rows * cluster)) * cluster * -(-n // columns)
    blocks = cluster * split
    clusters = SMS // blocks if blocks <= 2 else SMS * 10 // (11 * blocks)
    return {
        "m": m, "k": k, "elements": rows * columns, "arriving": min(rows, m) + min(columns, n), "across": -(-n // columns),
        "tiles": tiles, "at_once": clusters * cluster, "split": split, "cluster": cluster, "slabs": -(-k // 64),
        "block_k": int(values.get("BLOCK_K", 64)), "stream_k": values.get("STREAM_K") == "true", "bytes": 2 * (m * k + n * k + m * n),
        "flops": 2 * m * n * k,
    }


def read(path):
    """The features of all times that count, as arrays, with their problem and their clocks."""
    problems = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(io.StringIO(file.read())):
            if not row["variant"].startswith("wgmma") or row["variant"].startswith("wgmma_stream"):
                continue
            here = features(row["problem"], row["variant"])
            limited = here["flops"] / here["bytes"] >= FLOPS_PER_BYTE
            here["clocks"] = float(row["median_ns"]) * (float(row["sm_mhz"] or 1980) if limited else 1980) / 1000
            here["counts"] = not (limited and here["clocks"] > LONG_CLOCKS)
            problems.setdefault(row["problem"], []).append(here)
    rows = []
    for number, times in enumerate(problems.values()):
        best = min(here["clocks"] for here in times)
        rows += [dict(here, problem=number) for here in times if here["counts"] and here["clocks"] < MOST_OF_BEST * best]
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def overlap(a, b):
    return a + b - a * b / (a + b)


def estimate(constants, data):
    c = dict(zip(CONSTANTS, constants))
    is_split = data["split"] > 1
    least = np.where(data["block_k"] == 128, c["slab_128"], c["slab_64"])
    products = np.maximum(least, c["products"] * data["elements"] / 32)
    exchanged = (data["split"] - 1) * data["elements"] * 4 / data["split"] / c["exchange"] + c["pairs"] * data["cluster"]
    end = c["end"] * data["elements"] + np.where(is_split, exchanged, 0)

    def slab(busy):
        half = busy * data["split"] <= SMS / 2
        rate = np.where(is_split, c["arrivals_split"], c["arrivals"]) * np.where(half, c["half_arrivals"], 1)
        contention = c["contention"] * np.where(half, c["half_contention"], 1) * np.minimum(data["across"], SMS)
        return overlap(products, data["arriving"] * 128 / rate) + contention * 64 / (64 + 3 * np.minimum(data["m"], 1024))

    slabs = np.ceil(data["slabs"] / data["split"])
    full, last = np.divmod(data["tiles"], data["at_once"])
    waves = full * (slabs * slab(data["at_once"]) + end) + np.where(last > 0, slabs * slab(np.maximum(last, 1)) + end, 0)
    few = data["tiles"] * np.maximum(1, np.minimum(SMS // data["tiles"], data["k"] // 512))
    sharers = np.where(2 * data["tiles"] > SMS, SMS, few)
    parts = data["elements"] * 4 * (1 + np.maximum(2, sharers / data["tiles"])) / c["stream_k_exchange"]
    one = slab(np.minimum(data["tiles"], data["at_once"]))
    shared = data["tiles"] * (data["slabs"] * one + end) / sharers + c["stream_k"] + parts
    return c["begin"] + overlap(np.where(data["stream_k"] > 0, shared, waves), data["bytes"] / c["memory"])


def losses(clocks, data):
    """How much longer the variant with the lowest estimate takes than the fastest one, for each problem."""
    for problem in np.unique(data["problem"]):
        here = np.where(data["problem"] == problem)[0]
        if len(here) >= 3:
            yield data["clocks"][here[np.argmin(clocks[here])]] / data["clocks"][here].min() - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=pathlib.Path, metavar="FILE")
    data = read(parser.parse_args().times)
    first, low, high = (np.array(column, float) for column in zip(*CONSTANTS.values()))
    fit = least_squares(lambda constants: np.log(estimate(constants, data) / data["clocks"]), first, bounds=(low, high),
                        loss="soft_l1", f_scale=0.05, x_scale=first)
    for name, value in zip(CONSTANTS, fit.x):
        print(f"{name:18} {value:.3g}")
    clocks = estimate(fit.x, data)
    deviation = np.log(clocks / data["clocks"])
    within = deviation - np.array([deviation[data["problem"] == problem].mean() for problem in data["problem"]])
    print(f"standard deviation {100 * deviation.std():.1f} % of {len(deviation)} times, {100 * within.std():.1f} % within a problem")
    percent = 100 * np.array(list(losses(clocks, data)))
    print(f"lowest estimate of {len(percent)} problems: {np.median(percent):.1f} % slower than the fastest variant in the median, "
          f"{np.percentile(percent, 95):.1f} % for 95 %, {percent.max():.1f} % at worst")


if __name__ == "__main__":
    main()
