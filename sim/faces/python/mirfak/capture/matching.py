"""Collectives of ranks against each other: what one rank waits for and another never does is a deadlock.

Ranks of a group have to do the same collectives in the same order, and what one sends, the other has to receive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from .capture_file import Capture
from .roles import BETWEEN_TWO

# Fields that ranks of a group have to agree on. Sizes of what is gathered or scattered may differ from rank to rank.
AGREED = ("kind", "dtype", "op", "root")
SAME_SIZE = ("all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor", "reduce")


class Call:
    """A collective that a rank calls: its entry in the table of collectives, and the module that calls."""

    def __init__(self, entry: dict[str, Any], module: str) -> None:
        self.entry, self.module = entry, module

    def agrees(self, other: Call) -> bool:
        a, b = self.entry, other.entry
        if any(a.get(key) != b.get(key) for key in AGREED):
            return False
        return a["kind"] not in SAME_SIZE or (a["in_bytes"], a["out_bytes"]) == (b["in_bytes"], b["out_bytes"])

    def __str__(self) -> str:
        size = max(self.entry["in_bytes"], self.entry["out_bytes"])
        where = f" in {self.module}" if self.module else ""
        return f"{self.entry['kind']} of {size} bytes of {self.entry['dtype'] or 'nothing'}{where}"


def check(capture: Capture) -> None:
    """Raises InputError that names the first difference between two ranks that are known."""
    known = _compared(capture)
    together: dict[tuple[int, ...], dict[int, list[Call]]] = {}
    between: dict[tuple[int, int], dict[str, list[Call]]] = {}
    from_anyone: set[int] = set()
    for rank in sorted(known):
        for call in _calls(capture, rank):
            kind, peer = call.entry["kind"], call.entry.get("peer")
            if kind == "recv_any_source":
                from_anyone.add(rank)
            elif kind not in BETWEEN_TWO:
                together.setdefault(tuple(call.entry["ranks"]), {}).setdefault(rank, []).append(call)
            elif peer in known:
                pair = (rank, peer) if kind == "send" else (peer, rank)
                between.setdefault(pair, {"send": [], "recv": []})[kind].append(call)
    for ranks, calls in together.items():
        _check_group([rank for rank in ranks if rank in known], calls)
    for (source, target), found in between.items():
        if target not in from_anyone:
            _check_pair(source, target, found["send"], found["recv"])


def _compared(capture: Capture) -> set[int]:
    """Captured ranks, and of each of their groups one rank of each role."""
    found = set(capture.captured())
    for rank in capture.captured():
        for family in range(len(capture.groups.families)):
            roles = set()
            for other in capture.groups.group(family, rank):
                recorded = capture.ranks.get(other)
                if recorded is not None and recorded.get("like", other) not in roles:
                    roles.add(recorded.get("like", other))
                    found.add(other)
    return found


def _calls(capture: Capture, rank: int) -> Iterator[Call]:
    for event in capture.calls(rank):
        yield Call(capture.tables["collectives"][event[1]], capture.tables["modules"][event[2]])


def _check_group(members: list[int], calls: dict[int, list[Call]]) -> None:
    if not members:
        return
    first = members[0]
    for rank in members[1:]:
        ours, theirs = calls.get(first, []), calls.get(rank, [])
        for number in range(max(len(ours), len(theirs))):
            a, b = (made[number] if number < len(made) else None for made in (ours, theirs))
            if a is None or b is None or not a.agrees(b):
                names = f"{len(members)} captured ranks from {first} to {members[-1]}"
                raise _unlike(f"ranks {first} and {rank}: call {number + 1} of their group ({names})", a, b)


def _check_pair(source: int, target: int, sent: list[Call], received: list[Call]) -> None:
    for number in range(max(len(sent), len(received))):
        a, b = (made[number] if number < len(made) else None for made in (sent, received))
        sizes = a and b and (a.entry["in_bytes"], a.entry["dtype"]) == (b.entry["out_bytes"], b.entry["dtype"])
        if not sizes:
            raise _unlike(f"rank {source} sends to rank {target}, message {number + 1}", a, b)


def _unlike(what: str, ours: Call | None, theirs: Call | None) -> InputError:
    first, second = (str(call) if call is not None else "nothing" for call in (ours, theirs))
    return InputError(
        f"{what}: {first}; the other: {second}",
        hint="on GPUs the ranks would wait for each other forever, or take each other's bytes for their own",
    )
