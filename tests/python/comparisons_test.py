"""Scenarios beside each other: what the program says of them, from Python."""

import json
import pathlib
import unittest

import mirfak

from program import SOURCE, of_program, without_clock

SCENARIOS = SOURCE / "scenarios"
SMALL = SCENARIOS / "gpt-22b-a100-seqpar.yaml"

OPTIONS = {
    "scenario": {
        "model": "gpt3-13b",
        "training": {"global_batch": 64, "tokens": 1e10},
        "strategy": {"tensor": 2},
        "search": {"space": {"pipeline": [1, 2], "micro_batch": 1}},
    },
    "options": [
        {"name": "A100", "cluster": {"nodes": [{"type": "dgx-a100-80g", "count": 2}]}},
        {"name": "H100", "cluster": {"nodes": [{"type": "hgx-h100", "count": 2}]}, "node_counts": [1, 2]},
    ],
}


class Compare(unittest.TestCase):
    def test_it_is_the_program_s(self):
        path = pathlib.Path("options.json")
        path.write_text(json.dumps(OPTIONS))
        said = []
        result = mirfak.compare(path, progress=lambda done, total: said.append((done, total)))
        self.assertEqual(result.to_dict(), of_program("compare", path))
        self.assertEqual(sorted(result.options["option"]), ["A100", "H100", "H100"])
        self.assertTrue(result.options["runs"].all())
        self.assertEqual(said[-1], (3, 3))
        self.assertIn("H100", result.summary())
        result.write_report("options.html")
        self.assertIn("<html", pathlib.Path("options.html").read_text())
        self.assertEqual(list(mirfak.compare(OPTIONS).options["gpus"]), list(result.options["gpus"]))

    def test_overrides_are_of_the_scenario(self):
        path = pathlib.Path("options.json")
        path.write_text(json.dumps(OPTIONS))
        result = mirfak.compare(OPTIONS, {"training.tokens": 1e11})
        expected = of_program("compare", path, "--set", "training.tokens=1e11")
        self.assertEqual(result.to_dict()["options"], expected["options"])
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.compare(OPTIONS, {"strategy.tensr": 1})
        self.assertIn("override strategy.tensr=1", str(caught.exception))
        with self.assertRaisesRegex(mirfak.InputError, "'scenario' is missing"):
            mirfak.compare(SMALL)
        with self.assertRaisesRegex(mirfak.InputError, "threads: expected"):
            mirfak.compare(OPTIONS, threads=-1)

    def test_what_cannot_run_says_why(self):
        nowhere = dict(OPTIONS, options=[{"name": "small", "cluster": {"nodes": [{"type": "aws-p3", "count": 1}]}}])
        result = mirfak.compare(nowhere)
        self.assertFalse(result.options["runs"].any())
        self.assertTrue(result.options["reason"].iloc[0])


class Diff(unittest.TestCase):
    def test_it_is_the_program_s(self):
        result = mirfak.diff(SMALL, overrides={"training.global_batch": 8},
                             overrides_b={"strategy.recompute": "full", "strategy.micro_batch": 2})
        expected = of_program("diff", SMALL, "--set", "training.global_batch=8", "--set-b", 'strategy.recompute="full"',
                              "--set-b", "strategy.micro_batch=2")
        self.assertEqual(result.to_dict(), expected)
        self.assertEqual(set(result._values["keys"][0]), set(result.keys.columns))
        seconds = result.activities[["a", "b"]].sum()
        for side, of in (("a", mirfak.simulate(SMALL, {"training.global_batch": 8})),
                         ("b", mirfak.simulate(SMALL, {"training.global_batch": 8, "strategy.recompute": "full",
                                                       "strategy.micro_batch": 2}))):
            self.assertAlmostEqual(seconds[side], of.iteration_time_s, places=9)
        for frame in (result.figures, result.stages, result.kernels, result.communication, result.memory):
            self.assertGreater(len(frame), 0)
        self.assertIn("a.compute_s", result.stages.columns)
        self.assertIn("b.seconds", result.kernels.columns)
        self.assertIn("strategy.recompute", result.summary())

    def test_two_files(self):
        one, other = SCENARIOS / "llama2-70b-h100.yaml", SCENARIOS / "llama2-70b-h100-a100.yaml"
        self.assertEqual(mirfak.diff(one, other).to_dict(), of_program("diff", one, other))

    def test_refusals(self):
        with self.assertRaisesRegex(mirfak.InputError, "nothing in which it differs"):
            mirfak.diff(SMALL)
        with self.assertRaisesRegex(mirfak.InputError, "several jobs"):
            mirfak.diff(SMALL, SCENARIOS / "jobs" / "two-llama2-70b-h100.yaml")
        with self.assertRaisesRegex(mirfak.InputError, "override strategy.tensr=4"):
            mirfak.diff(SMALL, overrides_b={"strategy.tensr": 4})


class Sensitivities(unittest.TestCase):
    def test_it_is_the_program_s(self):
        result = mirfak.simulate(SMALL)
        gains = result.sensitivity()
        self.assertIsInstance(gains, mirfak.SensitivityResult)
        expected = of_program("simulate", SMALL, "--sensitivity")["sensitivity"]
        self.assertEqual(gains.to_dict(), expected)
        self.assertEqual(gains.iteration_time_s, result.iteration_time_s)
        self.assertTrue(gains.resources["gained_s"].is_monotonic_decreasing)
        self.assertIn("FLOP/s", gains.summary())
        twice = result.sensitivity(2)
        self.assertEqual(without_clock(twice.to_dict()),
                         of_program("simulate", SMALL, "--sensitivity", "--factor", 2)["sensitivity"])
        with self.assertRaisesRegex(mirfak.InputError, "factor: expected a number from 0.1 to 10, found 0"):
            result.sensitivity(0)


if __name__ == "__main__":
    unittest.main()
