"""Any PyTorch training script, captured on a machine without a GPU.

    python -m mirfak.capture --world-size 64 --out job.capture -- train.py --config 8b.toml
    python -m mirfak.capture show job.capture

The script runs unmodified, as each of the ranks that are asked for: tensors on GPUs are fakes that have shapes and no
values, process groups have no other processes. What it would launch in one training step is recorded: operators with
their tensors, communication, streams and waits, memory, and the module and phase of each.

A program can capture a step of its own, as one rank:

    with mirfak.capture(world_size=64, rank=0) as job:
        model, optimizer = build()
        step(model, optimizer)
    mirfak.capture.write_capture(job.capture, "job.capture")

Importing this package needs neither PyTorch nor mirfak's extension; capturing needs PyTorch 2.15.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING

from .capture_file import Capture, read_capture, write_capture

if TYPE_CHECKING:
    from .block import Block

__all__ = ["Capture", "read_capture", "write_capture"]


class _Package(ModuleType):
    """The package itself can be called: `with mirfak.capture(...)`."""

    def __call__(
        self,
        *,
        world_size: int,
        rank: int = 0,
        step: int | None = None,
        device: str = "h100",
        gpus_per_node: int = 8,
        expandable_segments: bool = False,
    ) -> AbstractContextManager[Block]:
        """Captures what a block of a program does as `rank` of `world_size` ranks; `Block.capture` has it afterwards.

        step: the optimizer step that is recorded, from 0; None (default) records the whole block. Model and optimizer
        have to be made within the block. Other arguments are those of the command line. Raises InputError where a GPU
        is visible or the step is not reached.
        """
        from .block import capture_block

        return capture_block(world_size, rank, step, device, gpus_per_node, expandable_segments)


sys.modules[__name__].__class__ = _Package
