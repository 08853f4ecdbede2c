"""Chooses ranks to capture, so that every rank is known: one of each role, the ends of each role, and two as a proof.

Rank 0 runs first. Its groups are those of the whole job, and where it sends to another rank, all ranks of such a group
run: the stages of a pipeline. In every other family, the first and last rank of the first and last role have to do the
same; where they do not, ranks between them say where one role ends and the next begins. Two more ranks have to do as
their roles do; where one does not, the search goes on with a role more.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Callable
from typing import Any

from .roles import BETWEEN_TWO, Groups, Roles, fingerprint

PROOFS = 2

Answers = dict[int, dict[str, Any]]  # by rank: "tables", "groups" and "rank", its record


class RoleSearch:
    """run: captures ranks and returns what they did, and perhaps what others did that they waited for.

    answers: what was captured. representatives: a rank of each role. alike: for all other ranks of the job, the
    representative of their role. proved_on: those of them that were captured, too.
    """

    def __init__(self, world_size: int, run: Callable[[list[int]], Answers]) -> None:
        self._world_size, self._run = world_size, run
        self._cuts: dict[int, list[int]] = {}
        self._alone: set[int] = set()
        self._proofs: list[int] = []
        self._families: list[list[tuple[int, ...]]] = []
        self._prints: dict[int, str] = {}
        self.answers: Answers = {}
        self._capture([0])
        while self._misses_a_role() or self._differs_at_an_end() or self._fails_a_proof():
            pass
        kept = self._representatives()
        self.representatives = sorted(kept.values())
        self.alike = {
            rank: kept[key] for key, ranks in self._roles.members().items() for rank in ranks if rank != kept[key]
        }
        self.proved_on = sorted(self.alike.keys() & self.answers.keys())

    def _capture(self, ranks: list[int]) -> None:
        new = [rank for rank in ranks if rank not in self.answers]
        if new:
            self.answers.update(self._run(new))
            self._sort()

    def _sort(self) -> None:
        """Families, roles and fingerprints, from what is captured."""
        made = [group for answer in self.answers.values() for group in answer["groups"]]
        groups = Groups(self._world_size, made)
        if groups.families != self._families:  # what ranks did is told in terms of these
            self._families, self._prints = groups.families, {}
        used, pipelines = set(), set()
        for answer in self.answers.values():
            for entry in answer["tables"]["collectives"]:
                family = groups.family_of(entry["ranks"])
                if family is not None:
                    used.add(family)
                    pipelines.update({family} if entry["kind"] in BETWEEN_TWO else ())
        self._roles = Roles(groups, used, pipelines, self._cuts, self._alone, self._world_size)
        for rank in self.answers.keys() - self._prints.keys():
            answer = self.answers[rank]
            self._prints[rank] = fingerprint(groups, answer["tables"]["collectives"], answer["rank"])

    def _representatives(self) -> dict[tuple[int, ...], int]:
        """The first captured rank of each role that has one."""
        found: dict[tuple[int, ...], int] = {}
        for rank in sorted(self.answers):
            found.setdefault(self._roles.key(rank), rank)
        return found

    def _misses_a_role(self) -> bool:
        kept = self._representatives()
        missing = [ranks[0] for key, ranks in self._roles.members().items() if key not in kept]
        self._capture(missing)
        return bool(missing)

    def _differs_at_an_end(self) -> bool:
        ordered = sorted(self._representatives().values())
        ends = [(rank, *end) for rank in {ordered[0], ordered[-1]} for end in self._roles.ends(rank)]
        self._capture(sorted({other for _, _, other in ends}))
        return any(self._differ(rank, other, family) for rank, family, other in ends)

    def _differ(self, rank: int, other: int, family: int) -> bool:
        """True if two ranks differ whose positions differ in one family alone. If so, cuts the family between."""
        self._capture([rank, other])
        if self._prints[rank] == self._prints[other]:
            return False
        groups = self._roles.groups
        group = groups.group(family, rank)
        low, high = sorted((groups.position(family, rank), groups.position(family, other)))
        while high - low > 1:
            middle = (low + high) // 2
            self._capture([group[middle]])
            if self._prints[group[middle]] == self._prints[group[low]]:
                low = middle
            else:
                high = middle
        bisect.insort(self._cuts.setdefault(family, []), high)
        return True

    def _fails_a_proof(self) -> bool:
        """Compares every captured rank with its role, and up to two that are not captured yet."""
        for rank in sorted(self.answers):
            if self._unlike_its_role(rank):
                self._proofs = []
                return True
        left = [rank for rank in range(self._world_size) if rank not in self.answers]
        if len(self._proofs) >= PROOFS or not left:
            return False
        chosen = [left[-1], *random.Random(self._world_size).sample(left[:-1], min(PROOFS - 1, len(left) - 1))]
        before = set(self.answers)
        self._capture(chosen)
        self._proofs = sorted(self.answers.keys() - before)
        return True

    def _unlike_its_role(self, rank: int) -> bool:
        """Compares a rank with its role. Where they differ, cuts a family, or says that the rank is like no other."""
        roles, groups = self._roles, self._roles.groups
        at = self._representatives()[roles.key(rank)]
        if self._prints[at] == self._prints[rank]:
            return False
        for family in roles.used:
            group, position = groups.group(family, at), groups.position(family, rank)
            if family in roles.pipelines or not 0 <= position < len(group):
                continue
            other = group[position]
            if other != at and roles.key(other) == roles.key(at):
                if self._differ(at, other, family):
                    return True
                at = other
        self._alone.add(rank)
        return True
