"""How the benchmarks measure.

GPU time: the candidates take turns for several rounds. In a round a candidate is launched many times
between two CUDA events; a kernel that only waits runs first, so that all launches are queued before
the first one starts and host time does not count. The inputs rotate through buffers that together
are at least three times as large as the L2 cache. Reported is the median of the rounds.

Host time: the time from call to return, on tensors so small that the GPU is never behind.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping

import torch

Candidate = Callable[[int], object]  # is called with the number of the launch

_WAIT_CYCLES_PER_S = 2e9  # at least the clock of any GPU


def buffers_for(bytes_per_launch: int) -> int:
    """How many sets of buffers are three times as large as the L2 cache, and at least two."""
    l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return max(2, math.ceil(3 * l2 / max(1, bytes_per_launch)) + 1)


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def gpu_times(
    candidates: Mapping[str, Candidate], launches: int = 20, rounds: int = 7
) -> dict[str, float]:
    """Returns the median GPU time of one launch of each candidate, in us."""
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    waits: dict[str, float] = {}
    for name, launch in candidates.items():
        for i in range(3):  # compiles, allocates
            launch(i)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for i in range(launches):
            launch(i)
        waits[name] = 1.5 * (time.perf_counter() - start) + 1e-4
        torch.cuda.synchronize()
    for _ in range(rounds):
        for name, launch in candidates.items():
            begin, end = _event(), _event()
            torch.cuda._sleep(int(waits[name] * _WAIT_CYCLES_PER_S))  # type: ignore[no-untyped-call]
            begin.record()
            for i in range(launches):
                launch(i)
            end.record()
            torch.cuda.synchronize()
            samples[name].append(begin.elapsed_time(end) * 1e3 / launches)
    return {name: statistics.median(times) for name, times in samples.items()}


def host_times(
    candidates: Mapping[str, Callable[[], object]], calls: int = 2000, rounds: int = 7
) -> dict[str, float]:
    """Returns the median host time of one call of each candidate, in us."""
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            for _ in range(calls // 10):
                call()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            samples[name].append((time.perf_counter() - start) * 1e6 / calls)
            torch.cuda.synchronize()
    return {name: statistics.median(times) for name, times in samples.items()}
