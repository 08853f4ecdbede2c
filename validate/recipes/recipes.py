"""Makes scenarios of the names of Megatron-Bridge's performance recipes, and simulates them.

usage: recipes.py [--mirfak PROGRAM] scenario NAME       print the scenario of a recipe, with its layout from the table
       recipes.py [--mirfak PROGRAM] table NAMES.csv     write the table: choose a layout of each recipe, and simulate it
       recipes.py [--mirfak PROGRAM] check               simulate all rows of the table again, and print what differs
       recipes.py [--mirfak PROGRAM] renew               simulate all rows of the table again, and write them

The words of names stand in words.yaml, the table in validate/recipes.csv. README.md says what its columns are.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import difflib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import h5py
import yaml

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parent / "recipes.csv"
COLUMNS = [
    *("function", "model", "nodes", "task", "precision", "variant"),
    *("layout", "fit_probability", "memory_gib", "iteration_s", "reason"),
]
POINTS = 1000  # of a sweep
NAME = re.compile(
    r"(?P<model>\w+?)_(?P<task>[a-z]+)_(?P<gpus>\d+)gpu_(?P<machine>[a-z0-9]+)_(?P<precision>[a-z0-9]+)"
    r"(?:_(?P<variant>\w+))?_config"
)

Scenario = dict[str, Any]


class Refused(Exception):
    """A recipe that no scenario describes, and why."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The words of a recipe's name. `gpus`: how many it runs on."""

    function: str
    model: str
    task: str
    gpus: int
    machine: str
    precision: str
    variants: tuple[str, ...]

    @property
    def group(self) -> tuple[Any, ...]:
        """Returns the words that decide its layout: all but the precision."""
        return self.model, self.task, self.gpus, self.machine, self.variants


