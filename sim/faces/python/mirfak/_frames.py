"""Results as frames of pandas, which is imported where one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

    from ._mirfak import Timeline, Trace


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """A row for each dictionary; dictionaries inside these become columns "outer.inner"."""
    import pandas

    return pandas.json_normalize([dict(row) for row in rows])


def stages_frame(stages: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """The frame of Result.stages: columns by stage, activities as they are called, parts of memory after "memory_"."""
    rows = []
    for stage in stages:
        row = {key: value for key, value in stage.items() if key not in ("activities", "memory")}
        row.update(stage["activities"])
        row.update({f"memory_{key}": value for key, value in stage["memory"].items()})
        rows.append(row)
    import pandas

    return pandas.DataFrame(rows).set_index("stage", drop=False)


def timeline_frame(timeline: Timeline) -> pandas.DataFrame:
    """The frame of Timeline.frame()."""
    import pandas

    stream, of = timeline.stream, timeline.task_class
    on = timeline.stream_rank[stream]
    return pandas.DataFrame(
        {
            "rank": timeline.rank[on],
            "stage": timeline.rank_stage[on],
            "stream": pandas.Categorical.from_codes(timeline.stream_kind[stream], timeline.stream_kinds),
            "kind": pandas.Categorical.from_codes(timeline.class_kind[of], timeline.task_kinds),
            "name": np.array(timeline.class_name, dtype=object)[of],
            "microbatch": timeline.microbatch,
            "start_s": timeline.start_ps * 1e-12,
            "end_s": timeline.end_ps * 1e-12,
        }
    )


def trace_frame(trace: Trace) -> pandas.DataFrame:
    """The frame of Trace.frame()."""
    import pandas

    return pandas.DataFrame(
        {
            "rank": trace.rank,
            "stage": trace.stage,
            "stream": pandas.Categorical.from_codes(trace.stream, trace.stream_names),
            "kind": pandas.Categorical.from_codes(trace.kind, trace.kind_names),
            "name": np.array(trace.task_names, dtype=object)[trace.task_name],
            "microbatch": trace.microbatch,
            "start_s": trace.start_s,
            "end_s": trace.end_s,
        }
    )
