"""mgtune: tuned CUDA kernels, and the autotuner that picks them for your GPU and your shapes.

`mgtune.torch` has the kernels for PyTorch. The program `mgtune` tunes them; it is the same program
as in the C++ distribution.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mgtune")
except PackageNotFoundError:  # the source tree is on the path, nothing is installed
    __version__ = "0+unknown"
