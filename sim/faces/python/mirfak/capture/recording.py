"""A profiler's recording of a step on a GPU (torch.profiler, export_chrome_trace): which operator launched which kernels.

A kernel and the call of CUDA that launched it have a correlation in common; operators of the host enclose the call in
time, on its thread. So each kernel has the operators from the outermost to the innermost that it was launched by.
"""

from __future__ import annotations

import collections
import gzip
import json
import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError

OPERATORS, CALLS = ("cpu_op",), ("cuda_runtime", "cuda_driver")
KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
STEP = "ProfilerStep"


@dataclass
class Kernel:
    name: str
    seconds: float
    begin_s: float
    stream: int
    launched_by: tuple[tuple[str, int], ...] = ()  # operators, outermost first: names, and numbers of calls

    @property
    def communicates(self) -> bool:
        return self.name.startswith(("nccl", "rccl"))


@dataclass
class Recording:
    """Kernels of the last step that is marked, or of everything where none is, in the order of their launch."""

    file: str
    kernels: list[Kernel] = field(default_factory=list)
    calls: collections.Counter[str] = field(default_factory=collections.Counter)  # operators of the host by name
    collectives: collections.Counter[str] = field(default_factory=collections.Counter)
    steps: int = 1  # that are marked

    @property
    def busy_s(self) -> float:
        """Seconds in which at least one kernel ran."""
        busy, until = 0.0, 0.0
        for kernel in sorted(self.kernels, key=lambda kernel: kernel.begin_s):
            end = kernel.begin_s + kernel.seconds
            busy += max(0.0, end - max(until, kernel.begin_s))
            until = max(until, end)
        return busy


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads a recording. Raises InputError for a file that is none, or that has no kernels."""
    name = os.fspath(path)
    events = _events(name)
    marks = [event for event in _of(events, ("user_annotation",)) if event["name"].startswith(STEP)]
    begin, end = _window(marks)
    kernels = collections.defaultdict(list)  # several of a CUDA graph
    for event in _of(events, KERNELS):
        kernels[event["args"].get("correlation")].append(event)
    out = Recording(name, steps=max(1, len(marks)))
    for call, enclosing in _enclosed(events):
        correlation = call["args"].get("correlation")
        if correlation is None or not begin <= call["ts"] < end:
            continue
        for found in kernels.pop(correlation, ()):
            stream = found["args"].get("stream", found["tid"])
            seconds, at = found["dur"] * 1e-6, found["ts"] * 1e-6
            out.kernels.append(Kernel(found["name"], seconds, at, stream, enclosing))
    if not out.kernels:
        raise InputError(f"{name}: no kernel of it has a launch", hint="record CPU and CUDA activities (torch.profiler)")
    for event in _of(events, OPERATORS):
        if begin <= event["ts"] < end:
            out.calls[event["name"]] += 1
            if (kind := event["args"].get("Collective name")) is not None:
                out.collectives[kind] += 1
    return out


def _events(name: str) -> list[dict[str, Any]]:
    try:
        text = pathlib.Path(name).read_bytes()
        parsed = json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError):
        raise InputError(f"{name}: expected a recording of torch.profiler, in JSON", hint=EXPORT) from None
    events = parsed.get("traceEvents") if isinstance(parsed, dict) else parsed
    if not isinstance(events, list):
        raise InputError(f'{name}: expected "traceEvents"', hint=EXPORT)
    complete = [event for event in events if isinstance(event, dict) and event.get("ph") == "X"]
    for event in complete:
        event.setdefault("args", {})
    return complete


EXPORT = "profiler.export_chrome_trace(FILE) writes one"


def _of(events: list[dict[str, Any]], categories: Iterable[str]) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") in categories]


def _window(marks: list[dict[str, Any]]) -> tuple[float, float]:
    """Microseconds of the last step that is marked."""
    if not marks:
        return float("-inf"), float("inf")
    last = max(marks, key=lambda event: event["ts"])
    return last["ts"], last["ts"] + last["dur"]


def _enclosed(events: list[dict[str, Any]]) -> list[tuple[dict[str, Any], tuple[tuple[str, int], ...]]]:
    """Calls of CUDA in the order of time, with the operators around each."""
    out = []
    open_: dict[Any, list[tuple[float, tuple[str, int]]]] = collections.defaultdict(list)
    seen = _of(events, (*OPERATORS, *CALLS))
    seen.sort(key=lambda event: (event["ts"], -event["dur"]))
    for number, event in enumerate(seen):
        stack = open_[event["pid"], event["tid"]]
        while stack and stack[-1][0] <= event["ts"]:
            stack.pop()
        if event["cat"] in OPERATORS:
            stack.append((event["ts"] + event["dur"], (event["name"], number)))
        else:
            out.append((event, tuple(operator for _, operator in stack)))
    return out
