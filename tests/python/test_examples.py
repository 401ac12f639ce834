"""Every PyTorch example runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Beside the tests where run.sh copies both, two folders up in the source tree.
_HERE = Path(__file__).resolve().parent
_FOLDERS = [folder / "examples" for folder in (_HERE.parent, _HERE.parent.parent)]
_EXAMPLES = sorted(path for folder in _FOLDERS for path in folder.glob("pytorch_*.py"))


def test_there_are_examples() -> None:
    assert len(_EXAMPLES) == 4


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", str(path)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    for line in result.stdout.splitlines():
        if "difference" in line:
            assert float(line.rsplit(" ", 1)[1]) < 1e-4
