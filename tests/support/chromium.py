"""Debian's Chromium without a window, led by Debian's selenium. Where one of them is missing, importing this ends the test as
skipped: exit status 77."""

import shutil
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-selenium)")
    sys.exit(77)
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not BROWSER or not DRIVER:
    print("skipped: there is no browser (Debian: chromium chromium-driver)")
    sys.exit(77)


def chromium(*flags, scripts=True, reaches=()):
    """A driver of a browser that finds no host but those that it `reaches`, and logs what it asks for and complains of."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    hosts = ", ".join(["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in reaches)])
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--host-resolver-rules={hosts}", *flags):
        options.add_argument(flag)
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def show_at(driver, width, dark, height=900):
    """Shows the page in a window of this width, by light or dark."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


def wait_for_drawings(driver):
    """Waits until every drawing that is seen fills its place."""
    driver.set_script_timeout(60)
    driver.execute_async_script("""
      const done = arguments[0];
      const fills = place => !place.checkVisibility() || place.clientWidth < 240 ||
        Math.abs(place.firstChild.viewBox.baseVal.width - place.clientWidth) < 2;
      const look = () => requestAnimationFrame(() => [...document.querySelectorAll('.drawing')].every(fills) ? done() : look());
      look();""")
