"""Inductor without a compiler: the module that it writes runs, and its kernels are recorded in place of launched.

Inductor writes a Python module for each graph, which allocates buffers, calls kernels of its own and of libraries, and
releases buffers. The module runs on fakes: calls of libraries and collectives are dispatched and recorded like those of
any program. In front of a kernel of Inductor's own stands a line that says which bytes it moves, and in front of each
part of a graph one that says which module the part belongs to (inductor_kernels.py).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from . import higher_order, inductor_kernels, masks, patches
from .operators import shown, shown_layout
from .patches import replace
from .steps import Steps

# Names of modules that Inductor writes, which they find here instead. A module may outlive the capture that it was written for.
HEADER = """
from mirfak.capture import inductor as mirfak_capture
empty_strided_cuda = mirfak_capture.empty_strided
reinterpret_tensor = mirfak_capture.reinterpret
mirfak_part = mirfak_capture.part
mirfak_kernel = mirfak_capture.kernel
async_compile = mirfak_capture.Kernels()
"""

# Choices that Inductor would make by running kernels.
MEASURED = ("max_autotune", "max_autotune_gemm", "max_autotune_pointwise", "coordinate_descent_tuning")


class Runtime:
    """The calls of Inductor's modules in place of allocations and launches."""

    def __init__(self, mode: Any, steps: Steps) -> None:
        self.mode, self.steps = mode, steps
        self._threads = threading.local()

    def empty_strided(self, shape: Any, strides: Any, dtype: torch.dtype) -> torch.Tensor:
        device = torch.device("cuda", torch.cuda.current_device())
        with _disable_current_modes(), self.mode.fakes:
            made = torch.empty_strided(shape, strides, dtype=dtype, device=device)
        self.mode.see(made)
        return made

    def reinterpret(self, tensor: torch.Tensor, shape: Any, strides: Any, offset: int = 0) -> torch.Tensor:
        with _disable_current_modes(), self.mode.fakes, torch.no_grad():
            return torch.as_strided(tensor, shape, strides, tensor.storage_offset() + offset)

    def comes(
        self, kind: str, read: dict[str, int], written: dict[str, int], factors: dict[str, Any], settings: dict[str, Any]
    ) -> None:
        """Says what the next kernel is.

        kind: inductor_kernels.kind_of(). read, written: bytes by argument. factors: format, shape and strides of tensors
        that stand for arguments, of fused attention. settings: of its entry.
        """
        self._threads.kernel = kind, read, written, factors, settings

    def launch(self, name: str, names: list[str], arguments: Any) -> None:
        named = dict(zip(names, arguments, strict=False))
        tensors = {key: value for key, value in named.items() if isinstance(value, torch.Tensor)}
        said = getattr(self._threads, "kernel", None)
        self._threads.kernel = None
        if said is None:  # a kernel that the program has written itself
            self.mode.launched(lambda: higher_order.triton_entry(name, tensors, ()))
        else:
            self.mode.launched(lambda: _entry(name, tensors, *said))


