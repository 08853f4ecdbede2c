"""torch.cuda and torch.accelerator without a driver: devices, streams, events, random numbers, memory.

Stand-ins for the Python functions that would ask CUDA's runtime. What orders work (streams, events, waits) and what
makes the host wait goes to the recorder; what asks for a value gets that of the GPU that the capture is for.
"""

from __future__ import annotations

import collections
import contextlib
import pathlib
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

from ..errors import InputError
from .devices import Device
from .machine_code import CUDA, set_current_device
from .fake_graphs import graph_answers
from .memory import Memory
from .patches import replace
from .recorder import Recorder

TORCH = pathlib.Path(torch.__file__).parent


class FakeCuda:
    """The GPUs of one process's node: `count` of them are visible, `current` is chosen."""

    def __init__(self, recorder: Recorder, memory: Memory, device: Device, count: int) -> None:
        self.recorder, self.memory, self.device, self.count = recorder, memory, device, count
        self.current = 0
        self._threads = threading.local()
        self._states: dict[int, torch.Tensor] = {}
        self._seed = 0
        self.Stream, self.Event = _streams(self)

    def stream(self) -> Any:
        """The current stream of this thread and device."""
        streams = self._current_streams()
        if self.current not in streams:
            streams[self.current] = self.default_stream()
        return streams[self.current]

    def default_stream(self, device: Any = None) -> Any:
        return self.Stream(device=device, number=0)

    def _current_streams(self) -> dict[int, Any]:
        if not hasattr(self._threads, "streams"):
            self._threads.streams = {}
        return self._threads.streams

    def index(self, device: Any = None) -> int:
        """Number of a device, given as PyTorch takes it: None, a number, a text, a device, something that has one."""
        if device is None:
            return self.current
        if isinstance(device, str):
            device = torch.device(device)
        if hasattr(device, "idx"):  # torch.cuda.device
            device = device.idx
        number = getattr(device, "index", device)
        if number is None or number < 0:
            return self.current
        if number >= self.count:
            raise InputError(
                f"the script uses GPU {number} of a node of {self.count}",
                hint="--gpus-per-node says how many there are",
            )
        return number

    def set_device(self, device: Any) -> None:
        self.current = self.index(device)
        set_current_device(TORCH, self.current)

    def set_stream(self, stream: Any) -> None:
        if stream is not None:
            self._current_streams()[self.current] = stream

    @contextlib.contextmanager
    def on_stream(self, stream: Any) -> Iterator[Any]:
        if stream is None:
            yield None
            return
        before = self.stream()
        self.set_stream(stream)
        try:
            yield stream
        finally:
            self.set_stream(before)

    def synchronize(self, device: Any = None) -> None:
        self.recorder.block_host("synchronize")

    def properties(self, device: Any = None) -> SimpleNamespace:
        self.index(device)
        return SimpleNamespace(
            name=self.device.name,
            major=self.device.capability[0],
            minor=self.device.capability[1],
            total_memory=self.device.memory_bytes,
            multi_processor_count=self.device.multiprocessors,
            warp_size=32,
            max_threads_per_multi_processor=2048,
            max_threads_per_block=1024,
            regs_per_multiprocessor=65536,
            shared_memory_per_block=49152,
            shared_memory_per_block_optin=self.device.shared_memory_bytes,
            shared_memory_per_multiprocessor=self.device.shared_memory_bytes + 1024,
            L2_cache_size=self.device.l2_bytes,
            is_integrated=False,
            is_multi_gpu_board=False,
            gcnArchName="",
            uuid="",
        )

    def memory_stats(self, device: Any = None) -> dict[str, int]:
        """Keys of torch.cuda.memory_stats that programs read; 0 for the others."""
        allocator = self.memory.allocator
        known = {
            "allocated_bytes.all.current": allocator.allocated,
            "allocated_bytes.all.peak": allocator.peak_allocated,
            "active_bytes.all.current": allocator.allocated,
            "active_bytes.all.peak": allocator.peak_allocated,
            "reserved_bytes.all.current": allocator.reserved,
            "reserved_bytes.all.peak": allocator.peak_reserved,
        }
        return collections.defaultdict(int, known)

    def free_memory(self, device: Any = None) -> tuple[int, int]:
        return self.device.memory_bytes - self.memory.allocator.reserved, self.device.memory_bytes

    def seed(self, seed: int) -> None:
        self._seed = int(seed)
        self._states.clear()

    def random_state(self, device: Any = "cuda") -> torch.Tensor:
        """Seed and offset of Philox, 16 bytes on the CPU."""
        number = self.index(device)
        if number not in self._states:
            self._states[number] = torch.tensor([self._seed % 2**64, 0], dtype=torch.uint64).view(torch.uint8)
        return self._states[number].clone()

    def set_random_state(self, state: torch.Tensor, device: Any = "cuda") -> None:
        self._states[self.index(device)] = state.cpu().clone()

    def install(self) -> None:
        cuda = torch.cuda
        torch._C._ensureCUDADeviceGuardSet()
        torch._C._set_only_lift_cpu_tensors(True)
        cuda._initialized = True
        properties = self.properties
        answers = {
            "is_available": lambda: True,
            "is_initialized": lambda: True,
            "_lazy_init": lambda: None,
            "init": lambda: None,
            "_is_in_bad_fork": lambda: False,
            "device_count": lambda: self.count,
            "current_device": lambda: self.current,
            "set_device": self.set_device,
            "_exchange_device": self._exchange_device,
            "_maybe_exchange_device": lambda device: self._exchange_device(device),
            "get_device_name": lambda device=None: properties(device).name,
            "get_device_capability": lambda device=None: (properties(device).major, properties(device).minor),
            "get_device_properties": properties,
            "_get_device_properties": properties,
            "can_device_access_peer": lambda device, peer: True,
            "synchronize": self.synchronize,
            "current_stream": lambda device=None: self.stream(),
            "default_stream": self.default_stream,
            "set_stream": self.set_stream,
            "stream": self.on_stream,
            "Stream": self.Stream,
            "Event": self.Event,
            **graph_answers(self),
            "manual_seed": self.seed,
            "manual_seed_all": self.seed,
            "seed": lambda: self.seed(0),
            "seed_all": lambda: self.seed(0),
            "initial_seed": lambda: self._seed,
            "get_rng_state": self.random_state,
            "set_rng_state": self.set_random_state,
            "get_rng_state_all": lambda: [self.random_state(number) for number in range(self.count)],
            "set_rng_state_all": lambda states: [self.set_random_state(s, n) for n, s in enumerate(states)] and None,
            "ipc_collect": lambda: None,
            "utilization": lambda device=None: 100,
        }
        answers |= self._memory_answers()
        for name, answer in answers.items():
            replace(cuda, name, answer)
        for module in (cuda.memory, cuda.random, cuda.streams, cuda.graphs):
            for name, answer in answers.items():
                if hasattr(module, name):
                    replace(module, name, answer)
        replace(torch, "Event", self.Event)
        generator = _generator()
        replace(torch, "Generator", generator)
        replace(cuda, "default_generators", tuple(_default_generator(self, generator, n) for n in range(self.count)))
        self._install_accelerator()
        self._install_tensors()

    def _exchange_device(self, device: int) -> int:
        before = self.current
        if device is not None and device >= 0:
            self.set_device(device)
        return before

    def _memory_answers(self) -> dict[str, Any]:
        allocator = self.memory.allocator
        return {
            "memory_allocated": lambda device=None: allocator.allocated,
            "max_memory_allocated": lambda device=None: allocator.peak_allocated,
            "memory_reserved": lambda device=None: allocator.reserved,
            "max_memory_reserved": lambda device=None: allocator.peak_reserved,
            "memory_stats": self.memory_stats,
            "memory_summary": lambda device=None, abbreviated=False: "",
            "memory_snapshot": lambda *arguments, **keywords: [],
            "mem_get_info": self.free_memory,
            "reset_peak_memory_stats": lambda device=None: allocator.reset_peaks(),
            "reset_accumulated_memory_stats": lambda device=None: None,
            "reset_max_memory_allocated": lambda device=None: allocator.reset_peaks(),
            "reset_max_memory_cached": lambda device=None: allocator.reset_peaks(),
            "empty_cache": allocator.empty_cache,
            "_record_memory_history": lambda *arguments, **keywords: None,
            "set_per_process_memory_fraction": lambda fraction, device=None: None,
        }

    def _install_accelerator(self) -> None:
        accelerator = torch.accelerator
        answers = {
            "is_available": lambda: True,
            "current_accelerator": lambda check_available=False: torch.device("cuda"),
            "device_count": lambda: self.count,
            "current_device_index": lambda: self.current,
            "current_device_idx": lambda: self.current,
            "set_device_index": self.set_device,
            "set_device_idx": self.set_device,
            "current_stream": lambda device=None: self.stream(),
            "set_stream": self.set_stream,
            "synchronize": lambda device=None: self.synchronize(device),
            "get_device_capability": lambda device=None: torch.cuda.get_device_capability(),
        }
        for name, answer in (answers | self._memory_answers() | {"get_memory_info": self.free_memory}).items():
            for module in (accelerator, getattr(accelerator, "memory", None)):
                if hasattr(module, name):
                    replace(module, name, answer)

        accelerator_device = torch.device("cuda")
        underlying = {
            "_get_accelerator": lambda check=None: accelerator_device,
            "_accelerator_getAccelerator": lambda: accelerator_device,
            "_accelerator_getDeviceIndex": lambda: self.current,
            "_accelerator_setDeviceIndex": self.set_device,
            "_accelerator_exchangeDevice": self._exchange_device,
            "_accelerator_maybeExchangeDevice": lambda device: self._exchange_device(device),
            "_accelerator_getStream": lambda device=None: self.stream(),
            "_accelerator_setStream": self.set_stream,
            "_accelerator_synchronizeDevice": lambda device=None: self.synchronize(device),
        }
        for name, answer in underlying.items():
            replace(torch._C, name, answer)

    def _install_tensors(self) -> None:
        def record_stream(tensor: torch.Tensor, stream: Any) -> None:
            self.memory.use(tensor, stream.number)

        replace(torch.Tensor, "record_stream", record_stream)
        replace(torch.Tensor, "pin_memory", lambda tensor, device=None: tensor)


