"""Storages of fake tensors on GPUs: when each is allocated and released, and on which stream.

A storage counts from the first tensor that has it to its end, and again where it is resized. Sizes go to the recorder
and, at once, to the model of PyTorch's allocator, which answers torch.cuda's questions for memory.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import torch

from .allocator import Allocator, Block, OutOfMemory, private
from .patches import replace
from .recorder import Recorder


class Memory:
    def __init__(self, recorder: Recorder, allocator: Allocator) -> None:
        self.recorder, self.allocator = recorder, allocator
        self._held: dict[int, tuple[int, Block | None, int]] = {}  # by storage: number, block, bytes
        self._workspaces: set[tuple[int, int]] = set()
        self.pool: int | None = None  # of the CUDA graph that is captured
        self._lock = threading.RLock()

    def see(self, tensor: torch.Tensor, stream: int) -> None:
        """Notes the storage of a fake tensor, unless it is known."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._held:
            return
        with self._lock:
            size = storage.nbytes()
            self._hold(key, size, stream)
            weakref.finalize(storage, self._end, key).atexit = False

    def use(self, tensor: torch.Tensor, stream: int) -> None:
        """`tensor` is used on a stream that is not its own (Tensor.record_stream)."""
        held = self._held.get(tensor.untyped_storage()._cdata)
        if held is not None and held[2]:
            self.recorder.use(held[0], stream)

    def workspace(self, size: int, stream: int) -> None:
        """Takes cuBLAS's workspace where this thread has not yet used products on `stream`. It stays."""
        key = (threading.get_ident(), stream)
        with self._lock:
            if key not in self._workspaces:
                self._workspaces.add(key)
                self._allocate(size, stream)

    def install(self, stream: Any) -> None:
        """Follows storages that are resized. `stream()` is the number of the current stream."""
        original = torch.UntypedStorage.resize_

        def resize_(storage: torch.UntypedStorage, size: int) -> None:
            original(storage, size)
            key = storage._cdata
            if key in self._held and self._held[key][2] != size:
                with self._lock:
                    self._release(key)
                    self._hold(key, size, stream())

        replace(torch.UntypedStorage, "resize_", resize_)

    def _hold(self, key: int, size: int, stream: int) -> None:
        if size:
            self._held[key] = (*self._allocate(size, stream), size)
        else:
            self._held[key] = (0, None, 0)

    def _allocate(self, size: int, stream: int) -> tuple[int, Block | None]:
        number = self.recorder.allocate(size, stream)
        if self.pool is not None:
            stream = private(self.pool)
        try:
            return number, self.allocator.allocate(size, stream)
        except OutOfMemory:
            self.recorder.note("more memory than the GPU has: captured as if it had enough")
            self.allocator.capacity = None
            return number, self.allocator.allocate(size, stream)

    def _release(self, key: int) -> None:
        number, block, size = self._held.pop(key)
        if size:
            self.recorder.free(number)
            self.allocator.release(block)

    def _end(self, key: int) -> None:
        with self._lock:
            if key in self._held:
                self._release(key)
