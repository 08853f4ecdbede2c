"""Joins what real processes did, one file for each rank as ../shared/capture/tools/launch.py writes it, to one file.

    python ../shared/capture/tools/launch.py 4 FOLDER tests/capture/programs/ring.py
    python tests/capture/truth.py FOLDER ring > tests/capture/programs/ring.truth.json

The file has the fields of `python -m mirfak.capture show --format json` that do not depend on the device. `--as A=B`: on
the CPU the program calls A where on a GPU it calls B, with the same bytes.
"""

import argparse
import json
import pathlib

ENTRY = ("kind", "ranks", "dtype", "via", "async", "op", "root", "peer", "in_splits", "out_splits")


def entry_of(call, renamed):
    known = {key: call[key] for key in ENTRY if call.get(key) is not None}
    kind = renamed.get(call["kind"], call["kind"])
    return known | {"kind": kind, "in_bytes": call["in"], "out_bytes": call["out"]}


def runs(places):
    out = []
    for place in places:
        if out and out[-1][1] == place:
            out[-1][0] += 1
        else:
            out.append([1, place])
    return out


def rank_of(recorded, table, renamed):
    places = []
    for call in recorded["collectives"]:
        entry = entry_of(call, renamed)
        if entry not in table:
            table.append(entry)
        places.append(table.index(entry))
    fields = ("count", "op", "a", "b", "dtype")
    return {
        "collectives": runs(places),
        "products": [dict(zip(fields, product, strict=True)) for product in recorded["products"]],
        "param_bytes": recorded["param_bytes"],
        "optimizer_state_bytes": recorded["opt_state_bytes"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("program")
    parser.add_argument("--as", dest="renamed", action="append", default=[], metavar="A=B")
    options = parser.parse_args()
    renamed = dict(pair.split("=") for pair in options.renamed)
    files = sorted(options.folder.glob(f"{options.program}.*.json"), key=lambda path: int(path.suffixes[0][1:]))
    table, ranks = [], {}
    for file in files:
        recorded = json.loads(file.read_text())
        if recorded["sdpa"] or recorded["unknown"]:
            parser.error(f"{file}: has attention or unknown calls, which are not taken over")
        ranks[file.suffixes[0][1:]] = rank_of(recorded, table, renamed)
    if not ranks:
        parser.error(f"{options.folder} has no {options.program}.0.json")
    found = {"program": options.program, "world_size": len(ranks), "renamed": renamed, "collective_table": table}
    first = ranks["0"]
    said = {rank: {"same_as": 0} if rank != "0" and what == first else what for rank, what in ranks.items()}
    lines = [f"  {json.dumps(rank)}: {json.dumps(what)}" for rank, what in said.items()]
    head = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    print("{\n" + head + ',\n "ranks": {\n' + ",\n".join(lines) + "\n }\n}")


if __name__ == "__main__":
    main()
