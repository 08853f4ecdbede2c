"""The schemas as an editor uses them: every shipped file is valid, and what mirfak refuses for its keys or types is not."""

import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-jsonschema, python3-yaml)")
    sys.exit(77)
import json

SOURCE = pathlib.Path(sys.argv[1])
PROGRAM = sys.argv[2]


class Loader(yaml.SafeLoader):
    """YAML 1.2, where 1e12 is a number and 2027-03-31 a word."""

    yaml_implicit_resolvers = {
        sign: [(tag, form) for tag, form in forms if not tag.endswith(":timestamp")]
        for sign, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$"), list("-+0123456789"))


def schema(name):
    printed = subprocess.run([PROGRAM, "schema", name], capture_output=True, text=True, check=True)
    loaded = json.loads(printed.stdout)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def kind_of(text):
    if not isinstance(text, dict):
        return None
    if "axes" in text:
        return "sweep"
    if "options" in text:
        return "comparison"
    return "scenario" if "cluster" in text and ("model" in text or "jobs" in text) else None


SCHEMAS = {name: schema(name) for name in ("scenario", "sweep", "comparison")}
checked = {name: 0 for name in SCHEMAS}
files = [*(SOURCE / "scenarios").rglob("*.yaml"), *(SOURCE / "tests" / "schema" / "examples").glob("*.yaml")]
for file in sorted(files):
    if "templates" in file.parts:
        continue
    text = yaml.load(file.read_text(), Loader=Loader)
    kind = kind_of(text)
    if kind is None:
        continue
    faults = [f"{fault.json_path}: {fault.message}" for fault in SCHEMAS[kind].iter_errors(text)]
    assert not faults, f"{file}: {faults[0]}"
    checked[kind] += 1
assert checked["scenario"] > 50 and checked["sweep"] and checked["comparison"], checked

GOOD = {"model": "llama3-8b", "cluster": {"nodes": [{"type": "hgx-h100", "count": 2}]},
        "training": {"global_batch": 128}, "strategy": {"tensor": 4}}
WRONG = [
    ("strategy", "tensr", 4),
    ("strategy", "tensor", "four"),
    ("strategy", "tensor", 0),
    ("strategy", "recompute", "all"),
    ("training", "precision", "fp12"),
    ("training", "global_batch", 12.5),
    ("cluster", "pue", 0.5),
    ("cluster", "fabric", {"type": "ring-of-rings"}),
    ("cluster", "nodes", {"type": "hgx-h100"}),
]
RESULTS = {
    "simulate": ["simulate", "scenarios/llama3-405b-h100.yaml"],
    "search": ["search", "scenarios/search-mixed-a100-h100.yaml"],
    "frontier": ["frontier", "scenarios/energy/llama3-70b-h100.yaml"],
}
for name, command in RESULTS.items():
    finished = subprocess.run([PROGRAM, *command, "--format", "json"], capture_output=True, text=True, check=True, cwd=SOURCE)
    result = json.loads(finished.stdout)
    faults = [f"{fault.json_path}: {fault.message}" for fault in schema(name).iter_errors(result)]
    assert not faults, f"{name}: {faults[0]}"
    del result["program_version"]
    assert not schema(name).is_valid(result)

assert SCHEMAS["scenario"].is_valid(GOOD)
for section, key, value in WRONG:
    wrong = json.loads(json.dumps(GOOD))
    wrong[section][key] = value
    assert not SCHEMAS["scenario"].is_valid(wrong), (section, key, value)
without = json.loads(json.dumps(GOOD))
del without["training"]["global_batch"]
assert not SCHEMAS["scenario"].is_valid(without)
print(checked)
