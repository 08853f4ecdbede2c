"""Results whose attributes are the keys of JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _frames, _html, _mirfak, _plots
from ._inputs import DataFolder, input_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Record:
    """A result: its attributes are its JSON's keys, in SI units that stand at the end of their names."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            try:
                return self._values[name]
            except KeyError:
                pass
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(dir(self)))}")

    def __dir__(self) -> Sequence[str]:
        own = [name for name in super().__dir__() if not name.startswith("_")]
        return sorted({*own, *self.__dict__.get("_values", {})})

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return dict(self._values)

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._values.items() if isinstance(v, (int, float, bool)) and v is not None}
        return f"<mirfak.{type(self).__name__}: {', '.join(f'{k}={v:.6g}' for k, v in list(shown.items())[:6])}>"


class FoundRecord(Record):
    """A result that has a text, too."""

    def __init__(self, found: _mirfak.Findings) -> None:
        super().__init__(found.to_dict())
        self._found = found

    def summary(self) -> str:
        """Returns the text that the program prints."""
        return self._found.summary()


class FoundStrategies(Record):
    """Strategies, best first, of a search or a planner."""

    strategies: list[dict[str, Any]]
    notes: list[str]

    def __init__(self, found: _mirfak.FoundStrategies | _mirfak.FoundPlans, data: DataFolder = None) -> None:
        super().__init__(found.to_dict())
        self._found = found
        self._data = data
        self._best: _mirfak.Result | None = None

    def __len__(self) -> int:
        return len(self._found)

    @property
    def best(self) -> _mirfak.Result:
        """The best strategy as simulate() has it; the keys of the search's JSON are in strategies[0]."""
        if self._best is None:
            found = _mirfak.simulate(input_of(self.scenario(), None, self._data), False, False, 0, None, True)
            assert isinstance(found, _mirfak.Result)
            self._best = found
        return self._best

    def plot(self, *, axes: Axes | None = None) -> Axes:
        """The strategies by time and cost, numbered from the best, 0; returns the axes (matplotlib)."""
        return _plots.plot_strategies(self, axes)

    def __repr__(self) -> str:
        best = self.strategies[0]
        words = _html.strategy_words(best["strategy"])
        time, gpus = _html.shown("iteration_time_s", best["iteration_time_s"]), best["gpus"]
        return f"<mirfak.{type(self).__name__}: best of {len(self)}: {words}: {time} an iteration on {gpus} GPUs>"

    def _repr_html_(self) -> str:
        return _html.strategies_html(self)

    @property
    def frame(self) -> pandas.DataFrame:
        """A row for each strategy, best first: figures as in JSON, its keys as "strategy.tensor"."""
        kept = [{k: v for k, v in found.items() if k not in ("variants", "activities")} for found in self.strategies]
        return _frames.frame_of(kept)

    @property
    def resolved(self) -> str:
        """The scenario as YAML, with every limit of the search written out."""
        return self._found.resolved

    def scenario(self, place: int = 0) -> str:
        """A strategy as a scenario (YAML) for simulate(); place: from 0, the best."""
        return self._found.scenario(self._checked(place))

    def emit(self, target: str, place: int = 0, launcher: str = "") -> str:
        """The arguments or files with which a program ("megatron", "torchtitan", ...) runs a strategy, in one text.

        target: as `mirfak search --emit` takes it. launcher: "slurm" or "torchrun", for a script that starts the program
        on all nodes. Raises InfeasibleError at the first key that the program cannot express.
        """
        return self._found.emit(target, self._checked(place), launcher)

    def summary(self) -> str:
        """Returns the text that `mirfak search` prints."""
        return self._found.summary()

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (HTML) with all strategies and the reasons of their figures."""
        self._found.write_report(path)

    def _checked(self, place: int) -> int:
        if not 0 <= place < len(self):
            raise IndexError(f"place {place} of {len(self)} strategies")
        return place


class SearchResult(FoundStrategies):
    """Strategies found by a search; keys as of `mirfak search --format json`, of which `strategies` is a list, best first."""


class PlanResult(FoundStrategies):
    """Plans that Alpa's planner found; keys as of `mirfak search --planner alpa --format json`: `plan` is the best."""

    @property
    def stages(self) -> pandas.DataFrame:
        """A row for each stage of the best plan: layers, mesh, seconds and bytes as the planner counts them."""
        return _frames.frame_of(self._values["plan"]["stages"])


