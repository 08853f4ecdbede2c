#!/usr/bin/env python3
"""The page of `mirfak serve` in a headless Chromium: changes are answered, figures are the program's, links restore, rows
of a search are taken over, errors stand at their place, the keyboard suffices, and nothing is asked of other machines.
Exit status 77: Chromium, its driver or selenium are not installed.
usage: browser_test.py PROGRAM SOURCE_TREE [--screenshots FOLDER]"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
from chromium import chromium, show_at  # noqa: E402
from served import serve  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

PROGRAM, TREE = sys.argv[1:3]


def printed(text):
    """Returns the JSON of `mirfak simulate --format json` for a scenario."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([PROGRAM, "simulate", file.name, "--format", "json"], capture_output=True, timeout=60, check=False)
        assert done.returncode in (0, 3), done.stderr
        return json.loads(done.stdout)


def find(name):
    return driver.find_element(By.ID, name)


def text_of_editor():
    return find("text").get_property("value")


def status():
    return find("status").text


def wait_for(condition, seconds=15):
    return WebDriverWait(driver, seconds, poll_frequency=0.03).until(lambda _: condition())


def wait_for_answer(seconds=15):
    """Waits until the last change was answered."""
    wait_for(lambda: driver.execute_script("return document.body.dataset.answered === document.body.dataset.asked"), seconds)


def figures():
    """Returns the figures that the views show, as the page was told."""
    rows = driver.execute_script("""
      const table = [...document.querySelectorAll('#views table')].find(each => each.caption?.textContent.startsWith('Every figure'));
      return [...table.tBodies[0].rows].map(row => [row.querySelector('code').textContent, row.cells[2].textContent]);""")
    return dict(rows)


def change(field, value):
    asked = driver.execute_script("return document.body.dataset.asked")
    element = find(field)
    if element.tag_name == "select":
        Select(element).select_by_value(value)
    else:
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(value if value else Keys.DELETE)
        if element.get_attribute("role") == "combobox":
            element.send_keys(Keys.ENTER)
    wait_for(lambda: driver.execute_script("return document.body.dataset.asked") != asked)
    wait_for_answer()


def opened(fragment=""):
    driver.get("about:blank")
    driver.get(served.url + fragment)
    wait_for(lambda: driver.execute_script("return document.body.dataset.asked > 0"))
    wait_for_answer()


