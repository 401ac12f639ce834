#!/usr/bin/env python3
"""Times one sweep on 1, 2, ... GPUs of a host.

It runs in one process, in one process per GPU, with a worker killed, and as jobs of Slurm.

  scripts/sweep_scaling.py --mgtune build/mgtune --gpus 1,2,4 -o scaling.json   on a host with four GPUs
  scripts/sweep_scaling.py --table scaling.json                                  the table of such a file, without a GPU

The sweep is exhaustive: three problems of rmsnorm.backward in bf16 (3,850 variants on an H100 or H200), unless --kernel
and --problem name others. Each sweep has an empty database.

--steps selects among these steps:

  empty    all GPUs, from an empty cache of builds, which the other steps then use
  cached   each number of GPUs, --repeat times in turn
  shards   `--shard I/N` in one process per GPU, at the same time; their databases are merged, then `--finals` runs
  killed   all GPUs; the measure worker of one of them is killed, when half of the time is over
  fleet    `mgtune fleet plan` with one task per GPU, if there is a Slurm whose nodes have GPUs as gres (SLURM_CONF
           says which); the picks are from the merged database

The picks of a step agree with those of the first cached sweep if each is the same variant, or if either sweep says that
the two are tied. `idle` is the part of the wall time in which the GPUs did not check or measure: loading and unloading
builds, handing over, and waiting, by cause (`mgtune sweep --profile-sweep`).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROBLEMS = ["rows=16384,hidden=2048,dw=true", "rows=4096,hidden=16384,dw=true", "rows=32,hidden=4096,dw=true"]
STEPS = ["empty", "cached", "shards", "killed", "fleet"]
SOME_FAILED = 3  # mgtune's exit code if variants failed, which is no failure of a sweep


class Host:
    """How to run mgtune here: on which GPUs, with which cache of builds."""

    def __init__(self, options, folder):
        self.program = str(pathlib.Path(options.mgtune).resolve())
        self.work = pathlib.Path(folder)
        self.arguments = ["--kernel", options.kernel]
        if options.dtype:
            self.arguments += ["--dtype", options.dtype]
        for problem in options.problem or PROBLEMS:
            self.arguments += ["--problem", problem]
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        self.devices = visible.split(",") if visible else [str(i) for i in range(max(options.gpus))]
        self.databases = 0

    def environment(self, devices):
        own = {"MGTUNE_CACHE_DIR": str(self.work / "cache"), "XDG_DATA_HOME": str(self.work / "data")}
        if self.devices != ["cpu"]:
            own["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        everything = {**os.environ, **own}
        everything.pop("MGTUNE_DB", None)
        return everything

    def new_database(self):
        self.databases += 1
        return str(self.work / f"results-{self.databases}.db")

    def gpu_word(self, devices):
        return "cpu" if devices == ["cpu"] else "all"

    def start(self, devices, database, *more):
        how = more if "--finals" in more else ("--strategy", "exhaustive", *more)
        command = [self.program, "sweep", *self.arguments, "--gpu", self.gpu_word(devices), "--profile-sweep", "--json", "--db", database, *how]
        return subprocess.Popen(command, env=self.environment(devices), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments):
        command = [self.program, *arguments]
        done = subprocess.run(command, env=self.environment(self.devices), capture_output=True, text=True)
        if done.returncode not in (0, SOME_FAILED):
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout


def finish(process):
    """Waits for a sweep. Returns what it printed."""
    out, err = process.communicate()
    if process.returncode not in (0, SOME_FAILED):
        sys.exit(f"{' '.join(process.args)}: {err.strip()}")
    return json.loads(out)["sweeps"][0]


def idle_parts(sweep):
    """The idle time by cause, as a part of the wall time of all GPUs."""
    times = sweep["times"]
    whole = times["seconds"] * len(times["gpus"])
    parts = {}
    for gpu in times["gpus"]:
        for phase, seconds in gpu["phases"].items():
            if phase.startswith("idle: ") or phase in ("start", "handover", "load", "unload"):
                parts[phase] = parts.get(phase, 0) + seconds / whole
    return {phase: round(part, 4) for phase, part in parts.items() if part >= 0.0005}


def said(*command):
    """The lines that a command prints; [] if it fails, or if there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip().splitlines()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []


def gpus_of_host():
    """The driver, and how the GPUs are connected."""
    driver = said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    topology = [re.sub(r"\x1b\[\d*m", "", line) for line in said("nvidia-smi", "topo", "-m")]
    return {"driver": driver[0], "topology": topology} if driver else {}


