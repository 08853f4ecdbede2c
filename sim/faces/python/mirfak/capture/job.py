"""A job captured: one process for each rank that is asked for, as many at once as there are cores."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
import time
from typing import Any

from ..errors import InputError
from .capture_file import Capture
from .devices import Device
from .exchange import Exchange, Turns


def ranks_of(asked: str, world_size: int) -> list[int]:
    """Ranks that `--ranks` asks for: "all", or numbers and ranges, "0,8-11"."""
    if asked == "all":
        return list(range(world_size))
    found: set[int] = set()
    for part in asked.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"--ranks {asked}: expected all, or numbers and ranges such as 0,8-11")
        found.update(range(int(first), int(last or first) + 1))
    outside = [rank for rank in sorted(found) if rank >= world_size]
    if outside or not found:
        raise InputError(f"--ranks {asked}: expected ranks from 0 to {world_size - 1}")
    return sorted(found)


def capture_job(
    command: list[str],
    world_size: int,
    ranks: list[int],
    device: Device,
    step: int,
    gpus_per_node: int,
    expandable: bool = False,
    logs: pathlib.Path | None = None,
) -> Capture:
    """Runs the script as each rank. Raises InputError with the place in the script where that fails."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # on a machine that has GPUs, none is touched
    import torch  # before processes are made: each then has it already

    from .environment import Place
    from .script import run_rank

    started = time.monotonic()
    turns = Turns(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="mirfak-capture-") as name:
        folder = pathlib.Path(name)
        (folder / "post").mkdir()
        children = {}
        for rank in ranks:
            sys.stdout.flush()
            sys.stderr.flush()
            child = os.fork()
            if child == 0:
                _log_to((logs or folder) / f"{rank}.log")
                exchange = Exchange(folder / "post", rank, frozenset(ranks), turns)
                run_rank(command, Place(rank, world_size, gpus_per_node), device, step, exchange, expandable, folder)
            children[child] = rank
        answers = _await(children, folder)
        capture = Capture(
            {
                "program": pathlib.Path(command[-1] if command[0] == "-m" else command[0]).stem,
                "command": command,
                **Place(0, world_size, gpus_per_node).header,
                "device": device.key,
                "step": step,
                "torch": torch.__version__,
            }
        )
        for rank in ranks:
            capture.add(rank, answers[rank]["tables"], answers[rank]["rank"])
    print(f"{len(ranks)} ranks captured in {time.monotonic() - started:.1f} s", file=sys.stderr)
    return capture


def _log_to(path: pathlib.Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _await(children: dict[int, int], folder: pathlib.Path) -> dict[int, Any]:
    """Waits for records of all ranks. The first that fails ends the others."""
    answers: dict[int, Any] = {}
    waiting = dict(children)
    try:
        while waiting:
            child, status = os.wait()
            rank = waiting.pop(child, None)
            if rank is None:
                continue
            answer = folder / f"{rank}.json"
            if not answer.exists():
                raise InputError(f"rank {rank}: its process ended with status {status} before the step was done")
            answers[rank] = json.loads(answer.read_text())
            if "error" in answers[rank]:
                raise _failed(rank, answers[rank])
    finally:
        for child in waiting:
            os.kill(child, 9)
            os.waitpid(child, 0)
    return answers


def _failed(rank: int, answer: dict[str, Any]) -> InputError:
    file, _, line = answer["place"].rpartition(":")
    message = f"rank {rank}: {answer['error']}"
    text = f"{answer['place']}: {message}" if file else message
    return InputError(text, file or None, int(line) if file else None, None, message)
