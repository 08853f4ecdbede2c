"""Objects that captured ranks send each other, as files of a folder that all of them see.

Ranks run a few at a time. A rank that waits for an object lets another run.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import time
from collections.abc import Container
from typing import Any

from ..errors import InputError

PATIENCE_S = 300


class Turns:
    """As many tokens in a pipe as ranks may run at once."""

    def __init__(self, count: int) -> None:
        self._read, self._write = os.pipe()
        os.write(self._write, b"." * count)

    def take(self) -> None:
        os.read(self._read, 1)

    def give(self) -> None:
        os.write(self._write, b".")


class Exchange:
    """Post of `rank`. captured: ranks that run, or could; turns: None where a rank runs alone.

    `folder` also has RANK.awaited, where a rank waits for another, and RANK.ended.
    """

    def __init__(self, folder: pathlib.Path, rank: int, captured: Container[int], turns: Turns | None = None) -> None:
        self.folder, self.rank, self.captured, self.turns = folder, rank, captured, turns
        self._sent: dict[int, int] = {}
        self._received: dict[int, int] = {}

    def send(self, to: int, value: Any) -> None:
        if to not in self.captured:
            return
        number = self._sent[to] = self._sent.get(to, 0) + 1
        path = self.folder / f"{self.rank}-{to}-{number}"
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(pickle.dumps(value))
        unfinished.rename(path)

    def receive(self, source: int) -> Any:
        """The next object from `source`. Raises InputError if that rank does not run or sends nothing."""
        if source not in self.captured:
            raise InputError(
                f"rank {self.rank} receives an object from rank {source}, which is not captured",
                hint=f"add {source} to --ranks",
            )
        number = self._received[source] = self._received.get(source, 0) + 1
        path = self.folder / f"{source}-{self.rank}-{number}"
        if not path.exists():
            self._await(path, source)
        return pickle.loads(path.read_bytes())

    def _await(self, path: pathlib.Path, source: int) -> None:
        if self.turns is not None:
            self.turns.give()
        (self.folder / f"{source}.awaited").touch()
        give_up = time.monotonic() + PATIENCE_S
        try:
            while not path.exists():
                if (self.folder / f"{source}.ended").exists() and not path.exists():
                    raise InputError(f"rank {self.rank} waits for an object of rank {source}, which ended without it")
                if time.monotonic() > give_up:
                    raise InputError(f"rank {self.rank} waits for an object of rank {source} for {PATIENCE_S} s")
                time.sleep(0.005)
        finally:
            if self.turns is not None:
                self.turns.take()

    def end(self) -> None:
        """Says that this rank sends nothing more."""
        (self.folder / f"{self.rank}.ended").touch()
