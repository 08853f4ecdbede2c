"""All ranks from few: families of groups, the search for roles, and collectives that do not match."""

import unittest

from mirfak.capture import Capture, matching
from mirfak.capture.role_search import RoleSearch
from mirfak.capture.roles import Groups
from mirfak.errors import InputError


class Mesh:
    """A job of data x stage x tensor ranks; `differs(data, stage, tensor)`: what a rank does besides, a number."""

    def __init__(self, data, stages, tensor, differs=lambda *position: 0):
        self.data, self.stages, self.tensor, self.differs = data, stages, tensor, differs
        self.world_size = data * stages * tensor
        self.ran = []
        self.made = [
            list(line)
            for axis in range(3)
            for line in dict.fromkeys(tuple(self.line(rank, axis)) for rank in range(self.world_size))
        ]

    def rank(self, data, stage, tensor):
        return (data * self.stages + stage) * self.tensor + tensor

    def position(self, rank):
        return rank // (self.stages * self.tensor), rank // self.tensor % self.stages, rank % self.tensor

    def line(self, rank, axis):
        """Ranks that differ from `rank` in one coordinate."""
        at = self.position(rank)
        sizes = (self.data, self.stages, self.tensor)
        return [self.rank(*at[:axis], other, *at[axis + 1 :]) for other in range(sizes[axis])]

    def answer(self, rank):
        data, stage, tensor = self.position(rank)
        column = self.line(rank, 1)
        called = [
            {"kind": "all_reduce", "ranks": self.line(rank, axis), "dtype": "float32", "in_bytes": 8, "out_bytes": 8}
            for axis in (0, 2)
        ]
        if stage + 1 < self.stages:
            sent = {"kind": "send", "ranks": column, "dtype": "float32", "in_bytes": 4, "out_bytes": 0}
            called.append(sent | {"peer": column[stage + 1]})
        if stage:
            received = {"kind": "recv", "ranks": column, "dtype": "float32", "in_bytes": 0, "out_bytes": 4}
            called.append(received | {"peer": column[stage - 1]})
        events = [["comm", place, 0, 0, 0, place] for place in range(len(called))]
        events += [["host", self.differs(data, stage, tensor)], ["alloc", 1, 64, 0], ["free", 1]]
        events.append(["python", 70 if column[0] == 0 else 60])  # one rank prints what the others do not
        tables = {"operators": [], "collectives": called, "modules": [""]}
        record = {"state": {}, "dispatched": len(events), "memory": {}, "notes": {}, "before": [], "events": events}
        return {"tables": tables, "groups": self.made, "rank": record}

    def run(self, ranks):
        self.ran += ranks
        return {rank: self.answer(rank) for rank in ranks}

    def capture(self, search=None):
        """Returns what was found out of the job; without a search, what every rank did."""
        groups = Groups(self.world_size, self.made)
        capture = Capture({"world_size": self.world_size, "groups": groups.families[1:]})
        alike = search.alike if search else {}
        for rank in range(self.world_size):
            if rank not in alike:
                answer = self.answer(rank)
                capture.add(rank, answer["tables"], answer["rank"])
        capture.ranks.update({rank: {"like": other} for rank, other in alike.items()})
        return capture


def said(capture, rank):
    """Returns what a rank did, without places in tables."""
    table = capture.tables["collectives"]
    events = capture.rank(rank)["events"]
    events = [event for event in events if event[0] != "python"]  # of the rank that speaks for others
    return [["comm", table[event[1]], *event[2:]] if event[0] == "comm" else event for event in events]


class Families(unittest.TestCase):
    def test_groups_of_one_size_that_share_no_rank_are_a_family(self):
        groups = Groups(4, [[0, 1], [2, 3], [0, 2], [1, 3], [3, 2], [0], [1, 2, 3]])
        self.assertEqual(len(groups.families), 5)
        self.assertEqual(groups.families[1], [(0, 1), (2, 3)])
        self.assertEqual(groups.group(2, 3), (1, 3))
        self.assertEqual((groups.position(2, 3), groups.position(4, 0)), (1, -1))
        self.assertIsNone(groups.family_of([0, 3]))

    def test_a_collective_moves_to_the_corresponding_group(self):
        groups = Groups(4, [[0, 2], [1, 3]])
        entry = {"kind": "send", "ranks": [0, 2], "peer": 2}
        self.assertEqual(groups.moved(entry, 3), {"kind": "send", "ranks": [1, 3], "peer": 3})