def _streams(cuda: FakeCuda) -> tuple[type, type]:
    """Classes of streams and events that tell the recorder of `cuda`."""
    recorder = cuda.recorder

    class Event:
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            self.number: int | None = None

        def record(self, stream: Any = None) -> None:
            self.number = recorder.record_event((stream or cuda.stream()).number)

        def wait(self, stream: Any = None) -> None:
            if self.number is not None:
                recorder.await_event(self.number, (stream or cuda.stream()).number)

        def synchronize(self) -> None:
            recorder.block_host("synchronize")

        def query(self) -> bool:
            return True

        def elapsed_time(self, end: Any) -> float:
            recorder.note("time between two events: stated as 1 ms")
            return 1.0

    class Stream(torch.Stream):
        def __new__(cls, device: Any = None, priority: int = 0, number: int | None = None, **keywords: Any) -> Any:
            made = recorder.new_stream() if number is None else number
            stream = super().__new__(cls, stream_id=made, device_index=cuda.index(device), device_type=CUDA)
            stream.number, stream.priority = made, priority
            return stream

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            pass

        @property
        def cuda_stream(self) -> int:
            return self.number

        def wait_event(self, event: Any) -> None:
            event.wait(self)

        def wait_stream(self, stream: Any) -> None:
            self.wait_event(stream.record_event())

        def record_event(self, event: Any = None) -> Any:
            event = event or Event()
            event.record(self)
            return event

        def synchronize(self) -> None:
            recorder.block_host("synchronize")

        def query(self) -> bool:
            return True

        def is_capturing(self) -> bool:
            return False

        def __enter__(self) -> Any:
            self._before = getattr(self, "_before", [])
            self._before.append(cuda.stream())
            cuda.set_stream(self)
            return self

        def __exit__(self, *raised: Any) -> None:
            cuda.set_stream(self._before.pop())

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Stream) and other.number == self.number

        def __hash__(self) -> int:
            return hash(self.number)

    return Stream, Event


def _generator() -> type:
    original = torch.Generator

    class Generator(original):  # type: ignore[misc, valid-type]
        """Generators of GPUs are generators of the CPU here: nobody looks at random numbers."""

        def __new__(cls, device: Any = "cpu") -> Any:
            made = super().__new__(cls, device="cpu")
            made.asked = torch.device(device)
            return made

        @property
        def device(self) -> torch.device:
            return self.asked

    return Generator


def _default_generator(cuda: FakeCuda, generator: type, number: int) -> Any:
    """The generator of a GPU, whose state is that of torch.cuda.get_rng_state."""

    class Default(generator):  # type: ignore[misc, valid-type]
        def get_state(self) -> torch.Tensor:
            return cuda.random_state(number)

        def set_state(self, state: torch.Tensor) -> Any:
            cuda.set_random_state(state, number)
            return self

        def clone_state(self) -> Any:
            return self

        graphsafe_get_state = clone_state

        def graphsafe_set_state(self, other: Any) -> Any:
            return self

    return Default(f"cuda:{number}")
