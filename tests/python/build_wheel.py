#!/usr/bin/env python3
"""Builds the wheel and installs it in a virtual environment, for the tests of the package and the notebooks.

usage: build_wheel.py SOURCE FOLDER [--cxx COMPILER] [--flags FLAGS]
FOLDER/environment is the environment. Exit status 77: what building needs cannot be had (no Python headers, no network
to where pip finds scikit-build-core and nanobind).
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

TOOLS = ["scikit-build-core", "nanobind"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def make_environment(folder, *options):
    """A virtual environment; an earlier one is used again."""
    python = folder / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", *options, folder], capture_output=True, text=True)
        if made.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            skip(f"no virtual environment can be made (Debian: python3-venv)\n{made.stdout}{made.stderr}")
    return python


def get_tools(python):
    known = subprocess.run([python, "-c", "import nanobind, scikit_build_core"], capture_output=True)
    if known.returncode == 0:
        return
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--retries", "1", *TOOLS]
    got = subprocess.run(pip, capture_output=True, text=True)
    if got.returncode:
        skip(f"pip cannot get {' and '.join(TOOLS)}:\n{got.stderr}")


def build(python, source, folder, cxx, flags):
    """The wheel. A failure from here on is one of ours."""
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    environment = dict(os.environ, CCACHE_BASEDIR=str(source), CCACHE_NOHASHDIR="1")
    if cxx:
        environment["CXX"] = cxx
    environment["CXXFLAGS"] = flags
    subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir",
         wheels, "--config-settings", f"build-dir={folder}", source],
        check=True, env=environment, stdout=subprocess.DEVNULL,
    )
    (wheel,) = wheels.glob("mirfak-*.whl")
    return wheel


def install(python, wheel):
    subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index",
         "--force-reinstall", wheel],
        check=True,
    )


def main():
    options = argparse.ArgumentParser(usage="%(prog)s SOURCE FOLDER [--cxx COMPILER] [--flags FLAGS]")
    options.add_argument("source", type=pathlib.Path)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--cxx")
    options.add_argument("--flags", default="")
    given = options.parse_args()
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        skip("Python's headers are not installed (Debian: python3-dev)")
    given.folder.mkdir(parents=True, exist_ok=True)
    tools = make_environment(given.folder / "tools")
    get_tools(tools)
    wheel = build(tools, given.source, given.folder, given.cxx, given.flags)
    environment = make_environment(given.folder / "environment", "--system-site-packages")
    install(environment, wheel)
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
