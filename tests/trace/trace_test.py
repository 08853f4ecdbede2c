#!/usr/bin/env python3
"""Reads a trace without mirfak, by h5py and pandas, and checks that it adds up.

usage: trace_test.py MIRFAK DATA_FOLDER SCENARIO [OPTION]...     (options of mirfak simulate)
Exit status 77: h5py, numpy or pandas is not installed.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    import pandas as pd
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def frame(group):
    return pd.DataFrame({name: column[()] for name, column in group.items()})


def names(file, table):
    return [text.decode() for text in file["names"][table][()]]


def coded(column, texts):
    return pd.Categorical.from_codes(column, texts)


def near(a, b, share=1e-9):
    return abs(a - b) <= share * max(abs(a), abs(b), 1e-300)


def load(path):
    file = h5py.File(path, "r")
    tasks = frame(file["tasks"])
    tasks["stream"] = coded(tasks["stream"], names(file, "stream"))
    tasks["kind"] = coded(tasks["kind"], names(file, "kind"))
    tasks["name"] = coded(tasks["name"], names(file, "task"))
    return file, tasks


def check_format(file):
    assert file.attrs["filetype"].decode() == "mirfak trace"
    assert file.attrs["schema_version"] == 1
    assert file["scenario"].asstr()[()].startswith("model:")
    for group in ("tasks", "ranks", "groups", "links", "shared_links", "slowed", "memory", "power", "stages"):
        lengths = {column.shape for column in file[group].values()}
        assert len(lengths) == 1, f"columns of /{group} differ in length: {lengths}"
        for column in file[group].values():
            assert column.ndim == 1 and column.chunks and column.compression == "gzip" and column.shuffle
            assert column.dtype.kind != "f" or np.isfinite(column[()]).all(), f"{column.name} holds NaN or infinity"


def check_summary(file, result):
    for key, value in file["summary"].attrs.items():
        if key in result:
            assert result[key] == value, f"{key}: {result[key]} in JSON, {value} in the trace"
    wanted = {"iteration_time_s", "tokens_per_s", "mfu", "memory_peak_bytes", "energy_j"}
    assert wanted <= set(file["summary"].attrs)
    unknown = {key for key, value in result.items() if value is None}
    assert not unknown & set(file["summary"].attrs)


def check_streams(tasks, makespan):
    """Busy and idle time of each stream add up to the iteration: its tasks neither overlap nor leave it."""
    assert (tasks["end_s"] >= tasks["start_s"]).all() and (tasks["start_s"] >= 0).all()
    assert near(tasks["end_s"].max(), makespan)
    own = tasks[tasks["stream"] != "group"]
    for row, stream in own.groupby(["rank", "stream"], observed=True):
        ordered = stream.sort_values(["start_s", "end_s"])
        busy = (ordered["end_s"] - ordered["start_s"]).sum()
        starts = ordered["start_s"].to_numpy()
        ends = ordered["end_s"].to_numpy()
        gaps = np.append(starts, makespan) - np.insert(ends, 0, 0)
        assert (gaps >= -1e-13).all(), f"tasks of {row} overlap"
        assert near(busy + gaps.sum(), makespan)


def check_bytes(tasks):
    for way in ("forward", "backward"):
        sent = tasks.loc[tasks["stream"] == f"send_{way}", "bytes"].sum()
        received = tasks.loc[tasks["stream"] == f"recv_{way}", "bytes"].sum()
        assert sent == received and sent > 0, f"{way}: {sent} bytes sent, {received} received"


def integral(series, value):
    """Returns the integral of a series of steps: each value holds until the next point."""
    times = series["time_s"].to_numpy()
    assert (np.diff(times) > 0).all()
    return (np.diff(times) * series[value].to_numpy()[:-1]).sum()


def check_power(file, ranks):
    power = frame(file["power"])
    energy = sum(integral(series, "watts") * ranks.loc[rank, "multiplicity"] for rank, series in power.groupby("rank"))
    assert near(energy, file["summary"].attrs["energy_j"])


def check_memory(file, ranks):
    peak = frame(file["memory"]).groupby("rank")["bytes"].max()
    plan = [key for key in ("stage", "replica_class") if key in ranks]
    stages = frame(file["stages"]).set_index(plan)
    for rank, most in peak.items():
        place = tuple(ranks.loc[rank, plan])
        assert near(most, stages.loc[place if len(plan) > 1 else place[0], "memory_peak_bytes"])
    assert near(peak.max(), file["summary"].attrs["memory_peak_bytes"])


def check_links(file, tasks):
    links = frame(file["links"])
    of_ranks = links[links["rank"] >= 0]
    crossed = sum(integral(series, "bytes_per_s") for _, series in of_ranks.groupby("link"))
    communication = tasks[~tasks["stream"].isin(["host", "compute", "group"])]
    assert near(crossed, communication["bytes"].sum())
    assert (links["utilisation"] >= 0).all() and (links["utilisation"] <= 1 + 1e-9).all()


def check_shared_links(file, tasks):
    links = frame(file["links"])
    series = dict(list(links[links["rank"] < 0].groupby("link")))
    shared = frame(file["shared_links"]).set_index("link")
    assert set(shared.index) == set(series)
    for link, row in shared.iterrows():
        assert near(row["bytes"], integral(series[link], "bytes_per_s"))
        assert near(row["mean_use"], integral(series[link], "utilisation") / series[link]["time_s"].max())
        assert near(row["peak_use"], series[link]["utilisation"].max(), 1e-9)
        assert (row["binds_s"] > 0) == (row["most_asked"] > 1)
    slowed = frame(file["slowed"])
    assert set(slowed["link"]) == set(shared.index[shared["binds_s"] > 0])
    assert (slowed["slowed_s"] > 0).all() and (slowed["full_speed_s"] > 0).all() and (slowed["times"] >= 1).all()
    known = set(tasks["name"].cat.codes[tasks["kind"].isin(["collective", "transfer"])])
    assert set(slowed["name"]) <= known


def check_stages(file, makespan):
    stages = frame(file["stages"])
    seconds = stages[[name for name in stages if name.endswith("_s")]].sum(axis=1)
    assert all(near(total, makespan) for total in seconds)


def main(mirfak, data, scenario, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.h5"
        command = [mirfak, "simulate", scenario, "--data", data, "--format", "json", "--trace", path, *options]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        assert [entry.name for entry in path.parent.iterdir()] == ["trace.h5"]
        file, tasks = load(path)
        makespan = file["summary"].attrs["iteration_time_s"]
        ranks = frame(file["ranks"]).set_index("rank")
        check_format(file)
        check_summary(file, result)
        check_streams(tasks, makespan)
        check_bytes(tasks)
        check_power(file, ranks)
        check_memory(file, ranks)
        check_links(file, tasks)
        check_shared_links(file, tasks)
        check_stages(file, makespan)
        print(f"{len(tasks)} tasks of {len(ranks)} ranks: all sums hold")


if __name__ == "__main__":
    main(*sys.argv[1:])
