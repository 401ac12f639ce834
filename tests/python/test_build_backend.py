"""python/build_backend.py: where the CUDA headers come from."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("scikit_build_core")


@pytest.fixture(name="backend")
def _backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("CUDA_HOME", "/no/such/toolkit")
    # Beside the tests where run.sh copies both, two folders up in the source tree.
    roots = Path(__file__).resolve().parents[1:3]
    root = next(one for one in roots if (one / "pyproject.toml").is_file())
    path = root / "python" / "build_backend.py"
    monkeypatch.chdir(root)
    spec = importlib.util.spec_from_file_location("build_backend", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_DEFAULT_TOOLKIT", "/no/such/toolkit")
    return module


def _make_toolkit(folder: Path) -> Path:
    (folder / "include").mkdir(parents=True)
    (folder / "include" / "nvrtc.h").touch()
    return folder


def test_nvidias_packages_are_asked_for(backend: ModuleType) -> None:
    assert "nvidia-cuda-nvrtc" in " ".join(backend.get_requires_for_build_wheel())


def test_a_toolkit_is_used(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(_make_toolkit(tmp_path / "cuda")))
    assert "nvidia" not in " ".join(backend.get_requires_for_build_wheel())
    backend._use_packages()
    assert os.environ["CUDA_HOME"] == str(tmp_path / "cuda")


def test_the_packages_are_found_on_the_path(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit = _make_toolkit(tmp_path / "nvidia" / "cu13")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    backend._use_packages()
    assert os.environ["CUDA_HOME"] == str(toolkit)
