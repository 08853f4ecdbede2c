"""Every kind of page, and the page of `mirfak serve` in its states, without an issue that axe-core finds: on a phone and a
desktop, light and dark.

usage: axe_test.py SOURCE MIRFAK MEASURED_TRACE
Exit status 77: there is no browser, nothing that leads it, or no axe-core.
"""

import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "serve")]
from axe import axe_issues  # noqa: E402
from chromium import chromium, show_at, wait_for_drawings  # noqa: E402
from layout import layout_faults  # noqa: E402
from page_kinds import make_pages  # noqa: E402
from served import serve  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

SOURCE, PROGRAM, MEASURED_TRACE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
LOOKS = ((390, False), (1400, True))


def check(driver, what):
    for width, dark in LOOKS:
        show_at(driver, width, dark)
        wait_for_drawings(driver)
        issues = axe_issues(driver)
        assert not issues, (what, width, issues)
    print(f"{what}: no issue", flush=True)


def check_page_that_opens(driver, what):
    """Checks a page with a reason unfolded in a tile, and one in a table."""
    for selector in (".card .why summary", "table .why summary"):
        for summary in driver.find_elements(By.CSS_SELECTOR, selector)[:1]:
            driver.execute_script("arguments[0].click()", summary)
    check(driver, what)


def check_served():
    with serve(PROGRAM, SOURCE) as served, tempfile.TemporaryDirectory() as profile:
        driver = chromium(f"--user-data-dir={profile}", reaches=["127.0.0.1"])
        try:
            driver.get(served.url)
            answered = lambda: driver.execute_script("return document.body.dataset.asked > 0 && document.body.dataset.answered === document.body.dataset.asked")
            WebDriverWait(driver, 20).until(lambda _: answered())
            check(driver, "serve")
            for width in (390, 1400, 2200):
                show_at(driver, width, False)
                wait_for_drawings(driver)
                assert driver.execute_script("return document.documentElement.scrollWidth") <= width
                faults = layout_faults(driver)
                assert not faults, (width, faults)
        finally:
            driver.quit()


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    make_pages(folder, SOURCE, PROGRAM, MEASURED_TRACE)
    driver = chromium()
    try:
        for page in sorted(folder.glob("*.html")):
            driver.get(page.as_uri())
            check_page_that_opens(driver, page.stem)
    finally:
        driver.quit()
check_served()
