"""Scenarios beside each other, and what more of a resource would gain."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _frames, _mirfak
from ._inputs import DataFolder, Overrides, Scenario, at_least, input_of, one_or_more, overrides_of
from ._results import FoundRecord, Record
from ._progress import Progress, reporting
from .errors import InputError

if TYPE_CHECKING:
    import pandas


class ComparisonResult(Record):
    """One job on each of several options; keys as of `mirfak compare --format json`, the table among them a frame."""

    def __init__(self, found: _mirfak.ComparedOptions | _mirfak.Findings) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def options(self) -> pandas.DataFrame:
        """A row for each option, in the wanted order, those that do not run last: days, USD, joules, kg of CO2."""
        return _frames.frame_of(self._values["options"])

    def summary(self) -> str:
        """Returns the text that `mirfak compare` prints."""
        return self._found.summary()

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (HTML) with the table and a plot; not of captures."""
        if isinstance(self._found, _mirfak.Findings):
            raise InputError("a page is of options of a model, and these are of a capture", hint="draw `options`")
        self._found.write_report(path)


class DifferenceResult(FoundRecord):
    """Differences of two scenarios in seconds; keys as of `mirfak diff --format json`, the tables among them frames."""

    @property
    def keys(self) -> pandas.DataFrame:
        """A row for each key of the scenarios that is not alike in both."""
        return _frames.frame_of(self._values["keys"])

    @property
    def figures(self) -> pandas.DataFrame:
        """A row for each figure of an iteration, of a and of b, with units at the ends of their names."""
        return self._named("figures")

    @property
    def activities(self) -> pandas.DataFrame:
        """A row for each activity: seconds, which add up to the iteration on both sides."""
        return self._named("activities")

    @property
    def stages(self) -> pandas.DataFrame:
        """A row for each pipeline stage: where the seconds of a GPU go."""
        return self._rows("stages")

    @property
    def kernels(self) -> pandas.DataFrame:
        """A row for each kernel of one or both, the largest difference first."""
        return self._rows("kernels")

    @property
    def operators(self) -> pandas.DataFrame:
        """A row for each operator of a module and phase of one or both captures, the largest difference first."""
        return self._rows("operators")

    @property
    def modules(self) -> pandas.DataFrame:
        """The same rows by module and phase, of captures."""
        return self._rows("modules")

    @property
    def communication(self) -> pandas.DataFrame:
        """The same of collectives and transfers."""
        return self._rows("communication")

    @property
    def memory(self) -> pandas.DataFrame:
        """A row for each part of the memory of the fullest GPU, in bytes."""
        return self._named("memory")

    def _rows(self, table: str) -> pandas.DataFrame:
        if table not in self._values:
            raise AttributeError(f"this difference has no {table}")
        rows = self._values[table]
        return _frames.frame_of([{key: value for key, value in row.items() if value is not None} for row in rows])

    def _named(self, table: str) -> pandas.DataFrame:
        return _frames.frame_of([{"name": name, **figure} for name, figure in self._values[table].items()])


class SensitivityResult(FoundRecord):
    """Gains by more of each resource; keys as of `sensitivity` of `mirfak simulate --sensitivity`."""

    @property
    def resources(self) -> pandas.DataFrame:
        """A row for each resource, what gains most first: seconds with more of it, gained_s, elasticity."""
        return _frames.frame_of(self._values["resources"])


def compare(
    options: Scenario,
    overrides: Overrides | None = None,
    *,
    threads: int = 0,
    progress: Progress = None,
    data: DataFolder = None,
) -> ComparisonResult:
    """The best strategy of one job on each of several clusters, clouds or numbers of nodes, beside each other.

    options: a file of options (sim/faces/comparison/README.md has its keys), as a scenario is given to simulate(); it may ask
    for the fewest GPUs or the least money for a date, or the latest start. overrides: keys of the scenario of all
    options. threads: 0 takes all cores. progress(done, total): options; True shows a bar. data: as of simulate().

    An option that cannot run is a row that says why.
    """
    at_least("threads", threads, 0)
    with reporting(progress, "options") as report:
        return ComparisonResult(_mirfak.compare(input_of(options, overrides, data), threads, report))


def diff(
    a: Scenario,
    b: Scenario | None = None,
    overrides: Overrides | None = None,
    *,
    overrides_a: Overrides | None = None,
    overrides_b: Overrides | None = None,
    nodes: str | Iterable[str] = (),
    data: DataFolder = None,
) -> DifferenceResult:
    """Finds where the seconds of two scenarios differ: keys, activities, stages, kernels, communication, memory, cost.

    a, b: as of simulate(); without b, a is compared with itself under overrides_b. overrides: of both; overrides_a,
    overrides_b: of one of them alone. nodes: of both, which are captures then. data: as of simulate().

    Two captures differ by operator and module (`operators`, `modules`) in place of stages and kernels.
    """
    if b is None and not overrides_of(overrides_a) and not overrides_of(overrides_b):
        raise InputError(
            "one scenario, and nothing in which it differs from itself",
            hint="give a second one, or say with overrides_b what it has otherwise",
        )
    on = one_or_more(nodes)
    first, second = input_of(a, overrides, data, on), input_of(a if b is None else b, overrides, data, on)
    return DifferenceResult(_mirfak.diff(first, second, overrides_of(overrides_a), overrides_of(overrides_b)))
