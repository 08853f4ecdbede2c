"""The command line: python -m mirfak.capture."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
from importlib.util import find_spec

from ..errors import Error, InputError
from .capture_file import read_capture, write_capture
from .comparison import compare, read_object
from .comparison import text as comparison_text
from .devices import device_of
from .job import Job, capture_job, ranks_of
from .launchers import started_by
from .real_step import run_real
from .recording import read_recording
from .show import document, text

USAGE = """\
  python -m mirfak.capture --world-size N --out FILE [options] -- SCRIPT [ARGUMENT]...
  python -m mirfak.capture show FILE [--format text|json]
  python -m mirfak.capture record --out FOLDER [options] -- SCRIPT [ARGUMENT]...
  python -m mirfak.capture compare FILE RECORDING [options]"""


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


def _record_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mirfak.capture record",
        description="Runs a script on this machine's GPU, times its steps and records one, to be compared with a capture.",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="RANK.trace.json.gz and RANK.json")
    parser.add_argument("--step", type=int, default=2, help="optimizer step that the capture is of (default: 2)")
    parser.add_argument("--timed", type=int, default=10, help="steps that are timed before one is recorded (default: 10)")
    parser.add_argument("command", nargs="+", metavar="SCRIPT [ARGUMENT]", help="what torchrun would start; -m MODULE")
    return parser


def _compare_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mirfak.capture compare",
        description="Compares a capture with what a GPU recorded of the same step, operator by operator.",
    )
    parser.add_argument("file", metavar="FILE", help="the capture")
    parser.add_argument("recording", metavar="RECORDING", help="of torch.profiler: .json or .json.gz")
    parser.add_argument("--rank", type=int, default=0, help="of the capture (default: 0)")
    parser.add_argument("--predicted", metavar="FILE", help="what mirfak simulate --format json says of the capture")
    parser.add_argument("--measured", metavar="FILE", help="RANK.json of record: time of a step, memory")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser


def main(arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["show"]:
            return _show(arguments[1:])
        if arguments[:1] == ["record"]:
            return _record(arguments[1:])
        if arguments[:1] == ["compare"]:
            return _compare(arguments[1:])
        return _capture(arguments)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _show(arguments: list[str]) -> int:
    options = _show_parser().parse_args(arguments)
    capture = read_capture(options.file)
    print(json.dumps(document(capture), indent=1) if options.format == "json" else text(capture))
    return 0


def _record(arguments: list[str]) -> int:
    options, command = _split(_record_parser(), arguments)
    if options.step < 0 or options.timed < 1:
        raise InputError(f"--step {options.step} --timed {options.timed}: expected a step from 0, and at least one to time")
    _check_torch()
    run_real(command, pathlib.Path(options.out), options.step, options.timed)
    return 0


def _compare(arguments: list[str]) -> int:
    options = _compare_parser().parse_args(arguments)
    capture = read_capture(options.file)
    if options.rank not in capture.ranks:
        raise InputError(f"--rank {options.rank}: expected a rank of the capture, such as {min(capture.ranks)}")
    predicted = read_object(options.predicted, ("operators", "iteration_time_s")) if options.predicted else None
    measured = read_object(options.measured, ("step_s",)) if options.measured else None
    found = compare(capture, options.rank, read_recording(options.recording), predicted, measured)
    print(json.dumps(found.document(), indent=1) if options.format == "json" else comparison_text(found))
    return 0


def _split(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Options before "--", and the command after it, whose options are its own."""
    if "--" not in arguments:
        options = parser.parse_args(arguments)
        return options, options.command
    place = arguments.index("--")
    return parser.parse_args(arguments), arguments[place + 1 :]


def _capture(arguments: list[str]) -> int:
    options, command = _split(_parser(), arguments)
    command = started_by(command, options.world_size)
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
    _check_torch()


def _check_torch() -> None:
    if find_spec("torch") is None:
        raise InputError("a capture needs PyTorch, which is not installed", hint="pip install mirfak[capture]")
