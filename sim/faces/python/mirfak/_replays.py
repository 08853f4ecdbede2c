"""Recorded steps, executed again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from . import _frames, _mirfak
from ._inputs import DataFolder, data_folder, one_or_more, path_of, paths_of
from ._results import Record

if TYPE_CHECKING:
    import pandas

#: What is so many times as fast, {"stage=3": 1.2, "data=0,op=forward-compute": 0.9}, or texts such as "stage=3:1.2".
Speeds: TypeAlias = "Mapping[str, float] | str | Iterable[str]"


class ReplayResult(Record):
    """Recorded steps, executed again; keys as of `mirfak replay --format json`, the tables among them frames."""

    def __init__(self, found: _mirfak.TraceReplay) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def steps(self) -> pandas.DataFrame:
        """A row for each step: seconds as measured, replayed, without stragglers, and of the what-if if one is asked."""
        return _frames.frame_of(self._values["steps"])

    @property
    def ideal(self) -> pandas.DataFrame:
        """A row for each type of operation: the seconds that one takes without stragglers."""
        return _frames.frame_of(self._values["ideal"])

    @property
    def operations(self) -> pandas.DataFrame:
        """A row for each type of operation: the slowdown by these alone, seconds of a mean step without them."""
        return _frames.frame_of(self._values["operations"])

    @property
    def data_ranks(self) -> pandas.DataFrame:
        """The same for each data-parallel rank."""
        return _frames.frame_of(self._values["data_ranks"])

    @property
    def stages(self) -> pandas.DataFrame:
        """The same for each pipeline stage."""
        return _frames.frame_of(self._values["stages"])

    @property
    def workers(self) -> pandas.DataFrame:
        """The same for each stage of a data-parallel rank, worst first, with its ranks and its score."""
        return _frames.frame_of(self._values["workers"])

    def summary(self) -> str:
        """Returns the text that `mirfak replay` prints."""
        return self._found.summary()

    def write_timeline(self, path: str | os.PathLike[str], step: int | None = None) -> None:
        """Writes a replayed step for Perfetto or chrome://tracing. step: its number in the trace; None: the first."""
        self._found.write_timeline(path, step)


class ChakraReplayResult(Record):
    """Chakra traces, executed; keys as of `mirfak replay --format json` of such, two of them frames."""

    def __init__(self, found: _mirfak.ReplayedChakra) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def ranks(self) -> pandas.DataFrame:
        """A row for each rank: its nodes, and where its seconds go."""
        return _frames.frame_of(self._values["ranks"])

    @property
    def critical_path(self) -> pandas.DataFrame:
        """A row for each name of tasks that decide the time, most seconds first: they add up to iteration_time_s."""
        return _frames.frame_of(self._values["critical_path"])

    def summary(self) -> str:
        """Returns the text that `mirfak replay` prints."""
        return self._found.summary()

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes what was executed for Perfetto or chrome://tracing."""
        self._found.write_timeline(path)


def replay(
    trace: str | os.PathLike[str],
    *,
    dependencies: str | os.PathLike[str] | None = None,
    groups: str | os.PathLike[str] | None = None,
    ideal: str | os.PathLike[str] | None = None,
    ideal_rank: int | Iterable[int] = (),
    ideal_data: int | Iterable[int] = (),
    ideal_stage: int | Iterable[int] = (),
    ideal_op: str | Iterable[str] = (),
    speed: Speeds = (),
) -> ReplayResult:
    """Recorded steps of a real training, executed again: what its stragglers cost, who is to blame, and what if.

    trace: a table of operations (CSV, plain or compressed by gzip; sim/execution/replay/README.md has its columns, times in
    seconds). dependencies, groups: tables of what waits for what and what is done together, both or none: then they
    follow from the trace. ideal: a table of durations without stragglers; default means and medians of the trace.

    The rest asks a question, whose answer is `mean_what_if_s`. ideal_rank, ideal_data, ideal_stage, ideal_op: what if
    these ranks, data-parallel ranks, pipeline stages, types of operations were no stragglers, one or several of each.
    speed: what if some were so many times as fast, {"stage=3": 1.2}; keys as of `mirfak replay --speed`.

    Raises InputError with the line and column of a table that is wrong.
    """
    return ReplayResult(
        _mirfak.replay(
            os.fspath(trace),
            path_of(dependencies),
            path_of(groups),
            path_of(ideal),
            one_or_more(ideal_rank),
            one_or_more(ideal_data),
            one_or_more(ideal_stage),
            one_or_more(ideal_op),
            _speeds(speed),
        )
    )


def replay_chakra(
    traces: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    nodes: str = "",
    data: DataFolder = None,
) -> ChakraReplayResult:
    """Chakra execution traces of some ranks of one run, NAME.<rank>.et, executed: where their time goes.

    nodes: "hgx-h100:4" prices communication that has no recorded duration on so many nodes of a type, rank r on their
    GPU r; without it, that takes no time. data: as of simulate().
    """
    return ChakraReplayResult(_mirfak.replay_chakra(paths_of(traces), nodes, data_folder(data)))


def _speeds(speed: Speeds) -> list[str]:
    if isinstance(speed, Mapping):
        return [f"{of}:{float(times)!r}" for of, times in speed.items()]
    return one_or_more(speed)
