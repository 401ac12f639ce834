#!/usr/bin/env python3
"""Fits the constants of the estimate of attention.prefill and attention.varlen on Hopper, and says how good they are.

  scripts/fit_attention_estimate.py results/h200/recorded/random_problems/attention.{prefill,varlen}.seed_*.csv.gz

kernels/attention/README.md has the formula ("How many queries and keys"), kernels/attention/prefill.json its rounded constants. A
problem of prefill is one of varlen with sequences of equal lengths. The times are those of the design wgmma, in rows
`problem,variant,median_ns,sm_mhz,samples,outcome`, at a clock of 1,980 MHz: problems of 200 flops per byte and more run
at lower clocks, which the GPU's power limits, and are converted. Times up to 1.35 times that of the fastest variant of a
problem count fully, others little. How the times of a problem relate to one another counts more than how long they are.
Needs numpy and scipy.
"""
import argparse
import csv
import gzip
import io
import math
import pathlib

import numpy as np
from scipy.optimize import least_squares

SMS = 132
MHZ = 1980
FLOPS_PER_BYTE = 200
NEAR_BEST = 1.35
WEIGHT_OF_SLOW = 0.15
WEIGHT_OF_LENGTH = 0.4  # of how long a time is, beside how it relates to the others of its problem
HEAD_DIMS = (64, 128, 256)

# Name: first guess. Times are in ns, the others in keys of a tile or in parts of a wave.
CONSTANTS = {
    "begin": 3200,  # of a launch
    "grid": -780,  # what SCHEDULE=grid adds to that
    **{f"per_key_{consumers}_{head_dim}": guess for head_dim, guesses in zip(HEAD_DIMS, ((5.3, 7.3, 8.4), (7.7, 10.4, 13.1), (12, 17.2)))
       for consumers, guess in enumerate(guesses, 1)},
    "per_key_of_pairs": 6.8,
    "causal_3_128": 1.07,  # how much longer a key takes under the diagonal
    "per_tile_1": 161, "per_tile_2": 203, "per_tile_3": 266, "per_tile_grid": 93, "per_tile_one_q": 8, "per_tile_packed": 95,
    "per_tile_stages": -20,  # if there are three tiles in flight
    "per_step_64": 35, "per_step_128": 17, "per_step_256": 10,
    "fill": 0.4,  # of the SMs that are idle in the last wave
    "last": 0.38,  # tiles per SM
    "empty": 8.7,  # per block without a tile
}


def words(text):
    return dict(part.split("=", 1) for part in text.split() if "=" in part)


