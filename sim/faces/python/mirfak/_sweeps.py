"""Sweeps in this process, and over the workers of an executor."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from . import _mirfak
from ._inputs import Overrides, Scenario, data_folder, input_of
from .errors import InputError, InternalError

if TYPE_CHECKING:
    import pandas

Progress = Callable[[int, int], object]

_TRIES = 3  # of a shard whose workers die


class Submits(Protocol):
    """An object that hands work to workers: any concurrent.futures.Executor, or a client of dask.distributed."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...


def frame_of_sweep(sweep: _mirfak.FinishedSweep) -> pandas.DataFrame:
    """A row for each point: keys of the axes, status, reason, figures; `attrs` has the notes."""
    import pandas

    columns: dict[str, Any] = dict(sweep.axes())
    columns["status"] = pandas.Categorical.from_codes(sweep.status, _mirfak.status_names())
    columns["reason"] = sweep.reason
    figures = np.asarray(sweep.figures)
    columns.update({key: figures[:, place] for place, key in enumerate(_mirfak.figure_keys())})
    frame = pandas.DataFrame(columns, index=pandas.Index(sweep.point, name="point"))
    frame.attrs["notes"] = sweep.notes
    return frame


def run_shard(
    scenario: Scenario, overrides: list[str], data: str, out: str, shard: int, shards: int, threads: int
) -> str:
    """Runs one shard on a worker, going on where a killed worker stood before. Returns the path of its table."""
    _mirfak.sweep(input_of(scenario, overrides, data), out, True, shard, shards, threads, None)
    return out


class _Shards:
    """The shards of one sweep on the workers of an executor."""

    def __init__(
        self, executor: Submits | Callable[[], Submits], arguments: tuple[Any, ...], folder: pathlib.Path, shards: int
    ) -> None:
        self._executor = executor
        self._arguments = arguments
        self._folder = folder
        self._shards = shards

    def tables(self) -> list[pathlib.Path]:
        return [self._folder / f"shard-{shard}-of-{self._shards}.h5" for shard in range(1, self._shards + 1)]

    def run(self, progress: Progress | None, threads: int) -> None:
        """Runs shards until all tables are there."""
        for _ in range(_TRIES):
            missing = [shard for shard, table in enumerate(self.tables(), 1) if not table.exists()]
            if not missing:
                return
            self._run_once(missing, progress, threads)
        if not all(table.exists() for table in self.tables()):
            raise InternalError(
                f"workers died {_TRIES} times, or do not see the folder {self._folder}: some shards have no table",
                hint=f"finished points are kept in {self._folder}; the same call goes on there with resume=True",
            )

    def _run_once(self, missing: list[int], progress: Progress | None, threads: int) -> None:
        with _started(self._executor) as executor:
            try:
                futures = [self._submit(executor, shard, threads) for shard in missing]
            except concurrent.futures.BrokenExecutor as broken:
                raise self._broken(broken) from broken
            try:
                for done, error in enumerate(_as_they_end(futures), self._shards - len(missing) + 1):
                    if error is not None and not _is_death(error):
                        raise error
                    if progress is not None and error is None:
                        progress(done, self._shards)
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
            if any(_is_broken(future) for future in futures) and hasattr(self._executor, "submit"):
                raise self._broken(None)

    def _submit(self, executor: Submits, shard: int, threads: int) -> Any:
        table = str(self.tables()[shard - 1])
        return executor.submit(run_shard, *self._arguments, table, shard, self._shards, threads)

    def _broken(self, why: BaseException | None) -> InternalError:
        return InternalError(
            f"a worker died, and its executor takes no more work{f': {why}' if why else ''}",
            hint=f"finished points are kept in {self._folder}: call again with a new executor and resume=True, or give "
            "a function that makes executors, such as lambda: ProcessPoolExecutor(8), which is called again",
        )


