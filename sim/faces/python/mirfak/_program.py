"""The command `mirfak`: the program, with the data of the package."""

from __future__ import annotations

import os
import sys

from . import _mirfak
from ._inputs import data_folder


def main() -> int:
    """Runs the command line of this process; the exit status is that of the program."""
    os.environ["MIRFAK_DATA"] = data_folder(None)
    return _mirfak.run_program(["mirfak", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