def _entry(
    name: str,
    tensors: dict[str, torch.Tensor],
    kind: str,
    read: dict[str, int],
    written: dict[str, int],
    factors: dict[str, Any],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """The entry of a kernel, whose name Inductor numbers."""
    if factors:
        ins = {key: shown_layout(*layout) for key, layout in factors.items()}
        name = f"higher_order::{kind}"
    else:
        ins = {key: shown(tensors[key]) for key in read}
        name, settings = f"inductor::{kind}", settings | {"kernel": re.sub(r"_\d+$", "", name)}
    return {
        "name": name,
        "overload": "",
        "arguments": [[key, 1] for key in ins],
        "in": list(ins.values()),
        "out": [shown(tensors[key]) for key in written],
        "settings": settings,
        "read_bytes": sum(read.values()),
        "written_bytes": sum(written.values()),
    }


class Kernel:
    """A kernel of Triton that is not compiled."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.names = [name.split(":")[0].strip() for name in _signature(source).split(",")]

    def run(self, *arguments: Any, **keywords: Any) -> None:
        with apart():
            runtime().launch(self.name, self.names, arguments)


def _signature(source: str) -> str:
    """Parameters of the kernel in a source, which is the function under @triton.jit."""
    found = re.search(r"@triton\.jit\s+def \w+\((.*?)\):", source, re.DOTALL)
    return found.group(1) if found else ""


class Kernels:
    """Stands for AsyncCompile. Kernels of other languages are not known; their graphs run operator by operator."""

    def triton(self, name: str, source: str, device_str: str = "cuda") -> Kernel:
        return Kernel(name, source)

    def wait(self, scope: Any) -> None:
        pass


_runtime: list[Runtime] = []


def runtime() -> Runtime:
    return _runtime[0]


def apart() -> AbstractContextManager[None]:
    """Runs code that is no part of the program."""
    return runtime().steps.recorder.python.apart


def empty_strided(*arguments: Any) -> torch.Tensor:
    with apart():
        return runtime().empty_strided(*arguments)


def reinterpret(*arguments: Any) -> torch.Tensor:
    with apart():
        return runtime().reinterpret(*arguments)


def part(*arguments: Any) -> None:
    runtime().steps.go_to(*arguments)


def kernel(*arguments: Any) -> None:
    runtime().comes(*arguments)


def install(mode: Any, steps: Steps, note: Callable[[str], None]) -> None:
    """Installs all this once for a capture: Inductor is imported where a program compiles."""
    if _runtime:
        return
    _runtime.append(Runtime(mode, steps))
    patches.at_restore(_runtime.clear)
    patches.at_restore(torch._dynamo.reset)
    _install_settings()
    _install_lines(note)
    _install_graphs(steps, note)
    _install_choices(note)


def _install_settings() -> None:
    import torch.utils._triton
    from torch._functorch import config as functorch
    from torch._inductor import config

    for module, changes in (
        (config, {"compile_threads": 1, "fx_graph_cache": False}),
        (functorch, {"enable_autograd_cache": False}),
    ):
        patch = module.patch(changes)
        patch.__enter__()
        patches.at_restore(lambda patch=patch: patch.__exit__(None, None, None))
    replace(torch.utils._triton, "triton_hash_with_backend", lambda: "")
    replace(torch._C, "_cuda_getCurrentRawStream", lambda device: 0)


def _install_lines(note: Callable[[str], None]) -> None:
    """Adds lines to the modules that Inductor writes."""
    from torch._inductor.codegen.triton import TritonKernel
    from torch._inductor.codegen.triton_combo_kernel import ComboKernel
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.scheduler import Scheduler
    from torch._inductor.select_algorithm import TritonTemplateKernel
    from torch._inductor.virtualized import V

    write_header, enter_context = PythonWrapperCodegen.write_header, Scheduler.enter_context

    def headed(wrapper: Any) -> None:
        write_header(wrapper)
        wrapper.header.splice(HEADER, strip=True)

    def entered(scheduler: Any, node: Any) -> None:
        enter_context(scheduler, node)
        path, again = inductor_kernels.place_of(node)
        V.graph.wrapper_code.writeline(f"mirfak_part({path!r}, {again})")

    def calls(original: Any) -> Any:
        def called(kernel: Any, *arguments: Any, **keywords: Any) -> Any:
            V.graph.wrapper_code.writeline(inductor_kernels.line_of(kernel, note))
            return original(kernel, *arguments, **keywords)

        return called

    replace(PythonWrapperCodegen, "write_header", headed)
    replace(Scheduler, "enter_context", entered)
    for kernel in (TritonKernel, TritonTemplateKernel, ComboKernel):
        replace(kernel, "call_kernel", calls(kernel.call_kernel))


def _install_graphs(steps: Steps, note: Callable[[str], None]) -> None:
    from torch._functorch.aot_autograd import make_boxed_func
    from torch._inductor import compile_fx, config, output_code

    run, compile_inner = output_code.CompiledFxGraph.__call__, compile_fx._compile_fx_inner

    def called(graph: Any, inputs: Any) -> Any:
        with steps.region(bool(graph.fx_kwargs.get("is_backward"))):
            return run(graph, inputs)

    def compiled(graph: torch.fx.GraphModule, *arguments: Any, **keywords: Any) -> Any:
        plain = torch.fx.GraphModule(graph, torch.fx.Graph())
        plain.graph.output(plain.graph.graph_copy(graph.graph, {}))
        plain.recompile()
        if inductor_kernels.runs_on_host(graph):
            return make_boxed_func(plain.forward)
        asked = [name for name in MEASURED if getattr(config, name)]
        if asked:
            note(f"torch.compile: kernels are not chosen by measuring ({', '.join(asked)}): those of libraries are taken")
        try:
            with config.patch(dict.fromkeys(MEASURED, False)):
                return compile_inner(graph, *arguments, **keywords)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else ""
            note(f"torch.compile: a graph runs operator by operator: {type(error).__name__}: {reason}")
            return make_boxed_func(plain.forward)

    replace(output_code.CompiledFxGraph, "__call__", called)
    replace(compile_fx, "_compile_fx_inner", compiled)


def _install_choices(note: Callable[[str], None]) -> None:
    """Answers the questions that Inductor would settle by running something on the GPU."""
    from torch._inductor import compile_fx
    from torch._inductor.fx_passes import pad_mm
    from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder

    deduce = UniformValueConstantFolder._deduce_value

    def deduced(folder: Any, node: Any) -> Any:
        with masks.OnHost():
            return deduce(folder, node)

    def not_padded(key: str) -> bool:
        note("torch.compile: products whose padding Inductor would measure: not padded")
        return False

    def launched_singly(model: Any, *arguments: Any, **keywords: Any) -> Any:
        note("torch.compile: CUDA graphs (reduce-overhead) are captured as single launches")
        return model

    replace(UniformValueConstantFolder, "_deduce_value", deduced)
    replace(pad_mm, "get_cached_should_pad", not_padded)
    replace(compile_fx, "cudagraphify", launched_singly)
