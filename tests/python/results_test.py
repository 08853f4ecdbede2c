"""Results of the package's functions: the figures of the program, in Python's words."""

import gc
import json
import pathlib
import pickle
import unittest

import numpy as np
import pandas as pd

import mirfak

from program import SOURCE, of_program, printed, without_clock

SCENARIOS = SOURCE / "scenarios"
SMALL = SCENARIOS / "gpt-22b-a100-seqpar.yaml"

JOB = {
    "model": "gpt3-13b",
    "cluster": {"nodes": [{"type": "dgx-a100-80g", "count": 4}]},
    "training": {"global_batch": 64},
    "strategy": {"tensor": 2, "pipeline": 4},
}


# A training whose iterations are shorter than it asserts, and whose goodput is none that a training can have.
ASSERTING = {
    **JOB,
    "operations": {"iterations": 1000, "restart_s": 600, "failures": {"rate_per_node_day": 0.1}},
    "assert": ["iteration_time_s < 1000", "train.goodput > 1"],
}


class Origin(unittest.TestCase):
    def test_version_and_data_are_those_of_the_program(self):
        expected = printed("simulate", SMALL)
        self.assertEqual(mirfak.__version__, expected["program_version"])
        self.assertEqual(mirfak.data_hash(SOURCE), expected["data_hash"])
        self.assertEqual(mirfak.data_hash(), expected["data_hash"])
        with self.assertRaisesRegex(mirfak.InputError, "there is no such folder"):
            mirfak.data_hash("/nowhere")


class Simulate(unittest.TestCase):
    def test_figures_are_those_of_the_program(self):
        for name in ("gpt-22b-a100-seqpar.yaml", "llama2-70b-h100-a100.yaml", "gpt3-175b-a100.yaml",
                     "train-llama3-405b-h100.yaml"):
            with self.subTest(name):
                expected = of_program("simulate", SCENARIOS / name)
                result = mirfak.simulate(SCENARIOS / name)
                self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
                for key, value in expected.items():
                    if key not in ("wall_time_s", "stages"):
                        self.assertEqual(getattr(result, key), value, key)
                self.assertEqual(len(result.stages), len(expected["stages"]))

    def test_what_help_says_of_a_figure_is_what_the_program_lists(self):
        of_result = type(mirfak.simulate(SMALL))
        for figure in printed("list", "figures")["figures"]:
            key = figure["key"]
            if "." not in key:
                unknown = f" None: {figure['unknown']}." if figure["unknown"] else ""
                self.assertEqual(getattr(of_result, key).__doc__, figure["meaning"] + unknown, key)

    def test_overrides_are_those_of_the_command_line(self):
        expected = of_program("simulate", SMALL, "--set", "strategy.micro_batch=2", "--set", "strategy.recompute=full")
        for overrides in (
            {"strategy.micro_batch": 2, "strategy.recompute": "full"},
            {"strategy.micro_batch": np.int64(2), "strategy.recompute": "full"},
            ["strategy.micro_batch=2", "strategy.recompute=full"],
            {"strategy": {"micro_batch": 2, "recompute": "full"}},
        ):
            result = mirfak.simulate(str(SMALL), overrides)
            self.assertEqual(without_clock(result.to_dict()), without_clock(expected))

    def test_a_section_of_overrides_sets_its_keys_and_a_value_is_replaced(self):
        job = {**JOB, "training": {"global_batch": 64, "document_lengths": {"512": 1, "1024": 1}}}
        nested = {
            "cluster": {"fabric": {"type": "fat-tree", "oversubscription": 2}, "pue": 1.2},
            "training": {"document_lengths": {"256": 1}},
        }
        dotted = {
            "cluster.fabric.type": "fat-tree",
            "cluster.fabric.oversubscription": 2,
            "cluster.pue": 1.2,
            "training.document_lengths": {"256": 1},
        }
        self.assertEqual(mirfak.simulate(job, nested).resolved, mirfak.simulate(job, dotted).resolved)
        with self.assertRaisesRegex(mirfak.InputError, "tensr"):
            mirfak.simulate(JOB, {"strategy": {"tensr": 4}})

    def test_a_scenario_is_a_dictionary_or_a_text_or_a_file(self):
        times = {mirfak.simulate(form).iteration_time_s for form in (JOB, json.dumps(JOB, indent=1))}
        path = pathlib.Path("job.json")
        path.write_text(json.dumps(JOB))
        times |= {mirfak.simulate(path).iteration_time_s, mirfak.simulate("job.json").iteration_time_s}
        times.add(mirfak.simulate(mirfak.simulate(JOB).resolved).iteration_time_s)
        self.assertEqual(len(times), 1, times)

    def test_detail_and_ranks(self):
        whole = mirfak.simulate(JOB)
        fine = mirfak.simulate(JOB, detail="operators", unfolded=True)
        self.assertGreater(fine.events, 10 * whole.events)
        self.assertAlmostEqual(fine.iteration_time_s, whole.iteration_time_s, delta=0.01 * whole.iteration_time_s)

    def test_stages_add_up(self):
        result = mirfak.simulate(JOB)
        seconds = result.stages[list(result.activities)].sum(axis=1)
        np.testing.assert_allclose(seconds, result.iteration_time_s, rtol=1e-9)
        self.assertEqual(result.stages["memory_peak_bytes"].max(), result.memory_peak_bytes)

    def test_samples_have_a_spread(self):
        scenario = SCENARIOS / "llama2-70b-h100-perturbed.yaml"
        result = mirfak.simulate(scenario, samples=8, seed=7)
        expected = of_program("simulate", scenario, "--samples", 8, "--seed", 7)
        self.assertEqual(result.spread, expected["spread"])
        self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
        with self.assertRaisesRegex(mirfak.InputError, "samples: expected"):
            mirfak.simulate(scenario, samples=1)
        with self.assertRaisesRegex(mirfak.InputError, "needs samples"):
            mirfak.simulate(scenario, seed=1)

    def test_text_for_people(self):
        result = mirfak.simulate(SMALL)
        self.assertIn("memory", result.summary())
        self.assertIn("flop", result.explain().lower())
        self.assertIn("8 GPUs", repr(result))

    def test_files_for_others(self):
        result = mirfak.simulate(SMALL)
        result.write_report("report.html")
        self.assertIn("<html", pathlib.Path("report.html").read_text())
        result.write_memory_snapshot("memory.pickle")
        self.assertIn("segments", pickle.loads(pathlib.Path("memory.pickle").read_bytes()))
        result.write_chakra("chakra", [1, 0, 1])
        self.assertEqual(sorted(path.name for path in pathlib.Path(".").glob("chakra.*")),
                         ["chakra.0.et", "chakra.1.et", "chakra.comm_groups.json"])
        replayed = mirfak.replay_chakra(["chakra.0.et", "chakra.1.et"])
        self.assertAlmostEqual(replayed.iteration_time_s, result.iteration_time_s, places=9)
        with self.assertRaisesRegex(mirfak.InputError, "8"):
            result.write_chakra("none", [8])
        self.assertIn("--tensor-model-parallel-size", result.emit("megatron"))
        self.assertIn("srun", result.emit("megatron", launcher="slurm"))
        with self.assertRaisesRegex(mirfak.InputError, "target: expected"):
            result.emit("nobody")


