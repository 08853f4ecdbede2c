"""One dispatched operator as an entry of a capture: its name, tensors, settings, bytes and FLOPs."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

# Operators of ATen that launch nothing although they return no view: they reserve memory or look at what is there.
WITHOUT_KERNEL = frozenset(
    """empty empty_like empty_strided new_empty new_empty_strided empty_permuted _unsafe_view detach lift_fresh
    set_ resize_ resize_as_ _reshape_alias sym_size sym_stride sym_numel sym_storage_offset is_same_size
    _has_compatible_shallow_copy_type is_pinned _pin_memory record_stream _nested_tensor_size""".split()
)

# Operators that write their first tensor without reading it.
OVERWRITING = frozenset(
    "copy_ fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ _foreach_copy_ _foreach_zero_".split()
)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Tensors of an argument or a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def arguments_of(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, with defaults."""
    bound = {}
    for place, argument in enumerate(function._schema.arguments):
        if place < len(arguments):
            bound[argument.name] = arguments[place]
        elif argument.name in keywords:
            bound[argument.name] = keywords[argument.name]
        elif argument.has_default_value():
            bound[argument.name] = argument.default_value
    return bound


def is_view(function: Any) -> bool:
    """An operator that returns another look at an argument."""
    return any(result.alias_info is not None and not result.alias_info.is_write for result in function._schema.returns)


def launches(function: Any, name: str) -> bool:
    """An operator that gives the GPU something to do."""
    return not (name in WITHOUT_KERNEL or is_view(function))


def held_bytes(tensor: torch.Tensor) -> int:
    """Bytes that are read for a tensor: those of expanded dimensions once."""
    count = tensor.element_size()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride or not size else 1
    return count


def shown(tensor: torch.Tensor) -> list[Any]:
    """Format, shape and, unless contiguous, strides."""
    return shown_layout(dtype_name(tensor.dtype), list(tensor.shape), list(tensor.stride()))


def shown_layout(format: str, shape: list[int], strides: list[int]) -> list[Any]:
    """Shows a tensor that is not there, as shown() does."""
    dense, expected = 1, []
    for size in reversed(shape):
        expected.insert(0, dense)
        dense *= max(size, 1)
    found = [format, shape]
    return found if strides == expected else [*found, strides]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, (bool, int, float)) for item in value):
        return [_plain(item) for item in value]
    return None


def entry_of(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> dict[str, Any]:
    """The entry of an operator that launches kernels.

    A tensor is [format, shape], or [format, shape, strides] where it is not contiguous. Bytes count each tensor once.
    """
    name = function._schema.name.split("::")[1]
    bound = arguments_of(function, arguments, keywords)
    named = {key: tensors_in(value) for key, value in bound.items()}
    read = [tensor for tensors in named.values() for tensor in tensors]
    written = tensors_in(result)
    mutated = [
        tensor
        for argument in function._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
        for tensor in tensors_in(bound.get(argument.name))
    ]
    if not written:
        written = mutated
    settings = {
        key: _plain(value)
        for key, value in bound.items()
        if not named[key] and _plain(value) is not None and key not in ("device", "layout", "pin_memory")
    }
    count = flop_registry.get(function._overloadpacket)
    skipped = {id(tensor) for tensor in mutated} if name in OVERWRITING or name.endswith("_out") else set()
    entry = {
        "name": f"{function.namespace}::{function._schema.name.split('::')[1]}",
        "overload": function._overloadname,
        "arguments": [[key, len(tensors)] for key, tensors in named.items() if tensors],
        "in": [shown(tensor) for tensor in read],
        "out": [shown(tensor) for tensor in written],
        "settings": settings,
        "read_bytes": sum(held_bytes(tensor) for tensor in read if id(tensor) not in skipped),
        "written_bytes": sum(held_bytes(tensor) for tensor in written),
    }
    if count is not None:
        entry["flop"] = int(count(*arguments, **keywords, out_val=result))
    return entry
