"""Builds the wheel: scikit-build-core, with the CUDA headers where the machine has no toolkit.

Nothing of CUDA is linked, but the headers of NVRTC, the driver and CUPTI are needed to compile. If
neither $CUDA_HOME nor /usr/local/cuda has them, NVIDIA's packages of the Python package index are
installed into the build environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

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
            return


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    requirements = list(_backend.get_requires_for_build_wheel(config_settings))
    return requirements if _has_toolkit() else requirements + _CUDA_PACKAGES


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    requirements = list(_backend.get_requires_for_build_editable(config_settings))
    return requirements if _has_toolkit() else requirements + _CUDA_PACKAGES


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    _use_packages()
    return str(_backend.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    _use_packages()
    return str(_backend.build_editable(wheel_directory, config_settings, metadata_directory))
