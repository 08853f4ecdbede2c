"""A capture beside a profiler's recording of the same step, without PyTorch and without a GPU.

The recording is made of the committed capture, event by event, in the form that Kineto writes: operators that enclose
launches, launches and kernels with a correlation. So it is known what has to be found. Recordings of real GPUs are read,
where they are, with sums that another reader made.
"""

import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from mirfak.capture import read_capture
from mirfak.capture.recording import read_recording

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
CAPTURE = SOURCE / "tests" / "capture" / "programs" / "ddp.capture"
TRACES = SOURCE.parent / "shared" / "kineto-traces"
AROUND = {"aten::mm": ["aten::linear", "aten::matmul"], "aten::_to_copy": ["aten::to"], "aten::clone": ["aten::contiguous"]}
WITHIN = {"aten::_to_copy": "aten::copy_", "aten::zeros": "aten::fill_"}


class Profiler:
    """Writes events as Kineto does. Every kernel takes `kernel_us`; the host is on one thread."""

    def __init__(self, kernel_us=10):
        self.kernel_us, self.now, self.correlation, self.events = kernel_us, 1e6, 0, []

    def event(self, category, name, begin, duration, thread=7, **arguments):
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": begin, "dur": duration, "args": arguments}
        )

    def launch(self, kernel, begin):
        self.correlation += 1
        self.event("cuda_runtime", "cudaLaunchKernel", begin, 3, correlation=self.correlation)
        place = 2e6 + self.correlation * self.kernel_us
        self.event("kernel", kernel, place, self.kernel_us, thread=20, correlation=self.correlation, stream=20)

    def operator(self, name, kernels=1):
        names = [*AROUND.get(name, ()), name, *([WITHIN[name]] if name in WITHIN else ())]
        for depth, enclosing in enumerate(names):
            self.event("cpu_op", enclosing, self.now + depth, 100 - 2 * depth)
        for number in range(kernels):
            self.launch(f"void at::native::kernel_{number}", self.now + 50 + 5 * number)
        self.now += 110

    def collective(self, kind):
        self.event("cpu_op", f"c10d::{kind}_", self.now, 50)
        self.event("cpu_op", "record_param_comms", self.now + 5, 40, **{"Collective name": kind})
        self.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", self.now + 10)
        self.now += 60

    def write(self, path):
        text = json.dumps({"schemaVersion": 1, "traceEvents": self.events}).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


