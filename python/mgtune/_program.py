"""The command `mgtune`: runs the C++ program that the package holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def program() -> Path:
    """Returns the path of the packaged program. Raises FileNotFoundError if it is missing."""
    path = Path(__file__).parent / "bin" / "mgtune"
    if not path.is_file():
        raise FileNotFoundError(
            f"the program {path} is missing: this installation of mgtune was not built with its "
            "C++ part; run 'pip install .' in the source tree"
        )
    return path


def main() -> None:
    """Replaces this process by the program, with the same arguments."""
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(f"mgtune: {error}")
    os.execv(path, [str(path), *sys.argv[1:]])