def flow(value: Any) -> str:
    """YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**9).strip().removesuffix("\n...")


def put(scenario: Scenario, keys: dict[str, Any]) -> None:
    """Sets keys such as `training.precision`."""
    for key, value in keys.items():
        section, _, last = key.rpartition(".")
        (scenario[section] if section else scenario)[last] = value


class Words:
    """The words of words.yaml, and what mirfak says of the models and nodes that they name."""

    def __init__(self, mirfak: str) -> None:
        self.mirfak = mirfak
        self.tables = yaml.safe_load((HERE / "words.yaml").read_text())
        self.layers = {model["name"]: int(model["layers"]) for model in self._list("models")}
        self.node_gpus = {node["name"]: int(node["gpus"]) for node in self._list("nodes")}

    def _list(self, kind: str) -> list[dict[str, Any]]:
        out = subprocess.run([self.mirfak, "list", kind, "--format", "json"], check=True, capture_output=True, text=True)
        return json.loads(out.stdout)[kind]

    def _known(self, table: str, word: str, function: str) -> str:
        known = self.tables[table]
        if word in known:
            return word
        near = difflib.get_close_matches(word, known, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise Refused(f"'{word}' is no word of words.yaml, {table}{hint}, in {function}")

    def recipe(self, function: str) -> Recipe:
        """Reads a name. Raises Refused for a word that is not known, or that words.yaml refuses."""
        match = NAME.fullmatch(function)
        if match is None:
            raise Refused(f"expected MODEL_TASK_NUMBERgpu_MACHINE_PRECISION[_VARIANT]_config, found '{function}'")
        if match["model"] in self.tables["refused"]:
            raise Refused(self.tables["refused"][match["model"]])
        return Recipe(
            function,
            self._known("models", match["model"], function),
            self._known("tasks", match["task"], function),
            int(match["gpus"]),
            self._known("machines", match["machine"], function),
            self._known("precisions", match["precision"], function),
            tuple(self._variants(match["variant"] or "", function)),
        )

    def _variants(self, text: str, function: str) -> Iterator[str]:
        """Cuts `partial_cg_dev` into words that are known."""
        words = text.split("_") if text else []
        while words:
            for length in range(len(words), 0, -1):
                if "_".join(words[:length]) in self.tables["variants"]:
                    break
            yield self._known("variants", "_".join(words[:length]), function)
            words = words[length:]

    def model_of(self, recipe: Recipe) -> str:
        return self.tables["models"][recipe.model]

    def nodes_of(self, recipe: Recipe) -> dict[str, Any]:
        kind = self.tables["machines"][recipe.machine]
        size = self.node_gpus[kind]
        if recipe.gpus % size != 0:
            raise Refused(f"{recipe.gpus} GPUs are no whole number of nodes of {size} ({kind})")
        return {"type": kind, "count": recipe.gpus // size}

    def scenario(self, recipe: Recipe, layout: dict[str, Any]) -> Scenario:
        assumed = self.tables["assumed"]
        batch = max(assumed["least_global_batch"], assumed["sequences_per_gpu"] * recipe.gpus)
        out: Scenario = {
            "model": self.model_of(recipe),
            "cluster": {"nodes": [self.nodes_of(recipe)]},
            "training": {"framework": assumed["framework"], "global_batch": batch},
            "strategy": dict(assumed["strategy"]),
        }
        out["training"] |= self.tables["precisions"][recipe.precision]
        for size in ("tensor", "expert"):
            if layout.get(size, 1) > 1:
                out["strategy"] |= assumed["with_" + size]
        out["strategy"] |= layout
        put(out, self.tables["tasks"][recipe.task])
        for variant in recipe.variants:
            keys = self.tables["variants"][variant]
            if isinstance(keys, dict):
                put(out, keys)
        return out

    def layouts(self, recipe: Recipe, recompute: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """All layouts of words.yaml whose sizes divide the job, with one of these ways to save memory."""
        choices = self.tables["layouts"]
        layers = self.layers[self.model_of(recipe)]
        for tensor, pipeline, expert in itertools.product(choices["tensor"], choices["pipeline"], choices["expert"]):
            stage = recipe.gpus // pipeline
            if recipe.gpus % pipeline != 0 or stage % tensor != 0 or stage % expert != 0 or pipeline > layers:
                continue
            layout: dict[str, Any] = {"tensor": tensor, "pipeline": pipeline, "expert": expert}
            if layers % pipeline != 0:
                layout["layer_split"] = near_even(layers, pipeline)
            for saving in recompute:
                yield layout | saving


def near_even(layers: int, stages: int) -> list[int]:
    """Layers of each stage; those left over lie in the middle, because the ends have the embedding and the head."""
    least, more = divmod(layers, stages)
    first = (stages - more) // 2
    return [least + (first <= stage < first + more) for stage in range(stages)]


@dataclasses.dataclass(frozen=True)
class Point:
    """The outcome of a simulated scenario. `reason`: why there is no time; empty if there is one."""

    seconds: float
    fit_probability: float
    memory_bytes: float
    reason: str


def simulate(mirfak: str, scenarios: Sequence[Scenario]) -> list[Point]:
    """Simulates scenarios in one run of `mirfak sweep`."""
    keys = ["model", "cluster", "training", "strategy"]
    axis = {key: [scenario[key] for scenario in scenarios] for key in keys}
    with tempfile.TemporaryDirectory() as folder:
        sweep = pathlib.Path(folder) / "recipes.yaml"
        lines = ["scenario: " + flow(scenarios[0]), "axes:", "  - zip:"]
        lines += [f"      {key}: {flow(values)}" for key, values in axis.items()]
        sweep.write_text("\n".join(lines) + "\n")
        out = pathlib.Path(folder) / "recipes.h5"
        subprocess.run([mirfak, "sweep", sweep, "--out", out], check=True, stdout=subprocess.DEVNULL)
        with h5py.File(out) as file:
            reasons = [text.decode() for text in file["names/reason"][()]]
            names = ("iteration_time_s", "fit_probability", "memory_peak_bytes", "reason")
            columns = [file["points"][name][()] for name in names]
            return [
                Point(float(seconds), float(fits), float(memory), reasons[reason])
                for seconds, fits, memory, reason in zip(*columns, strict=True)
            ]


def simulated_in_parts(mirfak: str, scenarios: Sequence[Scenario]) -> Iterator[Point]:
    """Simulates as many scenarios as a sweep's text may hold at once."""
    for first in range(0, len(scenarios), POINTS):
        yield from simulate(mirfak, scenarios[first : first + POINTS])


@dataclasses.dataclass(frozen=True)
class Choice:
    """A layout of a recipe, and whether it fits with the probability that is wanted."""

    layout: dict[str, Any]
    fits: bool


def best(choices: Iterable[tuple[dict[str, Any], Point]], enough: float) -> Choice:
    """The fastest layout that fits; else the one that needs least memory; where none runs, the most divided one."""
    tried = list(choices)
    ran = [(layout, point) for layout, point in tried if not point.reason]
    fitting = [(point.seconds, place) for place, (_, point) in enumerate(ran) if point.fit_probability >= enough]
    least = [(point.memory_bytes, place) for place, (_, point) in enumerate(ran)]
    return Choice(ran[min(fitting or least)[1]][0] if ran else tried[-1][0], bool(fitting))


def chosen(words: Words, recipes: Sequence[Recipe]) -> list[dict[str, Any]]:
    """A layout of each recipe, by its own precision. Ways to save memory are tried in rounds, until one fits."""
    out = [Choice({}, False) for _ in recipes]
    for saving in words.tables["layouts"]["rounds"]:
        left = [place for place, choice in enumerate(out) if not choice.fits]
        tried = [(place, layout) for place in left for layout in words.layouts(recipes[place], saving)]
        points = simulated_in_parts(words.mirfak, [words.scenario(recipes[place], layout) for place, layout in tried])
        of_each: dict[int, list[tuple[dict[str, Any], Point]]] = {place: [] for place in left}
        for (place, layout), point in zip(tried, points, strict=True):
            of_each[place].append((layout, point))
        for place, choices in of_each.items():
            out[place] = best(choices, words.tables["layouts"]["fit_probability"])
    return [choice.layout for choice in out]


