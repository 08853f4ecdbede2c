"""Questions to other simulators about published rows (validate/peers), without any of these installed."""

import csv
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
PEERS = SOURCE / "validate/peers"
TABLE = SOURCE / "validate/published/korthikanti-2022-seqpar-selective.csv"
sys.path.insert(0, str(PEERS))

from calculon_peer import application, execution  # noqa: E402
from jobs import NotExpressed, Reader, require_plain_transformer  # noqa: E402
from score import Scores, ranks, spearman  # noqa: E402


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jobs = Reader(os.environ["MIRFAK"], SOURCE).jobs(TABLE, "A")

    def test_a_row_is_the_job_that_the_paper_states(self):
        # arXiv 2205.05198, tables 3 and 5: 22B, 8 GPUs; 1T, 512 GPUs with 64 stages.
        self.assertEqual(len(self.jobs), 5)
        first, last = self.jobs[0], self.jobs[-1]
        self.assertEqual((first.gpu, first.gpus, first.tensor, first.pipeline, first.data), ("a100-80g", 8, 8, 1, 1))
        self.assertEqual((first.model["layers"], first.model["hidden"], first.sequence, first.batch), (48, 6144, 2048, 4))
        self.assertEqual((first.recompute, first.sequence_parallel, first.measured_s), ("full", False, 1.42))
        self.assertEqual((last.gpus, last.tensor, last.pipeline), (512, 8, 64))
        with TABLE.open() as file:
            measured = [float(row["s_per_iter_derived"]) for row in csv.DictReader(file)]
        self.assertEqual([job.measured_s for job in self.jobs], measured)

    def test_calculon_is_asked_as_its_own_validation_asks(self):
        # calculon-ai/calculon validation/seqsel/tab5: tensor ranks on the inner network, stages on the outer one, all-gathers
        # of sequence-parallel ranks done again, attention alone recomputed.
        selective = next(job for job in self.jobs if job.recompute == "selective" and job.pipeline == 1)
        asked = execution(selective, {"float16"}, 8)
        self.assertEqual((asked["tensor_par_comm_type"], asked["seq_par_ag_redo"]), ("rs_ag", True))
        self.assertEqual((asked["activation_recompute"], asked["datatype"]), ("attn_only", "float16"))
        staged = execution(self.jobs[-1], {"float16"}, 8)
        self.assertEqual((staged["tensor_par_net"], staged["pipeline_par_net"]), (0, 1))
        self.assertEqual(application(selective)["feedforward"], 24576)

    def test_what_has_no_words_is_refused_with_the_reason(self):
        import dataclasses

        job = self.jobs[0]
        with self.assertRaisesRegex(NotExpressed, "context"):
            require_plain_transformer(dataclasses.replace(job, context=2))
        with self.assertRaisesRegex(NotExpressed, "experts"):
            require_plain_transformer(dataclasses.replace(job, model={**job.model, "experts": {"count": 8}}))
        with self.assertRaisesRegex(NotExpressed, "share keys"):
            application(dataclasses.replace(job, model={**job.model, "kv_heads": 8}))
        with self.assertRaisesRegex(NotExpressed, "ZeRO"):
            execution(dataclasses.replace(job, zero=3), {"float16"}, 8)
        with self.assertRaisesRegex(NotExpressed, "fp8"):
            execution(dataclasses.replace(job, precision="fp8"), {"float16"}, 8)


class Statistics(unittest.TestCase):
    def test_by_hand(self):
        scores = Scores([1.1, 1.8, 4.0], [1.0, 2.0, 4.0])
        self.assertAlmostEqual(scores.mape, 0.2 / 3)
        self.assertAlmostEqual(scores.bias, 0.0)
        self.assertAlmostEqual(scores.median, 0.1)
        self.assertEqual(scores.spearman, 1)
        self.assertEqual(ranks([5, 1, 5]), [2.5, 1, 2.5])
        self.assertTrue(math.isnan(spearman([1], [1])))

    def test_without_a_simulator_there_is_nothing_to_score(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, PEERS / "score.py"], capture_output=True, text=True, cwd=folder, check=False
            )
        self.assertEqual(done.returncode, 2)
        self.assertIn("--calculon CHECKOUT", done.stderr)


if __name__ == "__main__":
    unittest.main()
