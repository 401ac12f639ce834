"""How long the first call of a process takes that compiles a new shape."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from mgtune.bench.table import OURS, Row, Table

_SCRIPT = """
import sys, time
import torch
start = time.perf_counter()
import mgtune.torch as mt
imported = time.perf_counter()
x = torch.randn({rows}, {hidden}, device="cuda", dtype=torch.bfloat16)
weight = torch.ones({hidden}, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
before = time.perf_counter()
mt.rms_norm(x, weight, 1e-6)
torch.cuda.synchronize()
print(imported - start, time.perf_counter() - before)
"""


def first_call_table() -> Table:
    """In fresh processes with an empty build cache: the import, and the first call."""
    table = Table("The first call of a process, nothing compiled before", "s")
    for rows, hidden in ((1024, 5120), (7, 1000), (333, 12345)):
        with tempfile.TemporaryDirectory() as cache:
            result = subprocess.run(
                [sys.executable, "-c", _SCRIPT.format(rows=rows, hidden=hidden)],
                env={**os.environ, "MGTUNE_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=False,
            )
        if result.returncode != 0:
            raise RuntimeError(f"the first call failed in a new process:\n{result.stderr}")
        imported, called = (float(word) for word in result.stdout.split())
        table.rows.append(Row(f"import, then {rows} x {hidden}", {"import": imported, OURS: called}))
    return table
