"""Every kind of page in a browser: its views and figures, sorting and zooming by keyboard, both widths, light and dark, print,
no scripts; and nothing is asked of any network.

usage: pages_test.py SOURCE MIRFAK SHOWN_FIGURES MEASURED_TRACE [--screenshots FOLDER]
Exit status 77: there is no browser, or nothing that leads it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
from chromium import chromium, show_at, wait_for_drawings  # noqa: E402
from layout import layout_faults  # noqa: E402
from page_kinds import HOSTILE, make_pages  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

SOURCE, PROGRAM, FIGURES, MEASURED_TRACE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
SCREENSHOTS = pathlib.Path(sys.argv[6]) if len(sys.argv) > 6 and sys.argv[5] == "--screenshots" else None
WIDTHS = (390, 1400, 2200)
HEADINGS = {
    "simulate": ["Where the time goes", "Timeline of the pipeline", "Memory by stage", "What more would gain", "All figures", "How every cost comes about", "The scenario"],
    "capture": ["Where the time goes", "Timeline of the ranks", "Memory by rank", "Operators by time", "Modules by time", "All figures", "How every cost comes about", "The scenario"],
    "search": ["Strategies", "One by one", "How the search went", "What was searched"],
    "plan": ["Stages of the plan", "Plans by the engine", "One by one", "The planner's work", "What was planned"],
    "jobs": ["Iterations with the others running", "Links of the network", "Job by job", "What the network adds, and whose traffic slows whose", "The scenario"],
    "traces": ["Why the iterations differ", "By kind", "By stage", "By rank", "Operators"],
    "sweep": ["Two figures of every point", "Points"],
    "train": ["When it ends", "Where the time goes", "What interrupts it", "The run that ends at the median", "All figures", "How the iteration comes about", "The scenario"],
    "validate": ["Predicted and measured", "Errors by source", "Runs"],
    "frontier": ["The frontier", "No straggler", "A straggler takes 1.2 times as long"],
    "compare": ["Options", "Cost over time", "Their strategies", "Notes"],
}


def check_nothing_is_loaded(driver, kind):
    faults = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not faults, (kind, faults)
    asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = [message["params"]["request"]["url"] for message in asked if message["method"] == "Network.requestWillBeSent"]
    assert all(url.startswith("file:") and url.endswith(f"/{kind}.html") for url in urls), (kind, urls)
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def check_structure(driver, kind):
    headings = [element.text for element in driver.find_elements(By.CSS_SELECTOR, "h1, h2")]
    assert len(driver.find_elements(By.CSS_SELECTOR, "h1")) == 1
    for heading in HEADINGS[kind]:
        assert heading in headings, (kind, heading, headings)
    faults = driver.execute_script("""
      const faults = [];
      for (const table of document.querySelectorAll('table')) {
        if (!table.caption || !table.caption.textContent) faults.push('a table without caption');
        for (const th of table.querySelectorAll('th')) if (!th.scope) faults.push(`a heading without scope: ${th.textContent}`);
      }
      for (const svg of document.querySelectorAll('svg.chart')) {
        if (!svg.querySelector('title')?.textContent || !svg.querySelector('desc') && !svg.matches('.timeline svg')) faults.push('a drawing without words');
      }
      for (const button of document.querySelectorAll('button, select, summary')) {
        const labelled = button.textContent || button.getAttribute('aria-label') || button.labels?.length;
        if (!labelled) faults.push('a control without a name');
      }
      const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
      if (new Set(ids).size !== ids.length) faults.push('an id twice');
      if (/NaN|undefined|Infinity|\\[object/.test(document.querySelector('main').innerText)) faults.push('what is no word');
      if (!document.querySelector('main').children.length) faults.push('nothing is drawn');
      return faults;""")
    assert not faults, (kind, faults)


CONTRAST = """
  const rgb = text => text.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!text || !element.checkVisibility() || ['SCRIPT', 'STYLE', 'NOSCRIPT', 'title', 'desc'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(rgb(element.namespaceURI.endsWith('svg') ? style.fill : style.color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) poor.push(`${element.tagName}.${element.className.baseVal ?? element.className}: ${contrast.toFixed(2)}`);
  }
  return [...new Set(poor)];"""


def check_looks(driver, kind):
    """Three widths and both colours: nothing is wider than the page, cut off or beyond its drawing, and all text can be read."""
    for width in WIDTHS:
        for dark in (False, True):
            show_at(driver, width, dark)
            wait_for_drawings(driver)
            wide, high = driver.execute_script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            assert wide <= width, (kind, width, wide)
            faults = layout_faults(driver)
            assert not faults, (kind, width, faults)
            poor = driver.execute_script(CONTRAST)
            assert not poor, (kind, "dark" if dark else "light", poor)
            if SCREENSHOTS:
                show_at(driver, width, dark, min(high, 4000))
                wait_for_drawings(driver)
                driver.save_screenshot(str(SCREENSHOTS / f"{kind}-{width}-{'dark' if dark else 'light'}.png"))
    show_at(driver, 1280, False)
    wait_for_drawings(driver)


def check_sorting(driver, kind):
    """The last column with numbers of the first table sorts by keyboard, both ways, and says so."""
    for table in driver.find_elements(By.CSS_SELECTOR, ".sortable"):
        if not table.is_displayed():
            continue
        heads = table.find_elements(By.CSS_SELECTOR, "thead th")
        values = driver.execute_script("""return [...arguments[0].tBodies[0].rows].map(row =>
          [...row.cells].map(cell => cell.dataset.value === undefined || cell.dataset.value === '' ? null : Number(cell.dataset.value)))""",
                                       table.find_element(By.TAG_NAME, "table"))
        columns = [at for at in range(len(heads)) if len({row[at] for row in values}) > 2 and None not in {row[at] for row in values}]
        if not columns:
            continue
        at = columns[-1]
        for direction, backwards in (("ascending", False), ("descending", True)):
            driver.execute_script("arguments[0].focus()", heads[at].find_element(By.TAG_NAME, "button"))
            driver.switch_to.active_element.send_keys(Keys.ENTER)
            assert heads[at].get_attribute("aria-sort") == direction, kind
            now = driver.execute_script("return [...arguments[0].tBodies[0].rows].map(row => Number(row.cells[arguments[1]].dataset.value))",
                                        table.find_element(By.TAG_NAME, "table"), at)
            assert now == sorted((row[at] for row in values), reverse=backwards), (kind, now)
            assert direction in table.find_element(By.CSS_SELECTOR, "[role=status]").text
        return
    assert False, f"{kind}: no table could be sorted"


def check_print(driver, kind):
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert not driver.find_elements(By.CSS_SELECTOR, "main details:not([open])"), kind
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert kind in ("sweep", "validate", "compare", "traces") or driver.find_elements(By.CSS_SELECTOR, "main details:not([open])"), kind


def held_data(driver):
    return json.loads(driver.execute_script("return document.getElementById('mirfak-data').textContent"))


def check_all_figures(driver, in_text):
    """Every single figure of the JSON is in the table, in full, and those of `in_text` as the text report shows them."""
    data = held_data(driver)
    cells = driver.execute_script("""
      const table = [...document.querySelectorAll('caption')].find(of => of.textContent === 'Every figure of the iteration').parentNode;
      return Object.fromEntries([...table.tBodies[0].rows].map(row => [row.querySelector('code').textContent, [row.cells[1].textContent, row.cells[2].textContent]]));""")
    for key, value in data["result"].items():
        if isinstance(value, (dict, list)):
            continue
        shown, full = cells[key]
        if value is None:
            assert shown == "not known" and full == "", key
        elif isinstance(value, bool):
            assert full == str(value).lower(), key
        elif isinstance(value, str):
            assert full == value, key
        else:
            assert float(full) == float(value), (key, full, value)
    report = driver.execute_script("return document.querySelector('noscript').textContent")
    for key in in_text:
        assert cells[key][0] in report, (key, cells[key], report)
    return cells


def check_figures(driver):
    cells = check_all_figures(driver, ("iteration_time_s", "energy_j", "tokens_per_s", "cost_usd_per_iteration", "tflops_per_gpu"))
    drawn = driver.execute_script("return document.querySelectorAll('svg.grab rect.forward').length")
    assert drawn > 0
    assert HOSTILE.replace("/", "\u2044") in driver.find_element(By.CSS_SELECTOR, ".facts").text
    why = driver.find_element(By.CSS_SELECTOR, ".card .why")
    why.find_element(By.TAG_NAME, "summary").click()
    assert "GEMM" in why.text and cells["iteration_time_s"][0] in why.text, why.text
    why.find_element(By.CSS_SELECTOR, "button.link").click()
    assert driver.switch_to.active_element.find_element(By.XPATH, "..").get_attribute("open") is not None


def check_capture(driver):
    """Figures, operators with their modules, and a timeline that says which module a box is of."""
    check_all_figures(driver, ("iteration_time_s", "energy_j", "cost_usd_per_iteration", "hardware_tflops_per_gpu"))
    data = held_data(driver)
    rows = driver.find_elements(By.XPATH, "//h2[text()='Operators by time']/..//tbody/tr")
    assert len(rows) == len(data["result"]["operators"])
    assert rows[0].text.startswith(data["result"]["operators"][0]["name"]), rows[0].text
    wait_for_drawings(driver)
    driver.execute_script("arguments[0].focus()", driver.find_element(By.CSS_SELECTOR, ".timeline svg"))
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    told = driver.find_element(By.CSS_SELECTOR, ".timeline .told").text
    first = data["timeline"]["rows"][0]["lanes"][0][0]
    assert told.startswith("rank 0: " + data["timeline"]["names"][first[0]]["text"]), told


def check_timeline(driver):
    wait_for_drawings(driver)
    timeline = driver.find_element(By.CSS_SELECTOR, ".timeline svg")
    told = driver.find_element(By.CSS_SELECTOR, ".timeline .told")
    ticks = lambda: driver.execute_script("return [...document.querySelectorAll('.timeline .axis text')].map(text => text.textContent)")
    whole = ticks()
    driver.execute_script("arguments[0].focus()", timeline)
    for key, words in ((Keys.ARROW_RIGHT, "stage 0: forward, microbatch 0"), (Keys.ARROW_RIGHT, "stage 0: forward, microbatch 1"),
                       (Keys.ARROW_DOWN, "stage 1: forward, microbatch")):
        driver.switch_to.active_element.send_keys(key)
        assert told.text.startswith(words), (told.text, words)
    driver.switch_to.active_element.send_keys("+", "+")
    zoomed = ticks()
    assert zoomed != whole
    driver.switch_to.active_element.send_keys(Keys.PAGE_DOWN)
    assert ticks() != zoomed
    driver.switch_to.active_element.send_keys(Keys.HOME)
    assert ticks() == whole
    driver.execute_script("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -200, clientX: 600, bubbles: true, cancelable: true}))", timeline)
    assert ticks() != whole
    driver.find_element(By.XPATH, "//button[text()='Whole']").click()
    assert ticks() == whole


def check_plot(driver):
    plot = driver.find_element(By.CSS_SELECTOR, "figure svg[tabindex]")
    driver.execute_script("arguments[0].focus()", plot)
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    strategies = held_data(driver)["result"]["strategies"]
    fastest = min(range(len(strategies)), key=lambda at: strategies[at]["iteration_time_s"])
    told = driver.find_element(By.CSS_SELECTOR, "figure .told").text
    assert told.startswith(f"{fastest + 1}: "), told


def check_reasons(driver, section, figure):
    """Checks that figures told one by one have their reasons, which lead to the sections."""
    first = driver.find_element(By.XPATH, f"//h2[text()='{section}']/..//details[@class='section']")
    first.find_element(By.TAG_NAME, "summary").click()
    wait_for_drawings(driver)
    whys = first.find_elements(By.CSS_SELECTOR, ".card .why")
    assert len(whys) >= 6, len(whys)
    whys[0].find_element(By.TAG_NAME, "summary").click()
    shown = first.find_element(By.CSS_SELECTOR, ".card .value").text
    assert shown in whys[0].text and "GEMM" in whys[0].text, (shown, whys[0].text)
    assert driver.execute_script("return mirfak.format.seconds(arguments[0])", figure) == shown, (figure, shown)
    whys[0].find_element(By.CSS_SELECTOR, "button.link").click()
    reached = driver.switch_to.active_element
    assert reached.is_displayed() and reached.find_element(By.XPATH, "./ancestor::details[@class='section'][2]") == first


def check_plan(driver):
    result = held_data(driver)["result"]
    rows = driver.execute_script("""
      const table = [...document.querySelectorAll('caption')].find(of => of.textContent.startsWith('Stages of the plan')).parentNode;
      return table.tBodies[0].rows.length;""")
    assert rows == len(result["plan"]["stages"]) > 0
    check_reasons(driver, "One by one", result["strategies"][0]["iteration_time_s"])


def check_traces(driver):
    cards = {card.find_element(By.TAG_NAME, "dt").text: card.find_element(By.CSS_SELECTOR, ".value").text for card in driver.find_elements(By.CSS_SELECTOR, ".card")}
    assert cards["Error"] == "-50.0 %", cards


def check_training(driver):
    """Each part of the lost time says what it is made of, and every figure has a reason."""
    data = held_data(driver)
    for key, seconds in data["result"]["lost"].items():
        reason = data["explanation"]["figures"][f"lost.{key}"]
        assert reason["meaning"] and (seconds == 0 or reason.get("formula")), (key, reason)
    for key, value in data["result"].items():
        if value is not None and not isinstance(value, (dict, list)) and key not in ("program_version", "data_hash"):
            assert key in data["explanation"]["figures"], key
    whys = driver.find_elements(By.CSS_SELECTOR, ".card .why")
    assert len(whys) >= 7, len(whys)


def check_choices(driver):
    """Other axes make other plots."""
    across, up = driver.find_elements(By.CSS_SELECTOR, ".choices select")
    for select, value in ((up, "memory_peak_bytes"), (across, "strategy.recompute")):
        driver.execute_script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", select, value)
    wait_for_drawings(driver)
    title = driver.execute_script("return document.querySelector('svg.chart title').textContent")
    assert title == "peak memory over strategy.recompute", title
    data = held_data(driver)
    at = [column["key"] for column in data["columns"]].index("memory_peak_bytes")
    points = driver.find_elements(By.CSS_SELECTOR, "svg .point")
    assert len(points) == len([row for row in data["rows"] if row[at] is not None]) > 0


def check_again(driver):
    """`show` replaces what it drew, as often as it is called."""
    drawn = driver.execute_script("""
      const main = document.querySelector('main');
      const data = JSON.parse(document.getElementById('mirfak-data').textContent);
      const before = main.children.length;
      mirfak.show(main, data); mirfak.show(main, data);
      return [before, main.children.length];""")
    assert drawn[0] == drawn[1] > 0, drawn


def check_formats(driver):
    wanted = json.loads(subprocess.run([FIGURES], capture_output=True, text=True, check=True).stdout)
    shown = driver.execute_script("return arguments[0].map(([name, value]) => mirfak.format[name](value))", wanted)
    wrong = [(*case, text) for case, text in zip(wanted, shown) if text != case[2]]
    assert len(wanted) > 4000 and not wrong, wrong[:5]


def check_without_scripts(folder):
    driver = chromium(scripts=False)
    try:
        for kind in HEADINGS:
            driver.get((folder / f"{kind}.html").as_uri())
            assert len(driver.find_element(By.CSS_SELECTOR, "noscript pre").text) > 200, kind
    finally:
        driver.quit()


def check_pages(folder):
    driver = chromium()
    try:
        for kind in HEADINGS:
            show_at(driver, 1280, False)
            driver.get((folder / f"{kind}.html").as_uri())
            wait_for_drawings(driver)
            check_structure(driver, kind)
            {"simulate": lambda of: (check_figures(of), check_timeline(of), check_formats(of)), "sweep": check_choices,
             "search": lambda of: (check_plot(of), check_reasons(of, "One by one", held_data(of)["result"]["strategies"][0]["iteration_time_s"])),
             "plan": check_plan, "jobs": lambda of: check_reasons(of, "Job by job", held_data(of)["result"]["jobs"][0]["mean_s"]),
             "capture": check_capture, "traces": check_traces, "train": check_training}.get(kind, lambda of: None)(driver)
            check_sorting(driver, kind)
            check_looks(driver, kind)
            check_print(driver, kind)
            check_again(driver)
            check_nothing_is_loaded(driver, kind)
            print(f"{kind}: as it should be", flush=True)
    finally:
        driver.quit()


with tempfile.TemporaryDirectory() as name:
    make_pages(pathlib.Path(name), SOURCE, PROGRAM, MEASURED_TRACE)
    check_pages(pathlib.Path(name))
    check_without_scripts(pathlib.Path(name))
