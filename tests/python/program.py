"""Runs the program, for tests that the package says the same."""

import json
import os
import pathlib
import subprocess

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])


def printed(*arguments):
    run = subprocess.run(
        [os.environ["MIRFAK_PROGRAM"], *map(str, arguments), "--data", SOURCE, "--format", "json"],
        capture_output=True, text=True,
    )
    if run.returncode not in (0, 3):
        raise AssertionError(run.stderr)
    return json.loads(run.stdout)


def of_program(*arguments):
    """The result without what the program says of itself."""
    said = ("program_version", "data_hash")
    return {key: value for key, value in printed(*arguments).items() if key not in said}


def without_clock(result):
    """A result but for how long it took to find."""
    if isinstance(result, list):
        return [without_clock(item) for item in result]
    if not isinstance(result, dict):
        return result
    clocks = ("wall_time_s", "search_time_s", "funnel", "simulated_days_per_s")
    return {key: without_clock(value) for key, value in result.items() if key not in clocks}