def picks_of(sweep):
    return {f"{pick['operator']} {pick['problem']}": {"variant": pick["variant"], "ns": pick["median_ns"], "tied": pick["tied"]} for pick in sweep["picks"]}


def step_of(name, sweep, gpus, seconds=None, evaluated=None):
    """The entry of a step. `seconds` and `evaluated` are given if the step is more than this sweep."""
    seconds = sweep["times"]["seconds"] if seconds is None else seconds
    evaluated = sweep["evaluated"] if evaluated is None else evaluated
    compile_seconds = sweep["times"]["compile"]
    return {"step": name, "gpus": gpus, "seconds": round(seconds, 3), "evaluated": evaluated, "rate": round(evaluated / seconds, 1),
            "compiled": sweep["compiled"], "compilers": compile_seconds["processes"], "idle": idle_parts(sweep), "picks": picks_of(sweep)}


def sweep_once(host, name, gpus):
    return step_of(name, finish(host.start(host.devices[:gpus], host.new_database())), gpus)


def a_measure_worker(sweep_process):
    """The process id of a measure worker of the sweep; None if none runs."""
    children = pathlib.Path(f"/proc/{sweep_process.pid}/task/{sweep_process.pid}/children").read_text().split()
    for child in reversed(children):
        try:
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if words[1:3] == [b"worker", b"measure"]:
            return int(child)
    return None


def kill_a_worker(host, gpus, usual_seconds):
    process = host.start(host.devices[:gpus], host.new_database())
    killed = []

    def kill():
        worker = a_measure_worker(process)
        if worker is not None:
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)

    timer = threading.Timer(usual_seconds / 2, kill)
    timer.start()
    sweep = finish(process)
    timer.cancel()
    if not killed:
        sys.exit("the sweep had no worker to kill: it is too short for this step")
    return step_of("killed", sweep, gpus)


def sweep_in_shards(host, gpus):
    database = host.new_database()
    begun = time.monotonic()
    processes = [host.start([device], database, "--shard", f"{i + 1}/{gpus}") for i, device in enumerate(host.devices[:gpus])]

    def end_of(process):
        return finish(process)["evaluated"], round(time.monotonic() - begun, 3)

    with concurrent.futures.ThreadPoolExecutor(gpus) as waiting:
        evaluated, seconds = zip(*waiting.map(end_of, processes))
    parts = sorted(str(path) for path in host.work.glob(pathlib.Path(database).stem + ".shard-*.db"))
    merged = host.new_database()
    host.run("merge", merged, *parts)
    final = finish(host.start(host.devices[:1], merged, "--finals"))
    step = step_of("shards", final, gpus, max(seconds), sum(evaluated))
    step.update({"seconds_of_shards": seconds, "idle": {}})
    return step


def sweep_as_fleet(host, gpus, model, cores):
    folder = host.work / "fleet"
    gpu = model if model == "cpu" else f"{model}:gres=gpu:1"
    host.run("fleet", "plan", str(folder), *host.arguments, "--gpu", gpu, "--tasks", str(gpus), "--time", "10", "--cpus", str(cores))
    begun = time.monotonic()
    subprocess.run([folder / "submit.sh"], env=host.environment(host.devices), check=True, stdout=subprocess.DEVNULL)
    while True:
        status = json.loads(host.run("fleet", "status", str(folder), "--json"))["gpus"][0]
        if status["merged"]:
            break
        if any(task["state"] == "failed" for task in status["tasks"]) or time.monotonic() - begun > 600:
            sys.exit(f"the fleet does not end: {json.dumps(status)}")
        time.sleep(0.5)
    seconds = time.monotonic() - begun
    best = json.loads(host.run("show", "best", "--json", "--db", status["database"]))
    while subprocess.run(["squeue", "--noheader", "--me"], capture_output=True, text=True, check=True).stdout.strip():  # waits for the merge of all GPUs
        time.sleep(0.5)
    evaluated = sum(task["variants"] for task in status["tasks"])
    return {"step": "fleet", "gpus": gpus, "seconds": round(seconds, 3), "evaluated": evaluated, "rate": round(evaluated / seconds, 1), "picks": picks_of(best)}


def agreement(step, reference):
    """The problems whose picks are the same, those that are tied, and those that are neither."""
    same, tied, other = 0, 0, []
    for problem, pick in step["picks"].items():
        known = reference["picks"][problem]
        if pick["variant"] == known["variant"]:
            same += 1
        elif pick["variant"] in known["tied"] or known["variant"] in pick["tied"]:
            tied += 1
        else:
            other.append(f"{problem}: {pick['variant']} ({pick['ns']:.0f} ns), not {known['variant']} ({known['ns']:.0f} ns)")
    return same, tied, other


