#!/usr/bin/env python3
"""Times a sweep of a convolution by Kernel Tuner and by mgtune, in one run on one GPU.

  scripts/compare_kernel_tuner.py --mgtune build/mgtune -o speed.json    on a GPU, for about three minutes
  scripts/compare_kernel_tuner.py --table speed.json                     the table of such a file, without a GPU
  scripts/compare_kernel_tuner.py --mgtune build/mgtune --compile 12     compiling alone, without a GPU

Both tune the kernel of tests/families/convolution, 4096 x 4096 with a filter of 17 x 17. The ranges are like those of
Kernel Tuner's own example (examples/cuda/convolution_streams.py of github.com/KernelTuner/kernel_tuner): blocks of 16
to 128 by 1 to 32 threads, of which each computes 1, 2 or 4 by 1 or 2 elements. The loops over the filter are unrolled,
so a compilation takes 0.2 to 6 s of a core.

mgtune evaluates all configurations, from an empty store and an empty cache of builds. It compares the results of each
variant with a reference; Kernel Tuner does not.

Kernel Tuner gets a random sample of them (--sample). It compiles and measures one configuration after the other, so its
rate does not depend on how many there are. In the sample, each pair of tile sizes has its share: the compile time
depends most on these, so the mean varies less than over a plain random sample. Kernel Tuner runs through CuPy, whose
cache is empty too.

The agreement is the rank correlation (Spearman) of the times of the configurations that both have measured.

--compile N takes N configurations. For each it prints the processor time of a compile worker of mgtune, and that of
nvrtcCompileProgram for the same source, with the options that Kernel Tuner passes through CuPy (--std=c++11 -ftz=true).
Both compile for sm_90, in turn, with the same library.

A measurement needs the packages kernel_tuner, cupy and scipy. --compile needs $CUDA_HOME.
"""
import argparse
import ctypes
import itertools
import json
import os
import pathlib
import random
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
SOME_FAILED = 3  # exit code of mgtune: blocks that need more registers than there are fail with both tools


def key(configuration):
    return ",".join(str(int(configuration[name])) for name in RANGES)


def configurations():
    for values in itertools.product(*RANGES.values()):
        one = dict(zip(RANGES, values))
        names = {**one, "filter_width": FILTER, "filter_height": FILTER}
        if all(eval(constraint, {}, names) for constraint in CONSTRAINTS):
            yield one


def sample_of(count, seed):
    """`count` random configurations, in which each pair of tile sizes has its share, up to one more or less."""
    generator = random.Random(seed)
    shuffled = list(configurations())
    generator.shuffle(shuffled)
    shuffled.sort(key=lambda one: (one["tile_size_x"], one["tile_size_y"]))
    count, first = min(count, len(shuffled)), generator.random()
    return [shuffled[int((i + first) * len(shuffled) / count)] for i in range(count)]


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
    # Kernel Tuner does not take a list of configurations, so a condition names each of them.
    chosen = " or ".join("(" + " and ".join(f"{name} == {value}" for name, value in one.items()) + ")" for one in sample_of(count, seed))
    start = time.monotonic()
    results, _ = kernel_tuner.tune_kernel(
        "convolution_kernel", str(FAMILY / "convolution.cu"), (SIZE, SIZE), [output, image], parameters,
        grid_div_x=["block_size_x", "tile_size_x"], grid_div_y=["block_size_y", "tile_size_y"],
        restrictions=CONSTRAINTS + [chosen], cmem_args={"d_filter": weights}, lang="cupy",
        compiler_options=[f"-I{FAMILY}"], strategy="brute_force", quiet=True)
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


def family_of_example(folder):
    family = folder / "convolution"
    shutil.copytree(FAMILY, family)
    (family / "image.json").write_text(json.dumps(operator_of_example()), encoding="utf-8")
    return family


