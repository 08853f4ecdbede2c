"""PyTorch's caching allocator: what a sequence of allocations and releases reserves.

The CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp) rounds sizes, takes segments from the driver, splits
them into blocks, keeps what is released for the next request of the same stream, and merges free neighbours. Memory
that a program holds (allocated) and memory that the process has taken from the GPU (reserved) differ by rounding, by
cached blocks and by fragmentation; this model follows each rule, so that both can be told without a GPU.

| request | rounded to | segment |
|---|---|---|
| up to 1 MiB | 512 B | 2 MiB, of the small pool |
| over 1 MiB, under 10 MiB | 512 B | 20 MiB, of the large pool |
| from 10 MiB | 512 B | rounded up to 2 MiB |

A free block is the smallest that fits, the lowest address first. A block of the small pool is split where 512 B or
more are left, one of the large pool where more than 1 MiB is left. With expandable segments, a segment of a stream
and pool grows by pages of 2 or 20 MiB where its last block is free or at its end.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

MINIMUM = 512
SMALL_REQUEST = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
LARGE_REQUEST = 10 << 20
SEGMENT_ROUNDING = 2 << 20


@dataclass(eq=False)
class Block:
    """Part of a segment. Neighbours are the blocks before and after it in the segment."""

    stream: int
    small: bool
    size: int
    address: int
    segment: Segment
    requested: int = 0
    free: bool = True
    users: set[int] = field(default_factory=set)
    before: Block | None = None
    after: Block | None = None


@dataclass(eq=False)
class Segment:
    """Memory taken from the driver at once."""

    size: int
    number: int


def private(pool: int) -> int:
    """The stream under which blocks of CUDA graphs of a pool are kept."""
    return -1 - pool


class OutOfMemory(Exception):
    """A request that does not fit, even without cached segments."""


class Allocator:
    """Memory of one GPU, in bytes. Times are not modelled: a block that another stream used is free at once.

    capacity: bytes that the process can take; None for as many as are asked for.
    """

    def __init__(self, capacity: int | None = None, expandable_segments: bool = False) -> None:
        self.capacity, self.expandable = capacity, expandable_segments
        self.allocated = self.reserved = self.requested = 0
        self.peak_allocated = self.peak_reserved = self.window_allocated = self.window_reserved = 0
        self._free: dict[tuple[int, bool], list[tuple[int, int, Block]]] = {}
        self._growing: dict[tuple[int, bool], Block] = {}  # the last block of an expandable segment
        self._address = 0
        self._segments = 0

    @staticmethod
    def rounded(size: int) -> int:
        """Bytes of the block that a request gets."""
        return max(MINIMUM, -(-size // MINIMUM) * MINIMUM)

    @staticmethod
    def segment_of(size: int) -> int:
        """Bytes taken from the driver for a block of `size` bytes."""
        if size <= SMALL_REQUEST:
            return SMALL_SEGMENT
        if size < LARGE_REQUEST:
            return LARGE_SEGMENT
        return -(-size // SEGMENT_ROUNDING) * SEGMENT_ROUNDING

    def allocate(self, size: int, stream: int = 0) -> Block | None:
        """A block of at least `size` bytes; None for 0 bytes. Raises OutOfMemory."""
        if size == 0:
            return None
        rounded = self.rounded(size)
        small = rounded <= SMALL_REQUEST
        block = self._cached(rounded, stream, small) or self._new(rounded, stream, small)
        self._split(block, rounded)
        block.free, block.requested = False, size
        self.allocated += block.size
        self.requested += size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        self.window_allocated = max(self.window_allocated, self.allocated)
        return block

    def release(self, block: Block | None) -> None:
        if block is None:
            return
        self.allocated -= block.size
        self.requested -= block.requested
        block.free = True
        block.users.clear()
        for other in (block.before, block.after):
            if other is not None and other.free:
                self._remove(other)
                self._merge(block, other)
        self._insert(block)

    def empty_cache(self) -> None:
        """Gives segments back to the driver that hold no block in use; of expandable ones, free pages at the end.

        Those of CUDA graphs stay, because graphs use them again.
        """
        for key, blocks in list(self._free.items()):
            if key[0] < 0:
                continue
            for _, _, block in list(blocks):
                if self._growing.get(key) is not None and block.segment is self._growing[key].segment:
                    if block.after is None:
                        self._shrink(key, block)
                elif block.before is None and block.after is None:
                    self._remove(block)
                    self.reserved -= block.segment.size

    def held_by_graphs(self) -> int:
        """Bytes of blocks that CUDA graphs keep for their next replay and that are not allocated."""
        return sum(size for key, blocks in self._free.items() if key[0] < 0 for size, _, _ in blocks)

    def begin_window(self) -> None:
        """Begins the window of which `window_allocated` and `window_reserved` are the peaks."""
        self.window_allocated, self.window_reserved = self.allocated, self.reserved

    def reset_peaks(self) -> None:
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved

    def _cached(self, size: int, stream: int, small: bool) -> Block | None:
        blocks = self._free.get((stream, small), [])
        place = bisect.bisect_left(blocks, (size, -1))
        if place == len(blocks):
            return None
        return blocks.pop(place)[2]

    def _new(self, size: int, stream: int, small: bool) -> Block:
        if self.expandable:
            return self._grown(size, stream, small)
        segment = self.segment_of(size)
        self._take(segment)
        self._segments += 1
        block = Block(stream, small, segment, self._address, Segment(segment, self._segments))
        self._address += segment
        return block

    def _grown(self, size: int, stream: int, small: bool) -> Block:
        """The last block of the expandable segment of a stream and pool, grown until it fits."""
        key = (stream, small)
        page = SMALL_SEGMENT if small else LARGE_SEGMENT
        last = self._growing.get(key)
        if last is None:
            self._segments += 1
            # Address space of its own, larger than any GPU's memory.
            last = Block(stream, small, 0, self._segments << 50, Segment(0, self._segments), free=False)
        elif last.free:
            self._remove(last)
        start = last if last.free else None
        missing = size - (start.size if start else 0)
        grown = -(-missing // page) * page
        self._take(grown)
        last.segment.size += grown
        if start is None:
            if last.size == 0:
                start, last.free = last, True
            else:
                start = Block(stream, small, 0, last.address + last.size, last.segment, before=last)
                last.after = start
        start.size += grown
        self._growing[key] = start
        return start

    def _take(self, size: int) -> None:
        if self.capacity is not None and self.reserved + size > self.capacity:
            self.empty_cache()
            if self.reserved + size > self.capacity:
                raise OutOfMemory(f"{size} bytes more than {self.reserved} of {self.capacity}")
        self.reserved += size
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.window_reserved = max(self.window_reserved, self.reserved)

    def _shrink(self, key: tuple[int, bool], block: Block) -> None:
        page = SMALL_SEGMENT if block.small else LARGE_SEGMENT
        given = block.size // page * page
        if not given:
            return
        self._remove(block)
        block.size -= given
        block.segment.size -= given
        self.reserved -= given
        if block.size:
            self._insert(block)
        elif block.before is not None:
            block.before.after = None
            self._growing[key] = block.before
        else:
            del self._growing[key]

    def _split(self, block: Block, size: int) -> None:
        left = block.size - size
        if left < MINIMUM or (not block.small and not self.expandable and left <= SMALL_REQUEST):
            return
        rest = Block(block.stream, block.small, left, block.address + size, block.segment, before=block)
        rest.after, block.after, block.size = block.after, rest, size
        if rest.after is not None:
            rest.after.before = rest
        key = (block.stream, block.small)
        if self._growing.get(key) is block:
            self._growing[key] = rest
        self._insert(rest)

    def _merge(self, block: Block, other: Block) -> None:
        """Makes `block` span its free neighbour `other`, too."""
        if other is block.before:
            block.address, block.before = other.address, other.before
            if block.before is not None:
                block.before.after = block
        else:
            block.after = other.after
            if block.after is not None:
                block.after.before = block
        block.size += other.size
        key = (block.stream, block.small)
        if self._growing.get(key) is other:
            self._growing[key] = block

    def _insert(self, block: Block) -> None:
        bisect.insort(self._free.setdefault((block.stream, block.small), []), (block.size, block.address, block))

    def _remove(self, block: Block) -> None:
        blocks = self._free[(block.stream, block.small)]
        blocks.pop(bisect.bisect_left(blocks, (block.size, block.address)))
