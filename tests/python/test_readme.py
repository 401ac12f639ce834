"""The Python in README.md and python/README.md runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import mgtune.torch as mt
from mgtune.torch import _tune

# Two folders up in the source tree, and beside the tests where run.sh copies both files.
_HERE = Path(__file__).resolve().parent
_ROOT = next(folder for folder in (_HERE.parent, _HERE.parent.parent) if (folder / "README.md").is_file())


def blocks(name: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (_ROOT / name).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["README.md", "python/README.md"])
def test_python_of_a_readme(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2
    )
    names = {
        "model": transformers.LlamaForCausalLM(config).eval(),
        "inputs": (torch.randint(0, 64, (1, 5)),),
        "x": torch.randn(3, 64),
        "weight": torch.ones(64),
    }

    def sweep(shapes: Path, device: str, seconds: float) -> dict[str, Any]:
        """In the place of a minute of measuring, which test_process.py and a guide do."""
        assert device == "cpu" and seconds == 60
        assert "rmsnorm.add_forward" in shapes.read_text()
        return {"sweeps": []}

    monkeypatch.setattr(_tune, "_sweep", sweep)
    code = blocks(name)
    assert code and code[0].startswith("import mgtune.torch as mt\n")
    for block in code:
        exec(block, names)
    assert mt.unpatch(names["model"]) > 0  # type: ignore[arg-type]