class Assertions(unittest.TestCase):
    def test_what_does_not_hold_or_is_not_checked_is_among_the_notes(self):
        alone = mirfak.simulate(ASSERTING).notes
        self.assertTrue(any("'train.goodput > 1' is not checked" in note for note in alone), alone)
        whole = mirfak.train(ASSERTING, samples=20).to_dict()["notes"]
        self.assertEqual(len(whole), 1)
        self.assertIn("'train.goodput > 1' does not hold", whole[0])
        broken = mirfak.simulate(ASSERTING, {"assert": ["not fits"]}).notes
        self.assertTrue(any("'not fits' does not hold" in note for note in broken), broken)


class Timelines(unittest.TestCase):
    def test_arrays_are_views(self):
        timeline = mirfak.simulate(JOB).timeline
        for name in ("start_ps", "end_ps", "stream", "task_class", "stream_kind", "class_kind", "rank", "class_flop"):
            array, again = getattr(timeline, name), getattr(timeline, name)
            self.assertFalse(array.flags.owndata, name)
            self.assertFalse(array.flags.writeable, name)
            self.assertTrue(np.shares_memory(array, again), name)
        self.assertEqual(timeline.start_ps.dtype, np.int64)
        self.assertEqual(len(timeline.start_ps), len(timeline))

    def test_arrays_outlive_what_they_look_into(self):
        ends = mirfak.simulate(JOB).timeline.end_ps
        expected = ends.copy()
        gc.collect()
        for _ in range(3):  # would be written over it
            mirfak.simulate(JOB).timeline.start_ps.sum()
        np.testing.assert_array_equal(ends, expected)

    def test_it_is_the_iteration(self):
        result = mirfak.simulate(JOB)
        timeline = result.timeline
        self.assertEqual(timeline.makespan_ps, timeline.end_ps.max())
        self.assertAlmostEqual(timeline.makespan_ps * 1e-12, result.iteration_time_s, places=9)
        self.assertTrue((timeline.end_ps >= timeline.start_ps).all())
        # A stream runs one task at a time.
        frame = timeline.frame()
        compute = frame[frame["stream"] == "compute"]
        for _, tasks in compute.groupby("rank"):
            self.assertTrue((tasks["start_s"].to_numpy()[1:] >= tasks["end_s"].to_numpy()[:-1] - 1e-12).all())
        self.assertEqual(sorted(frame["stage"].unique()), [0, 1, 2, 3])

    def test_a_trace_is_read_back(self):
        result = mirfak.simulate(JOB, detail="operators")
        result.write_trace("trace.h5")
        result.write_timeline(pathlib.Path("timeline.json"))
        self.assertIn("traceEvents", json.loads(pathlib.Path("timeline.json").read_text()))
        trace = mirfak.read_trace("trace.h5")
        self.assertFalse(trace.measured)
        self.assertEqual(trace.iteration_time_s, result.iteration_time_s)
        self.assertFalse(trace.start_s.flags.owndata)
        end = trace.frame()["end_s"]
        del trace
        gc.collect()
        self.assertAlmostEqual(end.max(), result.iteration_time_s, places=9)
        with self.assertRaises(mirfak.InputError):
            mirfak.read_trace("timeline.json")