def table(document):
    steps = document["steps"]
    cached = [step for step in steps if step["step"] == "cached"]
    reference = cached[0] if cached else steps[0]
    alone = [step["seconds"] for step in cached if step["gpus"] == 1]
    base = sum(alone) / len(alone) if alone else None
    print("| step | GPUs | wall time | variants | variants/s | times one GPU | picks: same, tied, other | idle |")
    print("|---|---|---|---|---|---|---|---|")
    notes = []
    for step in steps:
        same, tied, other = agreement(step, reference)
        notes += [f"{step['step']}, {step['gpus']} GPUs: {line}" for line in other]
        factor = f"{base / step['seconds']:.2f}" if base and step["step"] in ("cached", "shards", "killed") else ""
        idle = ", ".join(f"{phase.removeprefix('idle: ')} {100 * part:.1f} %" for phase, part in step.get("idle", {}).items())
        of_shards = step.get("seconds_of_shards")
        time_text = f"{step['seconds']:.2f} s" + (f" ({', '.join(f'{s:.2f}' for s in of_shards)})" if of_shards else "")
        print(f"| {step['step']} | {step['gpus']} | {time_text} | {step['evaluated']} | {step['rate']:.0f} | {factor} | {same}, {tied}, {len(other)} | {idle} |")
    for note in notes:
        print(note)


def measure(options):
    with tempfile.TemporaryDirectory() as folder:
        host = Host(options, folder)
        if options.cpu:
            host.devices = ["cpu"]
        most = max(options.gpus)
        document = {"command": " ".join(sys.argv), "date": time.strftime("%Y-%m-%d", time.gmtime()),
                    "version": host.run("--version").strip(), "cores": len(os.sched_getaffinity(0)), **({} if options.cpu else gpus_of_host()), "steps": []}
        steps = document["steps"]

        def add(step):
            steps.append(step)
            print(f"{step['step']}, {step['gpus']} GPUs: {step['seconds']} s, {step['rate']} variants/s", file=sys.stderr, flush=True)
            if options.output:
                pathlib.Path(options.output).write_text(json.dumps(document, indent=1) + "\n")
            return step

        if "empty" in options.steps:
            add(sweep_once(host, "empty", most))
        usual = None
        if "cached" in options.steps:
            for _ in range(options.repeat):
                for gpus in options.gpus:
                    step = add(sweep_once(host, "cached", gpus))
                    usual = step["seconds"] if gpus == most else usual
        if "shards" in options.steps:
            add(sweep_in_shards(host, most))
        if "killed" in options.steps:
            usual = usual or sweep_once(host, "cached", most)["seconds"]
            add(kill_a_worker(host, most, usual))
        if "fleet" in options.steps:
            if "SLURM_CONF" in os.environ:
                add(sweep_as_fleet(host, most, options.model, options.cpus or max(1, document["cores"] // most)))
            else:
                print("fleet: left out, because SLURM_CONF names no Slurm", file=sys.stderr)
        table(document)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mgtune", default="build/mgtune")
    parser.add_argument("--gpus", default="1,2", help="numbers of GPUs, the first ones of CUDA_VISIBLE_DEVICES or of the host (default: 1,2)")
    parser.add_argument("--cpu", action="store_true", help="on the cpu device, to try this script without a GPU")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--kernel", default="rmsnorm.backward")
    parser.add_argument("--dtype", default="bf16", help="'': those of the problems")
    parser.add_argument("--problem", action="append")
    parser.add_argument("--model", default="H200", help="the model of the GPUs, for the fleet (default: H200)")
    parser.add_argument("--cpus", type=int, help="processors of a task of the fleet (default: an equal part of this process's)")
    parser.add_argument("-o", "--output", help="where to write the results as JSON")
    parser.add_argument("--table", metavar="FILE", help="print the table of such a file")
    options = parser.parse_args()
    if options.table:
        return table(json.loads(pathlib.Path(options.table).read_text()))
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.gpus):
        parser.error("--gpus expects numbers with commas: 1,2,4")
    options.gpus = [int(number) for number in options.gpus.split(",")]
    options.steps = options.steps.split(",")
    for step in options.steps:
        if step not in STEPS:
            parser.error(f"--steps: there is no step '{step}', only {', '.join(STEPS)}")
    measure(options)


if __name__ == "__main__":
    main()
