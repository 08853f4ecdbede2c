"""Published rows beside what their captured programs are predicted to take: judge.py CAPTURES FIRST-CONTACT MIRFAK.

CAPTURES has what captures.sh makes; FIRST-CONTACT is ../shared/first-contact; MIRFAK is the program. Rows of tiers A and
B are judged: those of which the source states the layout. Blocks of a Qwen are alike: what one more costs follows from
captures with 2 and 4 of them. Where the host decides, which it does not with few blocks, the capture is of all. A step of 8
microbatches follows in the same way from steps of 1 and 2.
"""

import csv
import json
import pathlib
import subprocess
import sys

LAYERS = {"qwen-1.8b": 24, "qwen-7b": 32, "qwen-14b": 40, "qwen-72b": 80}
PRECISIONS = {"bf16": "bf16", "float8 tensorwise": "tensorwise", "float8 rowwise": "rowwise"}
NODES = {"H100": ("hgx-h100", "hgx-h100-96g"), "MI300X": ("mi300x-8",)}


class Judge:
    def __init__(self, captures, mirfak):
        self.captures, self.mirfak = pathlib.Path(captures), mirfak

    def simulated(self, name, node):
        command = [self.mirfak, "simulate", self.captures / f"{name}.capture", "--nodes", f"{node}:1", "--format", "json"]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode not in (0, 3):  # 3: memory
            sys.exit(ran.stderr)
        return json.loads(ran.stdout)

    def qwen(self, row):
        """Seconds of a step, and of the host's work in it."""
        model, tokens, layers = row["model"], row["seq_len"], LAYERS[row["model"]]
        whole = (self.captures / f"{model}-{layers}-{tokens}-1.capture").exists()
        of_depth = [self.eight(f"{model}-{depth}-{tokens}") for depth in ((layers,) if whole else (2, 4))]
        few, more = of_depth[0], of_depth[-1]
        step, host = (less + (layers - 2) / 2 * (most - less) for less, most in zip(few, more, strict=True))
        return max(step, host), host  # with few layers the GPU still has work from before, when the host is late

    def eight(self, name):
        """Seconds of a step of 8 microbatches and of its host, from those of 1 and of 2."""
        one, two = (self.simulated(f"{name}-{count}", "dgx-a100-80g") for count in (1, 2))
        sides = zip(self.of_step(one), self.of_step(two), strict=True)
        return [first + 7 * (second - first) for first, second in sides]

    @staticmethod
    def of_step(said):
        return said["iteration_time_s"], said["ranks"][0]["host_work_s"]


def rows_of(folder, table, tiers="AB"):
    with (folder / f"{table}.csv").open() as file:
        yield from ((line, row) for line, row in enumerate(csv.DictReader(file), 2) if row["tier"] in tiers)


def own_predictions(folder):
    with (folder / "predictions.csv").open() as file:
        return {(row["table"], int(row["line"])): float(row["predicted_s"]) for row in csv.DictReader(file)}


def show(errors, name, measured, predicted, own, more=""):
    errors.append((abs(predicted / measured - 1), abs(own / measured - 1) if own else None))
    said = f"{own / measured - 1:+.1%}" if own else "-"
    print(f"| {name} | {measured:.4g} s | {predicted:.3g} s | {predicted / measured - 1:+.1%} | {said} | {more} |")


def means(errors):
    own = [pair[1] for pair in errors if pair[1] is not None]
    captured = sum(pair[0] for pair in errors) / len(errors)
    print(f"\n{len(errors)} rows: mean error {captured:.1%}, own at first contact {sum(own) / len(own):.1%}\n")


def main():
    judge, folder = Judge(sys.argv[1], sys.argv[3]), pathlib.Path(sys.argv[2])
    own, qwen, titan = own_predictions(folder), [], []
    for line, row in rows_of(folder, "qwen-readme-a100"):
        step, host = judge.qwen(row)
        name = f"{row['model']}, {row['seq_len']} tokens"
        show(qwen, name, float(row["value"]), step, own.get(("qwen-readme-a100", line)), f"{host:.2g} s")
    means(qwen)
    for line, row in rows_of(folder, "torchao-e2e"):
        if row["dtype"] in PRECISIONS and row["gpu"] in NODES:
            for node in NODES[row["gpu"]]:
                step = judge.simulated(f"llama3-8b-{PRECISIONS[row['dtype']]}", node)["iteration_time_s"]
                measured, predicted = float(row["s_per_iter_derived"]), own.get(("torchao-e2e", line))
                show(titan, f"{row['dtype']} on {node}", measured, step, predicted)
    means(titan)


if __name__ == "__main__":
    main()