class Errors(unittest.TestCase):
    def test_a_wrong_key_has_its_place(self):
        path = pathlib.Path("wrong.yaml")
        path.write_text("model: gpt3-13b\ncluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
                        "training: {global_batch: 8}\nstrategy:\n  tensr: 2\n")
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.simulate(path)
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), ("wrong.yaml", 5, 3))
        self.assertEqual(error.message, "strategy.tensr: unknown key")
        self.assertEqual(error.hint, "did you mean 'tensor'?")
        self.assertIn("wrong.yaml:5:3: strategy.tensr: unknown key", str(error))
        self.assertIsInstance(error, mirfak.Error)

    def test_so_has_one_in_a_dictionary_and_in_an_override(self):
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.simulate(dict(JOB, strategy={"tensor": "two"}))
        self.assertIn('"tensor": "two"', str(caught.exception))
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.simulate(JOB, {"strategy.tensr": 4})
        self.assertEqual(caught.exception.file, "override strategy.tensr=4")
        self.assertNotIn("--set", str(caught.exception))

    def test_kinds(self):
        with self.assertRaises(mirfak.InfeasibleError):
            mirfak.simulate(JOB, {"strategy.tensor": 48})
        with self.assertRaises(mirfak.InputError):
            mirfak.simulate("there-is-no-such-file.yaml")
        with self.assertRaises(mirfak.InputError):
            mirfak.simulate(dict(JOB, training={"global_batch": float("nan")}))
        with self.assertRaises(mirfak.InputError):
            mirfak.simulate(dict(JOB, training={"global_batch": object()}))
        with self.assertRaises(mirfak.InputError):
            mirfak.simulate(JOB, detail="kernels")
        with self.assertRaises(mirfak.InputError):
            mirfak.simulate(JOB, data="/nonexistent")
        with self.assertRaises(TypeError):
            mirfak.simulate(7)
        too_large = mirfak.simulate(JOB, {"strategy.tensor": 1, "strategy.pipeline": 1, "strategy.zero": 0})
        self.assertFalse(too_large.fits)

    def test_they_travel_between_processes(self):
        try:
            mirfak.simulate(JOB, {"strategy.tensr": 4})
        except mirfak.InputError as error:
            other = pickle.loads(pickle.dumps(error))
            self.assertEqual(vars(other), vars(error))
            self.assertEqual(str(other), str(error))


class Search(unittest.TestCase):
    def test_it_is_the_program_s(self):
        scenario = SCENARIOS / "search-llama2-70b-h100.yaml"
        said = []
        result = mirfak.search(scenario, {"search.top": 3}, progress=lambda done, total: said.append((done, total)))
        expected = of_program("search", scenario, "--top", 3)
        self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
        self.assertEqual(len(result.frame), 3)
        self.assertEqual(result.best.iteration_time_s, result.strategies[0]["iteration_time_s"])
        self.assertTrue(all(0 <= done <= total for done, total in said))
        best = mirfak.simulate(result.scenario())
        self.assertEqual(best.iteration_time_s, result.best.iteration_time_s)
        self.assertIn("--tensor-model-parallel-size", result.emit("megatron"))
        with self.assertRaisesRegex(mirfak.InputError, "did you mean 'megatron'"):
            result.emit("megatrn")
        with self.assertRaises(IndexError):
            result.scenario(3)
        result.write_report("search.html")
        self.assertIn("<html", pathlib.Path("search.html").read_text())

    def test_nothing_found_is_infeasible(self):
        with self.assertRaises(mirfak.InfeasibleError) as caught:
            mirfak.search(SCENARIOS / "search-llama2-70b-h100.yaml", {"search.budget_usd": 1})
        self.assertTrue(caught.exception.hint)


