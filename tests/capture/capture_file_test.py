"""Files of captures: written as they are read, the same bytes each time, and refused where they are not whole."""

import gzip
import json
import os
import pathlib
import tempfile
import unittest

from mirfak.capture import Capture, read_capture, write_capture
from mirfak.capture.show import document, text
from mirfak.errors import InputError

SMALL = pathlib.Path(os.environ["MIRFAK_SOURCE"], "tests", "capture", "programs", "ddp.capture")


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "a.capture")

    def rewritten(self, change):
        lines = gzip.decompress(SMALL.read_bytes()).splitlines(keepends=True)
        self.path.write_bytes(gzip.compress(b"".join(change(lines))))
        return self.path

    def refused(self, path, message):
        with self.assertRaisesRegex(InputError, message) as raised:
            read_capture(path)
        self.assertEqual(raised.exception.file, str(path))
        return raised.exception


class Files(Scratch):
    def test_a_capture_is_written_as_it_is_read(self):
        write_capture(read_capture(SMALL), self.path)
        self.assertEqual(self.path.read_bytes(), SMALL.read_bytes())
        self.assertEqual(list(self.path.parent.iterdir()), [self.path])

    def test_a_file_that_is_not_whole_is_refused_with_its_line(self):
        packed = SMALL.read_bytes()
        self.path.write_bytes(packed[: len(packed) // 2])
        self.refused(self.path, "cut off or damaged")
        self.path.write_bytes(packed[:-20] + bytes([packed[-20] ^ 1]) + packed[-19:])
        self.refused(self.path, "cut off or damaged")
        error = self.refused(self.rewritten(lambda lines: lines[:-1]), "cut off")
        self.assertEqual(error.line, 6)
        self.refused(self.rewritten(lambda lines: [*lines[:2], lines[2].replace(b"SUM", b"AVG"), *lines[3:]]), "edited")
        error = self.refused(self.rewritten(lambda lines: [lines[0], b"{\n", *lines[2:]]), "expected a line of JSON")
        self.assertEqual(error.line, 2)

    def test_another_version_is_refused(self):
        def change(lines):
            return [lines[0].replace(b'"mirfak_capture":1', b'"mirfak_capture":9'), *lines[1:]]

        self.refused(self.rewritten(change), "capture of version 9, and version 1 is read")

    def test_other_files_are_refused(self):
        self.path.write_text("model: llama2-70b\n")
        self.refused(self.path, "expected a capture")
        self.path.write_bytes(gzip.compress(b"[1, 2]\n"))
        self.refused(self.path, "expected a capture")
        self.refused(self.path.with_name("missing"), "No such file")

    def test_a_folder_that_is_not_there_leaves_nothing(self):
        with self.assertRaisesRegex(InputError, "cannot be written"):
            write_capture(read_capture(SMALL), self.path.parent / "none" / "a.capture")


class Tables(unittest.TestCase):
    @staticmethod
    def recorded(peer):
        collective = {"kind": "send", "ranks": [0, 1], "peer": peer, "in_bytes": 4, "out_bytes": 0}
        tables = {"operators": [], "collectives": [collective], "modules": ["", "Net"]}
        return tables, {"events": [["comm", 0, 1, 0, 0, 1]], "state": {}}

    def test_ranks_that_did_the_same_are_said_once(self):
        capture = Capture({"world_size": 3})
        for rank, peer in enumerate((1, 2, 1)):
            capture.add(rank, *self.recorded(peer))
        self.assertEqual(len(capture.tables["collectives"]), 2)
        self.assertEqual(capture.ranks[1]["events"], [["comm", 1, 1, 0, 0, 1]])
        self.assertEqual(capture.ranks[2], {"same_as": 0})
        self.assertIs(capture.rank(2), capture.ranks[0])


class Shown(unittest.TestCase):
    def test_products_and_collectives_are_those_of_the_program(self):
        # Linear(8, 16) and Linear(16, 4) over 32 rows: forward, weights, and one product for what comes before.
        shown = document(read_capture(SMALL))
        self.assertEqual((shown["program"], shown["world_size"], shown["device"]), ("ddp", 2, "h100"))
        rank = shown["ranks"]["0"]
        self.assertEqual(rank["product_flop"], 2 * 32 * (8 * 16 * 2 + 16 * 4 * 3))
        factors = [(product["op"], product["a"], product["b"]) for product in rank["products"]]
        self.assertIn(("addmm", [32, 8], [8, 16]), factors)
        self.assertIn(("mm", [4, 32], [32, 16]), factors)
        # 8 x 16 + 16 + 16 x 4 + 4 parameters of four bytes, in one bucket.
        self.assertEqual(rank["param_bytes"], 848)
        self.assertEqual(rank["count_by_kind"], {"all_reduce": 1})
        self.assertEqual(rank["bytes_total"], 848)
        self.assertEqual(rank["collectives"], [[1, 0]])
        self.assertEqual(shown["ranks"]["1"], {"same_as": 0})
        json.dumps(shown, allow_nan=False)

    def test_modules_and_phases_are_of_the_script(self):
        capture = read_capture(SMALL)
        operators, modules = capture.tables["operators"], capture.tables["modules"]
        found = [
            (modules[event[2]].rpartition(".")[2], event[3])
            for event in capture.rank(0)["events"]
            if event[0] == "op" and operators[event[1]]["name"] in ("aten::mm", "aten::addmm")
        ]
        self.assertEqual(found, [("0", 0), ("2", 0), ("2", 2), ("2", 2), ("0", 2)])

    def test_the_text_fits_a_screen(self):
        lines = text(read_capture(SMALL)).splitlines()
        self.assertIn("ddp: 2 of 2 ranks on h100", lines[0])
        self.assertTrue(all(len(line) < 120 for line in lines))


if __name__ == "__main__":
    unittest.main()
