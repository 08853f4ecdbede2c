"""Scenarios as users have them, for the extension."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ._mirfak import Input
from .errors import InputError

#: A dictionary, the path of a YAML or JSON file, or its text (a str with a line break).
Scenario: TypeAlias = "Mapping[str, Any] | str | os.PathLike[str]"
#: Keys with their values, such as {"strategy.tensor": 4}, or texts as the command line has them, "strategy.tensor=4".
Overrides: TypeAlias = "Mapping[str, Any] | Iterable[str]"


def data_folder(data: str | os.PathLike[str] | None) -> str:
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


def overrides_of(overrides: Overrides | None) -> list[str]:
    """Overrides as "key=value" texts."""
    if overrides is None:
        return []
    if isinstance(overrides, Mapping):
        return [f"{key}={yaml_of(value)}" for key, value in overrides.items()]
    if isinstance(overrides, str):
        return [overrides]
    return [str(assignment) for assignment in overrides]


def input_of(
    scenario: Scenario, overrides: Overrides | None = None, data: str | os.PathLike[str] | None = None
) -> Input:
    """The scenario, not read yet."""
    folder = data_folder(data)
    assignments = overrides_of(overrides)
    if isinstance(scenario, Mapping):
        return Input(yaml_of(scenario, indent=2), False, assignments, folder)
    if isinstance(scenario, str) and "\n" in scenario:
        return Input(scenario, False, assignments, folder)
    if isinstance(scenario, (str, os.PathLike)):
        return Input(os.fspath(scenario), True, assignments, folder)
    raise TypeError(f"expected a scenario as a dictionary, a path or a text, found {type(scenario).__name__}")
