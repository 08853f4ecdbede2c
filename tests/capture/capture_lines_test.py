"""Lines of Python that a program executes: which count."""

import json
import sys
import threading
import unittest

from mirfak.capture.python_lines import OURS, PythonLines
from mirfak.capture.recorder import LINES, Recorder


def three():
    first = 1
    second = 2
    return first + second


def of_capture(source):
    """A function `run` whose code is of a capture."""
    names = {"three": three, "json": json}
    exec(compile(source, f"{OURS}/made.py", "exec"), names)
    return names["run"]


class Lines(unittest.TestCase):
    def setUp(self):
        self.lines = PythonLines()
        self.addCleanup(sys.settrace, sys.gettrace())
        sys.settrace(None)

    def counted(self, run):
        """Returns how many lines of run() count."""
        self.lines.start(lambda: None)
        run()
        self.lines.stop()
        return self.lines.total

    def test_each_line_counts_as_often_as_it_runs(self):
        def run():
            for _ in range(5):
                three()

        expected = 6 + 5 + 5 * 3  # the head of the loop, its body, the function
        self.assertEqual(self.counted(run), expected)
        self.assertEqual(self.counted(run), expected)
        self.assertIsNone(sys.gettrace())

    def test_functions_of_c_have_no_lines_and_generators_have(self):
        def generator():
            yield 1
            yield 2

        self.assertEqual(self.counted(lambda: (len("abc"), sorted([2, 1]))), 1)
        self.assertEqual(self.counted(lambda: sum(generator())), 1 + 2)

    def test_what_is_apart_does_not_count(self):
        def run():
            with self.lines.apart:
                three()
                with self.lines.apart:
                    three()
                three()
            three()

        alone = self.counted(three)
        self.assertEqual(alone, 3)
        self.assertEqual(self.counted(run), 2 + alone)  # the line that goes apart, and the last

    def test_a_thread_counts_from_its_first_time_apart(self):
        def run():
            three()
            with self.lines.apart:
                pass
            three()

        seen = []
        thread = threading.Thread(target=lambda: (run(), seen.append(self.lines.total)))
        self.lines.start(lambda: None)
        sys.settrace(None)  # of this thread, so that only the other one counts
        thread.start()
        thread.join()
        self.lines.stop()
        self.assertEqual(seen, [3])

    def test_code_of_the_capture_does_not_count_nor_what_the_library_does_for_it(self):
        self.assertEqual(self.counted(of_capture("def run():\n    three()\n")), 0)
        self.assertEqual(self.counted(of_capture("def run():\n    json.dumps({'a': 1}, sort_keys=True)\n")), 0)
        self.assertGreater(self.counted(lambda: json.dumps({"a": 1}, sort_keys=True)), 5)

    def test_a_stand_in_that_passes_on_what_the_program_calls(self):
        run = of_capture("def run():\n    three()\n")
        self.lines.pass_through(run.__code__)
        self.assertEqual(self.counted(run), 3)

    def test_what_comes_between_an_operator_and_the_capture_does_not_count(self):
        """Dispatch modes of PyTorch have functions of their own, which a program without a capture does not call."""
        arrive = of_capture("def run():\n    three()\n")

        def mode():
            arrive()

        def run():
            mode()
            three()

        self.lines.start(lambda: mode())
        run()
        self.lines.stop()
        self.assertEqual(self.lines.total, 2 + 3)

    def test_a_program_that_is_debugged_keeps_its_debugger(self):
        def own(frame, event, argument):
            return None

        sys.settrace(own)
        self.assertFalse(self.lines.start(lambda: None))
        three()
        self.assertFalse(self.lines.counting)
        self.lines.stop()
        self.assertIs(sys.gettrace(), own)


class Events(unittest.TestCase):
    def test_lines_are_told_by_the_hundred_and_before_the_host_waits(self):
        recorder = Recorder()
        recorder.begin()

        def run(times):
            for _ in range(times):
                three()

        recorder.python.start(lambda: None)
        turns = LINES // 5 - 1
        run(turns)  # five lines each, and one
        with recorder.python.apart:
            recorder.operator(0, 0, 0, 0)
        three()
        with recorder.python.apart:
            recorder.operator(0, 0, 0, 0)
            recorder.block_host("item")
        three()
        with recorder.python.apart:
            recorder.operator(0, 0, 0, 0)
            recorder.block_host("item")
        recorder.end()
        operator, block = ["op", 0, 0, 0, 0], ["block", "item"]
        self.assertEqual(
            recorder.events,
            [operator, operator, ["python", 5 * turns + 1 + 3], block, operator, ["python", 3], block],
        )
        self.assertEqual(recorder.python.total, 5 * turns + 1 + 3 + 3)
        recorder.begin()
        recorder.python.start(lambda: None)
        run(LINES)
        with recorder.python.apart:
            recorder.operator(0, 0, 0, 0)
        recorder.end()
        self.assertEqual(recorder.events, [["python", 5 * LINES + 1], operator])


if __name__ == "__main__":
    unittest.main()
