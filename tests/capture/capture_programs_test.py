"""Programs captured here: skipped, aloud, where PyTorch is missing.

The small program of these tests has to give the capture that is committed. Programs of ../shared/capture have to equal
what real processes did, for every rank.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from mirfak.capture import read_capture

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
PROGRAMS = SOURCE / "tests" / "capture" / "programs"
SHARED = SOURCE.parent / "shared" / "capture"

SCRIPT_HEAD = (
    "import torch, torch.distributed as dist\ndist.init_process_group('nccl')\nx = torch.ones(4, device='cuda')\n"
)


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "a.capture"

    def capture(self, script, world_size, *options):
        command = [sys.executable, "-m", "mirfak.capture", "--world-size", world_size, "--out", self.out, *options]
        return subprocess.run([*map(str, command), "--", str(script)], capture_output=True, text=True, cwd=self.folder)

    def failing(self, body):
        script = self.folder / "train.py"
        script.write_text(SCRIPT_HEAD + body)
        asked = self.capture(script, 2, "--ranks", "0")
        self.assertEqual(asked.returncode, 2, asked.stderr)
        self.assertFalse(self.out.exists())
        self.assertNotIn("Traceback", asked.stderr)
        return asked.stderr

    def test_the_committed_capture_is_what_its_program_gives(self):
        asked = self.capture(PROGRAMS / "ddp.py", 2)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        made, committed = read_capture(self.out), read_capture(PROGRAMS / "ddp.capture")
        self.assertEqual(made.tables, committed.tables)
        self.assertEqual(made.ranks, committed.ranks)

    def test_errors_name_the_line_of_the_script(self):
        said = self.failing("y = x + torch.ones(5, device='cuda')\n")
        self.assertIn("train.py:4: rank 0: ", said)
        self.assertIn("ended after 0 steps", self.failing("x.sum().item()\n"))
        self.assertIn("left with status 3", self.failing("raise SystemExit(3)\n"))

    def test_a_world_size_that_the_script_refuses(self):
        script = self.folder / "train.py"
        script.write_text("import torch.distributed as dist\ndist.init_process_group('nccl', world_size=4, rank=0)\n")
        said = self.capture(script, 2, "--ranks", "0").stderr
        self.assertIn("makes a group of 4 ranks", said)
        self.assertIn("--world-size 4", said)

    def test_nothing_is_written_and_no_host_is_asked(self):
        said = self.failing("open('log.txt', 'w').write('x')\ntorch.save(x, 'model.pt')\n")
        self.assertIn("ended after 0 steps", said)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["train.py"])
        said = self.failing("import socket\nsocket.create_connection(('192.0.2.1', 80))\n")
        self.assertIn("connects to no other host", said)

    @unittest.skipUnless(SHARED.is_dir(), "no ../shared/capture")
    def test_programs_equal_what_real_processes_did(self):
        for truth in sorted((SHARED / "truth").glob("*.json")):
            with self.subTest(truth.stem):
                script = SHARED / "scripts" / f"{truth.stem}.py"
                if "transformers" in script.read_text() and importlib.util.find_spec("transformers") is None:
                    self.skipTest("transformers is not installed")
                asked = self.capture(script, 4)
                self.assertEqual(asked.returncode, 0, asked.stderr)
                shown = self.folder / "shown.json"
                with shown.open("w") as file:
                    show = [sys.executable, "-m", "mirfak.capture", "show", str(self.out), "--format", "json"]
                    subprocess.run(show, stdout=file, check=True)
                compare = [sys.executable, str(SHARED / "tools" / "compare.py"), str(truth), str(shown)]
                compared = subprocess.run(compare, capture_output=True, text=True)
                self.assertEqual(compared.stdout, "equal\n")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print(f"skipped: {sys.executable} has no PyTorch (cmake -DMIRFAK_CAPTURE_PYTHON=... names one that has)")
        sys.exit(77)
    unittest.main()
