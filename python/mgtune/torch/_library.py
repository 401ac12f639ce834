"""Loads the library of operators, and says on which devices its kernels run."""

from __future__ import annotations

import ctypes
import os
import re
import warnings
from pathlib import Path

import torch

_OLDEST_TORCH = (2, 10)
_MESSAGE_BYTES = 8192


def check_torch_version(version: str) -> None:
    """Raises ImportError if this PyTorch is older than 2.10."""
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < _OLDEST_TORCH:
        raise ImportError(
            f"mgtune.torch needs PyTorch 2.10 or newer, and this is {version}; "
            "run 'pip install --upgrade torch'"
        )


def is_strict() -> bool:
    """Returns whether MGTUNE_STRICT=1 forbids PyTorch's own operators in the place of kernels."""
    return os.environ.get("MGTUNE_STRICT", "0") not in ("", "0")


class _Library:
    """The library, if it was built and fits this PyTorch. `problem` is "" or why it is not used."""

    def __init__(self, path: Path) -> None:
        self.problem = ""
        self._library: ctypes.CDLL | None = None
        self._why: dict[tuple[str, int], str] = {}
        if not path.is_file():
            self.problem = f"the library of operators is missing ({path})"
            return
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            self.problem = f"the library of operators does not load: {error}"
            return
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        self._library.mgtune_torch_register(message, ctypes.c_size_t(_MESSAGE_BYTES))
        self.problem = message.value.decode()

    def why_unavailable(self, device_type: str, index: int) -> str:
        if self.problem or self._library is None:
            return self.problem
        key = (device_type, index)
        if key not in self._why:
            message = ctypes.create_string_buffer(_MESSAGE_BYTES)
            self._library.mgtune_torch_why_unavailable(
                device_type.encode(),
                ctypes.c_int32(index),
                message,
                ctypes.c_size_t(_MESSAGE_BYTES),
            )
            self._why[key] = message.value.decode()
        return self._why[key]

    def reload_tables(self) -> None:
        self._why.clear()
        if self._library is not None and not self.problem:
            self._library.mgtune_torch_reload_tables()


check_torch_version(torch.__version__)
_library = _Library(Path(__file__).parent / "libmgtune_torch.so")
_warned: set[str] = set()


def has_operators() -> bool:
    """Returns whether torch.ops.mgtune has the operators, on whatever device they run."""
    return _library.problem == ""


def why_unavailable(device: torch.device | str = "cuda") -> str:
    """Returns "" if mgtune's kernels run on the device, otherwise a sentence that says why not.

    The first call for a device compiles a small kernel, which takes about a tenth of a second.
    """
    device = torch.device(device)
    index = device.index
    if index is None:
        index = torch.cuda.current_device() if device.type == "cuda" and torch.cuda.is_available() else 0
    return _library.why_unavailable(device.type, index)


def reload_tables() -> None:
    """Makes the next call of every operator read the tuned tables again, for example after a sweep.

    Plans that captured CUDA graphs use stay valid.
    """
    _library.reload_tables()


def warn_once(message: str) -> None:
    """Warns with a message that this process has not given yet."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=6)


def refuse_or_warn(device: torch.device, reason: str) -> None:
    """Tells once why PyTorch's own operators run instead. With MGTUNE_STRICT=1 it raises RuntimeError."""
    if is_strict():
        raise RuntimeError(f"mgtune's kernels do not run on {device}: {reason} (MGTUNE_STRICT=1)")
    warn_once(f"mgtune's kernels do not run on {device}, so PyTorch's own operators do: {reason}")
