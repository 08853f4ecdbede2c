"""A block of a program captured in its own process, as one rank."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ..errors import InputError
from .capture_file import Capture
from .devices import device_of
from .environment import Environment, Place, recorded
from .exchange import Exchange


@dataclass
class Block:
    """capture: what the block did; None until it has ended."""

    capture: Capture | None = None


@contextmanager
def capture_block(
    world_size: int, rank: int, step: int | None, device: str, gpus_per_node: int, expandable: bool
) -> Iterator[Block]:
    """Captures a block: see mirfak.capture(...)."""
    if not 0 <= rank < world_size or not 1 <= gpus_per_node <= 8:
        raise InputError(f"rank {rank} of {world_size}, {gpus_per_node} in a node: expected a rank of the job, 1 to 8")
    if torch.cuda.is_available():
        raise InputError("a capture runs where no GPU is visible", hint="set CUDA_VISIBLE_DEVICES to nothing")
    place, block = Place(rank, world_size, gpus_per_node), Block()
    program = pathlib.Path(sys.argv[0]).stem or "python"
    header = {"program": program, "command": list(sys.argv), **place.header, "device": device, "step": step}
    before = dict(os.environ)
    os.environ.update(place.variables)
    try:
        with tempfile.TemporaryDirectory(prefix="mirfak-capture-") as folder:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(pathlib.Path(folder, "inductor"))
            exchange = Exchange(pathlib.Path(folder), rank, frozenset((rank,)))
            environment = Environment(place, device_of(device), step, exchange, expandable, lambda: None)
            with environment:
                if step is None:
                    environment.count_lines()
                yield block
                if step is None:
                    environment.recorder.end()
                elif environment.steps.finished <= step:
                    done = environment.steps.finished
                    raise InputError(
                        f"the block ended after {done} steps of its optimizer, before the end of step {step}"
                    )
                found = recorded(environment)
    finally:
        os.environ.clear()
        os.environ.update(before)
    block.capture = Capture(header | {"torch": torch.__version__, "lines": dict(sorted(found["lines"].items()))})
    block.capture.add(rank, found["tables"], found["rank"])
