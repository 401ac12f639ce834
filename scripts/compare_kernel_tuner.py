#!/usr/bin/env python3
"""Times a sweep of a convolution by Kernel Tuner and by mgtune, in one run on one GPU.

  scripts/compare_kernel_tuner.py --mgtune build/mgtune -o speed.json    on a GPU, for about three minutes
  scripts/compare_kernel_tuner.py --table speed.json                     the table of such a file, without a GPU

Both tune the kernel of tests/families/convolution, 4096 x 4096 with a filter of 17 x 17, in ranges like those of Kernel Tuner's own example
(examples/cuda/convolution_streams.py of github.com/KernelTuner/kernel_tuner): blocks of 16 to 128 by 1 to 32 threads, of which each
computes 1, 2 or 4 by 1 or 2 elements. The loops over the filter are unrolled, so a compilation takes 0.3 to 3 s of a core. Kernel Tuner compiles
and measures one configuration after the other, so its rate does not depend on how many there are: it gets a random sample of them (--sample).
It does not compare results with a reference; mgtune does, for each variant. mgtune evaluates all of them, from an empty store and an empty
cache of builds. Kernel Tuner runs through CuPy, whose cache is empty too. The agreement is the rank correlation (Spearman) of the times of the configurations that
both have measured. Needs the packages kernel_tuner, cupy and scipy.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILY = ROOT / "tests" / "families" / "convolution"
SIZE, FILTER = 4096, 17
RANGES = {"block_size_x": [16 * i for i in range(1, 9)], "block_size_y": [1, 2, 4, 8, 16, 32], "tile_size_x": [1, 2, 4], "tile_size_y": [1, 2]}
FIXED = {"use_padding": 0, "read_only": 0}
# At most 1,024 threads, and a tile with its border in the shared memory that a kernel can declare.
CONSTRAINTS = ["block_size_x * block_size_y <= 1024",
               "4 * (block_size_x * tile_size_x + filter_width - 1) * (block_size_y * tile_size_y + filter_height - 1) <= 49152"]
SOME_FAILED = 3  # of mgtune: blocks that need more registers than there are, which fail with both tools


def key(configuration):
    return ",".join(str(int(configuration[name])) for name in RANGES)


def sweep_by_kernel_tuner(count, seed):
    import kernel_tuner
    import numpy

    generator = numpy.random.default_rng(seed)
    width = SIZE + FILTER - 1
    output = numpy.zeros(SIZE * SIZE, numpy.float32)
    image = generator.standard_normal(width * width, numpy.float32)
    weights = generator.random(FILTER * FILTER, numpy.float32)
    sizes = {"image_width": SIZE, "image_height": SIZE, "filter_width": FILTER, "filter_height": FILTER}
    parameters = {**RANGES, **{name: [value] for name, value in {**sizes, **FIXED}.items()}}
    start = time.monotonic()
    results, _ = kernel_tuner.tune_kernel(
        "convolution_kernel", str(FAMILY / "convolution.cu"), (SIZE, SIZE), [output, image], parameters,
        grid_div_x=["block_size_x", "tile_size_x"], grid_div_y=["block_size_y", "tile_size_y"],
        restrictions=CONSTRAINTS, cmem_args={"d_filter": weights}, lang="cupy",
        compiler_options=[f"-I{FAMILY}"], strategy="random_sample", strategy_options={"max_fevals": count}, seed=seed, quiet=True)
    seconds = time.monotonic() - start
    times = {key(result): result["time"] for result in results if isinstance(result.get("time"), float)}
    return {"configurations": len(results), "seconds": seconds, "times_ms": times}


def operator_of_example():
    """The operator of the tests, with the ranges of the example and the one problem."""
    operator = json.loads((FAMILY / "image.json").read_text(encoding="utf-8"))
    design = operator["designs"]["tiled"]
    design["params"] = {**RANGES, **{name: [bool(value)] for name, value in FIXED.items()}, "max_registers": [0]}
    design["constraints"] = CONSTRAINTS
    design["options"] = []
    design["defaults"] = [{name: values[0] for name, values in {**design["params"], "block_size_x": [32], "block_size_y": [4]}.items()}]
    return operator


def sweep_by_mgtune(mgtune, folder, gpu):
    family = folder / "convolution"
    shutil.copytree(FAMILY, family)
    (family / "image.json").write_text(json.dumps(operator_of_example()), encoding="utf-8")
    database = folder / "convolution.db"
    environment = {**os.environ, "MGTUNE_CACHE_DIR": str(folder / "cache")}
    start = time.monotonic()
    sweep = [mgtune, "sweep", "--kernel", str(family), "--gpu", gpu, "--strategy", "exhaustive", "--db", str(database), "--profile-sweep"]
    ended = subprocess.run(sweep, check=False, env=environment)
    seconds = time.monotonic() - start
    if ended.returncode not in (0, SOME_FAILED):
        sys.exit(f"{sweep[0]} sweep ended with {ended.returncode}")
    exported = folder / "exported"
    exported.mkdir()
    subprocess.run([mgtune, "export", "--format", "kernel-tuner", "--db", str(database), "-o", str(exported)], check=True, env=environment)
    times, count = {}, 0
    for file in exported.glob("*.json"):
        for configuration in json.loads(file.read_text(encoding="utf-8"))["cache"].values():
            count += 1
            if isinstance(configuration["time"], float):
                times[key(configuration)] = configuration["time"]
    return {"configurations": count, "seconds": seconds, "times_ms": times}


def agreement(results):
    from scipy.stats import spearmanr

    both = sorted(results["kernel_tuner"]["times_ms"].keys() & results["mgtune"]["times_ms"].keys())
    return len(both), float(spearmanr(*([results[tool]["times_ms"][name] for name in both] for tool in ("kernel_tuner", "mgtune")))[0])


def table(results):
    yield "| tool | configurations | seconds | per second |"
    yield "|---|---|---|---|"
    rates = {}
    for tool in ("kernel_tuner", "mgtune"):
        swept = results[tool]
        rates[tool] = swept["configurations"] / swept["seconds"]
        yield f"| {tool} | {swept['configurations']} | {swept['seconds']:.1f} | {rates[tool]:.2f} |"
    yield ""
    yield (f"mgtune's rate is {rates['mgtune'] / rates['kernel_tuner']:.1f} times that of Kernel Tuner. The ranks of the {results['compared']} "
           f"configurations that both have measured agree to {results['agreement']:.4f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mgtune", default=str(ROOT / "build" / "mgtune"))
    parser.add_argument("--gpu", default="0", help="as of mgtune sweep --gpu; Kernel Tuner takes the first one")
    parser.add_argument("--sample", type=int, default=40, help="configurations that Kernel Tuner measures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", default="speed.json")
    parser.add_argument("--table", metavar="FILE", help="print the table of FILE")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(json.loads(pathlib.Path(options.table).read_text(encoding="utf-8")))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUPY_CACHE_DIR"] = str(pathlib.Path(folder) / "cupy")
        mgtune = sweep_by_mgtune(options.mgtune, pathlib.Path(folder), options.gpu)
        results = {"kernel_tuner": sweep_by_kernel_tuner(options.sample, options.seed), "mgtune": mgtune}
    results["compared"], results["agreement"] = agreement(results)
    pathlib.Path(options.output).write_text(json.dumps(results, indent=1), encoding="utf-8")
    print("\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
