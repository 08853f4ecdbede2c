"""The command `mirfak` of the wheel, and the functions that answer as the program's commands do."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
import urllib.request

import mirfak
from program import SOURCE, printed

COMMAND = pathlib.Path(sys.executable).with_name("mirfak")
SCENARIO = SOURCE / "scenarios" / "llama2-70b-h100.yaml"


def run(*arguments, **environment):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **environment})


class Command(unittest.TestCase):
    def test_it_says_what_the_program_says(self):
        ours = subprocess.run([os.environ["MIRFAK_PROGRAM"], "simulate", SCENARIO, "--data", SOURCE], capture_output=True, text=True)
        theirs = run("simulate", SCENARIO)
        without_clock = lambda text: re.sub(r"simulated in .*", "", text)
        self.assertEqual((theirs.returncode, theirs.stderr), (0, ""))
        self.assertEqual(without_clock(theirs.stdout), without_clock(ours.stdout))

    def test_it_has_the_data_of_the_package(self):
        made = run("init", "scenario", "--help")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("llama3-405b", run("list", "models").stdout)

    def test_errors_have_the_program_s_exit_status(self):
        wrong = run("simulate", "nowhere.yaml")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("mirfak: error: nowhere.yaml: there is no such file", wrong.stderr)
        self.assertEqual(run("simulate", SCENARIO, "--set", "strategy.tensor=7").returncode, 3)


class Functions(unittest.TestCase):
    def test_list(self):
        self.assertEqual(mirfak.list("models"), printed("list", "models"))
        with self.assertRaises(mirfak.InputError):
            mirfak.list("modells")

    def test_block(self):
        self.assertEqual(mirfak.block("gpt", sizes={"hidden": 4096, "heads": 32, "head_dim": 128}),
                         printed("block", "gpt", "--set", "hidden=4096", "--set", "heads=32", "--set", "head_dim=128"))

    def test_schedule(self):
        ours = subprocess.run([os.environ["MIRFAK_PROGRAM"], "schedule", "1f1b", "--stages", "2", "--format", "json"], capture_output=True, text=True)
        self.assertEqual(mirfak.schedule("1f1b", stages=2), json.loads(ours.stdout))

    def test_shard(self):
        self.assertEqual(mirfak.shard("gpt3-1.3b", "data=2,tensor=4", sequence=1024),
                         printed("shard", "gpt3-1.3b", "--mesh", "data=2,tensor=4", "--sequence", "1024"))

    def test_topology(self):
        self.assertEqual(mirfak.topology(SCENARIO, {"cluster.nodes[0].count": 4}, between=[("node:0", "node:1")]),
                         printed("topology", SCENARIO, "--set", "cluster.nodes[0].count=4", "--between", "node:0", "node:1"))

    def test_serve(self):
        code = f"import mirfak; mirfak.serve({str(SCENARIO)!r}, port=0); print('ended')"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        try:
            url = process.stdout.readline().strip()
            with urllib.request.urlopen(f"{url}api/catalogue", timeout=20) as answer:
                self.assertIn(b"Llama 2 70B", answer.read())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=20)[0], "ended\n")
        finally:
            process.kill()
            process.wait()

    def test_a_missing_file_is_one_for_python_too(self):
        for ask in (lambda: mirfak.simulate("nowhere.yaml"), lambda: mirfak.topology("nowhere.yaml"), lambda: mirfak.read_trace("nowhere.h5")):
            with self.assertRaises(FileNotFoundError) as caught:
                ask()
            self.assertIsInstance(caught.exception, mirfak.InputError)
            self.assertEqual(caught.exception.message, "there is no such file")
            self.assertTrue(str(caught.exception).startswith("nowhere."))
        with self.assertRaises(mirfak.InputError) as caught:
            mirfak.simulate("model: none-such\n")
        self.assertNotIsInstance(caught.exception, FileNotFoundError)


if __name__ == "__main__":
    unittest.main()
