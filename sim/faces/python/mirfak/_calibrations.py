"""Profiles of hardware, fitted to what was measured on it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _frames, _mirfak
from ._inputs import DataFolder, Overrides, Scenario, data_folder, input_of, path_of, paths_of
from ._results import FoundRecord
from .errors import InputError

if TYPE_CHECKING:
    import pandas


class CalibrationResult(FoundRecord):
    """Constants fitted to tables; keys as of `mirfak calibrate --format json`."""

    @property
    def constants(self) -> pandas.DataFrame:
        """A row for each constant: section of the profile, name, value (SI, with the unit at the end of its name)."""
        return _frames.frame_of(
            [
                {"section": section["name"], "name": name, "value": value}
                for section in self._values["sections"]
                for name, value in section["constants"].items()
            ]
        )

    @property
    def scores(self) -> pandas.DataFrame:
        """A row for each part of the samples, fitted or held out: how many, and their errors, as shares of the time."""
        return _frames.frame_of(
            [
                {"section": section["name"], "samples": score["name"], "part": part, **score[part]}
                for section in self._values["sections"]
                for score in section["scores"]
                for part in ("fitted", "held_out")
            ]
        )

    @property
    def doubtful(self) -> bool:
        """True if some fit is off by more than a half in the median: its constants do not describe the tables."""
        return any(section["doubtful"] for section in self._values["sections"])


class TraceCalibrationResult(FoundRecord):
    """A profiler's recordings; keys as of `mirfak calibrate --trace --format json`: recordings, and fit or None."""

    def __init__(self, found: _mirfak.Findings) -> None:
        super().__init__(found)
        self._values.setdefault("fit", None)

    @property
    def steps(self) -> pandas.DataFrame:
        """A row for each recorded step of each rank: where its seconds go."""
        return _frames.frame_of(self._rows("steps"))

    @property
    def classes(self) -> pandas.DataFrame:
        """A row for each class of kernels of each rank: how many, the sum of their seconds, seconds with one running."""
        return _frames.frame_of(self._rows("classes"))

    def _rows(self, key: str) -> list[dict[str, Any]]:
        return [
            {"file": recording["file"], "rank": recording["rank"], **row}
            for recording in self._values["recordings"]
            for row in recording[key]
        ]


class RunsCalibrationResult(FoundRecord):
    """A node type corrected by measured runs; keys as of `mirfak calibrate --runs --format json`, two of them frames."""

    @property
    def runs(self) -> pandas.DataFrame:
        """A row for each run: its line, seconds as measured, predicted, by the other runs (left_out_s), corrected."""
        return _frames.frame_of(self._values["runs"])

    @property
    def skipped_rows(self) -> pandas.DataFrame:
        """A row for each run that could not be used, with the reason."""
        return _frames.frame_of(self._values["skipped_rows"])


def calibrate(
    tables: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    gpu: str = "",
    link: str = "",
    precision: str = "",
    attention: str = "trtllm",
    only: Mapping[str, Any] | None = None,
    source: str = "",
    score: bool = False,
    out: str | os.PathLike[str] | None = None,
    data: DataFolder = None,
) -> CalibrationResult:
    """The constants of the cost models, fitted to tables (CSV) of measured kernels or collectives.

    A third of the shapes is held out and scored. sim/files/calibration/README.md has the tables' columns with their units.
    gpu, link: what kernels ran on, what collectives ran over: names of profiles, or paths. precision: of the rows,
    where a table does not say. attention: the kernels that tables of attention timed. only={"column": value} leaves out
    all other rows. source: where the tables are from, for the profile. score=True fits nothing: how well do the
    constants that the profile has describe the tables?

    out: the profile to put the constants into; a new one is a copy of gpu's or link's. It is written whole, or not at
    all where a fit does not describe its tables. data: as of simulate().
    """
    return CalibrationResult(
        _mirfak.calibrate(
            paths_of(tables), gpu, link, precision, attention, score, _only(only), source, path_of(out), data_folder(data)
        )
    )


def calibrate_machine(
    tables: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    machine: str | os.PathLike[str],
    name: str,
    out: str | os.PathLike[str],
    *,
    only: Mapping[str, Any] | None = None,
    source: str = "",
    data: DataFolder = None,
) -> CalibrationResult:
    """Profiles of the processors that `mirfak-measure` timed: a core, a link and a node type.

    tables: gemm.csv, memory.csv, collectives.csv; machine: machine.csv, which describes it. name: of the node type,
    which a scenario names by its path, OUT/NAME.yaml. out: the folder for the three profiles, which are all written, or
    none. only, source, data: as of calibrate().
    """
    return CalibrationResult(
        _mirfak.calibrate_machine(
            paths_of(tables), os.fspath(machine), name, os.fspath(out), _only(only), source, data_folder(data)
        )
    )


def calibrate_trace(
    trace: str | os.PathLike[str],
    scenario: Scenario | None = None,
    overrides: Overrides | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    framework: str | os.PathLike[str] | None = None,
    data: DataFolder = None,
) -> TraceCalibrationResult:
    """Reads a profiler's recordings, and corrects a machine by them.

    trace: of PyTorch's profiler (JSON, plain or compressed by gzip) or of Nsight Systems (exported as SQLite), or a
    folder of ranks. scenario: what was recorded, as of simulate(); its predictions are compared with the steps.

    out: writes the scenario's node type as the steps correct it. framework: writes a framework file with the host's
    recorded issue times. Both are written, or none. data: as of simulate().
    """
    if scenario is None and overrides is not None:
        raise InputError("overrides need a scenario")
    recorded = None if scenario is None else input_of(scenario, overrides, data)
    return TraceCalibrationResult(
        _mirfak.calibrate_trace(os.fspath(trace), recorded, path_of(out), path_of(framework), data_folder(data))
    )


def calibrate_runs(
    runs: str | os.PathLike[str],
    *,
    mapping: str | os.PathLike[str] | None = None,
    only: Mapping[str, Any] | None = None,
    source: str = "",
    out: str | os.PathLike[str] | None = None,
    data: DataFolder = None,
) -> RunsCalibrationResult:
    """A node type corrected by iterations that were measured on it, and how far off each is predicted by the others.

    runs: a table (CSV) as of validate(), all of one node type under one framework. mapping, only: as of validate() and
    calibrate(). source: what to call the table in the profile; default its file's name. out: writes the corrected node
    type, whole or not at all. data: as of simulate().
    """
    return RunsCalibrationResult(
        _mirfak.calibrate_runs(os.fspath(runs), path_of(mapping), _only(only), source, path_of(out), data_folder(data))
    )


def _only(only: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(str(column), str(value)) for column, value in (only or {}).items()]
