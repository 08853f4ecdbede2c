"""Scenarios as users have them, for the extension."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from ._mirfak import Input, capture_scenario, is_capture
from .errors import InputError

#: A dictionary, the path of a YAML or JSON file, or its text (a str with a line break).
Scenario: TypeAlias = "Mapping[str, Any] | str | os.PathLike[str]"
#: Keys with their values, such as {"strategy.tensor": 4}, or texts as the command line has them, "strategy.tensor=4".
#: A dictionary in place of a section sets the keys in it: {"strategy": {"tensor": 4}} is the same. A text replaces it.
Overrides: TypeAlias = "Mapping[str, Any] | Iterable[str]"
DataFolder: TypeAlias = "str | os.PathLike[str] | None"
One = TypeVar("One", int, str)

#: Parts of a scenario whose keys are set one by one; any other dictionary is a value of its own.
SECTIONS = frozenset(
    {
        "cluster",
        "cluster.fabric",
        "cluster.perturbations",
        "training",
        "strategy",
        "search",
        "search.space",
        "operations",
        "operations.checkpoint",
        "operations.failures",
    }
)


def data_folder(data: DataFolder) -> str:
    """The folder that holds models/ and hw_profiles/: as given, of MIRFAK_DATA, or that of the package."""
    if data is not None:
        return os.fspath(data)
    return os.environ.get("MIRFAK_DATA") or str(pathlib.Path(__file__).parent / "data")


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # scalars and arrays of NumPy
        return value.tolist()
    raise InputError(f"a scenario cannot hold {value!r}: expected texts, numbers, booleans, lists and dictionaries")


def yaml_of(value: Any, indent: int | None = None) -> str:
    """A value as JSON, which YAML is a superset of."""
    if isinstance(value, Mapping):
        value = dict(value)
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"a scenario cannot hold this: {error}") from error


def _assignments(key: str, value: Any) -> list[str]:
    if key in SECTIONS and isinstance(value, Mapping):
        return [text for name, inner in value.items() for text in _assignments(f"{key}.{name}", inner)]
    return [f"{key}={yaml_of(value)}"]


def overrides_of(overrides: Overrides | None) -> list[str]:
    """Overrides as "key=value" texts."""
    if overrides is None:
        return []
    if isinstance(overrides, Mapping):
        return [text for key, value in overrides.items() for text in _assignments(str(key), value)]
    if isinstance(overrides, str):
        return [overrides]
    return [str(assignment) for assignment in overrides]


def input_of(
    scenario: Scenario, overrides: Overrides | None = None, data: DataFolder = None, nodes: Sequence[str] = ()
) -> Input:
    """The scenario, not read yet; with nodes, that of a capture."""
    folder = data_folder(data)
    assignments = overrides_of(overrides)
    if nodes:
        if not isinstance(scenario, (str, os.PathLike)) or not is_capture(os.fspath(scenario)):
            raise InputError("nodes are of a capture, and this is none", hint="say in the scenario on what it runs")
        return Input(capture_scenario(os.fspath(scenario), nodes), False, assignments, folder)
    if isinstance(scenario, Mapping):
        return Input(yaml_of(scenario, indent=2), False, assignments, folder)
    if isinstance(scenario, str) and "\n" in scenario:
        return Input(scenario, False, assignments, folder)
    if isinstance(scenario, (str, os.PathLike)):
        return Input(os.fspath(scenario), True, assignments, folder)
    raise TypeError(f"expected a scenario as a dictionary, a path or a text, found {type(scenario).__name__}")


def path_of(path: str | os.PathLike[str] | None) -> str:
    """A path; "" where none is given."""
    return "" if path is None else os.fspath(path)


def paths_of(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """One path or several."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]


def one_or_more(values: One | Iterable[One]) -> list[One]:
    """A value, or several."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    return list(values)


def one_of(name: str, value: str, choices: tuple[str, ...]) -> int:
    """The place of a value among those that an argument may have."""
    if value not in choices:
        raise InputError(f"{name}: expected {' or '.join(choices)}, found {value!r}")
    return choices.index(value)


def at_least(name: str, value: float, least: float) -> None:
    """Refuses an argument that is less."""
    if not value >= least:
        raise InputError(f"{name}: expected {least} or more, found {value}")
