#!/usr/bin/env python3
"""The time-energy frontier by mirfak and by ml-energy/lowtime, the reference implementation of Perseus (arXiv 2312.06902),
in one run, on the same measured profile: seconds for the whole frontier, and energy at the same iteration times.

usage: frontier_beside_lowtime.py MIRFAK PROFILE.csv [--blocking-power W] [--size STAGESxMICROBATCHES]...

lowtime is installed with `pip install lowtime`; without it, mirfak's column alone is printed. Default sizes: 8x4 and 8x8
of an 8-stage profile (lowtime takes seconds for them, minutes for 8x64).
"""

import argparse
import bisect
import csv
import json
import subprocess
import sys
import time
from collections import defaultdict

UNIT_TIME = 0.001  # seconds: what lowtime quantises to


def read_profile(path):
    choices = defaultdict(list)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = int(row["stage"]), row["instruction"]
            choices[key].append((int(float(row["frequency"])), float(row["time"]), float(row["energy"])))
    return choices


def mirfak_frontier(program, profile, stages, microbatches, blocking_power):
    command = [program, "frontier", "--profile", profile, "--stages", str(stages), "--microbatches", str(microbatches),
               "--blocking-power", str(blocking_power), "--format", "json"]
    begin = time.perf_counter()
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = time.perf_counter() - begin
    return seconds, [(point["iteration_time_s"], point["energy_j"]) for point in answer["points"]]


def energy_at(points, iteration_time):
    """Least energy of an iteration that may take so long; None if it cannot be so short."""
    after = bisect.bisect_left(points, (iteration_time, 0.0))
    if after == len(points):
        return points[-1][1]
    if after == 0:
        return points[0][1] if points[0][0] <= iteration_time else None
    (left, left_energy), (right, right_energy) = points[after - 1], points[after]
    return left_energy + (right_energy - left_energy) * (iteration_time - left) / (right - left)


def lowtime_frontier(profile, stages, microbatches, blocking_power):
    """Seconds, and plans as (realised time, realised energy): the profile's own figures at the clocks assigned."""
    import networkx
    from lowtime.cost_model import ExponentialModel
    from lowtime.operation import CandidateExecutionOptions, DummyOperation, ExecutionOption, OperationSpec
    from lowtime.perseus.instruction import Backward, Forward, backward_dep, forward_dep
    from lowtime.perseus.schedule import Synchronous1F1B
    from lowtime.solver import PhillipsDessouky

    begin = time.perf_counter()
    choices = read_profile(profile)
    specs = defaultdict(dict)
    for (stage, instruction), rows in choices.items():
        options = CandidateExecutionOptions(options=[
            ExecutionOption(real_time=seconds, unit_time=UNIT_TIME, cost=energy - blocking_power * seconds, knob=clock)
            for clock, seconds, energy in rows])
        kind = Forward if instruction == "forward" else Backward
        specs[stage][kind] = OperationSpec(options=options, cost_model=ExponentialModel(options))
    dag = networkx.DiGraph()
    dag.add_node(0, op=DummyOperation())
    dag.graph["source_node"] = 0
    by_stage, operations = defaultdict(list), {}
    for stage in range(stages):
        for operation in Synchronous1F1B(stages, microbatches, stage, specs[stage]):
            node = len(operations) + 1
            operations[node] = operation
            by_stage[stage].append(node)
            dag.add_node(node, op=operation)
    for nodes in by_stage.values():
        dag.add_edges_from(zip(nodes, nodes[1:]))
    place = {(type(op), op.stage_id, op.micro_batch_id): node for node, op in operations.items()}
    for (kind, stage, microbatch), node in place.items():
        rule, neighbour = (forward_dep, stage + 1) if kind is Forward else (backward_dep, stage - 1)
        other = place.get((kind, neighbour, microbatch))
        if other is not None and rule(operations[node], operations[other]):
            dag.add_edge(node, other)
    sink = len(operations) + 1
    dag.add_node(sink, op=DummyOperation())
    dag.graph["sink_node"] = sink
    for node in operations:
        if dag.in_degree(node) == 0:
            dag.add_edge(0, node)
        if dag.out_degree(node) == 0:
            dag.add_edge(node, sink)

    figures = {(stage, Forward if instruction == "forward" else Backward, clock): (seconds, energy)
               for (stage, instruction), rows in choices.items() for clock, seconds, energy in rows}
    order = list(networkx.topological_sort(dag))
    plans = []
    for number, _ in enumerate(PhillipsDessouky(dag).run()):
        if number % 20:
            continue
        end, energy = {0: 0.0}, 0.0
        for node in order[1:]:
            start = max(end[before] for before in dag.predecessors(node))
            if node == sink:
                end[node] = start
                continue
            op = operations[node]
            seconds, joules = figures[op.stage_id, type(op), op.assigned_knob]
            end[node] = start + seconds
            energy += joules - blocking_power * seconds
        plans.append((end[sink], energy + stages * blocking_power * end[sink]))
    return time.perf_counter() - begin, plans


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    arguments.add_argument("mirfak")
    arguments.add_argument("profile")
    arguments.add_argument("--blocking-power", type=float, default=83.64)
    arguments.add_argument("--size", action="append")
    given = arguments.parse_args()
    try:
        import lowtime  # noqa: F401
        has_lowtime = True
    except ImportError:
        has_lowtime = False
        print("lowtime is not installed: pip install lowtime", file=sys.stderr)
    print(f"{'size':>8}{'mirfak s':>12}{'lowtime s':>12}{'ratio':>10}{'mirfak over lowtime, energy at the same time':>48}")
    for size in given.size or ["8x4", "8x8"]:
        stages, microbatches = (int(number) for number in size.split("x"))
        seconds, points = mirfak_frontier(given.mirfak, given.profile, stages, microbatches, given.blocking_power)
        if not has_lowtime:
            print(f"{size:>8}{seconds:>12.4f}")
            continue
        theirs, plans = lowtime_frontier(given.profile, stages, microbatches, given.blocking_power)
        ratios = [ours / energy for when, energy in plans if (ours := energy_at(points, when)) is not None]
        print(f"{size:>8}{seconds:>12.4f}{theirs:>12.2f}{theirs / seconds:>10.0f}"
              f"{f'{min(ratios) - 1:+.2%} to {max(ratios) - 1:+.2%}':>48}")


if __name__ == "__main__":
    main()
