"""Autograd's thread: a backward pass returns once this thread is idle.

Autograd runs operators of GPUs in a thread of its own, which drops its last tensors a little after it has said that the
pass is done. Whether they are freed before or after what the program does next would change from run to run. A pass
that does nothing waits in line until the thread has dropped them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes

from .patches import replace


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach()

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> None:
        return None


def install(fakes: FakeTensorMode) -> None:
    run = torch.autograd.graph._engine_run_backward
    with fakes:
        leaf = torch.empty((), device="cuda", requires_grad=True)

    def run_backward(*arguments: Any, **keywords: Any) -> Any:
        result = run(*arguments, **keywords)
        if torch._C._current_graph_task_id() == -1:  # not within another pass
            with _disable_current_modes(), torch.enable_grad():
                run((Nothing.apply(leaf),), (leaf,), False, False, (), allow_unreachable=True, accumulate_grad=True)
        return result

    for module in (torch.autograd, torch.autograd.graph):
        replace(module, "_engine_run_backward", run_backward)
