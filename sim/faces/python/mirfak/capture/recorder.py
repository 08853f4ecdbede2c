"""Work of one rank, in the order in which its host gives it.

The recorder knows nothing of PyTorch: the fake devices (fake_tensors.py, fake_cuda.py, fake_groups.py) tell it of
operators, communication, streams and memory, and hooks (steps.py) of modules, phases and steps. What is said within
the window, from the end of one optimizer step to the end of the next, is kept as events; of what is said before it,
only memory is kept, because blocks of it are still there.

Operators, collectives and modules repeat, so events name them by their place in a table.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Hashable
from typing import Any

from .python_lines import PythonLines

# Parts of a module's path that are numbers. Modules are told of while Dynamo watches, which refuses generators.
NUMBERS = re.compile(r"(?<![^.])\d+(?![^.])")
LINES = 512  # of Python that make an event: some 50 microseconds
PHASES = ("forward", "recomputation", "backward", "optimizer")


class Table:
    """Distinct entries in the order in which they first came."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, entry: Any) -> int:
        """The place of `entry`, which `key` identifies."""
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.entries)
            self.entries.append(entry)
        return found

    def place_of(self, entry: Any) -> int:
        return self.place(json.dumps(entry, sort_keys=True), entry)


class Recorder:
    """Events of one rank. Streams are numbered; 0 is the stream on which everything runs that names no other."""

    def __init__(self) -> None:
        self.operators, self.collectives, self.modules = Table(), Table(), Table()
        self.modules.place_of("")
        self.events: list[list[Any]] = []
        self.memory_before: list[list[int]] = []
        self.groups: dict[tuple[int, ...], None] = {}  # ranks of process groups, in the order in which they were made
        self.notes: dict[str, int] = {}
        self.lines: dict[str, str] = {}  # of the program that call a module, "model.py:57"; numbers of its path are "*"
        self.recording = False
        self.at_begin: Callable[[], None] = lambda: None
        self.dispatched = 0
        self.python = PythonLines()
        self._undisclosed = 0  # operators dispatched since the last event that launch nothing
        self._blocks = self._works = self._events = self._streams = 0
        # Autograd runs the backward pass in a thread of its own, while the thread that asked for it waits.
        self._lock = threading.RLock()
        self._tape: list[list[Any]] | None = None  # what a CUDA graph is made of, while it is captured

    @property
    def listening(self) -> bool:
        """Operators and communication are kept, in the window or in a graph."""
        return self.recording or self._tape is not None

    def note(self, text: str) -> None:
        """Remembers an assumption or a simplification, and how often it was made."""
        self.notes[text] = self.notes.get(text, 0) + 1

    def module(self, path: str, line: Callable[[], str]) -> int:
        """The place of a module. line: says what line of the program calls it, where it is called first."""
        place = NUMBERS.sub("*", path)
        if place not in self.lines:
            self.lines[place] = line()
        return self.modules.place_of(path)

    def begin(self) -> None:
        self.at_begin()
        self.recording, self.events, self.dispatched, self._undisclosed = True, [], 0, 0

    def end(self) -> None:
        self.python.stop()
        self._flush(1)
        self.recording = False

    def count_lines(self, way_in: Callable[[], None]) -> None:
        """Counts lines of Python from here on: PythonLines.start()."""
        if not self.python.start(way_in):
            self.note("lines of Python are not counted: a debugger or a measurement of coverage follows the program")

    def host(self) -> None:
        """An operator that the host dispatches and that launches nothing: a view, an empty tensor."""
        if self.recording:
            with self._lock:
                self.dispatched += 1
                self._undisclosed += 1

    def operator(self, place: int, module: int, phase: int, stream: int) -> None:
        if self.listening:
            self.dispatched += self.recording
            self._launch(["op", place, module, phase, stream])

    def communicate(self, place: int, module: int, phase: int, stream: int) -> int:
        """A collective, a send or a receive that `stream` hands over. Returns the number of the work to wait for."""
        self._works += 1
        if self.listening:
            self.dispatched += self.recording
            self._launch(["comm", place, module, phase, stream, self._works])
        return self._works

    def wait(self, work: int, stream: int) -> None:
        """`stream` waits for communication."""
        if self.listening:
            self._launch(["wait", work, stream])

    def new_stream(self) -> int:
        self._streams += 1
        return self._streams

    def record_event(self, stream: int) -> int:
        self._events += 1
        if self.listening:
            self._launch(["record", self._events, stream])
        return self._events

    def await_event(self, event: int, stream: int) -> None:
        if self.listening:
            self._launch(["await", event, stream])

    def block_host(self, reason: str) -> None:
        """The host waits until the device has done what it was given."""
        if self.recording:
            self._add(["block", reason], 1)

    def begin_graph(self) -> None:
        """Begins a CUDA graph: launches from now on go into the graph, and are not done."""
        self._tape = []

    def end_graph(self) -> list[list[Any]]:
        """Returns what was launched since begin_graph()."""
        tape, self._tape = self._tape or [], None
        return tape

    def replay(self, tape: list[list[Any]], captured_on: int, stream: int) -> None:
        """`stream` does what a graph is made of, whose first stream was `captured_on`, for one launch of the host."""
        if not self.recording:
            return
        self.await_event(self.record_event(stream), captured_on)
        self.dispatched += 1
        self._add(["graph", len(tape)])
        works: dict[int, int] = {}
        events: dict[int, int] = {}
        for event in tape:
            kind = event[0]
            if kind == "comm":
                self._works += 1
                works[event[5]] = self._works
                self._add([*event[:5], self._works])
            elif kind == "wait":
                self._add([kind, works.get(event[1], event[1]), event[2]])
            elif kind == "record":
                self._events += 1
                events[event[1]] = self._events
                self._add([kind, self._events, event[2]])
            elif kind == "await":
                self._add([kind, events.get(event[1], event[1]), event[2]])
            else:
                self._add(event)
        self.await_event(self.record_event(captured_on), stream)

    def allocate(self, size: int, stream: int) -> int:
        """`size` bytes for `stream`. Returns the number of the block."""
        self._blocks += 1
        self._memory(["alloc", self._blocks, size, stream])
        return self._blocks

    def use(self, block: int, stream: int) -> None:
        """`stream` uses `block`, which is of another: once released, the block waits for `stream`."""
        self._memory(["use", block, stream])

    def free(self, block: int) -> None:
        self._memory(["free", block])

    def _memory(self, event: list[Any]) -> None:
        if self.recording:
            self._add(event)
        else:
            with self._lock:
                self.memory_before.append(event)

    def _flush(self, lines: int) -> None:
        """lines: so many of Python make an event."""
        if self._undisclosed:
            self.events.append(["host", self._undisclosed])
            self._undisclosed = 0
        if self.python.waiting >= lines:
            self.events.append(["python", self.python.take()])

    def _launch(self, event: list[Any]) -> None:
        if self._tape is None:
            self._add(event)
        else:
            self._tape.append(event)

    def _add(self, event: list[Any], lines: int = LINES) -> None:
        with self._lock:
            self._flush(lines)
            self.events.append(event)