class _started:  # noqa: N801 (a context, used like a function)
    """The executor, or one that is made for this and shut down behind it."""

    def __init__(self, executor: Submits | Callable[[], Submits]) -> None:
        self._given = executor

    def __enter__(self) -> Submits:
        self._executor: Any = self._given if hasattr(self._given, "submit") else self._given()
        return self._executor

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._executor is not self._given and hasattr(self._executor, "shutdown"):
            self._executor.shutdown(wait=True, cancel_futures=True)


def _as_they_end(futures: list[Any]) -> Iterator[BaseException | None]:
    """Yields the error that each future raised, or None; futures of other libraries have exception(), too."""
    if all(isinstance(future, concurrent.futures.Future) for future in futures):
        for future in concurrent.futures.as_completed(futures):
            yield future.exception()
        return
    for future in futures:
        yield future.exception()


def _is_death(error: BaseException) -> bool:
    """True if the error says that a worker died, not that the sweep is wrong."""
    return isinstance(error, concurrent.futures.BrokenExecutor) or type(error).__name__ in (
        "KilledWorker",
        "CancelledError",
    )


def _is_broken(future: Any) -> bool:
    return isinstance(future, concurrent.futures.Future) and isinstance(
        future.exception(), concurrent.futures.BrokenExecutor
    )


def sweep_on(
    executor: Submits | Callable[[], Submits],
    sweep: Scenario,
    overrides: list[str],
    data: str,
    out: pathlib.Path,
    shards: int,
    resume: bool,
    threads: int,
    progress: Progress | None,
) -> None:
    """The table of a whole sweep at `out`, made of shards beside it."""
    folder = out.with_name(out.name + ".shards")
    if folder.exists() and not resume:
        raise InputError(
            f"{folder}: shards of an earlier run are here", str(folder), hint="go on with resume=True, or delete them"
        )
    folder.mkdir(parents=True, exist_ok=True)
    work = _Shards(executor, (sweep, overrides, data), folder, shards)
    work.run(progress, threads)
    _mirfak.merge_sweeps([str(table) for table in work.tables()], str(out))
    shutil.rmtree(folder, ignore_errors=True)


def sweep_frame(
    sweep: Scenario,
    overrides: list[str],
    data: str | os.PathLike[str] | None,
    out: str | os.PathLike[str] | None,
    resume: bool,
    threads: int,
    executor: Submits | Callable[[], Submits] | None,
    shards: int | None,
    progress: Progress | None,
) -> pandas.DataFrame:
    """See mirfak.sweep()."""
    if out is None:
        if resume:
            raise InputError("resume needs out: the table of the run to go on with")
        with tempfile.TemporaryDirectory(prefix="mirfak-sweep-") as folder:
            table = pathlib.Path(folder, "sweep.h5")
            return sweep_frame(sweep, overrides, data, table, False, threads, executor, shards, progress)
    path = pathlib.Path(os.path.abspath(out))
    source = input_of(sweep, overrides, data)
    if executor is None:
        if shards is not None:
            raise InputError("shards need an executor to hand them to")
        _mirfak.sweep(source, str(path), resume, 1, 1, threads, progress)
        return frame_of_sweep(_mirfak.read_sweep(str(path)))
    if path.exists() and not resume:
        raise InputError(f"{path}: this file exists", str(path), hint="delete it, or choose another out")
    points = _mirfak.sweep_points(source)
    count = shards if shards is not None else max(1, min(64, points // 4))
    if count < 1:
        raise InputError(f"shards: expected 1 or more, found {count}")
    if isinstance(sweep, (str, os.PathLike)) and not (isinstance(sweep, str) and "\n" in sweep):
        sweep = os.path.abspath(sweep)  # workers may stand in another folder
    if path.exists():
        _mirfak.sweep(source, str(path), True, 1, 1, threads, None)  # makes sure that it is of this sweep
    else:
        sweep_on(executor, sweep, overrides, data_folder(data), path, count, resume, threads, progress)
    return frame_of_sweep(_mirfak.read_sweep(str(path)))
