"""A training script run as one rank: what it finds in its environment, and what it may do to the machine."""

from __future__ import annotations

import builtins
import io
import json
import os
import pathlib
import runpy
import sys
import tempfile
import traceback
from typing import Any, NoReturn

from ..errors import Error, InputError
from .devices import Device
from .environment import Environment, Place, recorded
from .exchange import Exchange

# Libraries that would ask other hosts for files, or tell them of the run.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled",
    "TOKENIZERS_PARALLELISM": "false",
}


def run_rank(
    command: list[str],
    place: Place,
    device: Device,
    step: int,
    exchange: Exchange,
    expandable: bool,
    folder: pathlib.Path,
) -> NoReturn:
    """Runs `command` (a script, or -m and a module, with arguments) in this process until the step is done.

    Writes `folder`/RANK.json, with the key "error" where the script failed, and ends the process.
    """
    answer = folder / f"{place.rank}.json"

    def leave(result: dict[str, Any]) -> NoReturn:
        unfinished = answer.with_suffix(".part")
        unfinished.write_text(json.dumps(result))
        unfinished.rename(answer)
        exchange.end()
        sys.stdout.flush()
        sys.stderr.flush()
        if exchange.turns is not None:
            exchange.turns.give()
        os._exit(0)

    if exchange.turns is not None:
        exchange.turns.take()
    del os.environ["CUDA_VISIBLE_DEVICES"]
    os.environ.update(place.variables | OFFLINE)
    environment = Environment(place, device, step, exchange, expandable, lambda: leave(recorded(environment)))
    confine(folder / "written" / str(place.rank))
    try:
        with environment:
            _run(command)
        said = f"{name_of(command)} ended after {environment.steps.finished} steps of its optimizer"
        raise InputError(f"{said}, before the end of step {step}", hint="--step asks for an earlier one, from 0")
    except SystemExit as error:
        leave(
            {
                "error": f"{name_of(command)} left with status {error.code} before step {step} was done",
                "place": place_of(error),
                "left": True,
            }
        )
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException as error:
        said = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
        traceback.print_exc()
        leave({"error": said, "place": place_of(error)})


def name_of(command: list[str]) -> str:
    """The script or module of a command."""
    return command[1] if command[0] == "-m" else command[0]


def _run(command: list[str]) -> None:
    if command[0] == "-m":
        sys.argv = command[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(command)
        sys.path.insert(0, str(pathlib.Path(command[0]).resolve().parent))
        runpy.run_path(command[0], run_name="__main__")


def place_of(error: BaseException) -> str:
    """FILE:LINE of the innermost frame of the user's own code."""
    package = str(pathlib.Path(__file__).parent)
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name.startswith((package, "<")) or "site-packages" in name or name.startswith(sys.base_prefix):
            continue
        found = f"{name}:{line}"
    return found


def confine(folder: pathlib.Path) -> None:
    """Leads files that Python opens for writing into `folder`, and refuses connections to other hosts."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder.parent.parent / f"t{folder.name}"  # short: sockets lie in it
    scratch.mkdir()
    os.environ["TMPDIR"], tempfile.tempdir = str(scratch), str(scratch)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "inductor")
    home = pathlib.Path(os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface"))
    if not (home / "datasets").is_dir():  # its files are written by C++
        os.environ.setdefault("HF_DATASETS_CACHE", str(scratch / "datasets"))
    original = io.open

    def inside(path: Any) -> pathlib.Path:
        return folder / os.path.abspath(os.fsdecode(path)).lstrip("/")

    def opened(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        if isinstance(file, int) or str(file).startswith(("/dev/", "/proc/", str(folder.parent.parent))):
            return original(file, mode, *arguments, **keywords)
        written = inside(file)
        if set(mode) & set("wax+"):
            written.parent.mkdir(parents=True, exist_ok=True)
            if "w" not in mode and os.path.exists(file) and not written.exists():
                written.write_bytes(original(file, "rb").read())
            return original(written, mode, *arguments, **keywords)
        return original(written if written.exists() else file, mode, *arguments, **keywords)

    builtins.open = io.open = opened
    _confine_folders(inside, str(folder.parent.parent))
    _confine_saving()

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            address = arguments[1]
            if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
                raise ConnectionRefusedError(f"a capture connects to no other host ({address[0]})")
        elif event == "socket.getaddrinfo" and arguments[0] not in (
            None,
            "localhost",
            "127.0.0.1",
            "::1",
            b"localhost",
        ):
            raise ConnectionRefusedError(f"a capture connects to no other host ({arguments[0]})")

    sys.addaudithook(audit)


def _confine_folders(inside: Any, own: str) -> None:
    mkdir = os.mkdir

    def made(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None or os.path.abspath(os.fsdecode(path)).startswith(own) or os.path.isdir(path):
            mkdir(path, mode, dir_fd=dir_fd)
        else:
            inside(path).mkdir(parents=True, exist_ok=True)

    os.mkdir = made


def _confine_saving() -> None:
    """torch.save to a path writes nothing: its values are fakes, and its file is written by C++."""
    import torch

    save = torch.save

    def saved(value: Any, file: Any, *arguments: Any, **keywords: Any) -> None:
        if not isinstance(file, (str, os.PathLike)):
            save(value, file, *arguments, **keywords)

    torch.save = saved
