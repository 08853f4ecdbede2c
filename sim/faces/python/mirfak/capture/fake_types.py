"""Places where PyTorch and libraries look at the type of a tensor, which of a fake is another."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim import optimizer
from torch.utils import _foreach_utils

from .patches import replace


def install() -> None:
    for module in (optimizer, _foreach_utils):
        replace(module, "_foreach_supported_types", [*module._foreach_supported_types, FakeTensor])
    _install_conversion()
    _install_transformers()


def _install_conversion() -> None:
    """Module.to("cuda") keeps its parameters' identities, as it does on a GPU: ties and optimizers depend on them.

    PyTorch swaps the contents of the parameter and its copy where it is told to; else it would make new parameters,
    because a tensor of the host cannot become a fake in place.
    """
    original = torch.nn.Module._apply

    def _apply(module: torch.nn.Module, fn: Any, recurse: bool = True) -> torch.nn.Module:
        before = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            return original(module, fn, recurse)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(before)

    replace(torch.nn.Module, "_apply", _apply)


def _after_import(name: str, change: Callable[[ModuleType], None]) -> None:
    """Changes a module, now if it has been imported, else when it is."""
    if name in sys.modules:
        change(sys.modules[name])
        return

    class Finder(MetaPathFinder):
        def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
            if fullname != name:
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def exec_module(module: ModuleType) -> None:
                    execute(module)
                    change(module)

                spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder())


def _install_transformers() -> None:
    """Transformers takes fakes for a trace, and then builds masks and repeats keys that a training has not."""

    def change(module: ModuleType) -> None:
        if hasattr(module, "is_fake_tensor"):
            replace(module, "is_fake_tensor", lambda tensor: False)

    _after_import("transformers.utils.import_utils", change)
