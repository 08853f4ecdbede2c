"""Files of captures: written whole, read strictly.

A capture is text in lines, compressed by gzip: a header, three tables, a line for each rank, and a line that says how
many lines there are and the CRC-32 of their bytes. The same capture has the same bytes. README.md describes each
field.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import pathlib
import zlib
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from .roles import Groups

VERSION = 1
TABLES = ("operators", "collectives", "modules")

# Places of tables in events, by the event's first word.
REFERENCES = {"op": (("operators", 1), ("modules", 2)), "comm": (("collectives", 1), ("modules", 2))}


def did_the_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Two records of ranks that are equal but for lines of Python, of which ranks execute a few more or less."""
    return one.get("dispatched") == other.get("dispatched") and _without_lines(one) == _without_lines(other)


def _without_lines(recorded: dict[str, Any]) -> dict[str, Any]:
    events = [event for event in recorded.get("events", []) if event[0] != "python"]
    return {key: value for key, value in recorded.items() if key != "python_lines"} | {"events": events}


@dataclass
class Capture:
    """header: how the capture was made. tables: distinct entries. ranks: what each rank did, by its number.

    A rank has its record, or names another: `same_as`, which did the same, or `like`, which did the same in the
    corresponding groups (roles.py).
    """

    header: dict[str, Any]
    tables: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in TABLES})
    ranks: dict[int, dict[str, Any]] = field(default_factory=dict)

    def rank(self, number: int) -> dict[str, Any]:
        """Returns what a rank did, if need be from the rank that did the same or alike."""
        found = self.ranks[number]
        if "same_as" in found:
            return self.rank(found["same_as"])
        if "like" not in found:
            return found
        played = self.rank(found["like"])
        return played | {"events": [self._moved(event, number) for event in played["events"]]}

    def captured(self) -> list[int]:
        """Ranks with a record of their own."""
        return [number for number, found in sorted(self.ranks.items()) if not {"same_as", "like"} & found.keys()]

    def calls(self, number: int) -> list[list[Any]]:
        """Events of communication of a rank, in order."""
        found = self.ranks[number]
        played = self.rank(found.get("like", number))
        calls = [event for event in played["events"] if event[0] == "comm"]
        return [self._moved(event, number) for event in calls] if "like" in found else calls

    def _moved(self, event: list[Any], rank: int) -> list[Any]:
        if event[0] != "comm":
            return event
        places = self._moved_places
        if (event[1], rank) not in places:
            entry = self.groups.moved(self.tables["collectives"][event[1]], rank)
            places[event[1], rank] = self._place("collectives", entry)
        return ["comm", places[event[1], rank], *event[2:]]

    @functools.cached_property
    def _moved_places(self) -> dict[tuple[int, int], int]:
        return {}

    @functools.cached_property
    def groups(self) -> Groups:
        """Process groups of the job."""
        families = self.header.get("groups", [])
        return Groups(self.header["world_size"], [group for family in families for group in family])

    def add(self, number: int, tables: dict[str, list[Any]], recorded: dict[str, Any]) -> None:
        """Adds a rank with tables of its own, whose entries join those that are there."""
        places = {name: [self._place(name, entry) for entry in tables[name]] for name in TABLES}
        for event in recorded["events"]:
            for name, position in REFERENCES.get(event[0], ()):
                event[position] = places[name][event[position]]
        for other, there in self.ranks.items():
            if did_the_same(there, recorded):
                self.ranks[number] = {"same_as": other}
                return
        self.ranks[number] = recorded

    @functools.cached_property
    def _known(self) -> dict[str, dict[str, int]]:
        return {
            name: {json.dumps(entry, sort_keys=True): place for place, entry in enumerate(entries)}
            for name, entries in self.tables.items()
        }

    def _place(self, name: str, entry: Any) -> int:
        known = self._known[name]
        key = json.dumps(entry, sort_keys=True)
        if key not in known:
            known[key] = len(self.tables[name])
            self.tables[name].append(entry)
        return known[key]


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def write_capture(capture: Capture, path: str | os.PathLike[str]) -> None:
    """Writes a capture; under its name the file is complete or not at all."""
    lines = [_line({"mirfak_capture": VERSION, **capture.header})]
    lines += [_line({"table": name, "entries": capture.tables[name]}) for name in TABLES]
    lines += [_line({"rank": number, **capture.ranks[number]}) for number in sorted(capture.ranks)]
    text = b"".join(lines)
    text += _line({"lines": len(lines), "crc32": zlib.crc32(text)})
    path = pathlib.Path(path)
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_bytes(_packed(text))
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise _refused(str(path), f"cannot be written: {error.strerror}", hint="") from None


def _packed(text: bytes) -> bytes:
    """gzip without a time."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packing.compress(text) + packing.flush()


def read_capture(path: str | os.PathLike[str]) -> Capture:
    """Reads a capture. Raises InputError for a file that is none, is cut off, edited or of another version."""
    name = os.fspath(path)
    try:
        packed = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise _refused(name, f"cannot be read: {error.strerror}", hint="") from None
    if packed[:2] != b"\x1f\x8b":
        raise _refused(name, "expected a capture, which is compressed by gzip")
    try:
        text = gzip.decompress(packed)
    except (EOFError, OSError, zlib.error):
        raise _refused(name, "the file is cut off or damaged") from None
    lines = text.splitlines(keepends=True)
    try:
        parsed = [json.loads(line) for line in lines]
    except ValueError:
        raise _refused(name, "expected a line of JSON", _first_bad(lines)) from None
    return _checked(name, lines, parsed)


def _checked(name: str, lines: list[bytes], parsed: list[Any]) -> Capture:
    if not parsed or not isinstance(parsed[0], dict) or "mirfak_capture" not in parsed[0]:
        raise _refused(name, 'expected a capture, which begins with {"mirfak_capture": ...', 1)
    header = dict(parsed[0])
    version = header.pop("mirfak_capture")
    if version != VERSION:
        raise _refused(name, f"this is a capture of version {version}, and version {VERSION} is read", 1)
    end = parsed[-1]
    if not isinstance(end, dict) or end.get("lines") != len(lines) - 1:
        raise _refused(name, "the file is cut off: its last line says how many lines come before it", len(lines))
    if end.get("crc32") != zlib.crc32(b"".join(lines[:-1])):
        raise _refused(name, "the file was edited: its last line has the CRC-32 of what was written", len(lines))
    tables = {line["table"]: line["entries"] for line in parsed[1 : 1 + len(TABLES)]}
    ranks = {line.pop("rank"): line for line in parsed[1 + len(TABLES) : -1]}
    return Capture(header, tables, ranks)


def _first_bad(lines: list[bytes]) -> int:
    for number, line in enumerate(lines, 1):
        try:
            json.loads(line)
        except ValueError:
            return number
    return len(lines)


def _refused(name: str, message: str, line: int | None = None, hint: str = "capture the program again") -> InputError:
    text = f"{name}:{line}: {message}" if line else f"{name}: {message}"
    return InputError(f"{text}\n  {hint}" if hint else text, name, line, None, message, hint)
