"""A machine with GPUs and other ranks, as a training script sees it: all stand-ins of one process together."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from . import attention, autograd_thread, compiled, fake_types, patches, spawned
from .allocator import Allocator
from .devices import Device
from .exchange import Exchange
from .fake_cuda import FakeCuda
from .fake_groups import FakeGroups
from .fake_tensors import FakeDevices
from .higher_order import install_triton
from .machine_code import answer_without_driver
from .memory import Memory
from .recorder import Recorder
from .steps import Steps, state_of


@dataclass(frozen=True)
class Place:
    """A rank of a job: which one, of how many, on which GPU of its node."""

    rank: int
    world_size: int
    gpus_per_node: int

    @property
    def local_rank(self) -> int:
        return self.rank % self.gpus_per_node

    @property
    def ranks_of_node(self) -> int:
        return min(self.gpus_per_node, self.world_size)

    @property
    def header(self) -> dict[str, int]:
        """Fields of a capture."""
        return {"world_size": self.world_size, "gpus_per_node": self.gpus_per_node}

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of torchrun."""
        return {
            "RANK": str(self.rank),
            "LOCAL_RANK": str(self.local_rank),
            "GROUP_RANK": str(self.rank // self.gpus_per_node),
            "ROLE_RANK": str(self.rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_WORLD_SIZE": str(self.ranks_of_node),
            "ROLE_WORLD_SIZE": str(self.world_size),
            "GROUP_WORLD_SIZE": str(-(-self.world_size // self.gpus_per_node)),
            "ROLE_NAME": "default",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29500",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "0",
            "TORCHELASTIC_RUN_ID": "none",
            "OMP_NUM_THREADS": "1",
        }


class Environment:
    """Everything between a script and the recorder. done() is called when the window ends."""

    def __init__(
        self,
        place: Place,
        device: Device,
        step: int | None,
        exchange: Exchange,
        expandable: bool,
        done: Callable[[], None],
    ) -> None:
        self.place, self.device = place, device
        self.recorder = Recorder()
        self.allocator = Allocator(device.memory_bytes, expandable)
        self.memory = Memory(self.recorder, self.allocator)
        self.cuda = FakeCuda(self.recorder, self.memory, device, place.ranks_of_node)
        self.recorder.at_begin = self.allocator.begin_window
        self.steps = Steps(self.recorder, step, done)
        self.groups = FakeGroups(self.recorder, self.steps, self.stream, exchange, place.world_size, place.rank)
        self.mode = FakeDevices(
            self.recorder, self.steps, self.memory, self.stream, self.groups.communicate, device.workspace_bytes
        )

    def stream(self) -> int:
        return self.cuda.stream().number

    def __enter__(self) -> Environment:
        answer_without_driver(pathlib.Path(torch.__file__).parent)
        self.cuda.install()
        self.memory.install(self.stream)
        self.groups.install()
        place = self.place
        spawned.install(place.rank, place.local_rank, place.world_size, place.ranks_of_node, lambda: self.groups.made)
        attention.install(self.device)
        autograd_thread.install(self.mode.fakes)
        install_triton(self.mode.launched)
        fake_types.install(self.mode.fakes, self.recorder.note)
        self.steps.install()
        compiled.install(self.mode, self.steps, self.recorder.note)
        self.mode.__enter__()
        return self

    def count_lines(self) -> None:
        """Counts lines of Python from here on, in a window that is open already."""
        self.recorder.count_lines(self.steps.way_in)

    def __exit__(self, *raised: object) -> None:
        self.mode.__exit__(*raised)
        self.steps.remove()
        patches.restore()


def recorded(environment: Environment) -> dict[str, Any]:
    """Tables and events of a rank, for Capture.add."""
    recorder, allocator = environment.recorder, environment.allocator
    return {
        "tables": {
            "operators": recorder.operators.entries,
            "collectives": recorder.collectives.entries,
            "modules": recorder.modules.entries,
        },
        "lines": recorder.lines,
        "groups": [list(ranks) for ranks in recorder.groups],
        "rank": {
            "state": state_of(list(environment.steps.optimizers.values())),
            "dispatched": recorder.dispatched,
            **({"python_lines": recorder.python.total} if recorder.python.total else {}),
            "memory": {
                "peak_allocated_bytes": allocator.window_allocated,
                "peak_reserved_bytes": allocator.window_reserved,
                **({"graph_bytes": held} if (held := allocator.held_by_graphs()) else {}),
            },
            "notes": dict(sorted(recorder.notes.items())),
            "before": recorder.memory_before,
            "events": recorder.events,
        },
    }