class Plans(unittest.TestCase):
    JOB = {
        "model": {"name": "small", "layers": 6, "hidden": 1024, "heads": 16, "vocab": 32000, "max_sequence": 1024},
        "cluster": {"nodes": [{"type": "aws-p3", "count": 1, "gpus": 4}]},
        "training": {"global_batch": 32, "precision": "fp16", "framework": "jax-alpa"},
        "strategy": {"recompute": "full", "schedule": "1f1b", "virtual_pipeline": 1, "sequence_parallel": False},
        "search": {"headroom": 0, "top": 2},
    }

    def without_work(self, result):
        """A plan but for how long its parts took to find."""
        result = without_clock(result)
        result["planning"] = {key: value for key, value in result["planning"].items() if not key.endswith("_s")}
        return result

    def test_it_is_the_program_s(self):
        path = pathlib.Path("alpa.json")
        path.write_text(json.dumps(self.JOB))
        said = []
        result = mirfak.plan_alpa(path, progress=lambda done, total: said.append((done, total)))
        expected = of_program("search", path, "--planner", "alpa")
        self.assertEqual(self.without_work(result.to_dict()), self.without_work(expected))
        self.assertEqual(result.stages["layers"].sum(), 6)
        self.assertEqual(result.plan["iteration_time_s"], result.best.iteration_time_s)
        self.assertEqual(mirfak.simulate(result.scenario()).iteration_time_s, result.best.iteration_time_s)
        self.assertTrue(all(0 <= done <= total for done, total in said))
        self.assertIn("Alpa's plan", result.summary())
        result.write_report("plan.html")
        self.assertIn("<html", pathlib.Path("plan.html").read_text())

    def test_levels(self):
        both, intra, inter = (mirfak.plan_alpa(self.JOB, levels=levels) for levels in
                              ("both", "intra-only", "inter-only"))
        self.assertEqual((intra.levels, len(intra.stages)), ("intra-only", 1))
        self.assertEqual(len(inter.stages), 4)
        self.assertLessEqual(both.best.iteration_time_s,
                             min(intra.best.iteration_time_s, inter.best.iteration_time_s))

    def test_what_it_does_not_plan_for(self):
        for overrides, said in (({"search.objective": "cost"}, "minimises time alone"),
                                ({"search.tolerance": 0.1}, "or call mirfak.search()")):
            with self.assertRaises(mirfak.InputError) as caught:
                mirfak.plan_alpa(self.JOB, overrides)
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("--", str(caught.exception))
        with self.assertRaisesRegex(mirfak.InputError, "levels: expected both, intra-only or inter-only"):
            mirfak.plan_alpa(self.JOB, levels="some")
        with self.assertRaises(mirfak.InfeasibleError) as caught:
            mirfak.plan_alpa(self.JOB, {"model.hidden": 65536}, levels="inter-only")
        self.assertTrue(caught.exception.hint)
        self.assertNotIn("--", str(caught.exception))


