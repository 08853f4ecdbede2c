"""The step that a capture is of, run on this machine's GPU and recorded by torch.profiler.

Needs a GPU and its driver, and no particular version of PyTorch. The script runs unmodified, as the only rank of a job, or
under torchrun as the rank that its environment says.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
from typing import Any

from ..errors import InputError
from .launchers import run_command

ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}


class RealStep:
    """Times steps of the outermost optimizer; after `timed` of them from `step` on, records one and ends the process.

    Writes RANK.json (`step_s`, the median; `steps_s`; `peak_allocated_bytes` and `peak_reserved_bytes` of the step that
    comes after `step`; `gpu`, `torch`) and RANK.trace.json.gz into `folder`.
    """

    def __init__(self, folder: pathlib.Path, step: int, timed: int) -> None:
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        self.torch, self.folder, self.step, self.timed = torch, folder, step, timed
        self.rank = int(os.environ.get("RANK", "0"))
        self.depth = self.finished = 0
        self.begun = 0.0
        self.steps_s: list[float] = []
        self.peaks: dict[str, int] = {}
        self.profiler: Any = None
        register_optimizer_step_pre_hook(self._enter)
        register_optimizer_step_post_hook(self._leave)

    def _enter(self, *arguments: Any) -> None:
        self.depth += 1

    def _leave(self, *arguments: Any) -> None:
        self.depth -= 1
        if self.depth:
            return
        self.finished += 1
        if self.finished < self.step:
            return
        cuda = self.torch.cuda
        cuda.synchronize()
        if self.profiler is not None:
            self._end()
        if self.finished > self.step:
            self.steps_s.append(time.perf_counter() - self.begun)
        if self.finished == self.step + 1:
            self.peaks = {
                "peak_allocated_bytes": cuda.max_memory_allocated(),
                "peak_reserved_bytes": cuda.max_memory_reserved(),
            }
        if self.finished == self.step:
            cuda.reset_peak_memory_stats()
        if len(self.steps_s) == self.timed:
            self._record()
        self.begun = time.perf_counter()

    def _record(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        self.profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True)
        self.profiler.__enter__()

    def _end(self) -> None:
        self.profiler.__exit__(None, None, None)
        self.profiler.export_chrome_trace(str(self.folder / f"{self.rank}.trace.json.gz"))
        said = {
            "step_s": statistics.median(self.steps_s),
            "steps_s": self.steps_s,
            **self.peaks,
            "gpu": self.torch.cuda.get_device_name(),
            "torch": self.torch.__version__,
        }
        (self.folder / f"{self.rank}.json").write_text(json.dumps(said, indent=1) + "\n")
        sys.stdout.flush()
        os._exit(0)


def run_real(command: list[str], folder: pathlib.Path, step: int, timed: int) -> None:
    """Runs a script, or -m and a module, and ends the process once its step is recorded. Raises InputError if it is not."""
    import torch

    if not torch.cuda.is_available():
        raise InputError("a step is recorded on a GPU, and this machine has none that PyTorch sees")
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in ALONE.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("MASTER_PORT", "29517")
    RealStep(folder, step, timed)
    run_command(command)
    raise InputError(f"{command[0]} ended before step {step + timed} of its optimizer", hint="make fewer steps: --step, --timed")
