"""The command line: python -m mirfak.capture."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

from ..errors import Error, InputError
from .capture_file import read_capture, write_capture
from .devices import device_of
from .job import Job, capture_job, ranks_of
from .launchers import started_by
from .show import document, text

USAGE = """\
  python -m mirfak.capture --world-size N --out FILE [options] -- SCRIPT [ARGUMENT]...
  python -m mirfak.capture show FILE [--format text|json]"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mirfak.capture",
        usage="\n" + USAGE,
        description="Records what a PyTorch training script would launch on GPUs, on a machine without any.",
    )
    parser.add_argument("--world-size", type=int, required=True, metavar="N", help="ranks of the job")
    parser.add_argument("--ranks", default="auto", help="auto (default): one rank of each role; all; or such as 0,8-11")
    parser.add_argument("--out", required=True, metavar="FILE", help="the capture that is written")
    parser.add_argument("--step", type=int, default=2, help="optimizer step to capture, from 0 (default: 2)")
    parser.add_argument("--device", default="h100", metavar="GPU", help="GPU of hw_profiles/gpus (default: h100)")
    parser.add_argument("--gpus-per-node", type=int, default=8, metavar="N", help="at most 8 (default: 8)")
    parser.add_argument("--expandable-segments", action="store_true", help="of PyTorch's allocator")
    parser.add_argument("--logs", metavar="FOLDER", help="keeps what each rank prints, RANK.log")
    parser.add_argument("command", nargs="+", metavar="SCRIPT [ARGUMENT]", help="what torchrun would start, or with torchrun; -m MODULE")
    return parser


def _show_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mirfak.capture show", description="Prints what a capture holds.")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser


def main(arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["show"]:
            return _show(arguments[1:])
        return _capture(arguments)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _show(arguments: list[str]) -> int:
    options = _show_parser().parse_args(arguments)
    capture = read_capture(options.file)
    print(json.dumps(document(capture), indent=1) if options.format == "json" else text(capture))
    return 0


def _capture(arguments: list[str]) -> int:
    before, separator, command = arguments, "", []
    if "--" in arguments:
        place = arguments.index("--")
        before, separator, command = arguments[:place], "--", arguments[place + 1 :]
    options = _parser().parse_args([*before, *(["--", *command] if separator else [])])
    command = started_by(command or options.command, options.world_size)
    _check(options, command)
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of texts have an order that a seed decides: the same capture has the same bytes.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "mirfak.capture", *arguments])
    logs = pathlib.Path(options.logs) if options.logs else None
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
    job = Job(
        command,
        options.world_size,
        device_of(options.device),
        options.step,
        options.gpus_per_node,
        options.expandable_segments,
    )
    capture = capture_job(job, ranks_of(options.ranks, options.world_size), logs)
    write_capture(capture, options.out)
    return 0


def _check(options: argparse.Namespace, command: list[str]) -> None:
    if options.world_size < 1:
        raise InputError(f"--world-size {options.world_size}: expected at least 1")
    if options.step < 0:
        raise InputError(f"--step {options.step}: expected at least 0, the first step")
    if not 1 <= options.gpus_per_node <= 8:
        raise InputError(f"--gpus-per-node {options.gpus_per_node}: expected 1 to 8")
    ranks_of(options.ranks, options.world_size)
    device_of(options.device)
    if command[0] != "-m" and not pathlib.Path(command[0]).is_file():
        raise InputError(f"{command[0]}: there is no such script")
    if command[0] == "-m" and len(command) < 2:
        raise InputError("-m: expected the name of a module")
    folder = pathlib.Path(options.out).absolute().parent
    if not folder.is_dir():
        raise InputError(f"--out {options.out}: there is no folder {folder}")
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise InputError("a capture needs PyTorch, which is not installed", hint="pip install mirfak[capture]")
