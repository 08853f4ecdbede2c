"""Recorded steps executed again: what the program says of them, from Python."""

import json
import pathlib
import subprocess
import os
import unittest

import mirfak

from program import SOURCE, of_program, without_clock

COLUMNS = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"


def row(data, step, kind, start, seconds):
    return f"{data},0,{data},{step},{kind},{start},{seconds},0,0,0,0\n"


def write_trace(path, late_s=1.0):
    """Two data ranks of one stage, two steps; in the second the second rank's forward pass takes longer."""
    text = COLUMNS
    for step, data in ((s, d) for s in (7, 8) for d in (0, 1)):
        late = late_s if (step, data) == (8, 1) else 0
        text += row(data, step, "forward-compute", 0, 1 + late)
        text += row(data, step, "backward-compute", 1 + late, 2)
    pathlib.Path(path).write_text(text)


class Tables(unittest.TestCase):
    def setUp(self):
        write_trace("trace.csv")

    def test_it_is_the_program_s(self):
        result = mirfak.replay("trace.csv")
        self.assertEqual(without_clock(result.to_dict()), without_clock(of_program("replay", "trace.csv")))
        self.assertEqual(list(result.steps["step"]), [7, 8])
        self.assertEqual(list(result.steps["replayed_s"]), [3, 4])
        self.assertEqual(result.mean_replayed_s, 3.5)
        self.assertEqual(result.workers["ranks"].iloc[0], [1])
        self.assertEqual(len(result.data_ranks), 2)
        self.assertEqual(len(result.stages), 1)
        self.assertEqual(set(result.operations["operation"]), set(result.operations["operation"].dropna()))
        self.assertEqual(result.ideal["operations"].sum(), 8)
        self.assertIn("stragglers cost", result.summary())

    def test_questions(self):
        asked = (
            ({"ideal_data": 1}, ["--ideal-data", 1]),
            ({"ideal_rank": [0, 1]}, ["--ideal-rank", 0, "--ideal-rank", 1]),
            ({"ideal_stage": [0]}, ["--ideal-stage", 0]),
            ({"ideal_op": "forward-compute"}, ["--ideal-op", "forward-compute"]),
            ({"speed": {"data=1": 2}}, ["--speed", "data=1:2"]),
            ({"speed": "data=1:2", "ideal_rank": 0}, ["--speed", "data=1:2", "--ideal-rank", 0]),
        )
        for arguments, options in asked:
            with self.subTest(arguments):
                result = mirfak.replay(pathlib.Path("trace.csv"), **arguments)
                expected = of_program("replay", "trace.csv", *options)
                self.assertEqual(result.mean_what_if_s, expected["mean_what_if_s"])
                self.assertEqual(result.steps["what_if_s"].mean(), expected["mean_what_if_s"])
        self.assertEqual(mirfak.replay("trace.csv", speed={"data=1": 2}).mean_what_if_s, 3)

    def test_tables_beside_it(self):
        pathlib.Path("deps.csv").write_text("op,depends_on\nforward-compute_0_0,\n"
                                            "backward-compute_0_0,forward-compute_0_0\n")
        pathlib.Path("groups.csv").write_text("group,op,across_dp\n")
        pathlib.Path("ideal.csv").write_text("optype,ideal_s\nforward-compute,0.5\nbackward-compute,1\n")
        result = mirfak.replay("trace.csv", dependencies="deps.csv", groups="groups.csv", ideal="ideal.csv")
        self.assertEqual(result.mean_without_stragglers_s, 1.5)
        self.assertEqual(result.notes, [])

    def test_a_timeline(self):
        result = mirfak.replay("trace.csv")
        for step, seconds in ((None, 3), (7, 3), (8, 4)):
            result.write_timeline("step.json", step)
            events = json.loads(pathlib.Path("step.json").read_text())["traceEvents"]
            self.assertAlmostEqual(max(event["ts"] + event["dur"] for event in events if "dur" in event), seconds * 1e6)
        with self.assertRaisesRegex(mirfak.InputError, "step: trace.csv has no step 9"):
            result.write_timeline("nothing.json", 9)
        self.assertFalse(pathlib.Path("nothing.json").exists())

    def test_what_is_wrong_has_its_place(self):
        pathlib.Path("wrong.csv").write_text(COLUMNS + row(0, 7, "forward-compute", 0, -1))
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.replay("wrong.csv")
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), ("wrong.csv", 2, 27))
        for arguments, said in (
            ({"ideal_rank": 5}, "ideal_rank: trace.csv has no rank 5"),
            ({"ideal_op": "forward"}, "ideal_op: unknown operation 'forward'"),
            ({"speed": {"stage=0": 0}}, "speed stage=0:0.0: expected a factor"),
            ({"dependencies": "deps.csv"}, "dependencies needs groups"),
        ):
            with self.subTest(arguments), self.assertRaises(mirfak.InputError) as caught:
                mirfak.replay("trace.csv", **arguments)
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("--", str(caught.exception))
        with self.assertRaisesRegex(mirfak.InputError, "replay_chakra"):
            mirfak.replay("run.0.et")


class Chakra(unittest.TestCase):
    def test_it_is_the_program_s(self):
        scenario = SOURCE / "scenarios" / "gpt-22b-a100-seqpar.yaml"
        subprocess.run([os.environ["MIRFAK_PROGRAM"], "simulate", scenario, "--data", SOURCE, "--chakra", "run",
                        "--chakra-ranks", "0-3"], check=True, stdout=subprocess.DEVNULL)
        files = [f"run.{rank}.et" for rank in range(4)]
        result = mirfak.replay_chakra(reversed(files))
        self.assertEqual(without_clock(result.to_dict()), without_clock(of_program("replay", *files)))
        self.assertEqual(list(result.ranks["rank"]), [0, 1, 2, 3])
        self.assertAlmostEqual(result.critical_path["seconds"].sum(), result.iteration_time_s)
        self.assertAlmostEqual(result.iteration_time_s, mirfak.simulate(scenario).iteration_time_s, places=9)
        result.write_timeline("replayed.json")
        self.assertIn("traceEvents", json.loads(pathlib.Path("replayed.json").read_text()))
        self.assertIn("critical path", result.summary())
        priced = mirfak.replay_chakra(files, nodes="dgx-a100-80g:1")
        self.assertEqual(priced.iteration_time_s, result.iteration_time_s)

    def test_refusals(self):
        for traces, said in ((["run.0.et", "table.csv"], "no Chakra trace as the others"), ([], "no traces"),
                             ("table.csv", "mirfak.replay()"), ("missing.0.et", "missing.0.et")):
            with self.subTest(traces), self.assertRaises(mirfak.InputError) as caught:
                mirfak.replay_chakra(traces)
            self.assertIn(said, str(caught.exception))
        with self.assertRaisesRegex(mirfak.InputError, "hgx-h10"):
            mirfak.replay_chakra("missing.0.et", nodes="hgx-h10:1")


if __name__ == "__main__":
    unittest.main()
