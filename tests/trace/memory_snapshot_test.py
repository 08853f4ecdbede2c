"""The memory snapshot as Python reads it: blocks never overlap, and the most that is allocated is the predicted peak."""

import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path


def simulate(program, scenario, *arguments):
    run = subprocess.run([program, "simulate", scenario, "--format", "json", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def check_device(trace, segment, peak_bytes):
    live, peak, total = {}, 0, 0
    last = 0
    for event in trace:
        assert event["time_us"] >= last or event["action"] != "alloc"
        last = max(last, event["time_us"])
        assert event["frames"][0]["name"]
        start, size = event["addr"], event["size"]
        assert size > 0 and size % 512 == 0
        if event["action"] == "alloc":
            assert all(start + size <= at or at + other <= start for at, other in live.items())
            live[start] = size
            total += size
        elif event["action"] == "free_completed":
            assert live.pop(start) == size
            total -= size
        else:
            assert event["action"] == "free_requested"
        peak = max(peak, total)
    rounding = 512 * len(trace)
    assert peak_bytes - 1 <= peak <= peak_bytes + rounding, (peak, peak_bytes)
    assert peak <= segment["total_size"]
    active = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
    assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
    assert {block["address"]: block["size"] for block in active} == live


def main(program, scenario, *overrides):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.pickle"
        result = simulate(program, scenario, "--memory-snapshot", str(file), *overrides)
        with file.open("rb") as data:
            snapshot = pickle.load(data)
    assert len(snapshot["device_traces"]) == len(snapshot["segments"]) == len(result["stages"])
    for trace, segment, stage in zip(snapshot["device_traces"], snapshot["segments"], result["stages"]):
        check_device(trace, segment, stage["memory"]["peak_bytes"])


main(*sys.argv[1:])
