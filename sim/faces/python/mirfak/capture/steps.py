"""The place in the program where the host is: its module, phase and step.

The window of a capture begins when the outermost `optimizer.step` of one step returns, and ends when that of the next
returns. A step of an optimizer within another (a wrapper's) does not count.
"""

from __future__ import annotations

import contextlib
import gc
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo.eval_frame import skip_code
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .patches import replace
from .recorder import PHASES, Recorder

NO_PASS = -1  # PyTorch's number where no backward pass runs
FORWARD, RECOMPUTATION, BACKWARD, OPTIMIZER = range(len(PHASES))


class Steps:
    """Counts steps and says where the host is. `wanted`: the step that is captured, from 0; None for everything."""

    def __init__(self, recorder: Recorder, wanted: int | None, done: Callable[[], None]) -> None:
        self.recorder, self.wanted, self.done = recorder, wanted, done
        self.finished = 0
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self._depth = 0
        self._threads = threading.local()
        self._names: dict[int, str] = {}
        # Sequence number of an autograd node: place of its module. Autograd's thread counts by itself, and makes the nodes
        # of what is computed again there.
        self._forward_places: dict[int, int] = {}
        self._recomputed_places: dict[int, int] = {}
        self._backward_pass = NO_PASS  # the one that the program asked for; checkpoints may start others within it
        self._after_backward = False
        self._hooks: list[Any] = []
        self.call_of_modules = torch.nn.Module.__call__  # as PyTorch has it

    def install(self) -> None:
        self._hooks = [
            register_optimizer_step_pre_hook(self._enter_step),
            register_optimizer_step_post_hook(self._leave_step),
        ]
        self._install_modules()
        if not self.wanted:
            self.recorder.begin()
        if self.wanted == 0:
            self.recorder.note("lines of Python are not counted: the window begins with the program")

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()

    @staticmethod
    def way_in() -> None:
        """Dispatches an operator that does nothing."""
        torch.empty(0)

    def place(self) -> tuple[int, int]:
        """Module (its place in the recorder's table) and phase of what is dispatched now."""
        part = getattr(self._threads, "part", None)
        return part or self._eager_place()

    @contextlib.contextmanager
    def region(self, backward: bool) -> Iterator[None]:
        """A compiled graph runs, of which go_to() says the parts."""
        threads = self._threads
        before = getattr(threads, "region", None), getattr(threads, "part", None)
        threads.part = None
        module, phase = self._eager_place()
        if not backward:  # the autograd node of the graph has been made before the graph runs
            self._forward_places[torch._C._autograd._get_sequence_nr() - 1] = module
        threads.region = threads.part = module, phase
        try:
            yield
        finally:
            threads.region, threads.part = before

    def go_to(self, path: str | None, recomputed: bool) -> None:
        """Goes to the module at `path` within that of the graph; in backward it may be forward again."""
        module, phase = self._threads.region
        if path:
            base = self.recorder.modules.entries[module]
            module = self.recorder.modules.place_of(f"{base}.{path}" if base else path)
        self._threads.part = module, RECOMPUTATION if recomputed and phase == BACKWARD else phase

    def _eager_place(self) -> tuple[int, int]:
        stack = self._stack()
        running = torch._C._current_graph_task_id()
        if running == NO_PASS or self._backward_pass == NO_PASS:
            self._backward_pass = running
        if running == NO_PASS:
            if self._depth or (self._after_backward and not stack):
                return (stack[-1] if stack else 0), OPTIMIZER
            place = stack[-1] if stack else 0
            if torch.is_grad_enabled():
                self._forward_places[torch._C._autograd._get_sequence_nr()] = place
            return place, FORWARD
        if stack or torch.is_grad_enabled():
            self._recomputed_places[torch._C._autograd._get_sequence_nr()] = stack[-1] if stack else 0
            return (stack[-1] if stack else 0), RECOMPUTATION
        self._after_backward = True
        node = torch._C._current_autograd_node()
        places = self._forward_places if running == self._backward_pass else self._recomputed_places
        return (places.get(node._sequence_nr(), 0) if node is not None else 0), BACKWARD

    def _stack(self) -> list[int]:
        if not hasattr(self._threads, "stack"):
            self._threads.stack = []
        return self._threads.stack

    def _install_modules(self) -> None:
        """Follows calls of modules. No hooks of PyTorch: torch.compile would trace them."""
        original, python = self.call_of_modules, self.recorder.python

        def called(module: torch.nn.Module, *arguments: Any, **keywords: Any) -> Any:
            counting = python.counting  # without python.apart, which torch.compile would look at
            if counting:
                sys.settrace(None)
            if torch._C._current_graph_task_id() == -1:
                self._after_backward = False
            stack = self._stack()
            stack.append(self.recorder.module(self._name(module), calling_line))
            if counting:
                sys.settrace(python.called)
            try:
                return original(module, *arguments, **keywords)
            finally:
                stack.pop()

        replace(torch.nn.Module, "__call__", called)
        python.pass_through(called.__code__)
        for code in (called.__code__, *python.codes):
            skip_code(code)

    def _name(self, module: torch.nn.Module) -> str:
        """The module's path within the outermost module that has been called, "model.layers.3.mlp"."""
        name = self._names.get(id(module))
        if name is None:
            if not self._stack():
                root = type(getattr(module, "_orig_mod", module)).__name__
                for path, inner in module.named_modules():
                    path = ".".join(name for name in path.split(".") if name != "_orig_mod")
                    self._names[id(inner)] = f"{root}.{path}" if path else root
            name = self._names.setdefault(id(module), type(module).__name__)
        return name

    def _enter_step(self, optimizer: torch.optim.Optimizer, arguments: Any, keywords: Any) -> None:
        self._depth += 1

    def _leave_step(self, optimizer: torch.optim.Optimizer, arguments: Any, keywords: Any) -> None:
        self._depth -= 1
        self.optimizers[id(optimizer)] = optimizer
        if self._depth:
            return
        self.finished += 1
        self._after_backward = True
        self._forward_places.clear()
        self._recomputed_places.clear()
        if self.finished == self.wanted:
            self.recorder.begin()
            self.recorder.count_lines(self.way_in)
        elif self.wanted is not None and self.finished == self.wanted + 1:
            self.recorder.end()
            self.done()


