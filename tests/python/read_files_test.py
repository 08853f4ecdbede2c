"""Files that a result came from are never replaced by what it writes."""

import json
import os
import pathlib
import shutil
import unittest

import mirfak

from program import SOURCE

JOB = {
    "model": "model.yaml",
    "cluster": {"nodes": [{"type": "nodes/own.yaml", "count": 1}]},
    "training": {"global_batch": 32, "tokens": 1e9},
    "strategy": {"micro_batch": 1},
    "search": {"space": {"tensor": [1], "pipeline": [1], "micro_batch": [1], "zero": [1]}},
    "operations": {"iterations": 100, "failures": {"rate_per_node_day": 0.01}, "restart_s": 60},
}
READ = ("own.yaml", "model.yaml", "nodes/own.yaml")


def write_inputs(job=JOB):
    pathlib.Path("nodes").mkdir(exist_ok=True)
    shutil.copy(SOURCE / "hw_profiles/nodes/hgx-h100.yaml", "nodes/own.yaml")
    pathlib.Path("model.yaml").write_text("layers: 4\nhidden: 1024\nheads: 16\nvocab: 51200\nmax_sequence: 1024\n")
    pathlib.Path("own.yaml").write_text(json.dumps(job))


class ReadFiles(unittest.TestCase):
    def setUp(self):
        write_inputs()

    def refuses(self, write, names=READ):
        for name in names:
            before = pathlib.Path(name).read_bytes()
            with self.subTest(name=name), self.assertRaisesRegex(mirfak.InputError, "was read as an input"):
                write(name)
            self.assertEqual(pathlib.Path(name).read_bytes(), before, name)

    def test_writers_of_all_results(self):
        result = mirfak.simulate("own.yaml")
        for write in (result.write_report, result.write_trace, result.write_timeline, result.write_memory_snapshot):
            self.refuses(write)
        # The model that was read is remembered, and so is that it was read from a file.
        self.refuses(mirfak.simulate("own.yaml").write_report)
        self.refuses(mirfak.search("own.yaml").write_report)
        trained = mirfak.train("own.yaml", samples=8)
        self.refuses(trained.write_report)
        self.refuses(trained.write_trace)
        self.refuses(mirfak.frontier("own.yaml").write_report)

    def test_several_jobs_and_options(self):
        rest = {key: value for key, value in JOB.items() if key in ("model", "training", "strategy")}
        pathlib.Path("job.yaml").write_text(json.dumps(rest))
        jobs = {"cluster": JOB["cluster"], "iterations": 2, "jobs": [{"name": "a", "count": 1, "scenario": "job.yaml"}]}
        pathlib.Path("own.yaml").write_text(json.dumps(jobs))
        found = mirfak.simulate_jobs("own.yaml")
        for write in (found.write_report, found.write_trace, found.write_timeline):
            self.refuses(write, (*READ, "job.yaml"))
        write_inputs()
        pathlib.Path("options.yaml").write_text(json.dumps({"scenario": "own.yaml", "options": [{"name": "as it is"}]}))
        self.refuses(mirfak.compare("options.yaml").write_report, (*READ, "options.yaml"))

    def test_imports_and_replays(self):
        pathlib.Path("run.sh").write_text("torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024\n")
        self.refuses(mirfak.import_files("run.sh", nodes="hgx-h100:1").write, ["run.sh"])
        result = mirfak.simulate("own.yaml")
        result.write_chakra("ranks")
        replayed = mirfak.replay_chakra([f"ranks.{rank}.et" for rank in range(8)])
        self.refuses(replayed.write_timeline, ["ranks.3.et"])

    def test_results_are_written_again_and_so_is_what_another_read(self):
        result = mirfak.simulate("own.yaml")
        for _ in range(2):
            result.write_trace("trace.h5")
            mirfak.read_trace("trace.h5")
        # Written by an editor anew, it is a scenario all the same; removed, its name is free.
        os.replace("own.yaml", "moved.yaml")
        write_inputs()
        self.refuses(result.write_report, ["own.yaml", "moved.yaml"])
        os.remove("own.yaml")
        result.write_report("own.yaml")
        self.assertIn("<html", pathlib.Path("own.yaml").read_text())

    def test_all_ranks_are_written_or_none(self):
        pathlib.Path("traces.5.et").mkdir()
        with self.assertRaisesRegex(mirfak.InputError, "it is a folder"):
            mirfak.simulate("own.yaml").write_chakra("traces")
        self.assertEqual([path.name for path in pathlib.Path().glob("traces.*")], ["traces.5.et"])


if __name__ == "__main__":
    unittest.main()
