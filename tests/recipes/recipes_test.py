"""Names of Megatron-Bridge's performance recipes as scenarios (validate/recipes), and the table of them.

Exit status 77: h5py or PyYAML is not installed.
"""

import collections
import csv
import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
MIRFAK = os.environ["MIRFAK"]
PROGRAM = SOURCE / "validate/recipes/recipes.py"
sys.path.insert(0, str(PROGRAM.parent))

try:
    import recipes
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.words = recipes.Words(MIRFAK)

    def refusal(self, name):
        with self.assertRaises(recipes.Refused) as raised:
            self.words.nodes_of(self.words.recipe(name))
        return str(raised.exception)

    def test_a_name_is_a_job(self):
        recipe = self.words.recipe("qwen3_235b_a22b_pretrain_128gpu_gb200_fp8mx_partial_cg_dev_config")
        self.assertEqual((recipe.model, recipe.task, recipe.gpus), ("qwen3_235b_a22b", "pretrain", 128))
        self.assertEqual((recipe.machine, recipe.precision), ("gb200", "fp8mx"))
        self.assertEqual(recipe.variants, ("partial_cg", "dev"))
        scenario = self.words.scenario(recipe, {"tensor": 2, "pipeline": 1, "expert": 8, "recompute": "none"})
        self.assertEqual(scenario["model"], "qwen3-235b-a22b")
        self.assertEqual(scenario["cluster"], {"nodes": [{"type": "gb200-nvl72", "count": 32}]})
        self.assertEqual(scenario["training"]["precision"], "mxfp8")
        self.assertEqual(scenario["training"]["global_batch"], 256)
        self.assertEqual(scenario["training"]["cuda_graphs"], ["attention", "router"])
        self.assertTrue(scenario["strategy"]["sequence_parallel"])
        self.assertEqual(scenario["strategy"]["expert_tensor"], 1)

    def test_fine_tuning_of_adapters(self):
        recipe = self.words.recipe("llama3_70b_peft_8gpu_h100_bf16_config")
        training = self.words.scenario(recipe, {"tensor": 1})["training"]
        self.assertEqual((training["lora"], training["sequence_length"]), ({"rank": 32}, 4096))

    def test_words_that_are_not_known_are_refused_with_the_nearest(self):
        self.assertIn("did you mean 'llama3_8b'?", self.refusal("llama3_9b_pretrain_8gpu_h100_bf16_config"))
        self.assertIn("words.yaml, machines", self.refusal("llama3_8b_pretrain_8gpu_tpu7_bf16_config"))
        self.assertIn("words.yaml, precisions", self.refusal("llama3_8b_pretrain_8gpu_h100_int3_config"))
        self.assertIn("words.yaml, variants", self.refusal("llama3_8b_pretrain_8gpu_h100_bf16_upside_down_config"))
        self.assertIn("no whole number of nodes of 8", self.refusal("llama3_8b_pretrain_12gpu_h100_bf16_config"))
        self.assertIn("expected MODEL_TASK", self.refusal("llama3_8b"))
        self.assertIn("diffusion", self.refusal("wan_14b_pretrain_32gpu_h100_bf16_config"))

    def test_layers_left_over_lie_in_the_middle(self):
        self.assertEqual(recipes.near_even(61, 4), [15, 16, 15, 15])
        self.assertEqual(recipes.near_even(126, 4), [31, 32, 32, 31])
        self.assertEqual(recipes.near_even(8, 2), [4, 4])

    def test_the_fastest_layout_that_fits_is_taken_else_the_smallest(self):
        def point(seconds, fits, memory, reason=""):
            return recipes.Point(seconds, fits, memory, reason)

        fast, slow, failed = ({"tensor": n} for n in (1, 2, 4))
        for choices, layout, fits in (
            ([(fast, point(1, 0.9, 9)), (slow, point(2, 1, 5))], fast, True),
            ([(fast, point(1, 0.7, 9)), (slow, point(2, 1, 5))], slow, True),
            ([(fast, point(1, 0.7, 9)), (slow, point(2, 0.6, 5))], slow, False),
            ([(fast, point(0, 0, 0, "no")), (failed, point(0, 0, 0, "no"))], failed, False),
        ):
            self.assertEqual(recipes.best(choices, 0.8), recipes.Choice(layout, fits))


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = recipes.read_table()

    def test_every_recipe_has_a_row_and_400_are_simulated(self):
        functions = [row["function"] for row in self.rows]
        self.assertEqual(len(functions), 432)
        self.assertEqual(len(set(functions)), 432)
        self.assertGreaterEqual(sum(bool(row["iteration_s"]) for row in self.rows), 400)
        for row in self.rows:
            self.assertNotEqual(bool(row["iteration_s"]), bool(row["reason"]), row["function"])
        shared = SOURCE / "../shared/recipes.csv"
        if shared.exists():
            with shared.open(newline="") as file:
                self.assertEqual(functions, [row["function"] for row in csv.DictReader(file)])

    def test_all_rows_are_simulated_as_the_table_says(self):
        words = recipes.Words(MIRFAK)
        self.assertEqual(list(recipes.differences(words, self.rows)), [])

    def test_dense_models_are_faster_in_narrower_formats_on_the_same_layout(self):
        seconds = collections.defaultdict(dict)
        for row in self.rows:
            if row["iteration_s"] and not row["variant"] and "expert: 1," in row["layout"]:
                job = row["model"], row["nodes"], row["task"], row["layout"]
                seconds[job][row["precision"]] = float(row["iteration_s"])
        for narrow, wide in (("fp8-current", "bf16"), ("mxfp8", "bf16"), ("nvfp4", "mxfp8")):
            compared = [(of[narrow], of[wide]) for of in seconds.values() if narrow in of and wide in of]
            self.assertGreater(len(compared), 10)
            for fast, slow in compared:
                self.assertLess(fast, slow)

    def test_a_scenario_of_the_table_takes_what_the_table_says(self):
        name = "llama3_8b_pretrain_8gpu_h100_bf16_config"
        row = next(row for row in self.rows if row["function"] == name)

        def output(command, text=""):
            return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout

        text = output([sys.executable, PROGRAM, "--mirfak", MIRFAK, "scenario", name])
        result = output([MIRFAK, "simulate", "-", "--format", "json"], text)
        self.assertIn(f'"iteration_time_s": {row["iteration_s"][:5]}', result)


if __name__ == "__main__":
    unittest.main()