PARTS_OF_PYTORCH = (str(pathlib.Path(__file__).parent), str(pathlib.Path(torch.__file__).parent), "<")


def calling_line() -> str:
    """FILE:LINE of the innermost code that is no part of PyTorch and of captures; "" if there is none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PARTS_OF_PYTORCH):
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{pathlib.Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def local(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's share of this rank."""
    return tensor._local_tensor if hasattr(tensor, "_local_tensor") else tensor


def bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def state_of(optimizers: list[torch.optim.Optimizer]) -> dict[str, int]:
    """Bytes of parameters of all modules, and of what the optimizers keep: this rank's shares, unpadded, tied once."""
    parameters: dict[int, torch.Tensor] = {}
    for found in gc.get_objects():
        if issubclass(type(found), torch.nn.Module):
            held = found.__dict__.get("_parameters") or {}
            parameters.update((id(held[name]), held[name]) for name in held if held[name] is not None)
    kept: dict[int, torch.Tensor] = {}
    for optimizer in optimizers:
        for state in optimizer.state.values():
            if isinstance(state, dict):
                kept.update((id(value), local(value)) for value in state.values() if isinstance(value, torch.Tensor))
    shares = [local(parameter.data) for parameter in parameters.values()]
    return {
        "param_bytes": sum(map(bytes_of, shares)),
        "param_numel": sum(share.numel() for share in shares),
        "optimizer_state_bytes": sum(bytes_of(value) for value in kept.values() if value.dim()),
        "optimizer_state_scalars": sum(not value.dim() for value in kept.values()),
    }
