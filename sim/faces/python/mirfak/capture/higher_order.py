"""Operators that take functions: flexible attention, kernels of Triton.

PyTorch says the shapes of their results; the function itself does not run. Attention's mask is a function of positions:
where it is one of positions alone, the corners of blocks say which blocks are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .operators import held_bytes, shown, tensors_in
from .patches import replace

BLOCK = 128  # scores of a block of flexible attention, in rows and columns
BACKWARD = ("query", "key", "value", "out", "logsumexp", "grad_out")
ATTENTION = ("flex_attention", "flex_attention_backward")


def entry_of(function: Any, arguments: Any, keywords: Any, result: Any, note: Callable[[str], None]) -> dict[str, Any]:
    """The entry of an operator that takes functions. A kernel of Triton has all of its tensors as inputs."""
    name = function.name()
    if name in ATTENTION:
        names = ("query", "key", "value") if name == ATTENTION[0] else BACKWARD
        named = {key: tensors_in(value) for key, value in zip(names, arguments, strict=False)}
        settings = {"computed": computed(arguments, name, note)}
        name = f"higher_order::{name}"
    else:
        named = {"inputs": [tensor for value in (*arguments, *_values(keywords)) for tensor in tensors_in(value)]}
        settings = {"grid": [[int(size) for size in grid] for grid in keywords.get("grid", ())]}
        name = f"triton::{_kernel_name(keywords)}" if "kernel_idx" in keywords else f"higher_order::{name}"
    read = [tensor for tensors in named.values() for tensor in tensors]
    written = tensors_in(result)
    return {
        "name": name,
        "overload": "",
        "arguments": [[key, len(tensors)] for key, tensors in named.items() if tensors],
        "in": [shown(tensor) for tensor in read],
        "out": [shown(tensor) for tensor in written],
        "settings": {key: value for key, value in settings.items() if value},
        "read_bytes": sum(map(held_bytes, read)),
        "written_bytes": sum(map(held_bytes, written)),
    }


def triton_entry(name: str, arguments: dict[str, Any], grid: Any) -> dict[str, Any]:
    """The entry of a kernel of Triton. Nothing says which of its tensors are written: all count as read."""
    size = grid(arguments) if callable(grid) else grid
    named = {key: tensors_in(value) for key, value in arguments.items()}
    touched = [tensor for tensors in named.values() for tensor in tensors]
    return {
        "name": f"triton::{name}",
        "overload": "",
        "arguments": [[key, len(tensors)] for key, tensors in named.items() if tensors],
        "in": [shown(tensor) for tensor in touched],
        "out": [],
        "settings": {"grid": [int(count) for count in (size if isinstance(size, tuple) else (size,))]},
        "read_bytes": sum(map(held_bytes, touched)),
        "written_bytes": 0,
    }


def install_triton(launched: Callable[[Callable[[], dict[str, Any]]], None]) -> None:
    """Kernels of Triton are told to `launched` in place of compiled; an autotuned one takes its first configuration."""
    if find_spec("triton") is None:
        return
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool = False, **keywords: Any) -> None:
        known = {parameter.name: parameter.default for parameter in kernel.params if parameter.has_default}
        bound = known | dict(zip(kernel.arg_names, arguments, strict=False)) | keywords
        if not warmup:
            launched(lambda: triton_entry(kernel.__name__, bound, grid))

    def tuned(tuner: Any, *arguments: Any, **keywords: Any) -> Any:
        return tuner.fn.run(*arguments, **{**keywords, **tuner.configs[0].all_kwargs()})

    replace(JITFunction, "run", run)
    replace(Autotuner, "run", tuned)


def _values(keywords: Any) -> list[Any]:
    """Values of keyword arguments, with those of mappings among them."""
    return [item for value in keywords.values() for item in (value.values() if isinstance(value, dict) else (value,))]


def _kernel_name(keywords: Any) -> str:
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    kernel = kernel_side_table.get_kernel(keywords["kernel_idx"])
    return str(getattr(kernel, "__name__", getattr(getattr(kernel, "fn", None), "__name__", "kernel")))


def computed(arguments: Any, name: str, note: Callable[[str], None]) -> float:
    """Share of the blocks of scores of which the mask of flexible attention lets any through."""
    masks = _conjuncts(arguments[4 if name == "flex_attention" else 9][-1])
    rows, columns = (_corners(tensor.shape[-2]) for tensor in arguments[:2])
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
            note("a mask of flex_attention that depends on data: taken to let everything through")
    return allowed


def _conjuncts(mask: Any) -> list[Any]:
    """Masks that have to hold together (torch.nn.attention.flex_attention.and_masks)."""
    names = getattr(getattr(mask, "__code__", None), "co_freevars", ())
    held = dict(zip(names, (cell.cell_contents for cell in getattr(mask, "__closure__", None) or ()), strict=False))
    if "mask_mods" in held and mask.__name__ == "and_mask":
        return [part for inner in held["mask_mods"] for part in _conjuncts(inner)]
    return [mask]
