#!/usr/bin/env python3
"""Reads the trace of a captured step without mirfak, and checks that it adds up to what JSON says.

usage: captured_trace_test.py MIRFAK DATA_FOLDER CAPTURE TYPE:COUNT
Exit status 77: h5py, numpy or pandas is not installed (trace_test.py).
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import trace_test
from trace_test import frame, integral, near


def check_summary(file, result):
    figures = {key: value for key, value in file["summary"].attrs.items() if key not in ("scenario", "program", "capture")}
    assert {"iteration_time_s", "hardware_flop", "energy_j", "memory_peak_bytes"} <= set(figures)
    for key, value in figures.items():
        assert result[key] == value, f"{key}: {result[key]} in JSON, {value} in the trace"
    assert file["summary"].attrs["capture"].decode() == result["capture"]["hash"]


def check_ranks(file, tasks, result):
    """Columns are those of JSON; energy of kernels and of waiting add up to that of the rank."""
    ranks = frame(file["ranks"])
    power = dict(list(frame(file["power"]).groupby("rank")))
    assert list(ranks["rank"]) == [rank["rank"] for rank in result["ranks"]]
    for (_, row), rank in zip(ranks.iterrows(), result["ranks"]):
        for key, value in rank["activities"].items():
            assert row[key] == value, key
        assert row["memory_peak_bytes"] == rank["memory_peak_bytes"]
        assert near(integral(power[row["rank"]], "watts"), rank["energy_j"], 1e-6)
        own = tasks[tasks["rank"] == row["rank"]]
        host = own[own["stream"] == "host"]
        assert near((host["end_s"] - host["start_s"]).sum(), rank["host_work_s"], 1e-6)
        waiting = power[row["rank"]]["watts"].min() * result["iteration_time_s"]
        assert near(own["energy_j"].sum() + waiting, rank["energy_j"], 1e-6)


def check_tasks(file, tasks, result):
    kernels = tasks[tasks["stream"] == "compute"]
    for _, stream in kernels.groupby(["rank", "cuda_stream"]):
        ordered = stream.sort_values(["start_s", "end_s"])
        assert (ordered["start_s"].to_numpy()[1:] >= ordered["end_s"].to_numpy()[:-1] - 1e-13).all(), "kernels overlap"
    assert near(tasks["end_s"].max(), result["iteration_time_s"])
    longest = kernels[kernels["rank"] == result["longest_rank"]]
    operators = [of for of in result["operators"] if not of["communicates"]]
    assert len(longest) == sum(of["calls"] for of in operators)
    assert near(longest["flop"].sum(), sum(of["flop"] for of in operators))
    assert near(longest["bytes"].sum(), sum(of["bytes"] for of in operators))
    assert (tasks["module"] < len(file["names/module"])).all() and (tasks["phase"] < len(file["names/phase"])).all()
    modules = [name.decode() for name in file["names/module"]]
    assert any(modules[code] for code in kernels["module"])
    joint = tasks[tasks["group"] >= 0]
    assert set(joint["stream"].unique()) <= {"communication"}
    groups = frame(file["groups"])
    assert set(joint["group"]) == set(groups["group"])
    for _, task in joint.iterrows():
        assert task["rank"] in set(groups.loc[groups["group"] == task["group"], "rank"])


def main(mirfak, data, capture, nodes):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.h5"
        command = [mirfak, "simulate", capture, "--nodes", nodes, "--data", data, "--format", "json", "--trace", path]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        file, tasks = trace_test.load(path)
        assert file.attrs["filetype"].decode() == "mirfak trace" and file.attrs["schema_version"] == 1
        assert set(file) == {"names", "summary", "ranks", "groups", "tasks", "power", "scenario"}
        for group in ("tasks", "ranks", "groups", "power"):
            assert len({column.shape for column in file[group].values()}) == 1, f"columns of /{group} differ in length"
        check_summary(file, result)
        check_ranks(file, tasks, result)
        check_tasks(file, tasks, result)
        # The scenario is the one that was simulated.
        again = pathlib.Path(folder) / "again.yaml"
        again.write_text(file["scenario"].asstr()[()])
        command = [mirfak, "simulate", again, "--data", data, "--format", "json"]
        assert json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["iteration_time_s"] == result["iteration_time_s"]
        print(f"{len(tasks)} tasks of {len(result['ranks'])} captured ranks: all sums hold")


if __name__ == "__main__":
    main(*sys.argv[1:])
