"""A program while mirfak works: other threads run, Ctrl-C ends it, callbacks may raise."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import mirfak

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
SCENARIOS = SOURCE / "scenarios"
LONG = {"training.global_batch": 768}  # of gpt-1t-a100: seconds, with kernels

LONG_SWEEP = f"""
scenario: {SCENARIOS}/gpt3-175b-a100.yaml
axes:
  - grid:
      training.global_batch: {{from: 1536, to: 19968, step: 1536}}
      strategy.recompute: [none, full]
      strategy.virtual_pipeline: [1, 2, 4, 8]
"""


def interrupted(script, wait_for=None):
    """Runs a script, which prints a line when it begins, and presses Ctrl-C. Returns it, ended, and how long that took."""
    code = "import mirfak, sys\n" + textwrap.dedent(script)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    deadline = time.monotonic() + 60
    while wait_for and not wait_for() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.output, process.errors = process.communicate(timeout=120)
    return process, time.monotonic() - begin


class CtrlC(unittest.TestCase):
    def check(self, process):
        self.assertIn("KeyboardInterrupt", process.errors)
        self.assertNotIn("finished", process.output)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_simulate(self):
        process, seconds = interrupted(f"""
            print("begun", flush=True)
            for _ in range(1000):
                mirfak.simulate({str(SCENARIOS / 'gpt-1t-a100.yaml')!r}, {LONG!r}, detail="operators")
            print("finished")
            """)
        self.check(process)

    def test_search(self):
        process, _ = interrupted(f"""
            print("begun", flush=True)
            for _ in range(1000):
                mirfak.search({str(SCENARIOS / 'search-cost-llama3-70b.yaml')!r})
            print("finished")
            """)
        self.check(process)

    def test_plan(self):
        process, _ = interrupted(f"""
            print("begun", flush=True)
            for _ in range(1000):
                mirfak.plan_alpa({str(SCENARIOS / 'papers' / 'alpa' / 'gpt-39b.yaml')!r})
            print("finished")
            """)
        self.check(process)

    def test_train(self):
        process, _ = interrupted(f"""
            print("begun", flush=True)
            mirfak.train({str(SCENARIOS / 'train-llama3-405b-h100.yaml')!r}, samples=1_000_000)
            print("finished")
            """)
        self.check(process)

    def test_replay(self):
        rows = (f"{data},0,{data},{step},forward-compute,0,1,0,0,0,0" for data in range(100) for step in range(200))
        pathlib.Path("recorded.csv").write_text(
            "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n" + "\n".join(rows) + "\n")
        process, _ = interrupted("""
            print("begun", flush=True)
            for _ in range(1000):
                mirfak.replay("recorded.csv")
            print("finished")
            """)
        self.check(process)

    def test_sweep(self):
        """Keeps what is finished, and nothing half-written; then goes on to the same table."""
        pathlib.Path("long.yaml").write_text(LONG_SWEEP)
        journal = pathlib.Path("long.h5.part")
        process, _ = interrupted(
            """
            print("begun", flush=True)
            mirfak.sweep("long.yaml", out="long.h5", threads=1)
            print("finished")
            """,
            lambda: journal.exists() and journal.stat().st_size > 2000)
        self.check(process)
        self.assertEqual([path.name for path in pathlib.Path(".").glob("long.h5*")], ["long.h5.part"])
        first = []
        mirfak.sweep("long.yaml", out="long.h5", resume=True, progress=lambda done, total: first.append(done))
        self.assertGreater(first[0], 0)
        mirfak.sweep("long.yaml", out="at-once.h5")
        self.assertEqual(pathlib.Path("long.h5").read_bytes(), pathlib.Path("at-once.h5").read_bytes())

    def test_handlers_of_the_user(self):
        """A handler that raises something else has it raised; one that only notes the signal lets the work go on."""
        class Enough(Exception):
            pass

        def raise_enough(number, frame):
            raise Enough

        noted = []
        for handler, expected in ((raise_enough, Enough), (lambda number, frame: noted.append(number), None)):
            before = signal.signal(signal.SIGUSR1, handler)
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
            try:
                timer.start()
                work = lambda: mirfak.train(SCENARIOS / "train-llama3-405b-h100.yaml",
                                            samples=1_000_000 if expected else 2_000)
                if expected:
                    self.assertRaises(expected, work)
                else:
                    work()
                    timer.join()
            finally:
                signal.signal(signal.SIGUSR1, before)
        self.assertEqual(noted, [signal.SIGUSR1])


class Exit(unittest.TestCase):
    def test_threads_that_nobody_joins(self):
        """The program ends while they work, as it would without them: at once, and without a word."""
        for call in (f"mirfak.search({str(SCENARIOS / 'search-cost-llama3-70b.yaml')!r})",
                     f"mirfak.simulate({str(SCENARIOS / 'gpt-1t-a100.yaml')!r}, {LONG!r}, detail='operators')",
                     f"mirfak.train({str(SCENARIOS / 'train-llama3-405b-h100.yaml')!r}, samples=1_000_000)",
                     f"mirfak.search({str(SCENARIOS / 'search-cost-llama3-70b.yaml')!r},"
                     " progress=lambda done, total: None)"):
            code = textwrap.dedent(f"""
                import mirfak, threading, time
                def work():
                    while True:
                        {call}
                for _ in range(2):
                    threading.Thread(target=work, daemon=True).start()
                time.sleep(0.7)
                print("ends")
                """)
            with self.subTest(call):
                ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
                self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "ends\n", ""))


class Threads(unittest.TestCase):
    def test_others_run_on(self):
        """The longest time for which a thread that wakes every millisecond did not run is a part of the work's."""
        beats, stop = [], threading.Event()

        def beat():
            while not stop.is_set():
                beats.append(time.perf_counter())
                time.sleep(0.001)

        other = threading.Thread(target=beat)
        other.start()
        begin = time.perf_counter()
        mirfak.train(SCENARIOS / "train-llama3-405b-h100.yaml", samples=2_000)
        lasted = time.perf_counter() - begin
        stop.set()
        other.join()
        during = [beat for beat in beats if begin <= beat <= begin + lasted]
        self.assertGreater(len(during), 10, f"in {lasted} s")

    def test_results_do_not_depend_on_threads(self):
        scenario = SCENARIOS / "llama2-70b-h100.yaml"
        batches = [256 * (1 + i) for i in range(8)]
        expected = [mirfak.simulate(scenario, {"training.global_batch": batch}).iteration_time_s for batch in batches]
        found = [None] * len(batches)

        def work(place):
            result = mirfak.simulate(scenario, {"training.global_batch": batches[place]})
            result.write_trace(f"thread-{place}.h5")
            found[place] = result.iteration_time_s

        threads = [threading.Thread(target=work, args=(place,)) for place in range(len(batches))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, expected)


class Callbacks(unittest.TestCase):
    def test_what_they_raise_ends_the_work(self):
        class Enough(Exception):
            pass

        def enough(done, total):
            raise Enough

        pathlib.Path("long.yaml").write_text(LONG_SWEEP)
        with self.assertRaises(Enough):
            mirfak.sweep("long.yaml", out="ended.h5", progress=enough)
        self.assertFalse(pathlib.Path("ended.h5").exists())


if __name__ == "__main__":
    unittest.main()
