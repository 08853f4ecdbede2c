#!/usr/bin/env python3
"""Runs a script in the environment that build_wheel.py made, from a folder that has nothing to do with the sources.

usage: run_installed.py FOLDER SCRIPT [ARGUMENT]...
Exit status 77: there is no such environment, because the wheel could not be built here.
"""

import os
import pathlib
import subprocess
import sys
import tempfile


def main(folder, script, *arguments):
    python = pathlib.Path(folder, "environment", "bin", "python").absolute()
    known = [python, "-I", "-c", "import mirfak, numpy, pandas"]
    if not python.exists():
        print("skipped: the wheel was not built (see the test cli.python_wheel)")
        return 77
    if subprocess.run([python, "-c", "import numpy, pandas"], capture_output=True).returncode:
        print("skipped: numpy or pandas is not installed (Debian: python3-pandas)")
        return 77
    subprocess.run(known, check=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MIRFAK_DATA")}
    with tempfile.TemporaryDirectory() as elsewhere:
        return subprocess.run([python, script, *arguments], cwd=elsewhere, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
