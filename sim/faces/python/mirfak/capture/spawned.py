"""Ranks that a script starts itself, by torch.multiprocessing.spawn or as processes of its own.

The process of a captured rank is that rank already: its function is called here, and those of other ranks are not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

import torch.multiprocessing as torch_processes

from ..errors import InputError
from .patches import replace


class Ended:
    """Stands for a process, or for torch's context of processes, that has ended well."""

    returncode = 0

    def __init__(self) -> None:
        self.pid = os.getpid()

    def poll(self, *arguments: Any) -> int:
        return 0

    wait = poll

    def join(self, *arguments: Any, **keywords: Any) -> bool:
        return True

    def close(self, *arguments: Any) -> None:
        pass

    terminate = kill = close


def install(rank: int, local_rank: int, world_size: int, per_node: int, has_group: Callable[[], bool]) -> None:
    """Calls what the script starts as `rank`, which is number `local_rank` of the `per_node` ranks of its node.

    has_group: whether the script has made a process group.
    """

    def start_processes(
        fn: Callable[..., Any], args: Any = (), nprocs: int = 1, join: bool = True, *rest: Any, **keywords: Any
    ) -> Ended | None:
        if nprocs not in (per_node, world_size):
            raise InputError(
                f"the script starts {nprocs} ranks, and the job has {world_size}, {per_node} of them on a node",
                hint=f"capture with --world-size {nprocs}",
            )
        fn(rank if nprocs == world_size else local_rank, *args)
        return None if join else Ended()

    for owner in (torch_processes, sys.modules["torch.multiprocessing.spawn"]):
        replace(owner, "start_processes", start_processes)
        replace(owner, "spawn", start_processes)
    _Processes(rank, world_size, has_group).install()


class _Processes:
    """Processes of the script that are ranks: the k-th has k as its first argument, and no group was made before.

    Those before `rank` are held back, and `rank` is called. If it makes a group, all are ranks. Else, and if the script
    waits for one that is held back, they were none, and are started.
    """

    def __init__(self, rank: int, world_size: int, has_group: Callable[[], bool]) -> None:
        self.rank, self.world_size, self.has_group = rank, world_size, has_group
        self.held: list[BaseProcess] = []
        self.count = 0
        self.are_ranks: bool | None = None  # None: it is not known yet

    def install(self) -> None:
        self.start, join = BaseProcess.start, BaseProcess.join

        def started(process: Any) -> None:
            if self.are_ranks is None and self._may_be_rank(process):
                self._take(process)
            elif self.are_ranks and self._may_be_rank(process):
                process._popen = Ended()
            else:
                self.start(process)

        def joined(process: Any, timeout: float | None = None) -> None:
            if process in self.held:
                self._settle(False)
            join(process, timeout)

        replace(BaseProcess, "start", started)
        replace(BaseProcess, "join", joined)

    def _may_be_rank(self, process: Any) -> bool:
        if self.count >= self.world_size or process._target is None or process._target.__module__ != "__main__":
            return False
        found = [value for value in process._args[:1] if isinstance(value, int)] == [self.count]
        self.count += found
        return found and (self.are_ranks is not None or not self.has_group())

    def _take(self, process: Any) -> None:
        if self.count <= self.rank:
            self.held.append(process)
            return
        process.run()
        process._popen = Ended()
        self._settle(self.has_group())

    def _settle(self, are_ranks: bool) -> None:
        self.are_ranks = are_ranks
        for process in self.held:
            if are_ranks:
                process._popen = Ended()  # type: ignore[attr-defined]
            else:
                self.start(process)
        self.held.clear()
