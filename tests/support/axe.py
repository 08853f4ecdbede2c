"""axe-core, which finds what keeps people from reading a page, from a package of PyPI that holds it. Where none is installed,
importing this ends the test as skipped: exit status 77."""

import importlib.util
import pathlib
import sys

PACKAGES = ("axe_playwright_python", "axe_core_python")  # the first holds the newer axe-core; only the script is used


def script():
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec and spec.origin and (pathlib.Path(spec.origin).parent / "axe.min.js").is_file():
            return (pathlib.Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    print("skipped: axe-core is not installed (pip install --no-deps axe-playwright-python)")
    sys.exit(77)


AXE = script()


def axe_issues(driver):
    """All that axe finds fault with, each with the first element that has it."""
    driver.set_script_timeout(120)
    driver.execute_script(f"if (!window.axe) {{ {AXE} }}")
    found = driver.execute_async_script("axe.run(document, {resultTypes: ['violations']}).then(arguments[0])")
    return [f"{issue['id']} ({len(issue['nodes'])} times): {issue['nodes'][0]['html'][:160]}: {issue['nodes'][0]['failureSummary'][:200]}"
            for issue in found["violations"]]