def layouts_of(words: Words, recipes: Sequence[Recipe]) -> dict[str, dict[str, Any]]:
    """Layouts by function. Recipes that differ in precision alone have the layout of the first, where it fits."""
    firsts = {recipe.group: recipe for recipe in reversed(recipes)}
    of_groups = dict(zip(firsts, chosen(words, list(firsts.values())), strict=True))
    out = {recipe.function: of_groups[recipe.group] for recipe in recipes}
    points = simulated_in_parts(words.mirfak, [words.scenario(recipe, out[recipe.function]) for recipe in recipes])
    enough = words.tables["layouts"]["fit_probability"]
    simulated = zip(recipes, points, strict=True)
    others = [recipe for recipe, point in simulated if point.reason or point.fit_probability < enough]
    for recipe, layout in zip(others, chosen(words, others), strict=True):
        out[recipe.function] = layout
    return out


def row_of(words: Words, recipe: Recipe, layout: dict[str, Any], point: Point) -> dict[str, str]:
    nodes = words.nodes_of(recipe)
    return {
        "function": recipe.function,
        "model": words.model_of(recipe),
        "nodes": f"{nodes['type']}:{nodes['count']}",
        "task": recipe.task,
        "precision": words.tables["precisions"][recipe.precision]["precision"],
        "variant": " ".join(recipe.variants),
        "layout": flow(layout),
        "fit_probability": "" if point.reason else f"{point.fit_probability:.2f}",
        "memory_gib": "" if point.reason else f"{point.memory_bytes / 2**30:.1f}",
        "iteration_s": "" if point.reason else f"{point.seconds:.6g}",
        "reason": point.reason,
    }


def read_names(words: Words, functions: Iterable[str]) -> tuple[list[Recipe], dict[str, str]]:
    """Recipes, and the reasons of names that are refused."""
    recipes, refused = [], {}
    for function in functions:
        try:
            recipe = words.recipe(function)
            words.nodes_of(recipe)
            recipes.append(recipe)
        except Refused as reason:
            refused[function] = str(reason)
    return recipes, refused


def table(words: Words, functions: Sequence[str]) -> list[dict[str, str]]:
    recipes, refused = read_names(words, functions)
    layouts = layouts_of(words, recipes)
    points = simulated_in_parts(words.mirfak, [words.scenario(recipe, layouts[recipe.function]) for recipe in recipes])
    rows = {}
    for recipe, point in zip(recipes, points, strict=True):
        rows[recipe.function] = row_of(words, recipe, layouts[recipe.function], point)
    for function, reason in refused.items():
        rows[function] = dict.fromkeys(COLUMNS, "") | {"function": function, "reason": reason}
    return [rows[function] for function in functions]


def read_table() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def simulated_again(words: Words, rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The rows with the same layouts and today's predictions."""
    recipes, refused = read_names(words, [row["function"] for row in rows])
    layouts = {row["function"]: yaml.safe_load(row["layout"]) for row in rows}
    points = simulated_in_parts(words.mirfak, [words.scenario(recipe, layouts[recipe.function]) for recipe in recipes])
    now = {function: {"reason": reason} for function, reason in refused.items()}
    for recipe, point in zip(recipes, points, strict=True):
        now[recipe.function] = row_of(words, recipe, layouts[recipe.function], point)
    return [row | now[row["function"]] for row in rows]


def differences(words: Words, rows: Sequence[dict[str, str]]) -> Iterator[str]:
    """Simulates all rows again: sentences on what is not as the table says."""
    for known, now in zip(rows, simulated_again(words, rows), strict=True):
        for column in COLUMNS:
            if now[column] != known[column]:
                yield f"{known['function']}: {column} is {now[column]}, the table says {known[column]}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirfak", default="mirfak")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("scenario").add_argument("name")
    commands.add_parser("table").add_argument("names", type=pathlib.Path)
    commands.add_parser("check")
    commands.add_parser("renew")
    options = parser.parse_args(arguments)
    words = Words(options.mirfak)
    if options.command == "scenario":
        layout = next((row["layout"] for row in read_table() if row["function"] == options.name), "") or "{}"
        try:
            scenario = words.scenario(words.recipe(options.name), yaml.safe_load(layout))
            print(yaml.safe_dump(scenario, sort_keys=False), end="")
        except Refused as reason:
            print(f"recipes.py: {options.name}: {reason}", file=sys.stderr)
            return 2
        return 0
    if options.command == "check":
        found = list(differences(words, read_table()))
        print(*found, sep="\n")
        return 1 if found else 0
    if options.command == "renew":
        rows = simulated_again(words, read_table())
    else:
        with options.names.open(newline="") as file:
            functions = [row["function"] for row in csv.DictReader(file)]
        rows = table(words, functions)
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
