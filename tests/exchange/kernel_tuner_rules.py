"""Whether Kernel Tuner would read a cache file, by its own rules. Standard library only.

  kernel_tuner_rules.py FILE DEVICE_NAME KERNEL_NAME PROBLEM_SIZE

The rules are those of Kernel Tuner's process_cache, correct_open_cache, read_cache and store_cache
(kernel_tuner/util.py) and of its schema (kernel_tuner/schema/cache/1.1.0/schema.json), written
here from their description, not copied. Exit code 1 and a line a breach where there is one.
"""

import json
import sys

ERRORS = ("InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig")
NUMBERS = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")


def refuse_constant(word):
    raise ValueError(f"{word} is no JSON")


def load(text):
    return json.loads(text, parse_constant=refuse_constant)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_header(cache, device_name, kernel_name, problem_size):
    if cache.get("schema_version") != "1.1.0":
        yield "schema_version is not 1.1.0"
    if cache.get("device_name") != device_name:
        yield f"another device: {cache.get('device_name')}"
    if cache.get("kernel_name") != kernel_name:
        yield f"another kernel: {cache.get('kernel_name')}"
    if cache.get("problem_size") != problem_size:
        yield f"another problem: {cache.get('problem_size')}"
    if not isinstance(cache.get("objective"), str):
        yield "no objective"
    if cache.get("tune_params_keys") != list(cache.get("tune_params", {})):
        yield "tune_params_keys are not the keys of tune_params, in order"
    if list(cache)[-1] != "cache":
        yield "cache is not the last member: nothing could be appended"


def check_entry(key, entry, cache):
    values = [entry.get(name) for name in cache["tune_params_keys"]]
    if key != ",".join(str(value) for value in values):
        yield f"{key}: the key is not its values as str() has them"
    for name, value in zip(cache["tune_params_keys"], values):
        if value not in cache["tune_params"][name]:
            yield f"{key}: {name} is {value}, which tune_params does not list"
    failed = entry.get("time") in ERRORS
    if not failed and not (is_number(entry.get("time")) and entry["time"] > 0):
        yield f"{key}: time is {entry.get('time')}"
    if failed != ("__error__" in entry) or entry.get("__error__", "InvalidConfig") not in ERRORS:
        yield f"{key}: __error__ is {entry.get('__error__')}"
    if not all(is_number(time) for time in entry.get("times", [None])):
        yield f"{key}: times are no numbers"
    for name in NUMBERS:
        if not is_number(entry.get(name)):
            yield f"{key}: {name} is {entry.get(name)}"
    if not isinstance(entry.get("timestamp"), str):
        yield f"{key}: no timestamp"


def check_appending(text, cache):
    """A session that goes on: the end is cut off, an entry appended, the file closed again."""
    entry = dict(next(iter(cache["cache"].values())))
    opened = text[:-3] + ","
    appended = opened + "\n" + json.dumps({"new": entry})[1:-1] + ","
    again = load(appended[:-1] + "}\n}")
    if list(again["cache"]) != list(cache["cache"]) + ["new"]:
        yield "an entry that is appended does not come last"


def check(path, device_name, kernel_name, problem_size):
    with open(path, encoding="utf-8") as file:
        text = file.read().strip()
    if text[-3:] not in ("}\n}", "}}}"):
        yield "not closed as Kernel Tuner closes a file"
        return
    cache = load(text)
    yield from check_header(cache, device_name, kernel_name, problem_size)
    if not cache["cache"]:
        yield "no configuration"
        return
    for key, entry in cache["cache"].items():
        yield from check_entry(key, entry, cache)
    yield from check_appending(text, cache)


def main(words):
    if len(words) != 4:
        sys.exit(__doc__)
    breaches = list(check(*words))
    for breach in breaches:
        print(f"{words[0]}: {breach}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
