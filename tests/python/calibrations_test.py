"""Profiles fitted to what was measured: what the program makes of the same files, and no files where it fails."""

import json
import pathlib
import sqlite3
import unittest

import mirfak

from program import SOURCE, of_program

JOB = {
    "model": "llama3-8b",
    "cluster": {"nodes": [{"type": "hgx-h100", "count": 2}]},
    "training": {"global_batch": 64, "sequence_length": 4096},
    "strategy": {"tensor": 4, "sequence_parallel": True},
}

MACHINE = ("key,value\nprocessor,A processor\nprocesses,4\ncores,2\nmemory_bytes,16000000000\n"
           "cache_bytes,4000000\nclock_hz,2000000000\nsystem,Linux\n")


def products(flops, launch_us, columns="m,n,k,latency_us", less="", more=""):
    """Products that take this rate, and a while to start."""
    text = columns + "\n"
    for m in (256, 512, 1024, 2048, 4096):
        for n in (512, 1024, 4096):
            for k in (512, 2048, 4096):
                text += f"{less}{m},{n},{k},{launch_us + 2 * m * n * k / flops * 1e6:.6g}{more}\n"
    return text


def write(name, text):
    path = pathlib.Path(name)
    path.write_text(text)
    return path


class Tables(unittest.TestCase):
    def setUp(self):
        write("gemm.csv", products(500e12, 5))

    def test_it_is_the_program_s(self):
        result = mirfak.calibrate("gemm.csv", gpu="h100")
        self.assertEqual(result.to_dict(), of_program("calibrate", "gemm.csv", "--gpu", "h100"))
        (section,) = result.sections
        self.assertEqual(section["name"], "gemm.bf16")
        self.assertFalse(result.doubtful)
        self.assertEqual(set(result.constants["section"]), {"gemm.bf16"})
        self.assertEqual(dict(zip(result.constants["name"], result.constants["value"])), section["constants"])
        self.assertEqual(result.scores[result.scores["samples"] == "all"]["n"].sum(), 45)
        self.assertLess(result.scores["median_ape"].max(), 0.2)
        self.assertIn("gemm.bf16", result.summary())

    def test_a_profile_is_written_and_read(self):
        mirfak.calibrate(["gemm.csv"], gpu="h100", out="python.yaml", precision="bf16", source="our own")
        of_program("calibrate", "gemm.csv", "--gpu", "h100", "--precision", "bf16", "--source", "our own", "--out",
                   "program.yaml")
        self.assertEqual(pathlib.Path("python.yaml").read_text(), pathlib.Path("program.yaml").read_text())
        scored = mirfak.calibrate("gemm.csv", gpu=str(pathlib.Path("python.yaml").resolve()), precision="bf16",
                                  score=True)
        self.assertLess(scored.scores["median_ape"].max(), 0.2)
        pathlib.Path("python.yaml").unlink()
        pathlib.Path("program.yaml").unlink()

    def test_rows_are_chosen(self):
        half = products(500e12, 5, "m,n,k,latency_us,gpu,colour", more=",H100,red")
        other = products(50e12, 5, "m,n,k,latency_us,gpu,colour", more=",A10,red").split("\n", 1)[1]
        table = write("two.csv", half + other)
        result = mirfak.calibrate(table, gpu="h100", only={"gpu": "H100"})
        self.assertEqual(result.to_dict(), of_program("calibrate", table, "--gpu", "h100", "--only", "gpu=H100"))
        self.assertEqual([column["name"] for column in result.unread_columns], ["colour"])

    def test_what_is_wrong_has_its_place_and_leaves_no_file(self):
        write("fast.csv", "m,n,k,latency_us\n4096,4096,4096,1\n")
        write("slow.csv", products(500e12, 5).replace("256,", "257,", 1))
        calls = (
            ({"tables": "fast.csv", "gpu": "h100"}, "fast.csv:2:16"),
            ({"tables": "missing.csv", "gpu": "h100"}, "missing.csv"),
            ({"tables": "gemm.csv"}, "add gpu NAME"),
            ({"tables": "gemm.csv", "gpu": "h1000"}, "did you mean 'h100'"),
            ({"tables": "gemm.csv", "gpu": "h100", "precision": "fp7"}, "precision: expected"),
            ({"tables": "gemm.csv", "gpu": "h100", "attention": "quick"}, "attention: expected"),
            ({"tables": "gemm.csv", "gpu": "h100", "only": {"gpu": "H100"}}, "gpu"),
            ({"tables": "gemm.csv", "gpu": "h100", "score": True}, "score writes nothing"),
            ({"tables": [], "gpu": "h100"}, "no tables"),
        )
        for arguments, said in calls:
            with self.subTest(arguments), self.assertRaises(mirfak.InputError) as caught:
                mirfak.calibrate(**arguments, out="new.yaml")
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("--", str(caught.exception))
            self.assertFalse(pathlib.Path("new.yaml").exists())
        before = pathlib.Path("gemm.csv").read_bytes()
        with self.assertRaisesRegex(mirfak.InputError, "out would replace this file, and it is an input: tables"):
            mirfak.calibrate("gemm.csv", gpu="h100", out="./gemm.csv")
        self.assertEqual(pathlib.Path("gemm.csv").read_bytes(), before)
        with self.assertRaisesRegex(mirfak.InputError, "nowhere"):
            mirfak.calibrate("gemm.csv", gpu="h100", out="nowhere/new.yaml")


