"""The functions of the package."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from . import _mirfak
from ._calibrations import (
    CalibrationResult,
    RunsCalibrationResult,
    TraceCalibrationResult,
    calibrate,
    calibrate_machine,
    calibrate_runs,
    calibrate_trace,
)
from ._commands import block, schedule, serve, shard, topology
from ._commands import names as list  # noqa: A004 (the program's word)
from ._comparisons import ComparisonResult, DifferenceResult, SensitivityResult, compare, diff
from ._imports import ImportResult, import_files
from ._inputs import DataFolder, Overrides, Scenario, at_least, data_folder, input_of, one_of, one_or_more
from ._inputs import overrides_of, path_of, paths_of
from ._mirfak import Result, Timeline, Trace, read_trace, reload_data
from ._plots import plot_sweep
from ._progress import Progress, reporting
from ._replays import ChakraReplayResult, ReplayResult, Speeds, replay, replay_chakra
from ._results import CapturedResult, FrontierResult, JobsResult, PlanResult, Record, SearchResult, TrainingResult
from ._results import ValidationResult
from ._sweeps import Submits, frame_of_sweep, sweep_frame
from .errors import Error, InfeasibleError, InputError, InternalError, MissingFileError

if TYPE_CHECKING:
    import pandas

__all__ = [
    "CalibrationResult",
    "CapturedResult",
    "ChakraReplayResult",
    "ComparisonResult",
    "DifferenceResult",
    "Error",
    "FrontierResult",
    "ImportResult",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "JobsResult",
    "MissingFileError",
    "Overrides",
    "PlanResult",
    "Record",
    "ReplayResult",
    "Result",
    "RunsCalibrationResult",
    "Scenario",
    "SearchResult",
    "SensitivityResult",
    "Speeds",
    "Timeline",
    "Trace",
    "TraceCalibrationResult",
    "TrainingResult",
    "ValidationResult",
    "__version__",
    "block",
    "calibrate",
    "calibrate_machine",
    "calibrate_runs",
    "calibrate_trace",
    "compare",
    "data_hash",
    "diff",
    "frontier",
    "import_files",
    "list",
    "plan_alpa",
    "plot_sweep",
    "read_sweep",
    "read_trace",
    "reload_data",
    "replay",
    "replay_chakra",
    "schedule",
    "search",
    "serve",
    "shard",
    "simulate",
    "simulate_jobs",
    "sweep",
    "topology",
    "train",
    "validate",
]

__version__: str = _mirfak.version


def data_hash(data: DataFolder = None) -> str:
    """Returns the hash of models and hardware: 16 hexadecimal digits, as `data_hash` of the program's JSON and files.

    Equal wherever the files lie, as long as each is the same. With __version__ it says whether two results compare.
    """
    return _mirfak.data_hash(data_folder(data))


def simulate(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    nodes: str | Iterable[str] = (),
    detail: str = "passes",
    unfolded: bool = False,
    samples: int = 0,
    seed: int | None = None,
    sampling: str = "antithetic",
    data: DataFolder = None,
) -> Result | CapturedResult:
    """One training iteration: how long it takes, where the time goes, what memory, energy and money it needs.

    scenario: a job (Result), or a captured program (CapturedResult): a scenario that names a capture, or the path of
    a capture with nodes="hgx-h100:8" (several of them: a mixed cluster).
    overrides: keys of the scenario, such as {"strategy.tensor": 4}.
    detail: "passes", one task for each pass of a chunk, or "operators", one for each kernel and collective.
    unfolded: simulates every rank, not one for all that behave alike.
    samples: also simulates so many iterations, each with a draw of cluster.perturbations (Result.spread), from `seed`
    (default: the scenario's); sampling: "antithetic", every second one the mirror image of the one before, or "random".
    data: the folder that holds models/ and hw_profiles/; default MIRFAK_DATA of the environment, else the package's.

    A job that needs more memory than there is has a result, too: see Result.fits. Raises InputError for what cannot be
    understood, InfeasibleError for a job that cannot run for other reasons.
    """
    operators = one_of("detail", detail, ("passes", "operators")) == 1
    antithetic = _antithetic(sampling, samples)
    given = input_of(scenario, overrides, data, one_or_more(nodes))
    found = _mirfak.simulate(given, unfolded, operators, samples, seed, antithetic)
    return found if isinstance(found, Result) else CapturedResult(found)


def simulate_jobs(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    detail: str = "passes",
    unfolded: bool = False,
    samples: int = 0,
    seed: int | None = None,
    sampling: str = "antithetic",
    data: DataFolder = None,
) -> JobsResult:
    """Several trainings on one cluster, a scenario with the section `jobs`: who slows whom, and by how much.

    Arguments and errors as of simulate(); with samples, `spread` says how the jobs' iterations vary, in seconds.
    """
    operators = one_of("detail", detail, ("passes", "operators")) == 1
    antithetic = _antithetic(sampling, samples)
    found = _mirfak.simulate_jobs(input_of(scenario, overrides, data), unfolded, operators, samples, seed, antithetic)
    return JobsResult(found)


def search(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    threads: int = 0,
    time_limit_s: float = 0,
    progress: Progress = None,
    data: DataFolder = None,
) -> SearchResult:
    """The best strategies to train the scenario's model on its cluster.

    What stands under `strategy` is fixed, the section `search` limits the rest: overrides={"search.objective": "cost"}.
    threads: 0 takes all cores. time_limit_s: after so many seconds, the best so far; 0: none.
    progress(done, total): called some times a second from this thread, with strategies dealt with and in all; True
    shows a bar of tqdm.

    Raises InfeasibleError where nothing keeps the rules, fits in memory and is within the limits.
    """
    at_least("threads", threads, 0)
    at_least("time_limit_s", time_limit_s, 0)
    with reporting(progress, "strategies") as report:
        found = _mirfak.search(input_of(scenario, overrides, data), threads, time_limit_s, report)
    return SearchResult(found, data)


def plan_alpa(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    levels: str = "both",
    threads: int = 0,
    time_limit_s: float = 0,
    progress: Progress = None,
    data: DataFolder = None,
) -> PlanResult:
    """A plan as Alpa makes it: integer programs divide blocks, a dynamic program divides the model into stages.

    The plans are executed by the engine, and the best strategy that search() finds stands beside them. Alpa minimises
    time, on all nodes; the section `search` limits its choices as of search().
    levels: "both"; "intra-only", one stage has all GPUs; "inter-only", a GPU for each stage.
    threads, time_limit_s, progress: as of search(), with plans dealt with and in all. data: as of simulate().

    Raises InputError where the section `search` asks for anything that Alpa does not plan for, InfeasibleError where no
    plan keeps the rules and fits in memory.
    """
    at_least("threads", threads, 0)
    at_least("time_limit_s", time_limit_s, 0)
    with reporting(progress, "plans") as report:
        found = _mirfak.plan_alpa(input_of(scenario, overrides, data), levels, threads, time_limit_s, report)
    return PlanResult(found, data)


def sweep(
    sweep: Scenario,
    overrides: Overrides | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 0,
    executor: Submits | Callable[[], Submits] | None = None,
    shards: int | None = None,
    progress: Progress = None,
    data: DataFolder = None,
) -> pandas.DataFrame:
    """Every point of a scenario with axes: a row for each, by the number of the point.

    Columns: the keys of the axes, `status` ("ok", "out-of-memory", "infeasible", "input", "internal"), `reason`, and
    figures as of simulate(), NaN where nothing was simulated. `attrs["notes"]`: axes that change nothing.

    out: keeps the table as HDF5, too. Finished points are kept beside it in OUT.part, however the run ends;
    resume=True goes on from there, and from nothing where there is nothing.
    executor: workers that take shards of the sweep: any concurrent.futures.Executor, a client of dask.distributed, or
    a function that makes one, which is called again where its workers died. They import mirfak and see the folder of
    `out` (needed where they are on other machines) and of the scenario. The table is that of one process, to the bit.
    shards: into how many equal parts; default by the number of points. threads: of each shard or, without an
    executor, of the run; 0: all cores, or with an executor one.
    progress(done, total): points, or with an executor shards, that are finished; True shows a bar of tqdm.
    """
    at_least("threads", threads, 0)
    if executor is not None and threads == 0:
        threads = 1
    with reporting(progress, "points") as report:
        return sweep_frame(sweep, overrides_of(overrides), data, out, resume, threads, executor, shards, report)


def read_sweep(path: str | os.PathLike[str]) -> pandas.DataFrame:
    """The table of a finished sweep (HDF5), as sweep() returns it."""
    return frame_of_sweep(_mirfak.read_sweep(os.fspath(path)))


def frontier(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    stragglers: Iterable[float] = (),
    unit: str = "pass",
    switch_time: float | None = None,
    joint: bool = False,
    communication_sms: Iterable[int] = (),
    nodes: str | Iterable[str] = (),
    data: DataFolder = None,
) -> FrontierResult:
    """The least energy of an iteration for every time that it may take, and the clock of every pass.

    stragglers: also plans for another pipeline that takes so many times as long, each at least 1; default what
    cluster.perturbations make of the iteration. unit: what has a clock of its own, a "pass", its "part" between two
    collectives, or in this part a "kernel-class"; switch_time: seconds of a change of clock inside a pass, default 0.01.
    joint: also chooses for each pass whether its microbatch runs as two parts, the kernels that their collectives start
    with, and the multiprocessors of the collectives of each part, of which communication_sms names the candidates
    beside what the library chooses; default 2, 4, 8 and 16. nodes: as of simulate(), for a capture of a pipeline.
    """
    factors = [float(factor) for factor in stragglers]
    for factor in factors:
        if not 1 <= factor <= 1000:
            raise InputError(
                f"stragglers: expected a factor from 1 to 1000, found {factor}",
                hint="1.2 is a pipeline that takes 20 % longer",
            )
    units = one_of("unit", unit, ("pass", "part", "kernel-class"))
    if switch_time is not None and not (units > 0 or joint):
        raise InputError("switch_time is of clocks inside passes", hint='add unit="part" or joint=True')
    if switch_time is not None and not 0 <= switch_time <= 10:
        raise InputError(f"switch_time: expected seconds up to 10, found {switch_time}", hint="such as 0, 0.001 or 0.01")
    multiprocessors = [int(count) for count in communication_sms]
    if multiprocessors and not joint:
        raise InputError(
            "communication_sms belongs to joint",
            hint='{"strategy.communication_sms": N} as an override holds for all passes of the job',
        )
    found = _mirfak.frontier(
        input_of(scenario, overrides, data, one_or_more(nodes)),
        factors,
        units,
        joint,
        0.01 if switch_time is None else float(switch_time),
        multiprocessors,
    )
    return FrontierResult(found)


def train(
    scenario: Scenario,
    overrides: Overrides | None = None,
    *,
    samples: int = 1000,
    seed: int = 1,
    data: DataFolder = None,
) -> TrainingResult:
    """The whole training, with failures, checkpoints and restarts of the scenario's section `operations`.

    samples: runs to simulate, from 1 to 10,000,000; seed: of their random numbers.
    """
    return TrainingResult(_mirfak.train(input_of(scenario, overrides, data), samples, seed))


def validate(
    tables: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    tiers: str = "AB",
    mapping: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    data: DataFolder = None,
) -> ValidationResult:
    """Compares predictions with tables (CSV) of measured runs: mean absolute error, and every row.

    tiers: which graded rows count; rows without a tier always do. mapping: a YAML file that says what columns and words
    mean, read before the common vocabulary. progress(done, total): tables; True shows a bar.
    """
    with reporting(progress, "tables") as report:
        return ValidationResult(_mirfak.validate(paths_of(tables), tiers, path_of(mapping), data_folder(data), report))


def _antithetic(sampling: str, samples: int) -> bool:
    antithetic = one_of("sampling", sampling, ("antithetic", "random")) == 0
    if not antithetic and samples == 0:
        raise InputError("sampling needs samples", hint="say how many iterations, such as samples=1000")
    return antithetic
