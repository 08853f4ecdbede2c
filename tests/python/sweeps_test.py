"""Sweeps in one process and over workers: the same table, to the bit, whatever happens to the workers."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

import mirfak

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
SWEEP = SOURCE / "scenarios" / "sweeps" / "llama2-70b-h100.yaml"

SMALL = f"""
scenario: {SOURCE}/scenarios/llama2-70b-h100.yaml
axes:
  - grid:
      strategy.tensor: [2, 4, 8, 3]
      strategy.recompute: [none, full]
      training.global_batch: [512, 1024]
"""


def bytes_of(path):
    return pathlib.Path(path).read_bytes()


def processes(method):
    return concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method))


class OneProcess(unittest.TestCase):
    def test_rows_are_points(self):
        frame = mirfak.sweep(SMALL)
        self.assertEqual(len(frame), 16)
        self.assertEqual(list(frame.index), list(range(16)))
        self.assertEqual(list(frame["strategy.tensor"][:5]), [2, 2, 2, 2, 4])
        self.assertEqual(list(frame["strategy.recompute"][:3]), ["none", "none", "full"])
        ran = frame[frame["status"].isin(["ok", "out-of-memory"])]
        self.assertEqual(len(ran), 12)
        self.assertTrue((frame["status"][12:] == "infeasible").all())
        self.assertTrue(frame["reason"][12:].str.len().gt(0).all())
        for point in (0, 5):
            row = frame.loc[point]
            keys = ("strategy.tensor", "strategy.recompute", "training.global_batch")
            alone = mirfak.simulate(SOURCE / "scenarios" / "llama2-70b-h100.yaml", {key: row[key] for key in keys})
            self.assertEqual(row["iteration_time_s"], alone.iteration_time_s)
            self.assertEqual(row["memory_peak_bytes"], alone.memory_peak_bytes)

    def test_the_table_is_the_program_s(self):
        frame = mirfak.sweep(SWEEP, out="ours.h5")
        subprocess.run([os.environ["MIRFAK_PROGRAM"], "sweep", SWEEP, "--out", "program.h5", "--data", SOURCE], check=True,
                       capture_output=True)
        self.assertEqual(bytes_of("ours.h5"), bytes_of("program.h5"))
        self.assertTrue(frame.equals(mirfak.read_sweep("program.h5")))

    def test_files_are_not_replaced(self):
        mirfak.sweep(SMALL, out="kept.h5")
        before = bytes_of("kept.h5")
        with self.assertRaisesRegex(mirfak.InputError, "this file exists"):
            mirfak.sweep(SMALL, out="kept.h5")
        mirfak.sweep(SMALL, out="kept.h5", resume=True)
        self.assertEqual(bytes_of("kept.h5"), before)
        with self.assertRaisesRegex(mirfak.InputError, "resume needs out"):
            mirfak.sweep(SMALL, resume=True)

    def test_a_fault_of_the_file_has_its_place(self):
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.sweep(SMALL.replace("strategy.tensor", "strategy.tensr"))
        self.assertIn("tensr", str(caught.exception))
        self.assertIsNotNone(caught.exception.line)

    def test_progress(self):
        said = []
        mirfak.sweep(SWEEP, progress=lambda done, total: said.append((done, total)), threads=1)
        self.assertEqual(said[-1], (432, 432))
        self.assertEqual(said, sorted(said))


class Workers(unittest.TestCase):
    def setUp(self):
        mirfak.sweep(SWEEP, out=self.id() + "-expected.h5")
        self.expected = bytes_of(self.id() + "-expected.h5")

    def check(self, executor, **options):
        out = self.id() + ".h5"
        frame = mirfak.sweep(SWEEP, out=out, executor=executor, **options)
        self.assertEqual(bytes_of(out), self.expected)
        self.assertEqual(len(frame), 432)
        self.assertFalse(pathlib.Path(out + ".shards").exists())

    def test_processes(self):
        for method in ("fork", "forkserver"):  # a forked one finds the threads of this process gone
            with self.subTest(method), processes(method) as pool:
                out = f"{method}.h5"
                mirfak.sweep(SWEEP, out=out, executor=pool, shards=5)
                self.assertEqual(bytes_of(out), self.expected)

    def test_threads(self):
        said = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.check(pool, shards=3, progress=lambda done, total: said.append((done, total)))
        self.assertEqual(said, [(1, 3), (2, 3), (3, 3)])

    def test_a_file_may_be_named_from_here(self):
        pathlib.Path("here.yaml").write_text(SMALL)
        with processes("forkserver") as pool:
            frame = mirfak.sweep("here.yaml", executor=pool, shards=2)
        self.assertTrue(frame.equals(mirfak.sweep(SMALL)))

    def test_dask(self):
        try:
            from dask.distributed import Client, LocalCluster
        except ImportError:
            self.skipTest("dask.distributed is not installed")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            self.check(client, shards=4)

    def test_a_wrong_sweep_fails_as_here(self):
        with processes("forkserver") as pool:
            with self.assertRaises(mirfak.InputError) as caught:
                mirfak.sweep(SMALL.replace("strategy.tensor", "strategy.tensr"), executor=pool, shards=2)
        self.assertIn("tensr", str(caught.exception))

    def test_a_killed_worker(self):
        """Kills a worker in the middle of its shard, while its journal is being written."""
        killed = []
        out = pathlib.Path(self.id() + ".h5")

        def kill_one(pool, folder):
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if any(journal.stat().st_size > 2000 for journal in folder.glob("*.part")):
                    victim = next(iter(pool._processes))
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                    return
                time.sleep(0.001)

        def make_pool():
            pool = processes("forkserver")
            if not killed:
                threading.Thread(target=kill_one, args=(pool, out.with_name(out.name + ".shards"))).start()
            return pool

        self.check(make_pool, shards=2)
        self.assertEqual(len(killed), 1)

    def test_an_executor_that_died(self):
        """Cannot be used again; the finished points are."""
        out = self.id() + ".h5"
        pool = processes("forkserver")
        with self.assertRaises(concurrent.futures.BrokenExecutor):
            pool.submit(os._exit, 1).result()
        with self.assertRaisesRegex(mirfak.InternalError, "resume=True"):
            mirfak.sweep(SWEEP, out=out, executor=pool, shards=3)
        with self.assertRaisesRegex(mirfak.InputError, "resume=True"):
            mirfak.sweep(SWEEP, out=out, executor=processes("forkserver"))
        with processes("forkserver") as another:
            self.check(another, resume=True, shards=3)
            self.check(another, resume=True, shards=3)  # complete already
            with self.assertRaisesRegex(mirfak.InputError, "cannot be resumed"):
                mirfak.sweep(SMALL, out=out, executor=another, resume=True)


if __name__ == "__main__":
    unittest.main()
