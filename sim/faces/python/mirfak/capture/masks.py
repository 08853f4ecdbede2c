"""Masks of flexible attention, which are functions of positions, or graphs that a compiler has made of them.

Where a mask is one of positions alone, the corners of blocks say which blocks of scores are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

BLOCK = 128  # scores of a block of flexible attention, in rows and columns
OF_DATA = "a mask of flex_attention that depends on data: taken to let everything through"


def share_of_blocks(mask: Any, queries: int, keys: int, note: Callable[[str], None]) -> float:
    """Share of the blocks of scores of which a mask, a function or a graph, lets any through."""
    masks = [MaskGraph(mask, note)] if isinstance(mask, torch.fx.GraphModule) else _conjuncts(mask)
    rows, columns = _corners(queries), _corners(keys)
    found = torch.zeros(rows.shape[1], columns.shape[1], dtype=torch.bool)
    for row in rows:
        for column in columns:
            found |= _allowed(masks, row[:, None], column[None, :], note)
    return round(float(found.float().mean()), 6)


def _corners(length: int) -> torch.Tensor:
    """First and last positions of blocks."""
    first = torch.arange(0, length, BLOCK)
    return torch.stack((first, (first + BLOCK - 1).clamp(max=length - 1)))


def _allowed(masks: list[Any], rows: torch.Tensor, columns: torch.Tensor, note: Callable[[str], None]) -> torch.Tensor:
    zero = torch.zeros((), dtype=torch.int64)
    allowed = torch.ones(rows.shape[0], columns.shape[1], dtype=torch.bool)
    for mask in masks:
        try:
            found = mask(zero, zero, rows, columns)
        except (RuntimeError, IndexError, TypeError, AttributeError):
            found = None
        if isinstance(found, torch.Tensor) and not isinstance(found, FakeTensor) and found.device.type == "cpu":
            allowed &= found
        else:
            note(OF_DATA)
    return allowed


def _conjuncts(mask: Any) -> list[Any]:
    """Masks that have to hold together (torch.nn.attention.flex_attention.and_masks)."""
    names = getattr(getattr(mask, "__code__", None), "co_freevars", ())
    held = dict(zip(names, (cell.cell_contents for cell in getattr(mask, "__closure__", None) or ()), strict=False))
    if "mask_mods" in held and mask.__name__ == "and_mask":
        return [part for inner in held["mask_mods"] for part in _conjuncts(inner)]
    return [mask]


class OnHost(TorchDispatchMode):
    """Runs operators of GPUs on the host: those of single numbers, whose values Inductor folds into graphs."""

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        def here(value: Any) -> Any:
            return torch.device("cpu") if isinstance(value, torch.device) else value

        return function(*map(here, arguments), **{key: here(value) for key, value in (keywords or {}).items()})


class MaskGraph:
    """The mask of flexible attention as a graph, called with positions; None where it depends on data.

    Of a mask that has two conditions, one of positions and one of data, the one of positions counts.
    """

    CONJUNCTIONS = frozenset(("bitwise_and", "logical_and", "and_", "__and__"))

    def __init__(self, graph: torch.fx.GraphModule, note: Callable[[str], None]) -> None:
        self.graph, self.note = graph, note

    def __call__(self, *positions: torch.Tensor) -> torch.Tensor | None:
        known: dict[torch.fx.Node, Any] = {}
        given = iter(positions)
        for node in self.graph.graph.nodes:
            if node.op == "output":
                (result,) = node.all_input_nodes
                return known[result]
            if node.op == "placeholder":
                known[node] = next(given, None)
            else:
                known[node] = self._value(node, known) if node.op in ("call_function", "call_method") else None
        return None

    def _value(self, node: torch.fx.Node, known: dict[torch.fx.Node, Any]) -> Any:
        inputs = [known[other] for other in node.all_input_nodes]
        found = [value for value in inputs if value is not None]
        if len(found) == len(inputs):
            arguments, keywords = torch.fx.node.map_arg((node.args, node.kwargs), lambda other: known[other])
            with OnHost():
                if node.op == "call_method":
                    return getattr(arguments[0], node.target)(*arguments[1:], **keywords)
                return node.target(*arguments, **keywords)
        if not found or self._name(node) not in self.CONJUNCTIONS:
            return None
        self.note(OF_DATA)
        return found[0]

    @staticmethod
    def _name(node: torch.fx.Node) -> str:
        """Name of an operator, a function of Python or a method."""
        schema = getattr(node.target, "_schema", None)
        return schema.name.split("::")[-1] if schema is not None else getattr(node.target, "__name__", str(node.target))