class Others(unittest.TestCase):
    def test_frontier(self):
        scenario = SCENARIOS / "llama2-70b-h100-a100.yaml"
        result = mirfak.frontier(scenario, stragglers=[1.2])
        expected = of_program("frontier", scenario, "--straggler", 1.2)
        self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
        self.assertEqual(list(result.plans["slowdown"]), [1, 1.2])
        self.assertTrue(result.points["energy_j"].is_monotonic_decreasing)
        self.assertTrue(result.clock_plan()["plans"])
        result.write_report("frontier.html")
        self.assertIn("<html", pathlib.Path("frontier.html").read_text())
        with self.assertRaises(mirfak.InputError):
            mirfak.frontier(scenario, stragglers=[0.5])

    def test_train(self):
        scenario = SCENARIOS / "train-llama3-405b-h100.yaml"
        result = mirfak.train(scenario, samples=50)
        expected = of_program("train", scenario, "--samples", 50)
        self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
        self.assertGreater(result.goodput, 0.5)
        result.write_report("training.html")
        self.assertIn("<html", pathlib.Path("training.html").read_text())
        result.write_trace("training.h5")
        self.assertTrue(pathlib.Path("training.h5").exists())
        with self.assertRaisesRegex(mirfak.InputError, "operations"):
            mirfak.train(SMALL)
        with self.assertRaises(AttributeError):
            result.godput

    def test_frontier_of_parts_and_ways(self):
        scenario = SCENARIOS / "papers" / "perseus" / "gpt3-1.3b-a100.yaml"
        result = mirfak.frontier(scenario, unit="part", switch_time=0.001)
        expected = of_program("frontier", scenario, "--unit", "part", "--switch-time", "1ms")
        self.assertEqual(without_clock(result.to_dict()), without_clock(expected))
        for wrong in [{"switch_time": 0.1}, {"communication_sms": [4]}, {"unit": "parts"}]:
            with self.assertRaises(mirfak.InputError):
                mirfak.frontier(scenario, **wrong)
        with self.assertRaises(mirfak.InputError):
            mirfak.frontier(scenario, joint=True, communication_sms=[1000])

    def test_power_over_time(self):
        result = mirfak.simulate(SMALL)
        power = result.power(0.001)
        watts = power["series"][1]["watts"]
        self.assertEqual(power["series"][1]["name"], "gpus_w")
        self.assertAlmostEqual(sum(watts) * power["interval_s"] / result.energy_j, 1, places=9)
        result.write_power("watts.csv")
        self.assertTrue(pathlib.Path("watts.csv").read_text().startswith("time_s,machine_w,gpus_w"))
        trained = mirfak.train(SCENARIOS / "train-llama3-405b-h100.yaml", samples=3)
        run = trained.power(3600)
        self.assertAlmostEqual(sum(run["series"][0]["watts"]) * run["interval_s"] / run["energy_j"], 1, places=9)
        trained.write_power("run.json", 3600)
        self.assertEqual(json.loads(pathlib.Path("run.json").read_text())["energy_j"], run["energy_j"])
        for wrong in [lambda: result.power(2), lambda: trained.power(0.5), lambda: result.write_power("watts.png")]:
            with self.assertRaises(mirfak.InputError):
                wrong()

    def test_validate(self):
        rows = ("gpu,n_gpus,n_layers,hidden,n_heads,seq_len,micro_batch,global_batch,dtype,s_per_iter_derived\n"
                "A100,8,24,1024,16,1024,4,64,float16,1\n"
                "A100,8,24,1024,16,1024,4,64,float8,1\n")
        pathlib.Path("runs.csv").write_text(rows)
        expected = of_program("validate", "runs.csv")
        result = mirfak.validate("runs.csv")
        self.assertEqual(result.to_dict(), expected)
        self.assertEqual((len(result.rows), len(result.skipped_rows)), (1, 1))
        with self.assertRaisesRegex(mirfak.InputError, "tiers"):
            mirfak.validate("runs.csv", tiers="Z")

    DRAWN = "jobs[1].perturbations={iterations: {compute: {lognormal: {sigma: 0.05}}}}"

    def test_several_jobs(self):
        scenario = SCENARIOS / "jobs" / "two-llama2-70b-h100.yaml"
        result = mirfak.simulate_jobs(scenario)
        self.assertEqual(result.to_dict(), of_program("simulate", scenario))
        self.assertEqual(len(result.frame), 2)
        self.assertTrue(result.summary())
        self.assertIn("links", result.explain())
        result.write_trace("jobs.h5")
        result.write_timeline("jobs.json")
        result.write_report("jobs.html")
        self.assertIn("traceEvents", json.loads(pathlib.Path("jobs.json").read_text()))
        self.assertIn("<html", pathlib.Path("jobs.html").read_text())
        self.assertGreater(pathlib.Path("jobs.h5").stat().st_size, 0)
        drawn = mirfak.simulate_jobs(scenario, ["iterations=1", "jobs[0].nodes=0-31", self.DRAWN], samples=4, seed=3)
        expected = of_program("simulate", scenario, "--set", "iterations=1", "--set", "jobs[0].nodes=0-31", "--set",
                              self.DRAWN, "--samples", 4, "--seed", 3)
        self.assertEqual(drawn.to_dict(), expected)
        self.assertGreater(drawn.spread["jobs"][1]["together"]["deviation_s"], 0)
        with self.assertRaisesRegex(mirfak.InputError, "seed needs samples"):
            mirfak.simulate_jobs(scenario, seed=1)
        with self.assertRaisesRegex(mirfak.InputError, "simulate_jobs"):
            mirfak.simulate(scenario)
        with self.assertRaisesRegex(mirfak.InputError, "simulate()"):
            mirfak.simulate_jobs(SMALL)


if __name__ == "__main__":
    pd.set_option("display.width", 200)
    unittest.main()