class Machines(unittest.TestCase):
    def tables(self):
        memory = "kernel,bytes,time_us\n" + "".join(
            f"{kernel},{size},{10 + size / rate}\n"
            for kernel, rate in (("elementwise", 8000), ("softmax", 4000), ("normalization", 5000))
            for size in (100_000, 1_000_000, 8_000_000, 100_000_000))
        sends = "collective,n_gpus,n_nodes,bytes,time_us\n" + "".join(
            f"sendrecv,2,1,{size},{20 + size / 4000}\n" for size in (1e3, 1e4, 1e5, 1e6, 1e7, 1e8))
        return [write("machine-gemm.csv", products(10e9, 20, "b,m,n,k,latency_us", less="1,")), write("memory.csv", memory), write("sends.csv", sends)]

    def test_three_profiles_or_none(self):
        tables, machine = self.tables(), write("machine.csv", MACHINE)
        result = mirfak.calibrate_machine(tables, machine, "here", "profiles")
        written = sorted(path.name for path in pathlib.Path("profiles").iterdir())
        self.assertEqual(written, ["here-core.yaml", "here-link.yaml", "here.yaml"])
        of_program("calibrate", *tables, "--machine", machine, "--name", "here", "--out", "of-program")
        for name in written:
            self.assertEqual(pathlib.Path("profiles", name).read_text(), pathlib.Path("of-program", name).read_text())
        self.assertIn("gemm.fp32", [section["name"] for section in result.sections])
        job = dict(JOB, cluster={"nodes": [{"type": str(pathlib.Path("profiles/here.yaml").resolve()), "count": 2}]})
        tiny = dict(job, strategy={"tensor": 2}, training={"global_batch": 4, "sequence_length": 128})
        self.assertGreater(mirfak.simulate(tiny, {"training.precision": "fp32"}).iteration_time_s, 1)
        for arguments, said in ((("machine.csv", "he/re", "other"), "name he/re: expected a name"),
                                (("machine.csv", "", "other"), "machine needs name and out"),
                                (("gemm.csv", "here", "other"), "gemm.csv")):
            with self.subTest(arguments), self.assertRaisesRegex(mirfak.InputError, said):
                mirfak.calibrate_machine(tables, *arguments)
            self.assertFalse(pathlib.Path("other").exists())


def recorded(steps, kernel_s, step_s):
    """Steps of PyTorch's profiler: a kernel of a forward and one of a backward pass each, launched twice."""
    events, correlation = [], 0
    for step in range(steps):
        begin = step * step_s * 1e6
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": begin, "dur": step_s * 1e6})
        for place in range(4):
            correlation += 1
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                           "ts": begin + 10 * place, "dur": 4, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7,
                           "ts": begin + 100 + place * kernel_s * 1e6 / 4, "dur": kernel_s * 1e6 / 4 - 1,
                           "args": {"correlation": correlation, "stream": 7}})
    return json.dumps({"traceEvents": events}, indent=1)