class Page(unittest.TestCase):
    def check_figures(self):
        shown, expected = figures(), printed(text_of_editor())
        self.assertGreater(len(shown), 15)
        for key, text in shown.items():
            if key == "wall_time_s" or expected[key] is None:
                continue
            value = {"true": 1, "false": 0}.get(text, text)
            self.assertEqual(float(value), float(expected[key]), key)

    def setUp(self):
        opened()

    def test_a_change_of_the_strategy_is_answered_with_the_program_s_figures(self):
        self.check_figures()
        before = figures()["iteration_time_s"]
        change("field-strategy-tensor", "4")
        self.assertIn("tensor: 4", text_of_editor())
        self.assertIn("# GPT-3 175B", text_of_editor())  # comments stay
        self.assertNotEqual(figures()["iteration_time_s"], before)
        self.check_figures()
        change("field-strategy-recompute", "selective")
        change("field-strategy-zero", "1")
        self.check_figures()
        change("field-strategy-zero", "")
        self.assertNotIn("zero", text_of_editor())

    def test_the_text_and_the_form_are_in_step(self):
        self.write("model: llama2-70b\ncluster: {nodes: [{type: hgx-h100, count: 8}]}\ntraining: {global_batch: 128}\n"
                   "strategy: {tensor: 8, pipeline: 2, zero: 1}\n")
        self.assertEqual(find("field-model").get_property("value"), "llama2-70b")
        self.assertEqual(find("field-strategy-pipeline").get_property("value"), "2")
        self.assertEqual(find("field-strategy-data").get_attribute("placeholder"), "4")
        self.check_figures()

    def write(self, text):
        asked = driver.execute_script("return document.body.dataset.asked")
        find("text").send_keys(Keys.CONTROL, "a")
        find("text").send_keys(text)
        wait_for(lambda: driver.execute_script("return document.body.dataset.asked") != asked)
        wait_for_answer()

    def test_each_entry_of_a_mixed_cluster_is_edited(self):
        self.write("model: llama2-70b\ncluster: {nodes: [{type: hgx-h100, count: 4}, {type: dgx-a100-80g, count: 4}]}\n"
                   "training: {global_batch: 256}\nstrategy: {tensor: 8, pipeline: 2, zero: 1}\n")
        self.assertEqual([find(f"field-cluster-nodes-{at}--type").get_property("value") for at in (0, 1)], ["hgx-h100", "dgx-a100-80g"])
        self.assertIn("A100", driver.find_elements(By.CSS_SELECTOR, ".entry .aside")[1].text)
        before = figures()["gpus"]
        change("field-cluster-nodes-1--count", "12")
        self.assertIn("{type: dgx-a100-80g, count: 12}", text_of_editor())
        self.assertEqual((before, figures()["gpus"]), ("64", "128"))
        self.check_figures()
        change("field-cluster-nodes-1--type", "hgx-h200")
        self.assertIn("{type: hgx-h200, count: 12}", text_of_editor())
        self.write("model: llama2-70b\ncluster: {nodes: [{type: hgx-h100, count: 4}]}\ntraining: {global_batch: 256}\nstrategy: {tensor: 8}\n")
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, ".entry")), 1)

    def test_the_keyboard_chooses_a_model(self):
        model = find("field-model")
        model.send_keys(Keys.CONTROL, "a")
        model.send_keys("llama3 405")
        wait_for(lambda: model.get_attribute("aria-expanded") == "true")
        model.send_keys(Keys.ARROW_DOWN)
        self.assertTrue(find(model.get_attribute("aria-activedescendant")).text.startswith("llama3-405b"))
        model.send_keys(Keys.ENTER)
        wait_for(lambda: "llama3-405b" in text_of_editor())
        wait_for_answer()

    def test_an_error_stands_at_its_place(self):
        change("field-strategy-tensor", "5")
        self.assertIn("cannot be divided", find("message").text)
        line = next(i + 1 for i, each in enumerate(text_of_editor().split("\n")) if "tensor: 5" in each)
        self.assertTrue(find("place").text.startswith(f"line {line}, column"))
        self.assertEqual(find("field-strategy-tensor").get_attribute("aria-invalid"), "true")
        find("place").click()
        at = find("text").get_property("selectionStart")
        self.assertEqual(text_of_editor()[:at].count("\n") + 1, line)
        change("field-strategy-tensor", "8")
        self.assertFalse(find("error").is_displayed())

    def test_a_link_restores(self):
        change("field-strategy-pipeline", "24")
        link, text, before = driver.current_url, text_of_editor(), figures()
        opened()
        self.assertNotEqual(text_of_editor(), text)
        opened(link[link.index("#"):])
        self.assertEqual(text_of_editor(), text)
        self.assertEqual(figures()["iteration_time_s"], before["iteration_time_s"])

    def test_a_row_of_a_search_is_taken_over(self):
        change("field-model", "gpt3-1.3b")
        change("field-cluster-nodes-0--count", "2")
        change("field-training-framework", "megatron-core")
        find("search").click()
        wait_for(lambda: find("found").is_displayed(), 90)
        buttons = driver.find_elements(By.CSS_SELECTOR, "#found button.take")
        self.assertGreater(len(buttons), 1)
        reasons = "return document.querySelectorAll('#found details.section details.why').length"
        self.assertGreater(driver.execute_script(reasons), 10 * len(buttons), "nothing behind the figures")
        asked = driver.execute_script("return document.body.dataset.asked")
        expected = driver.execute_script("return document.querySelectorAll('#found button.take')[1].dataset.time")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", buttons[1])
        buttons[1].click()
        wait_for(lambda: driver.execute_script("return document.body.dataset.asked") != asked)
        wait_for_answer()
        self.assertEqual(float(figures()["iteration_time_s"]), float(expected))
        self.check_figures()
        find("undo").click()
        wait_for(lambda: find("field-strategy-pipeline").get_property("value") == "12")

    def test_old_answers_are_dropped(self):
        field = find("field-strategy-pipeline")
        for value in ("1", "2", "3", "4", "6", "12", "24"):
            field.send_keys(Keys.CONTROL, "a")
            field.send_keys(value)
        wait_for(lambda: "pipeline: 24" in text_of_editor())
        wait_for_answer()
        self.check_figures()

    def test_an_example_is_where_one_may_begin(self):
        asked = driver.execute_script("return document.body.dataset.asked")
        Select(find("example")).select_by_visible_text("llama2-70b-h100")
        wait_for(lambda: driver.execute_script("return document.body.dataset.asked") != asked)
        wait_for_answer()
        self.assertIn("llama2-70b", find("title").text)
        self.check_figures()

    def give(self, name, text):
        asked = driver.execute_script("return document.body.dataset.asked")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            find("files").send_keys(path)
            wait_for(lambda: driver.execute_script("return document.body.dataset.asked") != asked)
        wait_for_answer()

    def test_a_launch_script_is_read(self):
        with open(os.path.join(TREE, "scenarios", "launch", "pretrain_llama3_8b.sh"), encoding="utf-8") as file:
            self.give("run.sh", file.read())
        self.assertIn("run.sh: read as launch-script", find("read-as").text)
        self.assertIn("Made by mirfak import of run.sh", text_of_editor())

    def test_a_model_that_needs_another_strategy_gets_one(self):
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
                  "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": False,
                  "hidden_act": "silu", "torch_dtype": "bfloat16"}
        self.write("model: llama3-8b\ncluster: {nodes: [{type: hgx-h100, count: 8}]}\ntraining: {global_batch: 128}\nstrategy: {tensor: 1, zero: 1}\n")
        self.give("config.json", json.dumps(config))
        self.assertIn("config", find("title").text)
        self.assertEqual(figures()["fits"], "false")
        asked = driver.execute_script("return document.body.dataset.asked")
        find("fit").click()
        wait_for(lambda: driver.execute_script("return document.body.dataset.asked") != asked, 60)
        wait_for_answer()
        self.assertEqual(figures()["fits"], "true")
        self.assertFalse(driver.find_elements(By.ID, "fit"))
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, "#figures .warning")), 0)

    def test_out_of_memory_is_said_once(self):
        self.write("model: llama3-70b\ncluster: {nodes: [{type: hgx-h100, count: 2}]}\ntraining: {global_batch: 64}\nstrategy: {tensor: 4, pipeline: 2}\n")
        self.assertEqual(len(driver.find_elements(By.CSS_SELECTOR, "main .warning")), 1)

    def test_on_a_phone_figures_come_first(self):
        show_at(driver, 390, dark=False)
        opened()
        top = lambda name: find(name).rect["y"]
        self.assertLess(top("figures"), top("form"))
        self.assertLess(top("form"), top("answer"))
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_the_title_says_what_the_figures_are_of(self):
        title = find("title").text
        self.write(text_of_editor().replace("gpt3-175b", "gpt3-none"))
        self.assertEqual(find("title").text, f"Before the last change: {title}")

    def test_the_page_is_no_wider_than_its_window(self):
        for width in (1280, 400):
            show_at(driver, width, dark=False)
            opened()
            self.assertLessEqual(driver.execute_script("return document.documentElement.scrollWidth"), width)
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def foreign_requests():
    out = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] != "Network.requestWillBeSent":
            continue
        url = message["params"]["request"]["url"]
        if url.startswith(("http:", "https:", "ws:", "wss:")) and not url.startswith(served.url):
            out.append(url)
    return out


def take_screenshots(folder):
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            show_at(driver, width, scheme == "dark", 1000)
            opened()
            driver.save_screenshot(f"{folder}/{width}-{scheme}.png")
            if scheme == "light":
                shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
                with open(f"{folder}/{width}-whole.png", "wb") as file:
                    file.write(base64.b64decode(shot["data"]))


with serve(PROGRAM, TREE) as served, tempfile.TemporaryDirectory() as profile:
    driver = chromium(f"--user-data-dir={profile}", "--window-size=1280,900", reaches=["127.0.0.1"])
    try:
        if "--screenshots" in sys.argv:
            take_screenshots(sys.argv[sys.argv.index("--screenshots") + 1])
            sys.exit(0)
        result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
        foreign = foreign_requests()
        complaints = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE" and "/api/" not in entry["message"]]
    finally:
        driver.quit()
assert not foreign, foreign
assert not complaints, complaints
sys.exit(0 if result.wasSuccessful() else 1)
