#!/usr/bin/env python3
"""Runs a notebook without a browser; fails where one of its cells does, where its stored outputs are of other kinds than those
that it makes, or name a folder of the machine that made them. --write stores the outputs.

usage: notebook_test.py NOTEBOOK MIRFAK [--measure MIRFAK_MEASURE] [--package ENVIRONMENT] [--plots FOLDER] [--write]     (plots as PNG)
ENVIRONMENT is the virtual environment in which mirfak is installed for the notebook's Python.
Exit status 77: something that the notebook or its execution needs is not installed.
"""

import argparse
import base64
import copy
import os
import pathlib
import re
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


FOLDERS = re.compile(r"(?<![\w.])/(tmp|home|root|work|var|usr|opt|mnt|Users)/[\w.-]+")


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


def kinds(notebook):
    """Returns the kinds of each cell's outputs: "stream" for texts, the forms of values. Bars of progress and warnings do not count."""
    return [sorted({form for output in cell.get("outputs", []) for form in output.get("data", {output.output_type: None})
                    if output.get("name") != "stderr"}) for cell in notebook.cells if cell.cell_type == "code"]


def texts(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield output.get("text", "")
            for form, value in output.get("data", {}).items():
                if form.startswith("text/"):
                    yield value


def without_machine(notebook):
    """The notebook without what is of this run and machine alone: times of cells, warnings, addresses of objects."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def check_stored(path, stored, made):
    if kinds(stored) != kinds(made):
        cells = [f"cell {at}: stored {a}, made {b}" for at, (a, b) in enumerate(zip(kinds(stored), kinds(made))) if a != b]
        sys.exit(f"{path}: its outputs are not those that it makes: {'; '.join(cells)}: store them with --write")
    for text in texts(stored):
        found = FOLDERS.search(text)
        if found:
            sys.exit(f"{path}: an output names a folder of a machine: {found[0]}")


def main(path, mirfak, measure, package, folder, write):
    path = pathlib.Path(path)
    notebook = nbformat.read(path, as_version=4)
    stored = copy.deepcopy(notebook)
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
    if write:
        nbformat.write(without_machine(notebook), path)
        stored = notebook
    check_stored(path, stored, notebook)
    images = list(plots(notebook))
    if folder:
        for number, image in enumerate(images):
            pathlib.Path(folder, f"{path.stem}-{number}.png").write_bytes(image)
    if len(images) < 4:
        sys.exit(f"{len(images)} plots, expected 4 at least")
    print(f"{path.name}: {len(notebook.cells)} cells, {len(images)} plots")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(
        usage="%(prog)s NOTEBOOK MIRFAK [--measure MIRFAK_MEASURE] [--package ENVIRONMENT] [--plots FOLDER] [--write]")
    arguments.add_argument("notebook")
    arguments.add_argument("mirfak")
    arguments.add_argument("--measure", default="/nonexistent/mirfak-measure", help="absent: it was not built")
    arguments.add_argument("--package", default="/nonexistent", help="absent: it was not built")
    arguments.add_argument("--plots", help="put the plots here")
    arguments.add_argument("--write", action="store_true", help="store the outputs in the notebook")
    given = arguments.parse_args()
    main(given.notebook, given.mirfak, given.measure, given.package, given.plots, given.write)
