"""Plots of results with matplotlib, which is imported where one is asked for: install mirfak[notebooks]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._inputs import one_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from ._mirfak import Result
    from ._results import FoundStrategies, FrontierResult

_GIB = 1024.0**3


def axes_of(axes: Axes | None, height: float = 4.0) -> Axes:
    """The axes to draw on: as given, else those of a new figure."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    made: Axes = plt.subplots(figsize=(9, height), layout="constrained")[1]
    return made


def words_of(key: str) -> str:
    """A key in words, without its unit: "tensor communication" of "tensor_communication_s"."""
    return key.rsplit("_", 1)[0].replace("_", " ")


def plot_result(result: Result, kind: str, axes: Axes | None) -> Axes:
    """Result.plot() and the plots of results that have stages and a timeline."""
    return (_breakdown, _memory, _timeline)[one_of("kind", kind, ("breakdown", "memory", "timeline"))](result, axes)


def _stacked(axes: Axes, names: Sequence[str], parts: Mapping[str, Sequence[float]]) -> None:
    """A bar for each name, from the top, made of those parts that are not all zero."""
    from_left = np.zeros(len(names))
    for part, values in parts.items():
        if not any(values):
            continue
        axes.barh(range(len(names)), values, left=from_left, label=part)
        from_left += np.asarray(values)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, frameon=False)


def _breakdown(result: Result, axes: Axes | None) -> Axes:
    """Draws the parts of a GPU's time: mean, and by stage."""
    stages = result.stages
    axes = axes_of(axes, 2.0 + 0.3 * (1 + len(stages)))
    names = ["mean", *(f"stage {stage}" for stage in stages["stage"])]
    _stacked(axes, names, {words_of(key): [mean, *stages[key]] for key, mean in result.activities.items()})
    axes.set_xlabel("seconds of an iteration")
    return axes


def _memory(result: Result, axes: Axes | None) -> Axes:
    """Parts of a GPU's memory at its peak, by stage, with its capacity."""
    stages = result.stages
    columns = list(stages.columns)
    parts = columns[columns.index("memory_parameters_bytes") : columns.index("memory_peak_bytes")]
    axes = axes_of(axes, 2.0 + 0.3 * len(stages))
    names = [f"stage {stage}" for stage in stages["stage"]]
    _stacked(axes, names, {words_of(key.removeprefix("memory_")): list(stages[key] / _GIB) for key in parts})
    for place, capacity in enumerate(stages["memory_capacity_bytes"] / _GIB):
        axes.plot([capacity, capacity], [place - 0.45, place + 0.45], color="black", label="_capacity")
    axes.set_xlabel("GiB of a GPU; black: what it has")
    return axes


def _timeline(result: Result, axes: Axes | None) -> Axes:
    """Draws the work of each stage's GPU over the iteration: computation above, communication below."""
    tasks = result.timeline.frame()
    first = tasks.groupby("stage")["rank"].transform("min")
    shown = (tasks["rank"] == first) & (tasks["end_s"] > tasks["start_s"]) & (tasks["stream"] != "host")
    tasks = tasks[shown]
    stages = sorted(tasks["stage"].unique())
    axes = axes_of(axes, 1.6 + 0.4 * len(stages))
    row_of = {stage: row for row, stage in enumerate(stages)}
    for number, (kind, of) in enumerate(tasks.groupby("kind", observed=True)):
        computed = of["stream"] == "compute"
        for on, up, high in ((of[computed], -0.35, 0.45), (of[~computed], 0.12, 0.2)):
            rows = on["stage"].map(row_of).to_numpy(dtype=float)
            axes.barh(rows + up, on["end_s"] - on["start_s"], left=on["start_s"], height=high, align="edge",
                      color=f"C{number}", linewidth=0)
        axes.barh([0], [0], color=f"C{number}", label=str(kind))
    axes.set_yticks(range(len(stages)), [f"stage {stage}" for stage in stages])
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=6, frameon=False)
    return axes


def plot_strategies(found: FoundStrategies, axes: Axes | None) -> Axes:
    """The strategies by time and cost, or energy where a price is unknown, with the ranges of their times."""
    frame = found.frame
    priced = frame["cost_usd_per_iteration"].notna().all()
    key, title = ("cost_usd_per_iteration", "USD an iteration") if priced else ("energy_j", "joules an iteration")
    axes = axes_of(axes)
    time = frame["iteration_time_s"]
    low, high = (frame[f"iteration_time_{end}_s"].astype(float) for end in ("low", "high"))
    axes.errorbar(time, frame[key], xerr=[time - low.fillna(time), high.fillna(time) - time], fmt="o", elinewidth=1)
    for place, (x, y) in enumerate(zip(time, frame[key])):
        axes.annotate(str(place), (x, y), xytext=(5, 5), textcoords="offset points")
    axes.set_xlabel("seconds of an iteration, with what 80 % of measurements keep")
    axes.set_ylabel(title)
    return axes


def plot_frontier(frontier: FrontierResult, axes: Axes | None) -> Axes:
    """The least energy for every time, with each plan as a mark."""
    axes = axes_of(axes)
    points, plans = frontier.points, frontier.plans
    axes.plot(points["iteration_time_s"], points["energy_j"], label="least energy")
    axes.plot(plans["iteration_time_s"], plans["energy_j"], "o", label="plans")
    axes.set_xlabel("seconds of an iteration")
    axes.set_ylabel("joules of an iteration")
    axes.legend(frameon=False)
    return axes


def plot_sweep(
    frame: pandas.DataFrame, x: str | None = None, y: str = "iteration_time_s", *, axes: Axes | None = None
) -> Axes:
    """The points of a sweep(): a figure over an axis, hollow where a point does not fit in memory.

    x: a column, by default the first axis. y: a figure. Returns the axes, those given or of a new figure.
    """
    x = frame.columns[0] if x is None else x
    for argument, column in (("x", x), ("y", y)):
        one_of(argument, column, tuple(frame.columns))
    axes = axes_of(axes)
    known = frame[frame[y].notna()]
    across: Any = known[x] if np.issubdtype(known[x].dtype, np.number) else known[x].astype(str)
    fits = known["status"] == "ok"
    axes.plot(across[fits], known[y][fits], "o", label="ok")
    if not fits.all():
        axes.plot(across[~fits], known[y][~fits], "o", fillstyle="none", color="C3", label="out of memory")
        axes.legend(frameon=False)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return axes
