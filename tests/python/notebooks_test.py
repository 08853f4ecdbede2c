"""Results as notebooks show them: their HTML, their plots, progress as a bar."""

import html.parser
import pathlib
import sys
import tempfile
import types
import unittest

import mirfak
from program import SOURCE

try:
    import matplotlib
except ImportError:
    print("skipped: matplotlib is not installed (Debian: python3-matplotlib)")
    sys.exit(77)
matplotlib.use("agg")

SCENARIO = SOURCE / "scenarios" / "llama2-70b-h100.yaml"
SEARCH = {"cluster.nodes[0].count": 8, "search.top": 3, "training.global_batch": 128}


class Cells(html.parser.HTMLParser):
    """The texts of the cells of a table, and whether all tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


def found():
    return mirfak.search(SOURCE / "scenarios" / "search-llama2-70b-h100.yaml", SEARCH)


class Html(unittest.TestCase):
    def test_a_result(self):
        result = mirfak.simulate(SCENARIO)
        parsed = Cells(result._repr_html_())
        self.assertEqual(parsed.open, [])
        figures = dict(zip(parsed.cells[2::2], parsed.cells[3::2]))
        self.assertEqual(figures["iteration time"], f"{result.iteration_time_s:#.3g} s")
        self.assertEqual(figures["MFU"], f"{100 * result.mfu:.1f} %")
        self.assertEqual(figures["peak memory"], f"{result.memory_peak_bytes / 2**30:#.3g} GiB")
        self.assertNotIn("fits in memory", figures)
        small = mirfak.simulate(SCENARIO, {"strategy.tensor": 2, "strategy.pipeline": 1, "strategy.virtual_pipeline": 1})
        self.assertIn("fits in memory", small._repr_html_())

    def test_names_are_no_markup(self):
        with tempfile.TemporaryDirectory() as folder:
            hostile = pathlib.Path(folder, "<script>alert(1)<b>.yaml")
            hostile.write_text(SCENARIO.read_text())
            self.assertNotIn("<script>", mirfak.simulate(hostile)._repr_html_())

    def test_a_search(self):
        result = found()
        parsed = Cells(result._repr_html_())
        self.assertEqual(parsed.open, [])
        self.assertEqual(sum(cell in ("0", "1", "2") for cell in parsed.cells), 3)
        best = result.strategies[0]
        self.assertIn(f"tensor {best['strategy']['tensor']}", repr(result))
        self.assertIn(f"{best['iteration_time_s']:#.3g} s an iteration on 64 GPUs", repr(result))
        self.assertIsInstance(result.best, mirfak.Result)
        self.assertEqual(result.best.iteration_time_s, best["iteration_time_s"])


class Plots(unittest.TestCase):
    def test_of_a_result(self):
        result = mirfak.simulate(SCENARIO)
        wide = lambda axes: sum(bar.get_width() for bar in axes.patches)
        breakdown = result.plot()
        self.assertAlmostEqual(wide(breakdown), result.iteration_time_s * (1 + len(result.stages)), delta=0.01)
        memory = result.plot("memory")
        self.assertAlmostEqual(wide(memory) * 2**30, result.stages["memory_peak_bytes"].sum(), delta=1e7)
        self.assertGreater(len(result.plot("timeline").patches), 100)
        with self.assertRaises(mirfak.InputError):
            result.plot("energy")

    def test_of_the_others(self):
        search = found().plot()
        self.assertEqual(len(search.texts), 3)
        frontier = mirfak.frontier(SOURCE / "scenarios" / "energy" / "llama3-70b-h100.yaml")
        self.assertEqual(list(frontier.plot().lines[0].get_xdata()), list(frontier.points["iteration_time_s"]))
        frame = mirfak.sweep({"scenario": str(SCENARIO), "axes": [{"grid": {"strategy.micro_batch": [1, 2, 16]}}]})
        axes = mirfak.plot_sweep(frame)
        self.assertEqual(axes.get_xlabel(), "strategy.micro_batch")
        self.assertEqual(sum(len(line.get_xdata()) for line in axes.lines), int(frame["iteration_time_s"].notna().sum()))
        with self.assertRaises(mirfak.InputError):
            mirfak.plot_sweep(frame, y="nothing")


class Progress(unittest.TestCase):
    def test_true_is_a_bar(self):
        moved = []

        class Bar:
            def __init__(self, desc, unit):
                self.n, self.total = 0, None

            def __enter__(self):
                return self

            def __exit__(self, *ignored):
                moved.append("closed")

            def update(self, by):
                self.n += by
                moved.append(self.n)

        stand_in = types.ModuleType("tqdm.auto")
        stand_in.tqdm = Bar
        before = {name: sys.modules.get(name) for name in ("tqdm", "tqdm.auto")}
        sys.modules.update({"tqdm": types.ModuleType("tqdm"), "tqdm.auto": stand_in})
        try:
            frame = mirfak.sweep({"scenario": str(SCENARIO), "axes": [{"grid": {"strategy.micro_batch": [1, 2]}}]}, progress=True)
        finally:
            for name, module in before.items():
                sys.modules.pop(name) if module is None else sys.modules.update({name: module})
        self.assertEqual(len(frame), 2)
        self.assertEqual(moved[-1], "closed")
        self.assertEqual(moved[-2], 2)


if __name__ == "__main__":
    unittest.main()
