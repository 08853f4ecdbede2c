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

LOOK_S = 5  # between two looks at who waits for whom


class Turns:
    """A pipe with as many tokens as ranks may run at once."""

    def __init__(self, count: int) -> None:
        self._read, self._write = os.pipe()
        os.write(self._write, b"." * count)

    def take(self) -> None:
        os.read(self._read, 1)

    def give(self) -> None:
        os.write(self._write, b".")


class Exchange:
    """Post of `rank`. captured: ranks that run, or could; turns: None where a rank runs alone.

    `folder` also has RANK.awaited, where a rank waits for another, RANK.waits with the object that it waits for, and RANK.ended.
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
        waits = self.folder / f"{self.rank}.waits"
        waits.write_text(path.name)
        (self.folder / f"{source}.awaited").touch()
        look, seen = time.monotonic() + LOOK_S, None
        try:
            while not path.exists():
                if (self.folder / f"{source}.ended").exists() and not path.exists():
                    raise InputError(f"rank {self.rank} waits for an object of rank {source}, which ended without it")
                if time.monotonic() > look:
                    circle = self._circle()
                    if circle and circle == seen:
                        ranks = ", ".join(name.split("-")[0] for name in circle)
                        raise InputError(
                            f"rank {self.rank} waits for an object of rank {source}: ranks {ranks} wait for each other",
                            hint="with GPUs they would wait for ever: mend the program",
                        )
                    look, seen = time.monotonic() + LOOK_S, circle
                time.sleep(0.005)
        finally:
            waits.unlink()
            if self.turns is not None:
                self.turns.take()

    def _circle(self) -> list[str]:
        """The objects that ranks wait for, each of the next one, until a rank appears again; empty where one does not wait."""
        names: list[str] = []
        rank = str(self.rank)
        while True:
            try:
                name = (self.folder / f"{rank}.waits").read_text()
            except FileNotFoundError:
                return []
            if not name or (self.folder / name).exists():
                return []
            if name in names:
                return names[names.index(name) :]
            names.append(name)
            rank = name.split("-")[0]

    def end(self) -> None:
        """Says that this rank sends nothing more."""
        (self.folder / f"{self.rank}.ended").touch()