class Searches(unittest.TestCase):
    def found(self, mesh, roles, at_most):
        """The search has so many roles, runs at most so many ranks, and tells what every rank did."""
        search = RoleSearch(mesh.world_size, mesh.run)
        self.assertEqual(len(search.representatives), roles)
        self.assertEqual(sorted(mesh.ran), sorted(set(mesh.ran)))
        self.assertLessEqual(len(mesh.ran), at_most)
        told, truth = mesh.capture(search), mesh.capture()
        for rank in range(mesh.world_size):
            self.assertEqual(said(told, rank), said(truth, rank), rank)
        matching.check(told)
        return search

    def test_stages_are_roles_and_replicas_are_not(self):
        search = self.found(Mesh(16, 4, 8), roles=4, at_most=12)
        self.assertEqual(search.representatives, [0, 8, 16, 24])
        self.assertGreaterEqual(len(search.proved_on), 2)

    def test_the_last_tensor_rank_that_differs(self):
        self.found(Mesh(8, 1, 8, lambda data, stage, tensor: tensor == 7), roles=2, at_most=12)

    def test_shards_that_end_before_the_last_rank(self):
        """Ranks 0 to 36 have a whole shard, rank 37 a part, the others nothing."""
        self.found(Mesh(64, 1, 1, lambda data, stage, tensor: (data > 36) + (data > 37)), roles=3, at_most=20)

    def test_a_first_rank_that_prints(self):
        self.found(Mesh(8, 2, 4, lambda *position: position == (0, 0, 0)), roles=8, at_most=24)

    def test_a_rank_within_a_role_that_a_proof_finds_to_differ(self):
        mesh = Mesh(4, 1, 4, lambda *position: position == (3, 0, 3))
        self.found(mesh, roles=4, at_most=16)

    def test_one_rank(self):
        search = self.found(Mesh(1, 1, 1), roles=1, at_most=1)
        self.assertEqual((search.proved_on, search.alike), ([], {}))


class Matching(unittest.TestCase):
    def refused(self, change, message):
        mesh = Mesh(2, 2, 2)
        answers = {rank: mesh.answer(rank) for rank in range(mesh.world_size)}
        change(answers)
        capture = Capture({"world_size": mesh.world_size, "groups": Groups(mesh.world_size, mesh.made).families[1:]})
        for rank, answer in answers.items():
            answer["tables"]["modules"][0] = "Net.layers.0"
            capture.add(rank, answer["tables"], answer["rank"])
        with self.assertRaisesRegex(InputError, message):
            matching.check(capture)

    def test_ranks_that_agree(self):
        matching.check(Mesh(2, 2, 2).capture())

    def test_another_size(self):
        def change(answers):
            answers[5]["tables"]["collectives"][0].update(in_bytes=12, out_bytes=12)

        self.refused(change, "ranks 1 and 5: call 1 of their group .*all_reduce of 8 .*all_reduce of 12 bytes .*layers.0")

    def test_a_rank_that_calls_less(self):
        self.refused(lambda answers: answers[6]["rank"]["events"].pop(1), "ranks 6 and 7: call 1 .*: nothing; ")

    def test_another_order(self):
        def change(answers):
            answers[3]["tables"]["collectives"][1]["kind"] = "broadcast"

        self.refused(change, "ranks 2 and 3: call 1 .*all_reduce .*broadcast")

    def test_a_message_that_nobody_receives(self):
        self.refused(lambda answers: answers[2]["rank"]["events"].pop(2), "rank 0 sends to rank 2, message 1: .*nothing")

    def test_ranks_that_were_not_captured_are_not_missed(self):
        mesh = Mesh(2, 2, 2)
        capture = Capture({"world_size": 8})
        for rank in (0, 7):
            answer = mesh.answer(rank)
            capture.add(rank, answer["tables"], answer["rank"])
        matching.check(capture)


if __name__ == "__main__":
    unittest.main()