class Comparisons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / "0.trace.json.gz"

    def recorded(self, leave_out=None, more=()):
        """A recording of the capture's step, without the first call of an operator, with others."""
        capture, profiler = read_capture(CAPTURE), Profiler()
        for event in capture.rank(0)["events"]:
            if event[0] == "op":
                name = capture.tables["operators"][event[1]]["name"]
                if name == leave_out:
                    leave_out = None
                else:
                    profiler.operator(name)
            elif event[0] == "comm":
                profiler.collective("allreduce")
        for name in more:
            profiler.operator(name, 2)
        profiler.write(self.trace)

    def compare(self, *options):
        command = [sys.executable, "-m", "mirfak.capture", "compare", CAPTURE, self.trace, *options]
        return subprocess.run([*map(str, command)], capture_output=True, text=True)

    def compared(self, *options):
        asked = self.compare(*options, "--format", "json")
        self.assertEqual((asked.returncode, asked.stderr), (0, ""))
        return json.loads(asked.stdout)

    def test_a_step_that_runs_as_it_was_captured(self):
        self.recorded()
        found = self.compared()
        self.assertGreater(len(found["operators"]), 5)
        self.assertEqual([row["name"] for row in found["operators"] if row["differs"]], [])
        for row in found["operators"]:
            self.assertEqual((row["ran"], row["kernels"]), (row["captured"],) * 2)
            self.assertAlmostEqual(row["measured_s"], row["captured"] * 1e-5)
        calls = sum(pair["captured"] for pair in found["collectives"].values())
        self.assertGreater(calls, 0)
        self.assertEqual(calls, sum(pair["ran"] for pair in found["collectives"].values()))

    def test_what_differs_is_named(self):
        self.recorded(leave_out="aten::mm", more=["aten::cumsum"])
        rows = {row["name"]: row for row in self.compared()["operators"]}
        self.assertEqual({name for name, row in rows.items() if row["differs"]}, {"aten::mm", "aten::cumsum"})
        self.assertEqual(rows["aten::mm"]["captured"] - rows["aten::mm"]["ran"], 1)
        cumsum = rows["aten::cumsum"]
        self.assertEqual((cumsum["captured"], cumsum["ran"], cumsum["kernels"]), (0, 1, 2))
        self.assertIn(f"2 of {len(rows)} operators do not run as often as captured", self.compare().stdout)

    def test_times_and_memory_beside_those_of_a_prediction(self):
        self.recorded()
        predicted = {"operators": [], "iteration_time_s": 0.02}
        for name, seconds in (("aten::mm", 1e-4), ("aten::mm", 2e-4), ("all_reduce", 1.0)):
            predicted["operators"].append({"name": name, "seconds": seconds, "communicates": name == "all_reduce"})
        measured = {"step_s": 0.025, "peak_allocated_bytes": 1, "peak_reserved_bytes": 2}
        for name, value in (("predicted", predicted), ("measured", measured)):
            (self.folder / f"{name}.json").write_text(json.dumps(value))
        options = ["--predicted", self.folder / "predicted.json", "--measured", self.folder / "measured.json"]
        found = self.compared(*options)
        rows = {row["name"]: row for row in found["operators"]}
        self.assertAlmostEqual(rows["aten::mm"]["predicted_s"], 3e-4)
        self.assertEqual(found["totals"]["step_s"], {"captured": 0.02, "measured": 0.025})
        self.assertAlmostEqual(found["totals"]["kernels_s"]["captured"], 3e-4)
        self.assertEqual(found["totals"]["peak_reserved_bytes"]["measured"], 2)
        self.assertIn("-20.0%", self.compare(*options).stdout)

    def test_the_last_of_several_steps_counts(self):
        profiler = Profiler()
        for step in range(3):
            begin = profiler.now
            for _ in range(step + 1):
                profiler.operator("aten::mm")
            profiler.event("user_annotation", f"ProfilerStep#{step}", begin, profiler.now - begin)
        profiler.write(self.trace)
        recording = read_recording(self.trace)
        self.assertEqual((len(recording.kernels), recording.steps, recording.calls["aten::mm"]), (3, 3, 3))
        self.assertAlmostEqual(recording.busy_s, 3e-5)

    def test_files_that_are_no_recording(self):
        for content, message in (
            (b"{", "expected a recording of torch.profiler"),
            (b"{}", 'expected "traceEvents"'),
            (b'{"traceEvents": []}', "no kernel of it has a launch"),
        ):
            with self.subTest(content):
                self.trace.write_bytes(content)
                asked = self.compare()
                self.assertEqual((asked.returncode, asked.stdout), (2, ""))
                self.assertIn(message, asked.stderr)
                self.assertIn(str(self.trace), asked.stderr)
                self.assertNotIn("Traceback", asked.stderr)
        self.recorded()
        self.assertIn("expected a rank of the capture", self.compare("--rank", 9).stderr)

    def test_the_script_that_captures_records_and_compares(self):
        """Stand-ins for the GPU's recording and for mirfak; captures are given."""
        self.recorded()
        (self.folder / "0.json").write_text('{"step_s": 0.5}')
        (self.folder / "captures").mkdir()
        for name in ("gpt2-ddp", "llama-small-eager"):
            (self.folder / "captures" / f"{name}.capture").write_bytes(CAPTURE.read_bytes())
        recorder = '#!/bin/sh\ncase " $* " in *" record "*) cp {0}/0.* . ;; *) exec {1} "$@" ;; esac\n'
        simulate = "#!/bin/sh\necho '{\"operators\": [], \"iteration_time_s\": 0.4}'\n"
        for name, text in (("python", recorder.format(self.folder, sys.executable)), ("mirfak", simulate)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        environment = {"MIRFAK_PYTHON": self.folder / "python", "MIRFAK_CAPTURES": self.folder / "captures"}
        environment |= {"MIRFAK_BIN": self.folder, "MIRFAK_JOBS": "(gpt2-ddp|llama-small-eager)"}
        environment = {key: str(value) for key, value in environment.items()}
        command = [SOURCE / "validate" / "measure" / "capture.sh", self.folder / "out"]
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("llama-small-eager\n", ran.stdout)
        self.assertRegex(ran.stdout, r"step_s +0.4 +0.5 -20.0%")
        found = json.loads((self.folder / "out" / "gpt2-ddp.json").read_text())
        self.assertEqual([row["name"] for row in found["operators"] if row["differs"]], [])

    @unittest.skipUnless(TRACES.is_dir(), "no ../shared/kineto-traces")
    def test_recordings_of_real_gpus(self):
        for name in ("hta-a100-2gpu-ncclmeta", "hta-v100-2gpu", "hta-a100-16gpu-rank0"):
            with self.subTest(name), (TRACES / "facts" / f"{name}.steps.csv").open() as file:
                last = list(csv.DictReader(file))[-1]
                recording = read_recording(TRACES / f"{name}.json.gz")
                kernels = [kernel for kernel in recording.kernels if not kernel.name.startswith("Mem")]  # no copies
                self.assertEqual(len(kernels), int(last["kernels_launched"]))
                self.assertAlmostEqual(recording.busy_s * 1e6, float(last["gpu_busy_us"]), delta=100)


if __name__ == "__main__":
    unittest.main()
