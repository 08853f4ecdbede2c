"""Captured programs: the figures of the program, from a path with nodes or from a scenario."""

import pathlib
import tempfile
import unittest

import mirfak

from program import SOURCE, of_program, printed, without_clock

CAPTURE = SOURCE / "scenarios" / "capture" / "fsdp.capture"
SCENARIO = SOURCE / "scenarios" / "capture" / "fsdp.yaml"


class Captures(unittest.TestCase):
    def test_a_capture_on_nodes_has_the_figures_of_the_program(self):
        expected = printed("simulate", CAPTURE, "--nodes", "hgx-h100:1")
        result = mirfak.simulate(CAPTURE, nodes="hgx-h100:1")
        self.assertIsInstance(result, mirfak.CapturedResult)
        found = result.to_dict()
        self.assertEqual(without_clock(found), without_clock({key: expected[key] for key in found}))
        for key in ("iteration_time_s", "energy_j", "cost_usd_per_iteration", "fits", "notes"):
            self.assertEqual(getattr(result, key), expected[key], key)
        self.assertEqual(len(result.operators), len(expected["operators"]))
        self.assertEqual(list(result.modules["module"]), [row["module"] for row in expected["modules"]])
        self.assertAlmostEqual(sum(result.activities.values()), result.iteration_time_s)
        self.assertEqual(list(result.ranks["rank"]), [0, 1])

    def test_a_scenario_names_a_capture(self):
        result = mirfak.simulate(SCENARIO, {"cluster.price": 2.5})
        self.assertAlmostEqual(result.cost_usd_per_iteration, 2 * 2.5 * result.iteration_time_s / 3600)
        self.assertIn(f'hash: "{result.capture["hash"]}"', result.resolved)
        self.assertIn("cluster.fabric.type", result.defaulted)
        self.assertEqual(mirfak.simulate(result.resolved).iteration_time_s, result.iteration_time_s)
        named = {"capture": str(CAPTURE), "cluster": {"nodes": [{"type": "hgx-h100", "count": 1, "gpus": 2}]}}
        self.assertLess(mirfak.simulate(named).iteration_time_s, result.iteration_time_s)  # one rank is slow there
        self.assertIn("Operators of rank", result.summary())
        self.assertIn("for each operator dispatched", result.explain())
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.json")
            result.write_timeline(path)
            self.assertIn("fsdp::chunk_cat", path.read_text())
            page = pathlib.Path(folder, "step.html")
            result.write_report(page)
            self.assertIn("fsdp::chunk_cat", page.read_text())
            trace = pathlib.Path(folder, "step.h5")
            result.write_trace(trace)
            read = mirfak.read_trace(trace)
            self.assertAlmostEqual(read.end_s.max(), result.iteration_time_s, places=12)

    def test_steps_are_drawn(self):
        drawn = {"perturbations": {"jitter": {"host": {"lognormal": {"sigma": 0.1}}}}}
        named = {"capture": str(CAPTURE), "cluster": {"nodes": [{"type": "hgx-h100", "count": 1}], **drawn}}
        spread = mirfak.simulate(named, samples=20, seed=3).to_dict()["spread"]
        self.assertEqual((spread["samples"], spread["seed"]), (20, 3))
        self.assertGreater(spread["deviation_s"], 0)
        self.assertNotIn("spread", mirfak.simulate(named).to_dict())

    def test_what_makes_no_sense_is_refused(self):
        with self.assertRaisesRegex(mirfak.InputError, "a capture does not say on what it runs"):
            mirfak.simulate(CAPTURE)
        with self.assertRaisesRegex(mirfak.InputError, "unfolded is of models and strategies"):
            mirfak.simulate(SCENARIO, unfolded=True)
        with self.assertRaisesRegex(mirfak.InputError, "nodes are of a capture"):
            mirfak.simulate(SCENARIO, nodes="hgx-h100:1")
        with self.assertRaisesRegex(mirfak.InputError, "a captured program has no model"):
            mirfak.search(SCENARIO)

    def test_clocks_of_a_captured_pipeline(self):
        capture = SOURCE / "scenarios" / "capture" / "stages.capture"
        result = mirfak.frontier(capture, nodes="hgx-h100:1", stragglers=[1.1])
        expected = of_program("frontier", capture, "--nodes", "hgx-h100:1", "--straggler", 1.1)
        self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
        self.assertEqual(len(result.clock_plan()["plans"][0]["stages"]), 4)

    def test_differences_and_sweeps(self):
        difference = mirfak.diff(CAPTURE, nodes="hgx-h100:1", overrides_b={"cluster.nodes[0].clock_mhz": 1200})
        self.assertGreater(len(difference.operators), 1)
        self.assertIn("module", difference.modules)
        self.assertFalse(hasattr(difference, "stages"))
        compared = mirfak.compare(SOURCE / "scenarios" / "capture" / "options.yaml")
        self.assertEqual(list(compared.options["runs"]), [True, True, True, True, False])
        with self.assertRaisesRegex(mirfak.InputError, "a page is of options of a model"):
            compared.write_report("never.html")
        frame = mirfak.sweep(SOURCE / "scenarios" / "capture" / "gpus.yaml")
        self.assertEqual(set(frame["status"]), {"ok"})
        self.assertTrue((frame["energy_j"] > 0).all())
        self.assertTrue(frame["mfu"].isna().all())


if __name__ == "__main__":
    unittest.main()
