"""Tensors on GPUs as fakes, everything else for real.

A dispatch mode looks at each operator. With a fake among its arguments, or with a GPU as its device, the operator goes
to PyTorch's FakeTensorMode, which knows shapes, formats and strides of results but computes nothing; all others run as
ever, so that samplers, meshes and counters keep their values. Values that a program asks of a fake are stated: 1 for a
number (a loss, a norm), zeros for a copy.
"""

from __future__ import annotations

import functools
import pathlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..errors import InputError
from . import higher_order, values
from .memory import Memory
from .operators import arguments_of, entry_of, launches, tensors_in
from .recorder import Recorder
from .steps import Steps

aten = torch.ops.aten
PRODUCTS = frozenset("mm addmm bmm baddbmm addmv mv dot _scaled_mm _grouped_mm _scaled_grouped_mm linear".split())
COLLECTIVES = frozenset(("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor"))

TORCH = pathlib.Path(torch.__file__).parent
# Code between an operator and what a program asks of its result.
INNER = (str(pathlib.Path(__file__).parent), str(TORCH / "_dynamo"), str(TORCH / "_compile"), str(TORCH / "utils"))


def is_wrapper(kind: type) -> bool:
    """A subclass of tensors that dispatches to the tensors within it: a DTensor, a float8 tensor."""
    return (
        kind is not torch.Tensor
        and not issubclass(kind, (FakeTensor, torch.nn.Parameter))
        and kind.__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl
    )


