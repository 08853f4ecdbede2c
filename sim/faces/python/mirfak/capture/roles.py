"""Ranks that play the same role: they do the same, each in groups of its own.

Programs make their process groups in families: every rank is in one group of a family (the data groups, the tensor
groups), and in corresponding groups the ranks do corresponding things. So what one rank of a role did says what the
others do.
"""

from __future__ import annotations

import bisect
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

WORLD = 0  # the family of the group of all ranks
BETWEEN_TWO = ("send", "recv", "recv_any_source")


class Groups:
    """Process groups of a job, sorted into families. Groups of a family have the same size and no rank in common."""

    def __init__(self, world_size: int, created: Iterable[Sequence[int]]) -> None:
        self.families: list[list[tuple[int, ...]]] = [[tuple(range(world_size))]]
        self._covered: list[set[int]] = [set(range(world_size))]
        self._family: dict[tuple[int, ...], int] = {self.families[WORLD][0]: WORLD}
        for ranks in created:
            self._add(tuple(sorted(ranks)))
        self._group_of = [{rank: group for group in family for rank in group} for family in self.families]

    def _add(self, group: tuple[int, ...]) -> None:
        if group in self._family:
            return
        for number, family in enumerate(self.families):
            if len(family[0]) == len(group) and self._covered[number].isdisjoint(group):
                break
        else:
            number = len(self.families)
            self.families.append([])
            self._covered.append(set())
        self.families[number].append(group)
        self._covered[number].update(group)
        self._family[group] = number

    def family_of(self, ranks: Sequence[int]) -> int | None:
        """The family of a group; None for a group that nobody was seen to make."""
        return self._family.get(tuple(ranks))

    def group(self, family: int, rank: int) -> tuple[int, ...]:
        """The group of a family that a rank is in; () if it is in none."""
        return self._group_of[family].get(rank, ())

    def position(self, family: int, rank: int) -> int:
        """Place of a rank in its group of a family; -1 if it is in none."""
        group = self.group(family, rank)
        return bisect.bisect_left(group, rank) if group else -1

    def relative(self, entry: dict[str, Any]) -> dict[str, Any]:
        """A collective in terms of its family: equal for ranks that do the same in corresponding groups."""
        family = self.family_of(entry["ranks"])
        return entry if family is None else self._moved(entry, family, range(len(entry["ranks"])))

    def moved(self, entry: dict[str, Any], rank: int) -> dict[str, Any]:
        """A collective as `rank` does it in the corresponding group."""
        family = self.family_of(entry["ranks"])
        assert family is not None, "ranks of one role are in groups that are known"
        return self._moved(entry, family, self.group(family, rank))

    @staticmethod
    def _moved(entry: dict[str, Any], family: int, group: Sequence[int]) -> dict[str, Any]:
        moved = {**entry, "ranks": [family] if isinstance(group, range) else list(group)}
        for key in ("peer", "root"):
            if key in entry:
                moved[key] = group[bisect.bisect_left(entry["ranks"], entry[key])]
        return moved


def fingerprint(groups: Groups, collectives: list[Any], recorded: dict[str, Any]) -> str:
    """Equal for two ranks that play the same role. collectives: the table that events of `recorded` name.

    When memory is freed does not count: autograd frees tensors in a thread of its own, now a little sooner, now later.
    Nor do lines of Python: the first rank often prints what the others do not.
    """
    places: dict[int, str] = {}

    def said(event: list[Any]) -> list[Any]:
        if event[0] != "comm":
            return event
        if event[1] not in places:
            places[event[1]] = json.dumps(groups.relative(collectives[event[1]]), sort_keys=True)
        return ["comm", places[event[1]], *event[2:]]

    events = [said(event) for event in recorded["events"] if event[0] not in ("free", "python")]
    text = json.dumps([recorded["state"], recorded["dispatched"], events])
    return hashlib.sha256(text.encode()).hexdigest()


class Roles:
    """Sorts ranks into roles by their positions in families.

    used: families in which ranks communicate. pipelines: those in which two ranks send to each other, where every
    position is a role. Positions of other families fall into ranges, which begin at `cuts`. Ranks of `alone` are like no
    other.
    """

    def __init__(
        self,
        groups: Groups,
        used: set[int],
        pipelines: set[int],
        cuts: dict[int, list[int]],
        alone: set[int],
        world_size: int,
    ) -> None:
        self.groups, self.used, self.pipelines = groups, sorted(used), pipelines
        self.cuts, self.alone, self.world_size = cuts, alone, world_size

    def key(self, rank: int) -> tuple[int, ...]:
        """Equal for ranks of one role."""
        if rank in self.alone:
            return (rank,)
        return (-1, *(self._range(family, self.groups.position(family, rank)) for family in self.used))

    def _range(self, family: int, position: int) -> int:
        if family in self.pipelines or position < 0:
            return position
        return bisect.bisect_right(self.cuts.get(family, []), position)

    def members(self) -> dict[tuple[int, ...], list[int]]:
        """Ranks of each role, in order."""
        found: dict[tuple[int, ...], list[int]] = {}
        for rank in range(self.world_size):
            found.setdefault(self.key(rank), []).append(rank)
        return found

    def ends(self, rank: int) -> Iterator[tuple[int, int]]:
        """Family, and the first or last rank that differs from `rank` by its position in this family and in no role."""
        for family in self.used:
            if family in self.pipelines:
                continue
            same = [other for other in self.groups.group(family, rank) if self.key(other) == self.key(rank)]
            for end in {min(same, default=rank), max(same, default=rank)} - {rank}:
                yield family, end