class Traces(unittest.TestCase):
    def test_kineto(self):
        trace = write("kineto.json", recorded(4, 0.1, 0.2))
        result = mirfak.calibrate_trace(trace)
        self.assertEqual(result.to_dict(), {**of_program("calibrate", "--trace", trace), "fit": None})
        self.assertEqual(len(result.steps), 4)
        self.assertEqual(result.recordings[0]["kernels"], 16)
        self.assertIn("gemm", set(result.classes["name"]))
        self.assertIsNone(result.fit)
        self.assertIn("kineto.json", result.summary())

    def test_a_scenario_is_corrected(self):
        alone = dict(JOB, cluster={"nodes": [{"type": "hgx-h100", "count": 1}]}, strategy={"tensor": 8})
        path = write("job.json", json.dumps(alone))
        predicted = mirfak.simulate(alone)
        kernels = sum(predicted.activities[name] for name in ("gemm_s", "attention_s", "memory_bound_s", "optimizer_s"))
        trace = write("slower.json", recorded(6, 1.2 * kernels, 1.2 * predicted.iteration_time_s))
        result = mirfak.calibrate_trace(trace, alone, out="node.yaml")
        expected = of_program("calibrate", "--trace", trace, "--scenario", path, "--out", "node-program.yaml")
        self.assertEqual(result.fit, expected["fit"])
        self.assertGreater(result.fit["factors"]["compute"]["factor"], 1.1)
        corrected = mirfak.simulate(alone, {"cluster.nodes[0].type": str(pathlib.Path("node.yaml").resolve())})
        self.assertGreater(corrected.iteration_time_s, 1.1 * predicted.iteration_time_s)
        with self.assertRaisesRegex(mirfak.InputError, "framework has nothing to say"):
            mirfak.calibrate_trace(trace, alone, out="both.yaml", framework="ours.yaml")
        self.assertFalse(pathlib.Path("both.yaml").exists() or pathlib.Path("ours.yaml").exists())
        with self.assertRaisesRegex(mirfak.InputError, "^strategy.tensr|override strategy.tensr=4"):
            mirfak.calibrate_trace(trace, alone, {"strategy.tensr": 4})

    def test_nsight(self):
        with sqlite3.connect("nsight.sqlite") as base:
            base.executescript("""
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_CUDA_GPU (id INT NOT NULL, name TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT,
  correlationId INT, nameId INT NOT NULL, returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
  contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT, globalPid INT, demangledName INT NOT NULL,
  shortName INT NOT NULL, gridX INT, blockX INT);
CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, rangeId INT, category INT, color INT,
  text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT, uint64Value INT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'ampere_sgemm_128x64_tn');
INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, 'a GPU');
INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text) VALUES (0, 100, 59, 117440513, 'iteration 3');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (20, 24, 0, 117440513, 7, 1, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 45, 0, 1, 9, 7, 117440512, 2, 2, 1, 1);
""")
        base.close()
        result = mirfak.calibrate_trace("nsight.sqlite")
        self.assertEqual(result.recordings, of_program("calibrate", "--trace", "nsight.sqlite")["recordings"])
        self.assertEqual((result.recordings[0]["gpu"], result.recordings[0]["kernels"]), ("a GPU", 1))

    def test_refusals(self):
        trace = write("kineto.json", recorded(2, 0.1, 0.2))
        cut = write("cut-off.json", '{"traceEvents": [\n{"ph": "X", "name": ')
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.calibrate_trace(cut)
        self.assertEqual((caught.exception.file, caught.exception.line), ("cut-off.json", 2))
        with self.assertRaisesRegex(mirfak.InputError, "out needs scenario"):
            mirfak.calibrate_trace(trace, out="new.yaml")
        with self.assertRaisesRegex(mirfak.InputError, "overrides need a scenario"):
            mirfak.calibrate_trace(trace, None, {"strategy.tensor": 4})
        with self.assertRaisesRegex(mirfak.InputError, "out would replace this file"):
            mirfak.calibrate_trace(trace, JOB, out=trace)
        self.assertFalse(pathlib.Path("new.yaml").exists())


class Runs(unittest.TestCase):
    def table(self, times):
        """Runs of a machine that takes so many times as long as predicted."""
        write("job.json", json.dumps(JOB))
        rows = "scenario,measured.seconds,strategy.tensor,cluster.nodes[0].count\n"
        for tensor, nodes in ((1, 1), (2, 1), (4, 1), (8, 1), (4, 2), (8, 2)):
            keys = {"strategy.tensor": tensor, "cluster.nodes[0].count": nodes}
            rows += f"job.json,{times * mirfak.simulate(JOB, keys).iteration_time_s},{tensor},{nodes}\n"
        return write("runs.csv", rows)

    def test_it_is_the_program_s(self):
        table = self.table(1.15)
        result = mirfak.calibrate_runs(table, out="node.yaml", source="our runs")
        expected = of_program("calibrate", "--runs", table, "--out", "node-program.yaml", "--source", "our runs")
        self.assertEqual(result.to_dict(), expected)
        self.assertEqual(len(result.runs), 6)
        self.assertEqual(len(result.skipped_rows), 0)
        self.assertLess(result.error_left_out, 0.5 * result.error_before)
        self.assertIn("hgx-h100", result.summary())
        written = [pathlib.Path(name).read_text().split("\n", 1)[1] for name in ("node.yaml", "node-program.yaml")]
        self.assertEqual(*written)  # but for the hash of the data, which one of them says
        self.assertIn("our runs", written[0])
        few = mirfak.calibrate_runs(table, only={"strategy.tensor": 4})
        self.assertEqual(few.to_dict(), of_program("calibrate", "--runs", table, "--only", "strategy.tensor=4"))
        with self.assertRaisesRegex(mirfak.InputError, "only strategy.tensor=3: no row"):
            mirfak.calibrate_runs(table, only={"strategy.tensor": 3}, out="none.yaml")
        with self.assertRaisesRegex(mirfak.InputError, "out would replace this file"):
            mirfak.calibrate_runs(table, out=table)
        self.assertFalse(pathlib.Path("none.yaml").exists())


if __name__ == "__main__":
    unittest.main()
