"""python/build_backend.py: where the CUDA headers come from, and the tag of the wheel."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import mgtune

pytest.importorskip("scikit_build_core")
pytest.importorskip("elftools")
pytest.importorskip("wheel")


@pytest.fixture(name="backend")
def _backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("CUDA_HOME", "/no/such/toolkit")
    monkeypatch.setenv("MGTUNE_CUDA_HOME_IS_TEMPORARY", "")
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
    assert os.environ["MGTUNE_CUDA_HOME_IS_TEMPORARY"] == ""


def test_the_packages_are_found_on_the_path(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit = _make_toolkit(tmp_path / "nvidia" / "cu13")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    backend._use_packages()
    assert os.environ["CUDA_HOME"] == str(toolkit)
    assert os.environ["MGTUNE_CUDA_HOME_IS_TEMPORARY"] == "1"


@pytest.mark.parametrize(
    ("versions", "glibc"),
    [
        (set(), (2, 28)),
        ({"GLIBC_2.2.5", "GLIBC_2.14", "GCC_3.0"}, (2, 28)),
        ({"GLIBC_2.34", "GLIBC_2.4"}, (2, 34)),
        ({"GLIBC_2.17", "GLIBCXX_3.4.24"}, (2, 28)),
        ({"GLIBC_2.17", "GLIBCXX_3.4.29", "CXXABI_1.3.9"}, (2, 34)),
        ({"GLIBC_2.36", "GLIBCXX_3.4.30"}, (2, 36)),
        ({"GLIBCXX_3.4.99"}, None),
        ({"GLIBC_PRIVATE"}, None),
    ],
)
def test_symbol_versions_say_which_glibc(
    backend: ModuleType, versions: set[str], glibc: tuple[int, int] | None
) -> None:
    assert backend.needed_glibc(versions) == glibc


def test_the_package_needs_the_glibc_that_its_guide_names(backend: ModuleType) -> None:
    if tuple(map(int, platform.libc_ver()[1].split("."))) > (2, 36):
        pytest.skip("built on Debian 12 it needs 2.34; newer systems give their own versions")
    elffile = importlib.import_module("elftools.elf.elffile")
    package = Path(mgtune.__file__).parent
    binaries = [package / "bin" / "mgtune", *package.glob("**/*.so*")]
    assert len(binaries) == 4
    for binary in binaries:
        with binary.open("rb") as file:
            versions = backend.symbol_versions(elffile.ELFFile(file))
        newer = {one for one in versions if one.startswith("GLIBC_") and backend.needed_glibc({one}) > (2, 34)}
        assert not newer, f"{binary} needs {newer}"
        assert b"pip-build-env" not in binary.read_bytes()  # where the build found the headers


def _library(folder: Path, name: str, code: str, *options: str) -> Path:
    path = folder / name
    command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path), f"-Wl,-soname,{name}"]
    subprocess.run([*command, f"-L{folder}", *options], input=code, text=True, check=True)
    return path


def _wheel(folder: Path, *files: Path) -> Path:
    path = folder / "one-1.0-py3-none-linux_x86_64.whl"
    wheelfile = importlib.import_module("wheel.wheelfile")
    with wheelfile.WheelFile(path, "w") as wheel:  # writes RECORD too
        wheel.writestr("one-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-linux_x86_64\n")
        wheel.writestr("one-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: one\nVersion: 1.0\n")
        for file in files:
            wheel.write(file, f"one/{file.name}")
    return path


def test_the_tag_follows_the_binaries(backend: ModuleType, tmp_path: Path) -> None:
    inner = _library(tmp_path, "libinner.so", "#include <cstdio>\nvoid inner() { std::puts(\"\"); }")
    outer = _library(
        tmp_path, "libouter.so", "void inner(); void outer() { inner(); }", "-Wl,--no-as-needed", "-linner"
    )
    assert backend.manylinux_tag(_wheel(tmp_path, inner, outer)) == "manylinux_2_28_x86_64"
    # A library that is neither in the wheel nor part of the system.
    assert backend.manylinux_tag(_wheel(tmp_path, outer)) is None
    # dlopen is in libc since 2.34.
    newer = _library(tmp_path, "libnewer.so", "#include <dlfcn.h>\nvoid* newer() { return dlopen(nullptr, 1); }")
    tag = backend.manylinux_tag(_wheel(tmp_path, newer))
    if tag != "manylinux_2_28_x86_64":  # on systems before 2.34
        assert tag == "manylinux_2_34_x86_64"


def test_a_wheel_gets_its_tag(backend: ModuleType, tmp_path: Path) -> None:
    inner = _library(tmp_path, "libinner.so", "int inner() { return 1; }")
    (tmp_path / "dist").mkdir()
    old = _wheel(tmp_path / "dist", inner)
    name = backend._tagged(str(old.parent), old.name)
    assert name == "one-1.0-py3-none-manylinux_2_28_x86_64.whl"
    assert [one.name for one in old.parent.iterdir()] == [name]
    with zipfile.ZipFile(old.parent / name) as wheel:
        assert "manylinux_2_28_x86_64" in wheel.read("one-1.0.dist-info/WHEEL").decode()
    lone = _library(tmp_path, "liblone.so", "void inner(); void lone() { inner(); }", "-Wl,--no-as-needed", "-linner")
    old = _wheel(tmp_path, lone)
    assert backend._tagged(str(tmp_path), old.name) == old.name and old.is_file()