@functools.cache
def is_composite(function: Any) -> bool:
    """An operator that is other operators, also on a GPU; autograd usually takes it apart before it comes here."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    name = function.name()
    return has_kernel(name, "CompositeImplicitAutograd") and not (
        has_kernel(name, "CUDA") or has_kernel(name, "Autograd")
    )


def given_results(function: Any, arguments: Any, keywords: Any) -> list[Any]:
    """Tensors into which an operator is asked to write its results, `out`: they have the shapes of these."""
    given = arguments_of(function, arguments, keywords)
    return [given[argument.name] for argument in function._schema.arguments if argument.is_out]


class FakeDevices(TorchDispatchMode):
    """`communicate(function, arguments, keywords, run)` takes operators of collectives."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """torch.compile works within this mode, which is not there while it traces (compiled.py)."""
        return True

    def __init__(
        self,
        recorder: Recorder,
        steps: Steps,
        memory: Memory,
        stream: Callable[[], int],
        communicate: Callable[..., Any],
        workspace_bytes: int,
    ) -> None:
        super().__init__()
        self.recorder, self.steps, self.memory, self.stream = recorder, steps, memory, stream
        self.communicate, self.workspace_bytes = communicate, workspace_bytes
        self.fakes = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
        # A fake that is remembered cannot be swapped into a module (fake_types.py).
        self.fakes.fake_tensor_converter.set_tensor_memo = lambda tensor, fake: None
        self._entries = threading.RLock()
        self._truths = StatedTruths()

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        if any(is_wrapper(kind) for kind in types):
            return NotImplemented
        with self.recorder.python.apart:
            return self._dispatched(function, arguments, keywords or {})

    def _dispatched(self, function: Any, arguments: Any, keywords: Any) -> Any:
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
            return function(*arguments, **keywords)  # PyTorch asks for the shape of a result: DTensor does
        if isinstance(function, torch._ops.HigherOrderOperator):
            return self._higher_order(function, arguments, keywords)
        if function.namespace in COLLECTIVES:
            return self.communicate(function, arguments, keywords, self.run)
        tensors = [tensor for value in (*arguments, *keywords.values()) for tensor in tensors_in(value)]
        device = self._device(function, arguments, keywords)
        if not any(isinstance(tensor, FakeTensor) for tensor in tensors) and (device is None or device.type != "cuda"):
            return self._on_host(function, arguments, keywords)
        if function.namespace == "prim":  # a look at a tensor: its device, its layout
            return self.fake(function, arguments, keywords)
        if is_composite(function):
            with self:
                result = function.decompose(*arguments, **keywords)
            if result is not NotImplemented:
                return result
        special = SPECIAL.get(function._schema.name.split("::")[1])
        if special is not None:
            return special(self, function, arguments, keywords)
        return self.run(function, arguments, keywords)

    @staticmethod
    def _on_host(function: Any, arguments: Any, keywords: Any) -> Any:
        """Runs an operator for real. Memory cannot be pinned without a driver, and nobody copies from it."""
        name = function._schema.name.split("::")[1]
        if name == "is_pinned":
            return getattr(arguments[0], "pinned", False)
        if name == "_pin_memory":
            arguments[0].pinned = True
            return arguments[0]
        if not keywords.get("pin_memory"):
            return function(*arguments, **keywords)
        result = function(*arguments, **{**keywords, "pin_memory": False})
        result.pinned = True
        return result

    def run(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """Runs an operator of fakes and records it."""
        name = function._schema.name.split("::")[1]
        if name in PRODUCTS:
            self.memory.workspace(self.workspace_bytes, self.stream())
        arguments = self._masks(name, arguments)
        result = self.fake(function, arguments, keywords)
        self.see(result)
        written = values.written(function, arguments, keywords)
        if function.namespace not in COLLECTIVES:
            self.record(function, arguments, keywords, result)
            values.follow(function, name, arguments, keywords, result, written)
            if values.balanced(function, name, arguments, result):
                self.recorder.note(f"what {name} chooses: stated as every choice equally often")
        return result

    def _higher_order(self, function: Any, arguments: Any, keywords: Any) -> Any:
        if function is higher_order.COMPILED:  # around a compiled region, so that checkpoints see it whole
            with self:
                return arguments[0](*arguments[1:])
        with self.fakes:
            result = function(*arguments, **keywords)
        self.see(result)
        self.launched(lambda: higher_order.entry_of(function, arguments, keywords, result, self.recorder.note))
        return result

    def launched(self, entry: Callable[[], dict[str, Any]], where: tuple[int, int] | None = None) -> None:
        """Records an operator, of which `entry` makes the entry. where: its module and phase, if they are known."""
        module, phase = where or self.steps.place()
        if self.recorder.listening:
            with self._entries:
                place = self.recorder.operators.place_of(entry())
            self.recorder.operator(place, module, phase, self.stream())

    def fake(self, function: Any, arguments: Any, keywords: Any) -> Any:
        try:
            with self.fakes:
                return function(*arguments, **keywords)
        except (fake_tensor.DynamicOutputShapeException, fake_tensor.DataDependentOutputException):
            return self._shaped_by_values(function, arguments, keywords)
        except fake_tensor.UnsupportedOperatorException as error:
            written = given_results(function, arguments, keywords)
            if written:
                return written[0] if len(written) == 1 else tuple(written)
            raise InputError(
                f"the shape of what {function} returns cannot be told without running it",
                hint="register a fake kernel for it (torch.library.register_fake)",
            ) from error

    def _shaped_by_values(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """Runs an operator whose shapes depend on values on the host: on those that are known, else on ones."""

        def on_host(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                known = values.known(value)
                if known is None:
                    self.recorder.note(f"values that decide the shapes of {function._schema.name}: stated as 1")
                    known = torch.ones(value.shape, dtype=value.dtype)
                return known
            if isinstance(value, (list, tuple)):
                return type(value)(on_host(item) for item in value) if tensors_in(value) else value
            return torch.device("cpu") if isinstance(value, torch.device) else value

        found = function(*map(on_host, arguments), **{key: on_host(value) for key, value in keywords.items()})
        self.recorder.block_host("shape")
        device = next(tensor.device for value in arguments for tensor in tensors_in(value))

        def faked(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(faked(item) for item in value)
            if not isinstance(value, torch.Tensor):
                return value
            with self.fakes:
                made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
            if values.followed(made):
                values.remember(made, value)
            return made

        return faked(found)

    def _masks(self, name: str, arguments: Any) -> Any:
        """Masks among indices as the numbers of what they choose, which have a shape."""
        if name not in ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"):
            return arguments
        indices: list[Any] = []
        for index in arguments[1]:
            if isinstance(index, FakeTensor) and index.dtype in (torch.bool, torch.uint8):
                nonzero = self.run(aten.nonzero.default, (index,), {})
                indices += self.run(aten.unbind.int, (nonzero, 1), {})
            else:
                indices.append(index)
        return (arguments[0], indices, *arguments[2:])

    def see(self, result: Any) -> None:
        stream = self.stream()
        for tensor in tensors_in(result):
            if isinstance(tensor, FakeTensor) and tensor.device.type == "cuda":
                self.memory.see(tensor, stream)

    def record(self, function: Any, arguments: Any, keywords: Any, result: Any) -> None:
        where = self.steps.place()  # of views, too: the gradient of an operator belongs to where the operator ran
        if not self.recorder.listening:
            return
        name = function._schema.name.split("::")[1]
        touched = (tensor for value in (*arguments, *keywords.values(), result) for tensor in tensors_in(value))
        if not any(tensor.device.type == "cuda" for tensor in touched):
            return  # of fakes on the host
        if not launches(function, name):
            self.recorder.host()
            return
        self.launched(lambda: entry_of(function, arguments, keywords, result), where)

    @staticmethod
    def _device(function: Any, arguments: Any, keywords: Any) -> torch.device | None:
        """The device that an operator is asked to make its result on."""
        if "device" in keywords:
            found = keywords["device"]
        else:
            found = arguments_of(function, arguments, {}).get("device") if len(arguments) > 1 else None
        return torch.device(found) if isinstance(found, (str, torch.device)) else None

    def _item(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """The value of a fake: stated, because nothing has been computed."""
        self.recorder.block_host("item")
        self.record(function, arguments, keywords, [])
        known = values.known(arguments[0])
        if known is not None:
            return known.item()
        dtype = arguments[0].dtype
        self.recorder.note(f"value of a {str(dtype).removeprefix('torch.')} on the GPU: stated as 1")
        if dtype is torch.bool:
            return self._truths.answer(self.recorder.note)
        return 1.0 if dtype.is_floating_point else 1

    def _to_copy(self, function: Any, arguments: Any, keywords: Any) -> Any:
        source = arguments[0]
        device = keywords.get("device")
        device = source.device if device is None else torch.device(device)
        dtype = keywords.get("dtype") or source.dtype
        if device.type == "cpu" and source.device.type != "cpu":
            return self._to_host(function, arguments, keywords, dtype)
        if isinstance(source, FakeTensor):
            return self.run(function, arguments, keywords)
        return self._to_device(function, arguments, keywords, device, dtype)

    def _to_host(self, function: Any, arguments: Any, keywords: Any, dtype: torch.dtype) -> torch.Tensor:
        source = arguments[0]
        if not keywords.get("non_blocking"):
            self.recorder.block_host("copy")
        known = values.known(source)
        if known is None:
            self.recorder.note("values copied from the GPU to the host: stated as 0")
        copy = torch.zeros(source.shape, dtype=dtype) if known is None else known.to(dtype, copy=True)
        self.record(function, arguments, keywords, copy)
        return copy

    def _to_device(
        self, function: Any, arguments: Any, keywords: Any, device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor:
        """A fake for a tensor of the host, which FakeTensorMode does not see: it would hold on to the tensor."""
        source = arguments[0]
        strides = _dense(source)
        with self.fakes:
            copy = torch.empty_strided(source.shape, strides, dtype=dtype, device=device)
        self.see(copy)
        self.record(function, arguments, keywords, copy)
        if values.followed(source):
            values.remember(copy, source.detach().to(dtype, copy=True))
        return copy

    def _like(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """A tensor like one without memory (on the device meta), made on the GPU."""
        source = arguments[0]
        if isinstance(source, FakeTensor) or source.device.type != "meta":
            return self.run(function, arguments, keywords)
        with self.fakes:
            stand_in = torch.empty_strided(source.shape, source.stride(), dtype=source.dtype, device="cuda")
        return self.run(function, (stand_in, *arguments[1:]), keywords)

    def _copy(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """A copy into a tensor that is there, between host and GPU or within the GPU."""
        into, source = arguments[:2]
        blocking = not (arguments[2] if len(arguments) > 2 else keywords.get("non_blocking", False))
        if isinstance(into, FakeTensor):
            if isinstance(source, FakeTensor):
                return self.run(function, arguments, keywords)
            self.record(function, arguments, keywords, into)
            values.written(function, arguments, keywords)
            if values.followed(into):
                values.remember(into, source.detach().to(into.dtype, copy=True).expand(into.shape))
            return into
        if blocking:
            self.recorder.block_host("copy")
        self.record(function, arguments, keywords, into)
        known = values.known(source)
        if known is not None:
            return into.copy_(known)
        self.recorder.note("values copied from the GPU to the host: stated as 0")
        return into.zero_()

    def _nothing(self, function: Any, arguments: Any, keywords: Any) -> None:
        self.recorder.host()


class StatedTruths:
    """Answers for truths that are not known: true, and false at last where a loop asks until it hears that."""

    PATIENCE = 1000
    REDRAWN = {str(torch.nn.init.__file__): 2}  # draws again what lies outside of its bounds

    def __init__(self) -> None:
        self._asking: tuple[int, int] = (0, 0)  # the call that asks, and where in it
        self._asked = 0

    def answer(self, note: Callable[[str], None]) -> bool:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(INNER):
            frame = frame.f_back
        asking = id(frame), frame.f_lasti
        self._asked = self._asked + 1 if asking == self._asking else 1
        self._asking = asking
        file = frame.f_code.co_filename
        if self._asked < self.REDRAWN.get(file, self.PATIENCE):
            return True
        self._asked = 0
        if file not in self.REDRAWN:
            note(f"a truth that a loop asks for {self.PATIENCE} times in a row, at {file}:{frame.f_lineno}: then false")
        return False


def _dense(tensor: torch.Tensor) -> tuple[int, ...]:
    """Strides of a copy that keeps the order of dimensions where the tensor is dense."""
    return torch.empty_like(tensor, device="meta").stride()


SPECIAL = {
    "_local_scalar_dense": FakeDevices._item,
    "_to_copy": FakeDevices._to_copy,
    "copy_": FakeDevices._copy,
    "empty_like": FakeDevices._like,
    "zeros_like": FakeDevices._like,
    "ones_like": FakeDevices._like,
    "full_like": FakeDevices._like,
    "rand_like": FakeDevices._like,
    "randn_like": FakeDevices._like,
    "record_stream": FakeDevices._nothing,
}
