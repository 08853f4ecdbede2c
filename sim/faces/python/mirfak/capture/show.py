"""Contents of a capture, for people and as JSON."""

from __future__ import annotations

import collections
import json
from typing import Any

from .capture_file import Capture

# Products: which tensors of an operator are multiplied.
FACTORS = {
    "mm": (0, 1),
    "bmm": (0, 1),
    "mv": (0, 1),
    "dot": (0, 1),
    "_scaled_mm": (0, 1),
    "_grouped_mm": (0, 1),
    "addmm": (1, 2),
    "baddbmm": (1, 2),
    "addbmm": (1, 2),
    "addmv": (1, 2),
}
ATTENTION = ("_scaled_dot_product_", "_flash_attention_", "_efficient_attention_", "_cudnn_attention_")


def document(capture: Capture) -> dict[str, Any]:
    """A capture as `show --format json` prints it: collectives in order, products and attention counted, memory."""
    shown: dict[str, Any] = {}
    for number in [*capture.captured(), *sorted(capture.ranks.keys() - capture.captured())]:
        found = capture.ranks[number]
        if "same_as" in found:
            shown[str(number)] = {"same_as": found["same_as"]}
        elif "like" in found:
            order = [event[1] for event in capture.calls(number)]
            as_there = dict.fromkeys(shown[str(found["like"])], {"same_as": found["like"]})
            shown[str(number)] = as_there | {"collectives": runs(order)}
        else:
            shown[str(number)] = _rank(capture, number)
    header = capture.header
    step = header["step"]
    return {
        "program": header["program"],
        "world_size": header["world_size"],
        "device": header["device"],
        "window": "the block" if step is None else f"optimizer step {step}, counted from 0",
        "collective_table": capture.tables["collectives"],
        "ranks": {number: shown[number] for number in sorted(shown, key=int)},
    }


def _rank(capture: Capture, number: int) -> dict[str, Any]:
    recorded = capture.ranks[number]
    operators = capture.tables["operators"]
    used = collections.Counter(event[1] for event in recorded["events"] if event[0] == "op")
    order = [event[1] for event in recorded["events"] if event[0] == "comm"]
    products, product_flop, attention, attention_flop = _products(operators, used)
    aten = collections.Counter()
    other = collections.Counter()
    for place, count in used.items():
        space, name = operators[place]["name"].split("::")
        (aten if space == "aten" else other)[name if space == "aten" else f"{space}.{name}"] += count
    return {
        "collectives": runs(order),
        **_communicated(capture.tables["collectives"], order),
        "products": products,
        "product_count": sum(product["count"] for product in products),
        "product_flop": product_flop,
        "sdpa": attention,
        "sdpa_flop": attention_flop,
        "aten_nonview_count": sum(aten.values()),
        "aten_nonview": dict(sorted(aten.items())),
        "other_ops": dict(sorted(other.items())),
        **recorded["state"],
        "dispatched": recorded["dispatched"],
        "memory": recorded["memory"],
        "notes": recorded["notes"],
    }


def _communicated(table: list[Any], order: list[int]) -> dict[str, Any]:
    count, size = collections.Counter(), collections.Counter()
    for place in order:
        entry = table[place]
        count[entry["kind"]] += 1
        size[entry["kind"]] += max(entry["in_bytes"], entry["out_bytes"])
    return {
        "collective_count": len(order),
        "count_by_kind": dict(count),
        "bytes_by_kind": dict(size),
        "bytes_total": sum(size.values()),
    }


def _products(operators: list[Any], used: collections.Counter[int]) -> tuple[list[Any], int, list[Any], int]:
    products, attention = collections.Counter(), collections.Counter()
    product_flop = attention_flop = 0
    for place, count in used.items():
        entry = operators[place]
        name = entry["name"].split("::")[1]
        if name in FACTORS:
            a, b = (entry["in"][index] for index in FACTORS[name])
            products[json.dumps({"op": name, "a": a[1], "b": b[1], "dtype": a[0]})] += count
            columns = b[1][-1] if len(b[1]) > 1 else 1
            product_flop += 2 * _elements(a[1]) * columns * count
        elif name.startswith(ATTENTION):
            shown, flop = _attention(name, entry)
            attention[json.dumps(shown)] += count
            attention_flop += flop * count
    return _counted(products), product_flop, _counted(attention), attention_flop


def _attention(name: str, entry: dict[str, Any]) -> tuple[dict[str, Any], int]:
    backward = name.endswith("_backward")
    names = [name for name, count in entry["arguments"] for _ in range(count)]
    q, k, v = (entry["in"][names.index(name)] for name in ("query", "key", "value"))
    causal = bool(entry["settings"].get("is_causal", False))
    batch, heads, length, width = q[1]
    product = 2 * batch * heads * length * k[1][2] * width
    shown = {
        "pass": "backward" if backward else "forward",
        "op": name,
        "q": q[1],
        "k": k[1],
        "v": v[1],
        "dtype": q[0],
        "causal": causal,
        "mask": "attn_bias" in names or "attn_mask" in names,
    }
    return shown, (5 if backward else 2) * product


def _counted(counter: collections.Counter[str]) -> list[Any]:
    return [{**json.loads(key), "count": counter[key]} for key in sorted(counter)]


def _elements(shape: list[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def runs(order: list[int]) -> list[list[int]]:
    """An ordered list as [count, entry]."""
    found: list[list[int]] = []
    for place in order:
        if found and found[-1][1] == place:
            found[-1][0] += 1
        else:
            found.append([1, place])
    return found


def _others(capture: Capture, number: int) -> list[str]:
    """Lines on the ranks that did what rank `number` did."""
    lines = []
    for key, where in (("same_as", ""), ("like", ", in groups of their own")):
        others = [rank for rank, found in sorted(capture.ranks.items()) if found.get(key) == number]
        lines += [f"{spans(others):>6} as rank {number}{where}"] if others else []
    return lines


def spans(ranks: list[int]) -> str:
    """Numbers as ranges, "0-3,8"."""
    found: list[list[int]] = []
    for rank in ranks:
        if found and found[-1][1] == rank - 1:
            found[-1][1] = rank
        else:
            found.append([rank, rank])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in found)


def text(capture: Capture) -> str:
    """A capture as a short table, with what was assumed."""
    shown = document(capture)
    ranks = f"{len(capture.ranks)} of {shown['world_size']} ranks"
    lines = [
        f"{shown['program']}: {ranks} on {shown['device']}, {shown['window']}",
        "",
        f"{'rank':>6} {'dispatched':>10} {'products':>8} {'TFLOP':>10} {'collectives':>11} {'MB':>10} "
        f"{'allocated GiB':>13} {'reserved GiB':>12}",
    ]
    notes: dict[str, int] = {}
    for number in capture.captured():
        rank = shown["ranks"][str(number)]
        flop = (rank["product_flop"] + rank["sdpa_flop"]) / 1e12
        memory = rank["memory"]
        lines.append(
            f"{number:>6} {rank['dispatched']:>10} {rank['product_count']:>8} {flop:>10.4g} "
            f"{rank['collective_count']:>11} {rank['bytes_total'] / 1e6:>10.4g} "
            f"{memory['peak_allocated_bytes'] / 2**30:>13.4g} {memory['peak_reserved_bytes'] / 2**30:>12.4g}"
        )
        notes.update(rank["notes"])
        lines += _others(capture, number)
    lines += [f"note: {note}" for note in sorted(notes)]
    return "\n".join(lines)
