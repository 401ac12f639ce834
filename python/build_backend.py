"""Builds the wheel: scikit-build-core, CUDA headers where there is no toolkit, and the platform tag.

Nothing of CUDA is linked, but the headers of NVRTC, the driver and CUPTI are needed to compile. If
neither $CUDA_HOME nor /usr/local/cuda has them, NVIDIA's packages of the Python package index are
installed into the build environment.

A wheel is tagged manylinux_X_Y if glibc X.Y is what its binaries need, and if they need no library that
neither the wheel nor every Linux has. Otherwise it stays linux_ARCHITECTURE: it runs where it was built.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core import build as _backend

# The versions that scripts/packages.sh installs.
_CUDA_PACKAGES = [
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cupti==13.0.85",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-cuda-crt==13.0.88",
]


_DEFAULT_TOOLKIT = "/usr/local/cuda"


def _has_toolkit() -> bool:
    folders = [os.environ.get("CUDA_HOME", ""), _DEFAULT_TOOLKIT]
    return any(folder and Path(folder, "include", "nvrtc.h").is_file() for folder in folders)


def _use_packages() -> None:
    if _has_toolkit():
        return
    # A build environment of pip is a folder of sys.path, not that of sysconfig.
    for folder in sys.path:
        toolkit = Path(folder, "nvidia", "cu13")
        if Path(toolkit, "include", "nvrtc.h").is_file():
            os.environ["CUDA_HOME"] = str(toolkit)
            os.environ["MGTUNE_CUDA_HOME_IS_TEMPORARY"] = "1"  # runtime/CMakeLists.txt
            return


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    requirements = list(_backend.get_requires_for_build_wheel(config_settings))
    return requirements if _has_toolkit() else requirements + _CUDA_PACKAGES


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    requirements = list(_backend.get_requires_for_build_editable(config_settings))
    return requirements if _has_toolkit() else requirements + _CUDA_PACKAGES


# What every Linux of a manylinux tag has, see PEP 600 and auditwheel's policies.
_SYSTEM_LIBRARIES = re.compile(
    r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z)\.so\.\d+|ld-linux-[a-z0-9_-]+\.so\.\d+"
)
# The newest version of libstdc++'s symbols that the systems of each manylinux tag have.
_LIBSTDCXX_OF_GLIBC = {
    (2, 28): (3, 4, 24),
    (2, 31): (3, 4, 28),
    (2, 34): (3, 4, 29),
    (2, 35): (3, 4, 30),
}
_OLDEST_GLIBC = (2, 28)


def _binaries(wheel: zipfile.ZipFile) -> Iterator[ELFFile]:
    for name in wheel.namelist():
        content = wheel.read(name)
        if content.startswith(b"\x7fELF"):
            yield ELFFile(io.BytesIO(content))


def symbol_versions(binary: ELFFile) -> set[str]:
    """The versions of libraries' symbols that a binary needs: GLIBC_2.34, GLIBCXX_3.4.29."""
    return {
        auxiliary.name
        for section in binary.iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, auxiliaries in section.iter_versions()
        for auxiliary in auxiliaries
    }


def needed_glibc(symbol_versions: set[str]) -> tuple[int, int] | None:
    """The glibc for versions such as GLIBC_2.34 and GLIBCXX_3.4.29, or None if no tag stands for it."""
    glibc, libstdcxx = _OLDEST_GLIBC, (0,)
    for version in symbol_versions:
        library, _, words = version.partition("_")
        if library not in ("GLIBC", "GLIBCXX"):
            continue  # those of libgcc and of C++'s ABI come with a libstdc++
        if re.fullmatch(r"\d+(\.\d+)+", words) is None:
            return None  # GLIBC_PRIVATE
        numbers = tuple(int(word) for word in words.split("."))
        if library == "GLIBC":
            glibc = max(glibc, (numbers[0], numbers[1]))
        else:
            libstdcxx = max(libstdcxx, numbers)
    having = [one for one, newest in _LIBSTDCXX_OF_GLIBC.items() if newest >= libstdcxx]
    return max(glibc, min(having)) if having else None


def manylinux_tag(path: Path) -> str | None:
    """The tag that a wheel deserves, "manylinux_2_34_x86_64", or None if it runs only here."""
    versions: set[str] = set()
    with zipfile.ZipFile(path) as wheel:
        own = {Path(name).name for name in wheel.namelist()}
        for binary in _binaries(wheel):
            versions |= symbol_versions(binary)
            for section in binary.iter_sections():
                if isinstance(section, DynamicSection):
                    for tag in section.iter_tags("DT_NEEDED"):
                        if tag.needed not in own and not _SYSTEM_LIBRARIES.fullmatch(tag.needed):
                            return None
    glibc = needed_glibc(versions)
    architecture = re.search(r"-linux_(\w+)\.whl$", path.name)
    if glibc is None or architecture is None:
        return None
    return f"manylinux_{glibc[0]}_{glibc[1]}_{architecture[1]}"


def _tagged(folder: str, name: str) -> str:
    """Renames a wheel to the tag that it deserves. Returns its name."""
    tag = manylinux_tag(Path(folder, name))
    if tag is None:
        return name
    command = [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag]
    output = subprocess.run([*command, name], cwd=folder, check=True, capture_output=True, text=True)
    return output.stdout.split()[-1]


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    _use_packages()
    name = str(_backend.build_wheel(wheel_directory, config_settings, metadata_directory))
    return _tagged(wheel_directory, name)


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    _use_packages()
    return str(_backend.build_editable(wheel_directory, config_settings, metadata_directory))
