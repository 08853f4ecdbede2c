"""Scores other simulators on the published rows that mirfak is scored on.

usage: score.py [--mirfak PROGRAM] [--calculon CHECKOUT] [--llm-analysis] [--tiers AB] [--rows OUT.csv] [TABLE.csv ...]

Prints a table in Markdown: for each simulator the rows that it can express, its errors over these rows, and mirfak's
errors over the same rows. README.md says how each is called.
"""

from __future__ import annotations

import argparse
import collections
import csv
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from calculon_peer import Calculon
from jobs import Job, NotExpressed, Reader
from llm_analysis_peer import LlmAnalysis

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 on; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in order[first : last + 1]:
            out[place] = (first + last) / 2 + 1
        first = last + 1
    return out


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Rank correlation; nan for fewer than two rows."""
    if len(a) < 2:
        return math.nan
    try:
        return statistics.correlation(ranks(a), ranks(b))
    except statistics.StatisticsError:
        return math.nan


class Scores:
    """Errors of predictions, predicted / measured - 1."""

    def __init__(self, predicted: Sequence[float], measured: Sequence[float]) -> None:
        errors = [p / m - 1 for p, m in zip(predicted, measured, strict=True)]
        self.rows = len(errors)
        self.mape = statistics.fmean(map(abs, errors)) if errors else math.nan
        self.median = statistics.median(map(abs, errors)) if errors else math.nan
        self.bias = statistics.fmean(errors) if errors else math.nan
        self.spearman = spearman(predicted, measured)


def table_mean(jobs: Sequence[Job], predicted: Sequence[float]) -> tuple[float, float, int]:
    """Means over tables of the mean and median absolute error, and the number of tables."""
    by_table: dict[str, list[float]] = collections.defaultdict(list)
    for job, seconds in zip(jobs, predicted, strict=True):
        by_table[job.table].append(abs(seconds / job.measured_s - 1))
    if not by_table:
        return math.nan, math.nan, 0
    means = statistics.fmean(map(statistics.fmean, by_table.values()))
    return means, statistics.fmean(map(statistics.median, by_table.values())), len(by_table)


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f} %"


def line_of(name: str, jobs: Sequence[Job], predicted: Sequence[float], all_rows: int, seconds: float | None) -> str:
    scores = Scores(predicted, [job.measured_s for job in jobs])
    mean, median, tables = table_mean(jobs, predicted)
    took = "-" if seconds is None or not jobs else f"{1e3 * seconds / len(jobs):.1f} ms"
    correlation = "-" if math.isnan(scores.spearman) else f"{scores.spearman:.3f}"
    return (
        f"| {name} | {scores.rows} of {all_rows} | {tables} | {percent(mean)} | {percent(median)} | "
        f"{percent(scores.mape)} | {percent(scores.bias)} | {correlation} | {took} |"
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirfak", type=pathlib.Path, default=ROOT / "build/release/mirfak")
    parser.add_argument("--calculon", type=pathlib.Path, help="a checkout of Calculon")
    parser.add_argument("--llm-analysis", action="store_true", help="installed in this Python")
    parser.add_argument("--tiers", default="AB")
    parser.add_argument("--rows", type=pathlib.Path, help="write every row's predictions to this CSV")
    parser.add_argument("tables", nargs="*", type=pathlib.Path)
    given = parser.parse_args(arguments)
    peers: list[Any] = []
    if given.calculon:
        peers.append(Calculon(given.calculon))
    if given.llm_analysis:
        peers.append(LlmAnalysis())
    if not peers:
        parser.error("name a simulator: --calculon CHECKOUT, --llm-analysis")
    reader = Reader(given.mirfak, ROOT)
    jobs = [
        job
        for table in given.tables or sorted((ROOT / "validate/published").glob("*.csv"))
        for job in reader.jobs(table, given.tiers)
    ]
    print("| simulator | rows | tables | MAPE, mean over tables | median | MAPE, all rows | bias | Spearman | a row |")
    print("|---|---|---|---|---|---|---|---|---|")
    reasons = {}
    written: dict[tuple[str, int], dict[str, Any]] = {
        (job.table, job.line): {"measured_s": job.measured_s, "mirfak_s": job.mirfak_s} for job in jobs
    }
    for peer in peers:
        expressed, predicted, why = [], [], collections.Counter()
        begun = time.process_time()
        for job in jobs:
            try:
                seconds = peer.seconds(job)
            except NotExpressed as reason:
                why[str(reason)] += 1
                continue
            expressed.append(job)
            predicted.append(seconds)
            written[job.table, job.line][peer.name] = seconds
        took = time.process_time() - begun
        print(line_of(peer.name, expressed, predicted, len(jobs), took))
        print(line_of("mirfak, on the same rows", expressed, [job.mirfak_s for job in expressed], len(jobs), None))
        reasons[peer.name] = why
    for name, why in reasons.items():
        print(f"\nWhat {name} does not express:\n")
        for reason, count in why.most_common():
            print(f"- {count}: {reason}")
    if given.rows:
        with given.rows.open("w", newline="") as file:
            columns = ["table", "line", "measured_s", "mirfak_s", *(peer.name for peer in peers)]
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            for (table, line), row in written.items():
                writer.writerow({"table": table, "line": line, **row})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
