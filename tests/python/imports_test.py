"""Launch scripts and configuration files as scenarios: what the program makes of them, from Python."""

import pathlib
import unittest

import mirfak

from program import SOURCE, of_program

SCRIPT = SOURCE / "scenarios" / "launch" / "pretrain_llama3_8b.sh"


class Imports(unittest.TestCase):
    def test_it_is_the_program_s(self):
        result = mirfak.import_files(SCRIPT, nodes="hgx-h100:4")
        self.assertEqual(result.to_dict(), of_program("import", SCRIPT, "--nodes", "hgx-h100:4"))
        self.assertTrue(result.complete, result.obstacles)
        self.assertIsNone(result.refusal)
        self.assertEqual(len(result.lines), len(result.to_dict()["lines"]))
        self.assertIn("taken", set(result.lines["verdict"]))
        self.assertIn("pretrain_llama3_8b.sh", result.summary())
        times = {mirfak.simulate(scenario).iteration_time_s for scenario in (result.scenario, result.yaml())}
        result.write("imported.yaml")
        times |= {mirfak.simulate("imported.yaml").iteration_time_s}
        self.assertEqual(len(times), 1, times)

    def test_wishes(self):
        pathlib.Path("launch.sh").write_text(
            "torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
            "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 "
            "--global-batch-size 128 --tensor-model-parallel-size $TP --pipeline-model-parallel-size $1 --bf16\n")
        result = mirfak.import_files(["launch.sh"], nodes=["hgx-h100:2"], environment={"TP": 4, "NODES": 2},
                                     parameters=[2])
        expected = of_program("import", "launch.sh", "--nodes", "hgx-h100:2", "--env", "TP=4", "--env", "NODES=2",
                              "--arg", "2")
        self.assertEqual(result.to_dict(), expected)
        self.assertEqual(result.scenario["strategy"]["tensor"], 4)
        self.assertEqual(result.scenario["strategy"]["pipeline"], 2)

    def test_what_emit_writes_is_read_back(self):
        job = {"model": "llama3-8b", "cluster": {"nodes": [{"type": "hgx-h100", "count": 2}]},
               "training": {"global_batch": 64, "sequence_length": 8192, "framework": "megatron-core"},
               "strategy": {"tensor": 2, "pipeline": 2, "sequence_parallel": True}}
        result = mirfak.simulate(job)
        pathlib.Path("arguments.txt").write_text(result.emit("megatron"))
        back = mirfak.import_files("arguments.txt", nodes="hgx-h100:2")
        for key in ("tensor", "pipeline"):
            self.assertEqual(back.scenario["strategy"][key], job["strategy"][key])

    def test_refusals(self):
        pathlib.Path("notes.txt").write_text("nothing that starts a training\n")
        for arguments, said in (({"files": "missing.sh"}, "missing.sh"), ({"files": "notes.txt"}, "notes.txt"),
                                ({"files": SCRIPT, "nodes": "hgx-h100"}, "hgx-h100"),
                                ({"files": SCRIPT, "format": "tomll"}, "tomll"), ({"files": []}, "no files")):
            with self.subTest(arguments), self.assertRaises(mirfak.InputError) as caught:
                mirfak.import_files(**arguments)
            self.assertIn(said, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
