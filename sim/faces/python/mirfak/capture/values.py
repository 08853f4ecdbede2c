"""Values of fake tensors that are known nevertheless, and those that are stated.

A fake has no values. But a small tensor of integers or booleans often has known ones: it was copied from the host, made
by arange or full, or computed from such tensors. Where all arguments of an operator are known, it also runs on the
host, so that counters, offsets, masks and split sizes that a program reads back are right. Where nothing is known, a
value is stated, and the capture notes it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Container
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .operators import arguments_of, tensors_in

LIMIT = 1 << 21  # elements of a tensor whose values are followed

# Counts of the writes to each storage.
_writes: dict[int, int] = {}

LIKE = frozenset("zeros_like ones_like full_like new_zeros new_ones new_full".split())
RANDOM_INTEGERS = frozenset(("randint", "random_", "randperm"))
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
# Operators whose result has the same elements however many elements their tensors have.
OF_EQUALS = frozenset("logical_or logical_and logical_not bitwise_or bitwise_and bitwise_not any all max min".split())
OF_EQUALS |= {"amax", "amin", "_to_copy"}
CHECKS = {"isnan": False, "isinf": False, "isfinite": True, "isposinf": False, "isneginf": False}


def known(tensor: torch.Tensor, just_written: Container[int] = ()) -> torch.Tensor | None:
    """Values of `tensor` on the host, or None. just_written: storages of which those before the last write count."""
    if not isinstance(tensor, FakeTensor):
        return tensor if tensor.device.type == "cpu" and tensor.numel() <= LIMIT else None
    held = getattr(tensor, "known_values", None)
    storage = _storage(tensor)
    return held[0] if held is not None and held[1] == _writes.get(storage, 0) - (storage in just_written) else None


def remember(tensor: torch.Tensor, values: torch.Tensor) -> None:
    if isinstance(tensor, FakeTensor):
        tensor.known_values = values, _writes.get(_storage(tensor), 0)


def remember_equal(tensor: torch.Tensor, value: Any) -> None:
    """Every element of a tensor of any size has one value."""
    if followed(tensor):
        remember(tensor, torch.full(tensor.shape, value, dtype=tensor.dtype))
    else:
        tensor.equal_values = value, _writes.get(_storage(tensor), 0)


def _of_equals(function: Any, arguments: Any) -> Any:
    """The result of an operator of tensors whose elements are equal; None where one is not known to be."""
    plain = []
    for value in arguments:
        if isinstance(value, FakeTensor):
            held = getattr(value, "equal_values", None)
            if held is None or held[1] != _writes.get(_storage(value), 0):
                return None
            value = torch.full((), held[0])
        plain.append(value)
    try:
        found = function(*plain)
    except (RuntimeError, IndexError):
        return None
    return found.item() if isinstance(found, torch.Tensor) else None


def written(function: Any, arguments: Any, keywords: Any) -> set[int]:
    """Forgets values of whatever shares memory with a tensor that `function` writes. Returns the storages."""
    storages: set[int] = set()
    if not function._schema.is_mutable:
        return storages
    for name, value in arguments_of(function, arguments, keywords).items():
        if any(item.name == name and item.is_write for item in function._schema.arguments):
            for tensor in tensors_in(value):
                if _storage(tensor) not in storages:
                    forget(tensor)
                storages.add(_storage(tensor))
    return storages


def forget(tensor: torch.Tensor) -> None:
    """Something has written to the tensor."""
    if isinstance(tensor, FakeTensor):
        _writes[_storage(tensor)] = _writes.get(_storage(tensor), 0) + 1


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def followed(tensor: torch.Tensor) -> bool:
    """A tensor whose values are worth following: few integers or booleans, or one number."""
    exact = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex
    return tensor.numel() <= (LIMIT if exact else 1)


def on_host(value: Any, just_written: Container[int] = ()) -> Any:
    """An argument with known values in place of fakes, and the host in place of GPUs. Raises LookupError."""
    if isinstance(value, torch.Tensor):
        values = known(value, just_written)
        if values is None:
            raise LookupError
        return values
    if isinstance(value, (list, tuple)):
        return type(value)(on_host(item, just_written) for item in value) if tensors_in(value) else value
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value


def follow(function: Any, name: str, arguments: Any, keywords: Any, result: Any, just_written: set[int]) -> None:
    """Gives the result of an operator the values that can be known or are stated. just_written: see written()."""
    if name == "_amp_foreach_non_finite_check_and_unscale_":  # a scaler of gradients finds none that is not finite
        remember(arguments[1], torch.zeros(arguments[1].shape, dtype=arguments[1].dtype))
        return
    results = [tensor for tensor in tensors_in(result) if isinstance(tensor, FakeTensor)]
    if not results:
        return
    stated = CHECKS.get(name, _compared(name, arguments))
    if stated is None and name in OF_EQUALS:
        stated = _of_equals(function, arguments)
    if stated is not None:
        remember_equal(results[0], stated)
        return
    if not all(map(followed, results)):
        return
    if name in RANDOM_INTEGERS:
        bounds = [value for value in arguments if isinstance(value, int)]
        count = torch.arange(results[0].numel(), dtype=results[0].dtype).reshape(results[0].shape)
        remember(results[0], count % max(bounds[0] if len(bounds) == 1 else bounds[1] if bounds else 1, 1))
        return
    if torch.Tag.nondeterministic_seeded in function.tags or name.startswith(("empty", "new_empty")):
        return
    if name in LIKE:  # the values of what it is like do not matter
        arguments = (torch.empty(arguments[0].shape, dtype=arguments[0].dtype), *arguments[1:])
    try:
        on = (
            tuple(on_host(value, just_written) for value in arguments),
            {key: on_host(value, just_written) for key, value in keywords.items()},
        )
    except LookupError:
        return
    for index, tensor in enumerate(tensors_in(on[0])):
        if function._schema.is_mutable and index == 0:
            on = ((tensor.clone(), *on[0][1:]), on[1])
    try:
        values = tensors_in(function(*on[0], **on[1]))
    except (RuntimeError, NotImplementedError, IndexError, ValueError):
        return  # an operator without a kernel for the host
    for fake, value in zip(results, values, strict=False):
        if fake.shape == value.shape and fake.dtype == value.dtype:
            remember(fake, value)


def _compared(name: str, arguments: Any) -> bool | None:
    """Decides a comparison of unknown values; None: it cannot be decided.

    isfinite and isinf are written as comparisons with infinity, or of a tensor with itself. One number is 1, as where a
    program reads it.
    """
    compare = COMPARISONS.get(name.rstrip("_"))
    if compare is None or known(arguments[0]) is not None:
        return None
    if arguments[1] is arguments[0]:
        return name == "eq" if name in ("eq", "ne") else None
    if not isinstance(arguments[1], (int, float)):
        return None
    if math.isinf(arguments[1]) and name in ("eq", "ne"):
        return name == "ne"
    return compare(1, arguments[1]) if arguments[0].numel() == 1 else None


def balanced(function: Any, name: str, arguments: Any, result: Any) -> bool:
    """States the choice of `topk` and `argmax` among unknown scores: as many for each, in turn."""
    if name == "topk":
        indices = tensors_in(result)[1]
    elif name == "argmax":
        indices = tensors_in(result)[0]
    else:
        return False
    if known(indices) is None and indices.numel() <= LIMIT and arguments[0].dim():
        among = arguments[0].shape[-1]
        remember(indices, (torch.arange(indices.numel()) % among).reshape(indices.shape))
        return True
    return False
