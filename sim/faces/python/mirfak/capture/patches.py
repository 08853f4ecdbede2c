"""Attributes of PyTorch's modules and classes replaced for a capture, and put back after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_replaced: list[tuple[Any, str, Any]] = []


def replace(owner: Any, name: str, value: Any) -> Any:
    """Replaces `owner.name` and returns what it was. A name that is not there is added."""
    before = vars(owner).get(name, _replaced)
    _replaced.append((owner, name, before))
    setattr(owner, name, value)
    return before


def at_restore(undo: Callable[[], None]) -> None:
    """Undoes, with the replacements, what is no attribute."""
    _replaced.append((undo, "", None))


def restore() -> None:
    """Puts everything back, the last first."""
    while _replaced:
        owner, name, before = _replaced.pop()
        if not name:
            owner()
        elif before is _replaced:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
