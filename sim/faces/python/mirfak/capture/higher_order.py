"""Operators that take functions: flexible attention, kernels of Triton.

PyTorch says the shapes of their results; the function itself does not run.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch

from . import masks
from .operators import held_bytes, shown, tensors_in
from .patches import replace

COMPILED = torch._higher_order_ops.inductor_compiled_code
BACKWARD = ("query", "key", "value", "out", "logsumexp", "grad_out")
ATTENTION = ("flex_attention", "flex_attention_backward")
MASK_PLACE = {"flex_attention": 4, "flex_attention_backward": 9}  # among arguments: the mask is the last of what is there


def entry_of(function: Any, arguments: Any, keywords: Any, result: Any, note: Callable[[str], None]) -> dict[str, Any]:
    """The entry of an operator that takes functions. A kernel of Triton has all of its tensors as inputs."""
    name = function.name()
    if name in ATTENTION:
        names = ("query", "key", "value") if name == ATTENTION[0] else BACKWARD
        named = {key: tensors_in(value) for key, value in zip(names, arguments, strict=False)}
        mask = arguments[MASK_PLACE[name]][-1]
        queries, keys = (tensor.shape[-2] for tensor in arguments[:2])
        settings = {"computed": masks.share_of_blocks(mask, queries, keys, note)}
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
