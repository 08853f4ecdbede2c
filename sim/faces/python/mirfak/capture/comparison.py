"""A capture beside what a GPU recorded of the same step: operators, kernels, seconds, memory.

A kernel belongs to the outermost operator around its launch that captures know, so that `aten::_to_copy` has the
kernel of the `aten::copy_` within it. Kernels of Inductor go by their names without numbers.
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .capture_file import Capture
from .recording import Kernel, Recording

# Names of collectives in a recording (record_param_comms): those of captures.
COLLECTIVES = {
    "allreduce": "all_reduce",
    "_allgather_base": "all_gather_into_tensor",
    "allgather": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor",
    "all_to_all": "all_to_all_single",
    "all_toall": "all_to_all",
    "broadcast": "broadcast",
}
NO_OPERATOR = "(no operator)"


@dataclass
class Row:
    """An operator. Seconds are those of its kernels; predicted: None where no prediction was given."""

    name: str
    captured: int = 0
    ran: int = 0
    kernels: int = 0
    predicted_s: float | None = None
    measured_s: float = 0

    @property
    def differs(self) -> bool:
        return self.captured != self.ran


@dataclass
class Comparison:
    rows: list[Row]
    collectives: dict[str, tuple[int, int]]  # by kind: captured, ran
    totals: dict[str, tuple[float | None, float | None]]  # by what it is: captured or predicted, measured

    def document(self) -> dict[str, Any]:
        return {
            "operators": [vars(row) | {"differs": row.differs} for row in self.rows],
            "collectives": {
                kind: {"captured": captured, "ran": ran} for kind, (captured, ran) in self.collectives.items()
            },
            "totals": {what: {"captured": pair[0], "measured": pair[1]} for what, pair in self.totals.items()},
        }


def compare(
    capture: Capture,
    rank: int,
    recording: Recording,
    predicted: dict[str, Any] | None,
    measured: dict[str, Any] | None,
) -> Comparison:
    """predicted: what `mirfak simulate --format json` said of the capture. measured: what `measured_step` wrote."""
    recorded = capture.rank(rank)
    rows: dict[str, Row] = {}
    for event in recorded["events"]:
        if event[0] == "op":
            name = name_of(capture.tables["operators"][event[1]])
            rows.setdefault(name, Row(name)).captured += 1
    _add_kernels(rows, recording)
    if predicted is not None:
        _add_predictions(rows, predicted)
    ordered = sorted(rows.values(), key=lambda row: (-max(row.measured_s, row.predicted_s or 0), row.name))
    return Comparison(ordered, _collectives(capture, rank, recording), _totals(recorded, recording, predicted, measured))


def name_of(operator: dict[str, Any]) -> str:
    """The name under which an operator is compared: of its form in place that of the other."""
    kernel = operator.get("settings", {}).get("kernel")
    return str(kernel) if kernel else bare(operator["name"])


def bare(name: str) -> str:
    """`aten::add` of `aten::add_`, `triton_poi_fused_add` of `triton_poi_fused_add_3`."""
    return re.sub(r"_\d+$", "", name) if name.startswith("triton_") else name.rstrip("_")


def _add_kernels(rows: dict[str, Row], recording: Recording) -> None:
    calls: dict[str, set[int]] = collections.defaultdict(set)
    for number, kernel in enumerate(recording.kernels):
        if kernel.communicates:
            continue
        name, call = _operator_of(kernel, rows, -1 - number)
        row = rows.setdefault(name, Row(name))
        calls[name].add(call)
        row.kernels += 1
        row.measured_s += kernel.seconds
    for name, found in calls.items():
        rows[name].ran = len(found)


def _operator_of(kernel: Kernel, known: dict[str, Row], itself: int) -> tuple[str, int]:
    """The operator that a kernel belongs to, and the number of its call; `itself` where the kernel is the call."""
    for name, call in kernel.launched_by:
        if bare(name) in known:
            return bare(name), call
    if bare(kernel.name) in known:
        return bare(kernel.name), itself
    if kernel.launched_by:
        name, call = kernel.launched_by[-1]
        return bare(name), call
    return NO_OPERATOR, itself


def _add_predictions(rows: dict[str, Row], predicted: dict[str, Any]) -> None:
    """Adds seconds by operator. Kernels of Inductor have none of their own: predictions name their kinds."""
    for operator in predicted["operators"]:
        row = rows.get(bare(operator["name"]))
        if row is not None:
            row.predicted_s = (row.predicted_s or 0) + operator["seconds"]


def _collectives(capture: Capture, rank: int, recording: Recording) -> dict[str, tuple[int, int]]:
    captured = collections.Counter(capture.tables["collectives"][event[1]]["kind"] for event in capture.calls(rank))
    ran: collections.Counter[str] = collections.Counter()
    for name, count in recording.collectives.items():
        ran[COLLECTIVES.get(name, name)] += count
    return {kind: (captured[kind], ran[kind]) for kind in sorted(captured | ran)}


def _totals(
    recorded: dict[str, Any],
    recording: Recording,
    predicted: dict[str, Any] | None,
    measured: dict[str, Any] | None,
) -> dict[str, tuple[float | None, float | None]]:
    said, found = predicted or {}, measured or {}
    own = [kernel.seconds for kernel in recording.kernels if not kernel.communicates]
    kernels = None
    if predicted is not None:
        kernels = sum(operator["seconds"] for operator in said["operators"] if not operator["communicates"])
    return {
        "step_s": (said.get("iteration_time_s"), found.get("step_s")),
        "kernels_s": (kernels, sum(own)),
        "peak_allocated_bytes": (recorded["memory"]["peak_allocated_bytes"], found.get("peak_allocated_bytes")),
        "peak_reserved_bytes": (recorded["memory"]["peak_reserved_bytes"], found.get("peak_reserved_bytes")),
    }


def text(comparison: Comparison, most: int = 40) -> str:
    """The comparison for people: the operators that take longest, and all that do not run as often as captured."""
    lines = [f"{'operator':48} {'captured':>8} {'ran':>6} {'kernels':>7} {'predicted ms':>12} {'measured ms':>11} error"]
    shown = [row for place, row in enumerate(comparison.rows) if place < most or row.differs]
    for row in shown:
        said = "-" if row.predicted_s is None else f"{row.predicted_s * 1e3:.3f}"
        mark = " *" if row.differs else ""
        lines.append(
            f"{row.name[:48]:48} {row.captured:8} {row.ran:6} {row.kernels:7} {said:>12} {row.measured_s * 1e3:11.3f} "
            f"{_error(row.predicted_s, row.measured_s):>6}{mark}"
        )
    lines += ["", f"{'communication':48} {'captured':>8} {'ran':>6}"]
    for kind, (captured, ran) in comparison.collectives.items():
        lines.append(f"{kind:48} {captured:8} {ran:6}{' *' if captured != ran else ''}")
    lines += ["", f"{'':48} {'captured':>14} {'measured':>14} error"]
    for what, (captured, measured) in comparison.totals.items():
        numbers = ["-" if value is None else f"{value:.6g}" for value in (captured, measured)]
        lines.append(f"{what:48} {numbers[0]:>14} {numbers[1]:>14} {_error(captured, measured):>6}")
    differing = sum(row.differs for row in comparison.rows)
    lines += ["", f"{differing} of {len(comparison.rows)} operators do not run as often as captured (*)"]
    return "\n".join(lines)


def _error(predicted: float | None, measured: float | None) -> str:
    return "-" if predicted is None or not measured else f"{(predicted / measured - 1) * 100:+.1f}%"


def read_object(path: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """A JSON object of a file, which has `keys`. Raises InputError."""
    try:
        found = json.loads(pathlib.Path(path).read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path}: expected an object of JSON") from None
    missing = [key for key in keys if not isinstance(found, dict) or key not in found]
    if missing:
        raise InputError(f"{path}: expected the key {missing[0]}")
    return dict(found)
