#!/usr/bin/env python3
"""Times the tokens of a model with random weights by mgengine and by PyTorch in one run, and prints the table of results/h200/tokens.md.

  scripts/compare_token.py --engine build/mgengine --model configs/models/llama-3.2-1b.json -o tokens.json     on a GPU
  scripts/compare_token.py --table tokens.json ...                             the table of such files, without a GPU

PyTorch runs the model of Hugging Face transformers with a static cache, compiled with torch.compile in the mode max-autotune-no-cudagraphs. A whole
token, from the embedding to the choice of the next token, is one CUDA graph, as in mgengine, also in the eager model. Both sides take runs of
tokens one after the other, and the time of a token is the median over runs. The positions are 1, 128, 512 and 2,047, or the last one of a model
with fewer.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

POSITIONS = (1, 128, 512, 2047)
TOKENS = 16  # of a run
RUNS = 20


def positions_of(fields):
    """The positions to time of a model with this config."""
    last = fields.get("max_position_embeddings", fields.get("n_positions", POSITIONS[-1] + 1)) - 1
    return sorted({min(position, last) for position in POSITIONS})


def torch_times(fields, positions, compiled):
    """Microseconds per token at each position."""
    import torch
    import transformers

    capacity = max(positions) + 1
    config = transformers.AutoConfig.for_model(**fields)
    config._attn_implementation = "sdpa"
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    cache = transformers.StaticCache(config=config, max_cache_len=capacity)
    token = torch.zeros(1, 1, dtype=torch.int64, device="cuda")
    position = torch.zeros(1, 1, dtype=torch.int64, device="cuda")

    def step():
        output = model(input_ids=token, position_ids=position, past_key_values=cache, use_cache=True)
        token.copy_(output.logits[:, -1].argmax(-1, keepdim=True))
        position.add_(1)

    def move_to(first):
        token.zero_()
        position.fill_(first)
        for layer in cache.layers:
            if layer.is_initialized:
                layer.cumulative_length.fill_(first)

    run = torch.compile(step, mode="max-autotune-no-cudagraphs", fullgraph=True) if compiled else step
    with torch.inference_mode():
        step()  # the first step allocates the cache
        move_to(1)
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        times = {}
        for at in positions:
            first = min(at, capacity - TOKENS)
            seconds = []
            for i in range(RUNS + 1):
                move_to(first)
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(TOKENS):
                    graph.replay()
                torch.cuda.synchronize()
                if i > 0:
                    seconds.append((time.perf_counter() - begin) / TOKENS)
            times[at] = 1e6 * statistics.median(seconds)
    return times


def engine_times(engine, model, positions, bandwidth):
    command = [engine, "bench", "--model", model, "--random-weights", "--way", "graph", "--run", str(TOKENS), "--steps", str(RUNS), "--bandwidth",
               str(bandwidth), "--positions", ",".join(map(str, positions)), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(arguments):
    import torch

    fields = json.loads(pathlib.Path(arguments.model).read_text())
    positions = positions_of(fields)
    results = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "model": pathlib.Path(arguments.model).stem,
               "bandwidth": arguments.bandwidth, "us": {}}
    engine = engine_times(arguments.engine, arguments.model, positions, arguments.bandwidth)
    results["us"]["mgengine"] = {entry["position"]: entry["us_per_token"] for entry in engine["positions"]}
    results["bytes"] = {entry["position"]: entry["bytes"] for entry in engine["positions"]}
    for name, compiled in (("eager", False), ("torch.compile", True)):
        if compiled or not arguments.compiled_only:
            results["us"][name] = torch_times(fields, positions, compiled)
            torch.cuda.empty_cache()
        print(f"{name}: {results['us'].get(name)}", file=sys.stderr, flush=True)
    return results


def table(results):
    us = {name: {int(at): value for at, value in times.items()} for name, times in results["us"].items()}
    bytes_at = {int(at): value for at, value in results["bytes"].items()}
    yield "| model | position | mgengine | of the limit | torch.compile, in one graph | eager, in one graph |"
    yield "|---|---|---|---|---|---|"
    for at in sorted(bytes_at):
        limit = bytes_at[at] / (results["bandwidth"] * 1e3)
        ours = us["mgengine"][at]
        peers = [f"{us[name][at]:.0f} us ({us[name][at] / ours:.2f}x)" if name in us else "" for name in ("torch.compile", "eager")]
        yield f"| {results['model']} | {at:,} | {ours:.0f} us | {100 * limit / ours:.1f} % | {peers[0]} | {peers[1]} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="mgengine", help="the program mgengine")
    parser.add_argument("--model", default="configs/models/llama-3.2-1b.json", help="a config.json")
    parser.add_argument("--bandwidth", type=float, default=4300, help="GB/s of the GPU's memory, for the limit (default: 4300, an H200)")
    parser.add_argument("--compiled-only", action="store_true", help="leave out the eager model")
    parser.add_argument("-o", "--output", help="where to write the times as JSON")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="print the table of such files and measure nothing")
    arguments = parser.parse_args()
    if arguments.table:
        for name in arguments.table:
            print("\n".join(table(json.loads(pathlib.Path(name).read_text()))))
        return
    results = measure(arguments)
    text = json.dumps(results, indent=1)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text + "\n")
    print("\n".join(table(json.loads(text))))


if __name__ == "__main__":
    main()
