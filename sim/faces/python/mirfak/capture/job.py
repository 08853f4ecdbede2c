"""A job captured: one process for each rank that is asked for, as many at once as there are cores."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from . import matching
from .capture_file import Capture
from .confinement import missing
from .devices import Device
from .exchange import Exchange, Turns
from .role_search import RoleSearch
from .roles import Groups
from .show import spans

AUTO = "auto"


def ranks_of(asked: str, world_size: int) -> list[int] | None:
    """Ranks that `--ranks` asks for: "all", or numbers and ranges, "0,8-11"; None for "auto"."""
    if asked == AUTO:
        return None
    if asked == "all":
        return list(range(world_size))
    found: set[int] = set()
    for part in asked.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"--ranks {asked}: expected auto, all, or numbers and ranges such as 0,8-11")
        found.update(range(int(first), int(last or first) + 1))
    outside = [rank for rank in sorted(found) if rank >= world_size]
    if outside or not found:
        raise InputError(f"--ranks {asked}: expected ranks from 0 to {world_size - 1}")
    return sorted(found)


@dataclass(frozen=True)
class Job:
    """command: a script, or -m and a module, with arguments. step: the optimizer step that is captured, from 0."""

    command: list[str]
    world_size: int
    device: Device
    step: int
    gpus_per_node: int
    expandable: bool = False

    def header(self, torch_version: str) -> dict[str, Any]:
        """Fields of the capture."""
        from .environment import Place

        return {
            "program": self.command[1] if self.command[0] == "-m" else pathlib.Path(self.command[0]).stem,
            "command": self.command,
            **Place(0, self.world_size, self.gpus_per_node).header,
            "device": self.device.key,
            "step": self.step,
            "torch": torch_version,
        }


def capture_job(job: Job, ranks: list[int] | None, logs: pathlib.Path | None = None) -> Capture:
    """Runs the script as each of `ranks`, or as ranks of all roles (None).

    Raises InputError with the place in the script where that fails, and where ranks would wait for each other forever.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # on a machine that has GPUs, none is touched
    import torch  # before processes are made: each then has it already

    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mirfak-capture-") as name:
        processes = Processes(job, pathlib.Path(name), range(job.world_size) if ranks is None else ranks, logs)
        search = None if ranks is not None else RoleSearch(job.world_size, processes.run)
        answers = processes.run(ranks) if ranks is not None else search.answers
    groups = Groups(job.world_size, [group for rank in sorted(answers) for group in answers[rank]["groups"]])
    lines = {path: line for rank in sorted(answers, reverse=True) for path, line in answers[rank]["lines"].items()}
    capture = Capture(job.header(torch.__version__) | {"groups": groups.families[1:], "lines": dict(sorted(lines.items()))})
    if search is not None:
        capture.header["proved_on"] = search.proved_on
    alike = search.alike if search is not None else {}
    for rank in sorted(answers.keys() - alike.keys()):
        capture.add(rank, answers[rank]["tables"], answers[rank]["rank"])
    capture.ranks.update({rank: {"like": other} for rank, other in alike.items()})
    matching.check(capture)
    print(_summary(capture, sorted(answers), search, time.monotonic() - started), file=sys.stderr)
    if note := missing():
        print(f"note: {note}", file=sys.stderr)
    return capture


def _summary(capture: Capture, ran: list[int], search: RoleSearch | None, seconds: float) -> str:
    said = f"{len(ran)} of {capture.header['world_size']} ranks captured in {seconds:.1f} s"
    if search is None:
        return said
    said += f": {len(search.representatives)} roles, of ranks {spans(search.representatives)}"
    return said + (f"; {spans(search.proved_on)} did as their roles do" if search.proved_on else "")


class Processes:
    """Processes of ranks. reachable: ranks that others may wait for; those that run not yet are started then."""

    def __init__(self, job: Job, folder: pathlib.Path, reachable: Container[int], logs: pathlib.Path | None) -> None:
        self.job, self.folder, self.reachable, self.logs = job, folder, reachable, logs or folder
        self.post = folder / "post"
        self.post.mkdir()
        self.turns = Turns(os.cpu_count() or 1)
        self.started: set[int] = set()

    def run(self, ranks: list[int]) -> dict[int, Any]:
        """Runs ranks, and those that they wait for. Returns their records. The first that fails ends the others."""
        children = {self._start(rank): rank for rank in ranks}
        answers: dict[int, Any] = {}
        try:
            while children:
                for rank in self._awaited():
                    children[self._start(rank)] = rank
                child, _ = ended = os.waitpid(-1, os.WNOHANG)
                if not child:
                    time.sleep(0.01)
                elif child in children:
                    rank = children.pop(child)
                    answers[rank] = self._answer(rank, ended[1])
        finally:
            for child in children:
                os.kill(child, 9)
                os.waitpid(child, 0)
        return answers

    def _awaited(self) -> list[int]:
        awaited = [int(path.stem) for path in self.post.glob("*.awaited")]
        return [rank for rank in awaited if rank not in self.started]

    def _start(self, rank: int) -> int:
        from .environment import Place
        from .script import run_rank

        self.started.add(rank)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _log_to(self.logs / f"{rank}.log")
            job, exchange = self.job, Exchange(self.post, rank, self.reachable, self.turns)
            place = Place(rank, job.world_size, job.gpus_per_node)
            run_rank(job.command, place, job.device, job.step, exchange, job.expandable, self.folder)
        return child

    def _answer(self, rank: int, status: int) -> dict[str, Any]:
        answer = self.folder / f"{rank}.json"
        if not answer.exists():
            raise InputError(f"rank {rank}: its process ended with status {status} before the step was done")
        found: dict[str, Any] = json.loads(answer.read_text())
        answer.unlink()
        if "error" in found:
            raise _failed(rank, found, _last_lines(self.logs / f"{rank}.log"))
        return found


def _log_to(path: pathlib.Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)


def _last_lines(log: pathlib.Path) -> str:
    """The end of what a rank printed."""
    lines = [line.rstrip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return "\n  ".join(["it printed at last:", *lines[-6:]]) if lines else "it printed nothing"


def _failed(rank: int, answer: dict[str, Any], printed: str) -> InputError:
    file, _, line = answer["place"].rpartition(":")
    message = f"rank {rank}: {answer['error']}"
    text = f"{answer['place']}: {message}" if file else message
    hint = printed if answer.get("left") else ""
    return InputError(f"{text}\n  {hint}" if hint else text, file or None, int(line) if file else None, None, message, hint)
