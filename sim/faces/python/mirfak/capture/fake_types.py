"""Places where PyTorch and libraries look at the type of a tensor, which of a fake is another."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.optim import optimizer
from torch.utils import _foreach_utils

from .patches import replace

LARGE_BYTES = 16 << 20


def install(fakes: FakeTensorMode, note: Callable[[str], None]) -> None:
    """note() remembers what is captured otherwise than it would run."""
    for module in (optimizer, _foreach_utils):
        replace(module, "_foreach_supported_types", [*module._foreach_supported_types, FakeTensor])
    _install_conversion()
    _install_data()
    _install_parameters(fakes)
    _install_transformers(note)


def _install_conversion() -> None:
    """Module.to("cuda") keeps its parameters' identities, as it does on a GPU: ties and optimizers depend on them.

    PyTorch swaps the contents of the parameter and its copy where it is told to; else it would make new parameters,
    because a tensor of the host cannot become a fake in place. Weak references stay with the parameter, too.
    """
    replace(torch.utils, "weakref", SimpleNamespace(getweakrefs=lambda tensor: []))
    original = torch.nn.Module._apply

    def _apply(module: torch.nn.Module, fn: Any, recurse: bool = True) -> torch.nn.Module:
        before = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            return original(module, fn, recurse)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(before)

    replace(torch.nn.Module, "_apply", _apply)


def _install_parameters(fakes: FakeTensorMode) -> None:
    """Large parameters of the host are fakes, too: a model of any size is made, and initialized, in no time."""
    original = torch.nn.Parameter.__new__

    def __new__(cls: type, data: Any = None, requires_grad: bool = True) -> Any:
        if type(data) is torch.Tensor and data.device.type == "cpu" and data.nbytes > LARGE_BYTES:
            with torch.utils._python_dispatch._disable_current_modes(), fakes:
                data = torch.empty_strided(data.shape, data.stride(), dtype=data.dtype)
        return original(cls, data, requires_grad)

    replace(torch.nn.Parameter, "__new__", staticmethod(__new__))


def _install_data() -> None:
    """`tensor.data = other` where `other` is a fake on another device: as in Module.to, contents are swapped."""
    original = torch._C.TensorBase.data

    def get(tensor: torch.Tensor) -> torch.Tensor:
        return original.__get__(tensor)

    def set(tensor: torch.Tensor, value: torch.Tensor) -> None:
        if not isinstance(value, FakeTensor) or (isinstance(tensor, FakeTensor) and tensor.device == value.device):
            original.__set__(tensor, value)
        elif isinstance(tensor, torch.nn.Parameter):
            torch.utils.swap_tensors(tensor, torch.nn.Parameter(value, tensor.requires_grad))
        else:
            torch.utils.swap_tensors(tensor, value.detach().requires_grad_(tensor.requires_grad))

    replace(torch.Tensor, "data", property(get, set))
    made = torch.tensor

    def tensor(data: Any, **keywords: Any) -> torch.Tensor:
        return made(_numbers(data) if isinstance(data, (list, tuple)) else data, **keywords)

    replace(torch, "tensor", tensor)


def _numbers(data: Any) -> Any:
    """Lists of numbers for lists with fakes among them: torch.tensor reads the value of each."""
    if isinstance(data, (list, tuple)):
        return type(data)(map(_numbers, data)) if any(isinstance(x, (list, tuple, FakeTensor)) for x in data) else data
    return data.item() if isinstance(data, FakeTensor) else data


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


def _install_transformers(note: Callable[[str], None]) -> None:
    """Transformers takes fakes for a trace, and then builds masks and repeats keys that a training has not.

    Pretrained models are built from their configuration, because no value of a weight matters.
    """

    def change_tests(module: ModuleType) -> None:
        if hasattr(module, "is_fake_tensor"):
            replace(module, "is_fake_tensor", lambda tensor: False)

    def change_models(module: ModuleType) -> None:
        def from_pretrained(cls: Any, name: Any, *arguments: Any, config: Any = None, **keywords: Any) -> Any:
            note("from_pretrained: weights are not read")
            if config is None:
                config = cls.config_class.from_pretrained(name)
            known = ("dtype", "torch_dtype", "attn_implementation", "experts_implementation")
            chosen = {key: value for key, value in keywords.items() if key in known and value not in (None, "auto")}
            return cls._from_config(config, **chosen).eval()

        replace(module.PreTrainedModel, "from_pretrained", classmethod(from_pretrained))

    _after_import("transformers.utils.import_utils", change_tests)
    _after_import("transformers.modeling_utils", change_models)
