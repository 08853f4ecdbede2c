"""Knowledge of the program's commands, as their JSON: names, blocks, schedules, shardings, networks; and the page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import _mirfak
from ._inputs import DataFolder, Overrides, data_folder, one_or_more, overrides_of


def _asked(name: str, *words: str) -> Any:
    return json.loads(_mirfak.command([name, *words, "--format", "json"]))


def _data(data: DataFolder) -> list[str]:
    return ["--data", data_folder(data)]


def _options(**values: str | float | None) -> list[str]:
    """The options that are given: max_in_flight=4 is --max-in-flight 4."""
    given = {name: value for name, value in values.items() if value is not None}
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def _repeated(option: str, values: str | Iterable[str]) -> list[str]:
    return [word for value in one_or_more(values) for word in (option, value)]


def names(what: str, *, data: DataFolder = None) -> Any:
    """Lists names that scenarios may use, with the keys of `mirfak list WHAT --format json`.

    what: models, gpus, nodes, links, fabrics, prices, schedules, frameworks, words, strategy, blocks, fits or figures.
    Its name in the package is mirfak.list.
    """
    return _asked("list", what, *_data(data))


def block(
    file: str | os.PathLike[str], *, sizes: Overrides | None = None, data: DataFolder = None
) -> dict[str, Any]:
    """Describes a block by a file or a name: shapes, the backward pass, memory, FLOPs.

    sizes: sizes that differ, or other blocks that it takes, {"hidden": 4096}. Keys as of `mirfak block --format json`.
    """
    changed = _repeated("--set", overrides_of(sizes))
    found: dict[str, Any] = _asked("block", os.fspath(file), *changed, *_data(data))
    return found


def schedule(
    name: str | os.PathLike[str],
    *,
    stages: int | None = None,
    microbatches: int | None = None,
    chunks: int | None = None,
    max_in_flight: int | None = None,
    times: str | None = None,
    transfer: float | None = None,
) -> dict[str, Any]:
    """The order of passes of a pipeline schedule, a name or a CSV in PyTorch's format, checked and timed.

    stages and microbatches: 4 and 8 where left out; a file has its own. chunks: of each stage, where the schedule leaves
    their number open. max_in_flight: microbatches whose activations a stage may keep. times: how long passes take,
    "1,1,1": forward, backward of inputs, of weights. transfer: how long one between stages takes, in the same unit.
    Keys as of `mirfak schedule --format json`.
    """
    given = _options(stages=stages, microbatches=microbatches, chunks=chunks, max_in_flight=max_in_flight, times=times,
                     transfer=transfer)  # fmt: skip
    found: dict[str, Any] = _asked("schedule", os.fspath(name), *given)
    return found


def shard(
    model: str | os.PathLike[str],
    mesh: str,
    *,
    annotate: str | Iterable[str] = (),
    batch: int | None = None,
    sequence: int | None = None,
    nodes: str | None = None,
    data: DataFolder = None,
) -> dict[str, Any]:
    """The shardings of all tensors that follow from a few: collectives, bytes, memory.

    mesh: its axes, "data=8,tensor=4". annotate: such as "w1: (hidden, ffn@tensor)". batch: sequences on all devices
    together; sequence: tokens of each. nodes: also how long it takes on "hgx-h100:4". Keys as of `mirfak shard --format json`.
    """
    given = [*_repeated("--annotate", annotate), *_options(batch=batch, sequence=sequence, nodes=nodes)]
    found: dict[str, Any] = _asked("shard", os.fspath(model), "--mesh", mesh, *given, *_data(data))
    return found


def topology(
    file: str | os.PathLike[str],
    overrides: Overrides | None = None,
    *,
    between: Iterable[tuple[str, str]] = (),
    name: str | None = None,
    data: DataFolder = None,
) -> dict[str, Any]:
    """The graph of a network: kinds of vertices and links, levels, diameter, bisection.

    file: a scenario, or a description of a network. between: pairs of groups, ("node:0", "node:1"), whose bandwidth is
    asked for. name: the topology to read where a file has several. Keys as of `mirfak topology --format json`.
    """
    pairs = [word for pair in between for word in ("--between", *pair)]
    given = [*_repeated("--set", overrides_of(overrides)), *pairs, *_options(topology=name)]
    found: dict[str, Any] = _asked("topology", os.fspath(file), *given, *_data(data))
    return found


def serve(file: str | os.PathLike[str] | None = None, *, port: int = 8137, data: DataFolder = None) -> None:
    """Serves a page on this machine that simulates every change, as `mirfak serve`, until Ctrl-C; prints its address.

    file: what the page begins with. port: 0 takes a free one.
    """
    begin = [] if file is None else [os.fspath(file)]
    _mirfak.serve([*begin, "--port", str(port), *_data(data)], lambda text: print(text, end="", flush=True))