def sweep_by_mgtune(mgtune, folder, gpu):
    family = family_of_example(folder)
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


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compile_by_mgtune(mgtune, folder, some):
    """The processor seconds of one compile worker for each configuration, one after the other."""
    family = family_of_example(folder)
    target = {"id": "GPU-0", "arch": "sm_90", "compute_capability": 90, "sm_count": 132, "max_shared_bytes": 232448, "l2_bytes": 62914560}
    sizes = f"image_width={SIZE} image_height={SIZE} filter_width={FILTER} filter_height={FILTER}"
    environment = {**os.environ, "MGTUNE_CACHE_DIR": str(folder / "cache")}
    with subprocess.Popen([mgtune, "worker", "compile", json.dumps(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        for number, one in enumerate(some):
            words = {**one, "use_padding": "false", "read_only": "false", "max_registers": 0}
            variant = " ".join(["tiled", *(f"{name}={value}" for name, value in words.items())])
            before = processor_seconds(worker.pid)
            print(json.dumps({"do": "compile", "id": number, "kernel": str(family), "op": "convolution.image", "problem": sizes, "variant": variant, "device": "GPU-0"}),
                  file=worker.stdin, flush=True)
            while (reply := json.loads(worker.stdout.readline()))["did"] == "begin":
                pass
            if reply.get("outcome") != "ok":
                sys.exit(reply["message"])
            yield processor_seconds(worker.pid) - before


def compile_by_nvrtc(some):
    """The processor seconds of NVRTC for each configuration, one after the other, with the options that Kernel Tuner passes."""
    library = sorted(pathlib.Path(os.environ["CUDA_HOME"]).glob("lib*/libnvrtc.so.1[23]"))[-1]
    nvrtc = ctypes.CDLL(str(library))
    for builtins in library.parent.glob("libnvrtc-builtins.so.1[23].?"):
        ctypes.CDLL(str(builtins))
    source = (FAMILY / "convolution.cu").read_text(encoding="utf-8")
    options = [b"-arch=sm_90", b"--std=c++11", b"-ftz=true", f"-I{FAMILY}".encode()]
    sizes = {"image_width": SIZE, "image_height": SIZE, "filter_width": FILTER, "filter_height": FILTER}
    for one in some:
        text = "".join(f"#define {name} {value}\n" for name, value in {**one, **FIXED, **sizes}.items()) + source
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        before = time.process_time()
        failed = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"convolution.cu", 0, None, None)
        failed = failed or nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        failed = failed or nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        failed = failed or nvrtc.nvrtcGetCUBIN(program, ctypes.create_string_buffer(size.value))
        if failed:
            sys.exit(f"NVRTC fails with {failed} at {one}")
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        yield time.process_time() - before


def compile_table(mgtune, count, seed):
    some = sample_of(count, seed)
    # The first compile of a process also loads the library, so it does not count. It is a configuration that the sample does not have, if there is one.
    with_first = [next((one for one in configurations() if one not in some), some[0]), *some]
    with tempfile.TemporaryDirectory() as folder:
        # In turn, so that other work on the machine slows down both.
        both = list(zip(compile_by_mgtune(mgtune, pathlib.Path(folder), with_first), compile_by_nvrtc(with_first)))
    ours, theirs = zip(*both[1:])
    yield "| configuration | mgtune | as Kernel Tuner |"
    yield "|---|---|---|"
    for one, own, other in zip(some, ours, theirs):
        yield f"| {key(one)} | {own:.2f} s | {other:.2f} s |"
    yield ""
    yield f"mean: {sum(ours) / len(some):.3f} s and {sum(theirs) / len(some):.3f} s of a core, {sum(ours) / sum(theirs):.3f} times as much"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mgtune", default=str(ROOT / "build" / "mgtune"))
    parser.add_argument("--gpu", default="0", help="as of mgtune sweep --gpu; Kernel Tuner takes the first one")
    parser.add_argument("--sample", type=int, default=40, help="configurations that Kernel Tuner measures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", default="speed.json")
    parser.add_argument("--table", metavar="FILE", help="print the table of FILE")
    parser.add_argument("--compile", metavar="N", type=int, help="only compile N configurations, without a GPU, and print the processor time")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(json.loads(pathlib.Path(options.table).read_text(encoding="utf-8")))))
        return 0
    if options.compile:
        print("\n".join(compile_table(options.mgtune, options.compile, options.seed)))
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
