#!/usr/bin/env python3
"""Runs a notebook without a browser; fails where one of its cells does, or where the notebook is stored with outputs.

usage: notebook_test.py NOTEBOOK MIRFAK [--measure MIRFAK_MEASURE] [--package ENVIRONMENT] [--plots FOLDER]     (as PNG)
ENVIRONMENT is the virtual environment in which mirfak is installed for the notebook's Python.
Exit status 77: something that the notebook or its execution needs is not installed.
"""

import argparse
import base64
import os
import pathlib
import sys

try:
    import h5py  # noqa: F401
    import ipykernel  # noqa: F401
    import matplotlib  # noqa: F401
    import nbformat
    import pandas  # noqa: F401
    from nbconvert.preprocessors import CellExecutionError, ExecutePreprocessor
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def plots(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            image = output.get("data", {}).get("image/png")
            if image:
                yield base64.b64decode(image)


def add_package(environment, notebook):
    """Has the notebook's Python find the package, if it imports it."""
    if not any("import mirfak" in cell["source"] for cell in notebook.cells):
        return
    folders = list(pathlib.Path(environment).glob("lib/python*/site-packages"))
    if not any(folder.joinpath("mirfak").is_dir() for folder in folders):
        print("skipped: the package mirfak is not installed (see the test cli.python_wheel)")
        sys.exit(77)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, folders))


def main(path, mirfak, measure, package, folder):
    path = pathlib.Path(path)
    notebook = nbformat.read(path, as_version=4)
    stored = [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]
    if stored:
        sys.exit(f"{path} is stored with outputs: clear them before committing")
    add_package(package, notebook)
    os.environ["MIRFAK"] = mirfak
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # the kernel's debugger has nothing to say here
    os.environ["MIRFAK_MEASURE"] = measure
    for table in ("MIRFAK_TRACE", "MIRFAK_SWEEP", "MIRFAK_PREDICTED", "MIRFAK_MEASURED", "MIRFAK_CONFIG", "MIRFAK_DATA"):
        os.environ.pop(table, None)
    try:
        ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(
            notebook, {"metadata": {"path": str(path.parent)}})
    except CellExecutionError as failure:
        sys.exit(str(failure))
    images = list(plots(notebook))
    if folder:
        for number, image in enumerate(images):
            pathlib.Path(folder, f"{path.stem}-{number}.png").write_bytes(image)
    if len(images) < 4:
        sys.exit(f"{len(images)} plots, expected 4 at least")
    print(f"{path.name}: {len(notebook.cells)} cells, {len(images)} plots")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(
        usage="%(prog)s NOTEBOOK MIRFAK [--measure MIRFAK_MEASURE] [--package ENVIRONMENT] [--plots FOLDER]")
    arguments.add_argument("notebook")
    arguments.add_argument("mirfak")
    arguments.add_argument("--measure", default="/nonexistent/mirfak-measure", help="absent: it was not built")
    arguments.add_argument("--package", default="/nonexistent", help="absent: it was not built")
    arguments.add_argument("--plots", help="put the plots here")
    given = arguments.parse_args()
    main(given.notebook, given.mirfak, given.measure, given.package, given.plots)
