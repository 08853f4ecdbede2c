#!/usr/bin/env python3
"""A thousand simulations from Python beside the same loop in C++ (mirfak_bench_simulations, named by MIRFAK_LOOP).

usage: bench_simulations.py [--smoke]
Both read a scenario with another batch each time and simulate it. Neither uses a second thread, so processor time
is what it takes on an idle machine. They take turns, and the least of five rounds counts.
"""

import os
import pathlib
import subprocess
import sys
import time

import mirfak

SCENARIOS = pathlib.Path(os.environ["MIRFAK_SOURCE"], "scenarios")
CASES = {  # simulations of a round
    "gpt-22b-a100-seqpar.yaml": 200,
    "gpt3-175b-a100.yaml": 50,
    "llama2-70b-h100.yaml": 5,
    "gpt-1t-a100.yaml": 5,
}


def of_python(scenario, count):
    """Milliseconds a simulation, and the sum of all iterations."""
    sum_s = mirfak.simulate(scenario, {"training.global_batch": 1536}).iteration_time_s  # reads the hardware
    sum_s = 0.0
    begin = time.process_time()
    for i in range(count):
        sum_s += mirfak.simulate(scenario, {"training.global_batch": 1536 * (1 + i % 4)}).iteration_time_s
    return (time.process_time() - begin) / count * 1000, sum_s


def of_cpp(scenario, count):
    said = subprocess.run([os.environ["MIRFAK_LOOP"], str(count), scenario], check=True, capture_output=True, text=True)
    _, milliseconds, sum_s = said.stdout.split()
    return float(milliseconds), float(sum_s)


def main(smoke):
    rounds = 1 if smoke else 5
    print(f"milliseconds of processor time of one simulation, the least of {rounds} rounds")
    print(f"{'scenario':<28} {'round':>6} {'C++':>8} {'Python':>8} {'ratio':>7}")
    for name, count in CASES.items():
        count = 2 if smoke else count
        scenario = str(SCENARIOS / name)
        turns = [(of_cpp(scenario, count), of_python(scenario, count)) for _ in range(rounds)]
        for (_, cpp_sum), (_, python_sum) in turns:
            if abs(cpp_sum - python_sum) > 1e-6 * cpp_sum:
                sys.exit(f"{name}: C++ and Python simulate something else: {cpp_sum} and {python_sum}")
        cpp = min(milliseconds for (milliseconds, _), _ in turns)
        python = min(milliseconds for _, (milliseconds, _) in turns)
        print(f"{name:<28} {count:>6} {cpp:>8.3f} {python:>8.3f} {python / cpp:>7.3f}", flush=True)


if __name__ == "__main__":
    main("--smoke" in sys.argv[1:])