class FrontierResult(Record):
    """The least energy for every iteration time; keys as of `mirfak frontier --format json`, two of them frames."""

    def __init__(self, found: _mirfak.FoundFrontier) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def plans(self) -> pandas.DataFrame:
        """A row for each straggler, the first without one: seconds, joules, the share that is saved."""
        kept = [{k: v for k, v in plan.items() if k != "baselines"} for plan in self._values["plans"]]
        return _frames.frame_of(kept)

    @property
    def points(self) -> pandas.DataFrame:
        """The corners of the curve: iteration_time_s and energy_j; linear between."""
        return _frames.frame_of(self._values["points"])

    def plot(self, *, axes: Axes | None = None) -> Axes:
        """The least energy over the time of an iteration, with the plans; returns the axes (matplotlib)."""
        return _plots.plot_frontier(self, axes)

    def clock_plan(self) -> dict[str, Any]:
        """Returns the clock to set in MHz, by straggler, stage and pass: keys as of `mirfak frontier --plan`."""
        return self._found.clock_plan()

    def summary(self) -> str:
        """Returns the text that `mirfak frontier` prints."""
        return self._found.summary()

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (HTML) with the frontier and the clocks."""
        self._found.write_report(path)


class TrainingResult(Record):
    """A whole training; keys as of `mirfak train --format json`."""

    def __init__(self, found: _mirfak.PredictedTraining) -> None:
        super().__init__(found.to_dict())
        self._found = found

    def summary(self) -> str:
        """Returns the text that `mirfak train` prints."""
        return self._found.summary()

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the run that ends at the median as HDF5."""
        self._found.write_trace(path)

    def power(self, resolution_s: float = 60) -> dict[str, Any]:
        """Watts of the machine over the run that ends at the median, as means over intervals of 1 s to 1 h.

        The keys of `mirfak train --power FILE.json`: figures, and `series` with the watts of each part.
        """
        return self._found.power(resolution_s)

    def write_power(self, path: str | os.PathLike[str], resolution_s: float = 60) -> None:
        """Writes power() as FILE.csv, FILE.json or FILE.h5."""
        self._found.write_power(path, resolution_s)

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (HTML) with the run and the reasons of its figures."""
        self._found.write_report(path)


class ValidationResult(Record):
    """Predictions beside measured runs; keys as of `mirfak validate --format json`, two of them frames."""

    @property
    def rows(self) -> pandas.DataFrame:
        """A row for each run that was predicted: line, table, predicted and measured seconds, error."""
        return _frames.frame_of(self._values["rows"])

    @property
    def skipped_rows(self) -> pandas.DataFrame:
        """A row for each run that was not, with the reason."""
        return _frames.frame_of(self._values["skipped_rows"])


class CapturedResult(Record):
    """A step of a captured program; keys as of `mirfak simulate --format json` of a capture, three of them frames."""

    def __init__(self, found: _mirfak.SimulatedCapture) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def operators(self) -> pandas.DataFrame:
        """A row for each operator of the longest rank, tensors, module and phase: seconds, share, calls, flop, bytes."""
        return _frames.frame_of(self._values["operators"])

    @property
    def modules(self) -> pandas.DataFrame:
        """The same, added up by module and phase."""
        return _frames.frame_of(self._values["modules"])

    @property
    def ranks(self) -> pandas.DataFrame:
        """A row for each captured rank: where its time goes, its memory, its clock, its joules."""
        return _frames.frame_of(self._values["ranks"])

    @property
    def resolved(self) -> str:
        """The scenario as YAML with every default written out: the capture by its path and hash."""
        return self._found.resolved

    @property
    def defaulted(self) -> list[str]:
        """The keys of `resolved` that the scenario leaves out."""
        return self._found.defaulted

    def summary(self) -> str:
        """Returns the text that `mirfak simulate` prints."""
        return self._found.summary()

    def explain(self) -> str:
        """Returns the text that `mirfak simulate --explain` prints: more rows, and the sources of the prices."""
        return self._found.explain()

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes a timeline for Perfetto or chrome://tracing."""
        self._found.write_timeline(path)

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes all tasks, ranks and power as HDF5."""
        self._found.write_trace(path)

    def power(self, resolution_s: float = 0.01) -> dict[str, Any]:
        """Watts over time, as means over intervals of 0.001 to 1 s: the keys of `mirfak simulate --power FILE.json`."""
        return self._found.power(resolution_s)

    def write_power(self, path: str | os.PathLike[str], resolution_s: float = 0.01) -> None:
        """Writes power() as FILE.csv, FILE.json or FILE.h5."""
        self._found.write_power(path, resolution_s)

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (HTML) with views and reasons of all figures."""
        self._found.write_report(path)


class JobsResult(Record):
    """Several jobs on one cluster; keys as of `mirfak simulate --format json` of a scenario with `jobs`."""

    def __init__(self, found: _mirfak.SimulatedJobs) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def frame(self) -> pandas.DataFrame:
        """A row for each job: seconds alone and beside the others, what an iteration takes."""
        kept = [{k: v for k, v in job.items() if k not in ("slowed",)} for job in self._values["jobs"]]
        return _frames.frame_of(kept)

    def summary(self) -> str:
        """Returns the text that `mirfak simulate` prints."""
        return self._found.summary()

    def explain(self) -> str:
        """Says which links bind, whose traffic slows whose, and every cost of each job with its sources."""
        return self._found.explain()

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes all iterations of all jobs, and the links that they share, as HDF5."""
        self._found.write_trace(path)

    def write_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes a timeline of all jobs for Perfetto or chrome://tracing."""
        self._found.write_timeline(path)

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page (HTML) with views and reasons."""
        self._found.write_report(path)
