"""torch.compile on a machine without a GPU and without a compiler.

Dynamo, AOTAutograd and Inductor run as they are: they trace with fakes of their own, part forward from backward and
decide what is recomputed, fuse operators, plan memory, and write the module that calls the kernels. Only their
compilation is left out (inductor.py). So what is recorded is what Inductor would launch, and what it would allocate.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack

from . import inductor
from .patches import replace
from .steps import Steps

# Functions of torch.cuda that Dynamo's and Inductor's interface to GPUs has taken hold of.
OF_INTERFACE = """current_device set_device device_count stream current_stream set_stream synchronize memory_allocated
is_bf16_supported get_device_properties""".split()

# Errors of CUDA's runtime and of PyTorch where there is no driver.
NO_DRIVER = ("Found no NVIDIA driver", "CUDA driver version is insufficient")


def install(mode: Any, steps: Steps, note: Callable[[str], None]) -> None:
    """mode: the dispatch mode of fakes. note() remembers what is captured otherwise than it would run."""
    import torch._dynamo as dynamo
    from torch._dynamo import convert_frame, device_interface
    from torch._subclasses.fake_tensor import FakeTensorMode

    replace(FakeTensorMode, "avoid_device_init", property(lambda fakes: True))
    _install_interface(device_interface.CudaInterface)
    dynamo.allow_in_graph(torch.nn.functional.scaled_dot_product_attention)
    original = convert_frame.CatchErrorsWrapper.__call__

    def traced(wrapper: Any, *arguments: Any, **keywords: Any) -> Any:
        ends = dict(dynamo.utils.counters["graph_break"])
        try:
            with steps.recorder.python.apart, _apart(steps):
                inductor.install(mode, steps, note)
                result = original(wrapper, *arguments, **keywords)
        except Exception as error:
            if not _asks_for_driver(error):
                raise
            code = arguments[0].f_code
            note(f"torch.compile: compiling {code.co_name} asks for a GPU: it runs without")
            return convert_frame.ConvertFrameReturn(skip_reason="compiling it asks for a GPU")
        for reason, count in dynamo.utils.counters["graph_break"].items():
            if count > ends.get(reason, 0):
                note(f"torch.compile: a graph ends, and the program goes on without it: {_first_line(reason)}")
        return result

    replace(convert_frame.CatchErrorsWrapper, "__call__", traced)
    _install_optimizers(mode)


def _install_optimizers(mode: Any) -> None:
    """Dynamo has a compiled optimizer make its state while it traces: that is allocated, as it would be."""

    def within(original: Any) -> Any:
        def made(optimizer: torch.optim.Optimizer, *arguments: Any, **keywords: Any) -> Any:
            if mode in _get_current_dispatch_mode_stack():
                return original(optimizer, *arguments, **keywords)
            with mode:
                return original(optimizer, *arguments, **keywords)

        return made

    for kind in torch.optim.Optimizer.__subclasses__():
        if "_init_group" in vars(kind):
            replace(kind, "_init_group", within(vars(kind)["_init_group"]))


def _asks_for_driver(error: BaseException | None) -> bool:
    """A place in PyTorch's compiler that no stand-in is there for."""
    while error is not None:
        if any(said in str(error) for said in NO_DRIVER):
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(reason: str) -> str:
    return next((line.strip() for line in reason.splitlines() if line.strip()), "")


@contextlib.contextmanager
def _apart(steps: Steps) -> Iterator[None]:
    """Tracing and compiling: nothing of it runs on a GPU, and calls of modules are those of PyTorch.

    Cycles that it leaves behind would hold tensors until Python finds them, and change peaks from run to run.
    """
    called = torch.nn.Module.__call__
    torch.nn.Module.__call__ = steps.call_of_modules
    try:
        with _disable_current_modes():
            yield
    finally:
        torch.nn.Module.__call__ = called
        gc.collect()


def _install_interface(interface: type) -> None:
    for name in OF_INTERFACE:
        replace(interface, name, staticmethod(getattr(torch.cuda, name)))
    replace(interface, "exchange_device", staticmethod(torch.cuda._exchange_device))
    replace(interface, "maybe_exchange_device", staticmethod(torch.cuda._maybe_exchange_device))
    replace(interface, "get_raw_stream", staticmethod(lambda device=0: 0))
    replace(interface, "Stream", torch.cuda.Stream)
    replace(interface, "Event", torch.cuda.Event)
