"""The command line of captures, where PyTorch is not needed: what it prints and what it refuses."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

PROGRAMS = pathlib.Path(os.environ["MIRFAK_SOURCE"], "tests", "capture", "programs")


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mirfak.capture", *map(str, arguments)], capture_output=True, text=True
    )


class Show(unittest.TestCase):
    def test_text_and_json(self):
        shown = run("show", PROGRAMS / "ddp.capture")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("as rank 0", shown.stdout)
        document = json.loads(run("show", PROGRAMS / "ddp.capture", "--format", "json").stdout)
        self.assertEqual(document["program"], "ddp")

    def test_another_file_is_an_error_with_its_place(self):
        shown = run("show", PROGRAMS / "ddp.py")
        self.assertEqual((shown.returncode, shown.stdout), (2, ""))
        self.assertIn("error: ", shown.stderr)
        self.assertNotIn("Traceback", shown.stderr)


class Refusals(unittest.TestCase):
    def refused(self, message, *arguments):
        asked = run(*arguments, "--out", "/tmp/none.capture", "--", PROGRAMS / "ddp.py")
        self.assertEqual((asked.returncode, asked.stdout), (2, ""))
        self.assertIn(message, asked.stderr)
        self.assertNotIn("Traceback", asked.stderr)

    def test_options_are_checked_before_any_work(self):
        self.refused("expected at least 1", "--world-size", 0)
        self.refused("expected ranks from 0 to 3", "--world-size", 4, "--ranks", "0,7")
        self.refused("expected auto, all, or numbers and ranges", "--world-size", 4, "--ranks", "first")
        self.refused("expected at least 0", "--world-size", 4, "--step", -1)
        self.refused("expected 1 to 8", "--world-size", 4, "--gpus-per-node", 16)
        self.refused("there is no such GPU", "--world-size", 4, "--device", "h101")
        self.refused("GPUs that run CUDA", "--world-size", 4, "--device", "mi300x")

    def test_a_script_that_is_not_there(self):
        asked = run("--world-size", 2, "--out", "/tmp/none.capture", "--", "missing.py")
        self.assertEqual(asked.returncode, 2)
        self.assertIn("missing.py: there is no such script", asked.stderr)

    def test_launchers_that_tell_a_script_more_than_its_rank(self):
        for launcher, remedy in {
            "accelerate launch": "ACCELERATE_MIXED_PRECISION",
            "deepspeed": "LOCAL_RANK",
            "-m accelerate.commands.launch": "ACCELERATE_MIXED_PRECISION",
        }.items():
            with self.subTest(launcher):
                words = launcher.split()
                asked = run("--world-size", 2, "--out", "/tmp/none.capture", "--", *words, PROGRAMS / "ddp.py")
                self.assertEqual((asked.returncode, asked.stdout), (2, ""))
                self.assertIn("starts ranks itself", asked.stderr)
                self.assertIn(remedy, asked.stderr)

    def test_python_before_the_script(self):
        asked = run("--world-size", 2, "--out", "/tmp/none.capture", "--", "python3", "-u", "missing.py")
        self.assertIn("missing.py: there is no such script", asked.stderr)
        asked = run("--world-size", 2, "--out", "/tmp/none.capture", "--", "python3", "-c", "print()")
        self.assertIn("expected a script or -m and a module, and not -c", asked.stderr)


if __name__ == "__main__":
    unittest.main()