def ceil_div(a, b):
    return -(-a // b)


def features(problem, variant):
    """What the estimate reads of a variant at a problem; None if it knows nothing about the head dim or the variant."""
    dims, values = words(problem), words(variant)
    number = lambda name, otherwise=0: int(dims.get(name, otherwise))
    head_dim, heads, kv_heads, causal = number("head_dim"), number("heads"), number("kv_heads"), dims.get("causal") == "true"
    if head_dim not in HEAD_DIMS or values["EXP_POLY"] != "0":
        return None
    sequences = number("batch", number("sequences"))
    longest_q = number("seq_q", number("max_q"))
    longest_k = number("seq_k", number("max_k", longest_q))
    tokens_q = number("tokens_q", sequences * longest_q)
    tokens_k = number("tokens_k", sequences * longest_k if "batch" in dims else tokens_q)
    longest_q, longest_k = min(longest_q, tokens_q), min(longest_k, tokens_k)
    usual_q, usual_k = ((2 * max(1, tokens // sequences) + longest) // 3 for tokens, longest in ((tokens_q, longest_q), (tokens_k, longest_k)))
    consumers, block_n, packed, grid = int(values["CONSUMERS"]), int(values["BLOCK_N"]), values["PACK_GQA"] == "true", values["SCHEDULE"] == "grid"
    rows, tile_heads = (64 * consumers // (heads // kv_heads), kv_heads) if packed else (64 * consumers, heads)
    blocks = ceil_div(longest_q, rows) * sequences * tile_heads
    tiles = blocks
    if tokens_q < sequences * longest_q:
        tiles = max(min(sequences, tokens_q), min((tokens_q + sequences * rows // 2) // rows, blocks // tile_heads)) * tile_heads
    longest = ceil_div(longest_k, block_n) * block_n
    own = min(rows, usual_q)
    under = max(0, usual_k - usual_q // 2) + own // 2 if longest_k >= longest_q else usual_k * (usual_k + own) // (2 * usual_q)
    visible = min(usual_k, under) if causal else usual_k
    common = math.gcd(rows, block_n)
    aligned = common * (usual_q // rows) // ceil_div(usual_q, rows) if causal and longest_q % common == longest_k % common else 0
    keys = min(longest, visible + (block_n - aligned) // 2)
    if longest_k <= block_n and (not causal or longest_k >= longest_q):
        keys = block_n
    elif not causal and usual_k == longest_k:
        keys = longest
    pairs = consumers == 1 and grid and block_n <= 80 and head_dim == 64 and tiles > SMS
    moved = 4 * head_dim * (tokens_q * heads + tokens_k * kv_heads)
    flops = 4 * heads * head_dim * tokens_q * max(tokens_k // sequences, 1) / (2 if causal else 1)
    return {"consumers": consumers, "block_n": block_n, "packed": packed, "grid": grid, "one_q": not grid and values["Q_STAGES"] == "1",
            "stages": values["STAGES"] == "3",
            "head_dim": head_dim, "causal": causal, "pairs": pairs, "tiles": tiles, "empty": (blocks - tiles) * grid, "keys": keys, "longest": longest,
            "flops_per_byte": flops / moved}


def read(paths):
    """The features of all times of wgmma as arrays, with their problem, their time in ns at MHZ, and their weight."""
    problems = {}
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in csv.DictReader(io.StringIO(file.read())):
                if not row["median_ns"] or not row["variant"].startswith("wgmma"):
                    continue
                here = features(row["problem"], row["variant"])
                if here is None:
                    continue
                here["ns"] = float(row["median_ns"])
                if here["flops_per_byte"] >= FLOPS_PER_BYTE and row["sm_mhz"]:
                    here["ns"] *= float(row["sm_mhz"]) / MHZ
                problems.setdefault((path.name, row["problem"]), []).append(here)
    rows = []
    for number, times in enumerate(problems.values()):
        best = min(here["ns"] for here in times)
        rows += [dict(here, problem=number, weight=1 if here["ns"] < NEAR_BEST * best else WEIGHT_OF_SLOW) for here in times]
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def estimate(constants, data):
    c = dict(zip(CONSTANTS, constants))
    per_key, per_step = np.zeros(len(data["ns"])), np.zeros(len(data["ns"]))
    for head_dim in HEAD_DIMS:
        at = data["head_dim"] == head_dim
        per_step[at] = c[f"per_step_{head_dim}"]
        for consumers in (1, 2, 3):
            per_key[at & (data["consumers"] == consumers)] = c.get(f"per_key_{consumers}_{head_dim}", 1)
    per_key = np.where(data["pairs"] > 0, c["per_key_of_pairs"], per_key)
    per_key = np.where((data["consumers"] == 3) & (data["head_dim"] == 128) & (data["causal"] > 0), per_key * c["causal_3_128"], per_key)
    per_tile = np.choose(data["consumers"].astype(int) - 1, [c["per_tile_1"], c["per_tile_2"], c["per_tile_3"]])
    per_tile = per_tile + c["per_tile_grid"] * data["grid"] + c["per_tile_one_q"] * data["one_q"] + c["per_tile_packed"] * data["packed"] + c["per_tile_stages"] * data["stages"]
    tile = per_key * (data["keys"] * (1 + per_step / data["block_n"]) + per_tile)
    longest = per_key * (data["longest"] * (1 + per_step / data["block_n"]) + per_tile)
    slots = np.where(data["pairs"] > 0, 2 * SMS, SMS)
    last_wave = np.where(data["tiles"] > slots, (slots - data["tiles"] % slots) % slots * c["fill"] + slots * c["last"], 0)
    work = tile / slots * (data["tiles"] + last_wave) + c["empty"] * data["empty"]
    return c["begin"] + c["grid"] * data["grid"] + np.maximum(longest, work)


def within_problems(values, data):
    """The values less their weighted mean in their problem."""
    problem = data["problem"].astype(int)
    mean = np.bincount(problem, data["weight"] * values) / np.bincount(problem, data["weight"])
    return values - mean[problem]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=pathlib.Path, nargs="+", metavar="FILE")
    data = read(parser.parse_args().times)
    weight = np.sqrt(data["weight"])

    def deviations(constants):
        deviation = np.log(np.maximum(estimate(constants, data), 1) / data["ns"])
        return np.concatenate([weight * within_problems(deviation, data), WEIGHT_OF_LENGTH * weight * deviation])

    first = np.array(list(CONSTANTS.values()), float)
    fit = least_squares(deviations, first, loss="soft_l1", f_scale=0.05, x_scale=np.abs(first))
    for name, value in zip(CONSTANTS, fit.x):
        print(f"{name:18} {value:.3g}")
    ns = estimate(fit.x, data)
    near = data["weight"] == 1
    deviation = np.log(ns / data["ns"])
    within = within_problems(deviation, data)
    print(f"standard deviation of {near.sum()} times near the best: {100 * deviation[near].std():.1f} %, {100 * within[near].std():.1f} % within a problem")


if __name__ == "__main__":
    main()
