"""Lines of Python that a program executes between its operators, which take its host time, too.

The interpreter tells of each line while a thread is watched (sys.settrace). Left out is what a run on a GPU would not do:
capturing itself, fakes, compiling, imports; and what depends on the clock (progress bars).
"""

from __future__ import annotations

import itertools
import pathlib
import sys
import sysconfig
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

OURS = str(pathlib.Path(__file__).parent)
PACKAGES = sysconfig.get_paths()["purelib"]
STANDARD = sysconfig.get_paths()["stdlib"]
# Finalizers are those of captured storages; progress bars look at the clock.
LEFT_OUT = ("<frozen ", f"{STANDARD}/weakref.py", f"{PACKAGES}/tqdm/", f"{PACKAGES}/torch/_subclasses/")
PROGRAM, LIBRARY, CAPTURE = range(3)  # whose code is


class Apart:
    """A context in which a thread's lines are no part of the program. After it the thread is watched, also if it was not before."""

    def __init__(self, lines: PythonLines) -> None:
        self._lines, self._threads = lines, threading.local()

    def __enter__(self) -> None:
        if self._lines.counting:
            sys.settrace(None)
        self._threads.depth = getattr(self._threads, "depth", 0) + 1

    def __exit__(self, *raised: object) -> None:
        self._threads.depth -= 1
        if self._lines.counting and not self._threads.depth:
            sys.settrace(self._lines.called)


class PythonLines:
    """counting: whether a window is open. called() is told of calls by the interpreter, and chooses those it follows."""

    def __init__(self) -> None:
        self.counting = False
        self.total = 0
        self._taken = 0
        self._kept: dict[int, CodeType] = {}  # numbers of code that has been seen stay its own
        self._counts: dict[int, bool] = {}
        self._owners: dict[int, int] = {}
        self._passing: set[int] = set()
        self._ways_in: set[int] = set()
        self.apart = Apart(self)
        methods = (PythonLines.called, PythonLines._line, PythonLines._asked_by_us, PythonLines._owner)
        self.codes = tuple(method.__code__ for method in methods)  # which nobody shall compile

    def pass_through(self, code: CodeType) -> None:
        """`code` is of a capture and calls what the program would have called."""
        self._kept[id(code)] = code
        self._passing.add(id(code))

    def start(self, way_in: Callable[[], None]) -> bool:
        """Counts from here on. way_in() dispatches an operator; what the interpreter calls for it before the capture's code
        runs is left out from now on. Returns False, and counts nothing, if a debugger follows the program already."""
        if sys.gettrace() is not None:
            return False
        seen: list[CodeType] = []
        sys.settrace(lambda frame, event, argument: seen.append(frame.f_code))
        try:
            way_in()
        finally:
            sys.settrace(None)
        for code in itertools.takewhile(lambda code: not code.co_filename.startswith(OURS), seen[1:]):  # after way_in
            self._kept[id(code)] = code
            self._ways_in.add(id(code))
        self.counting, self.total, self._taken = True, 0, 0
        sys.settrace(self.called)
        return True

    def stop(self) -> None:
        """Ends counting, in other threads with their next call."""
        if self.counting:
            self.counting = False
            sys.settrace(None)

    @property
    def waiting(self) -> int:
        """Lines since the last take()."""
        return self.total - self._taken

    def take(self) -> int:
        taken, self._taken = self.waiting, self.total
        return taken

    def called(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not self.counting:
            sys.settrace(None)
            return None
        code = frame.f_code
        counts = self._counts.get(id(code))
        if counts is None:
            self._kept[id(code)] = code
            counts = self._counts[id(code)] = id(code) not in self._ways_in and not (
                code.co_filename.startswith((OURS, *LEFT_OUT))
            )
        return self._line if counts and not self._asked_by_us(frame) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.total += 1
        return self._line

    def _asked_by_us(self, frame: FrameType) -> bool:
        """The caller is of the capture, perhaps by way of Python's own library."""
        while True:
            from_library = self._owner(frame.f_code) == LIBRARY
            frame = frame.f_back  # type: ignore[assignment]
            if frame is None:
                return False
            owner = self._owner(frame.f_code)
            if owner == CAPTURE or not (from_library and owner == LIBRARY):
                return owner == CAPTURE

    def _owner(self, code: CodeType) -> int:
        owner = self._owners.get(id(code))
        if owner is None:
            self._kept[id(code)] = code
            file = code.co_filename
            library = file.startswith(STANDARD) and not file.startswith(PACKAGES)
            ours = file.startswith(OURS) and id(code) not in self._passing
            owner = self._owners[id(code)] = CAPTURE if ours else LIBRARY if library else PROGRAM
        return owner
