"""A kernel of Inductor as data: what kind it is, which bytes it moves, and the module whose operators it fuses.

Bytes follow from Inductor's own dependencies: an index of each read and write over the loops of the kernel. Each
element counts once, however often a kernel looks at it; where every n-th element of a line is wanted, whole sectors of
memory count; what stays within the kernel does not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import torch

from . import higher_order, masks
from .operators import dtype_name

SECTOR_BYTES = 32  # that the memory moves at once
# Reductions over a row that look at it twice or more: the greatest element, then sums of exponentials.
OF_SOFTMAX = {"max", "online_softmax_reduce"}
# Arguments of the templates of flexible attention, and how the operator calls them.
FACTORS = {"Q": "query", "K": "key", "V": "value", "DO": "grad_out"}


def line_of(kernel: Any, note: Callable[[str], None]) -> str:
    """The line in front of the call of a kernel, in the module that Inductor writes: a call of Runtime.comes()."""
    kernels = getattr(kernel, "sub_kernels", [kernel])
    names = {name.name for name in kernel.args.python_argdefs()[0]}
    template = next((inner for inner in kernels if not has_loops(inner)), None)
    attention = attention_of(template) if template is not None else None
    kind, settings, factors = "template" if template is not None else kind_of(kernels), {}, "{}"
    if attention is not None:
        kind, settings = attention.target.__name__, {"computed": computed_of(attention, note)}
        factors = factors_of(template)
    read, written = (moved_of(kernels, names, way) for way in (False, True))
    return f"mirfak_kernel({kind!r}, {read}, {written}, {factors}, {settings!r})"


def moved_of(kernels: list[Any], names: set[str], written: bool) -> str:
    """Bytes that kernels in one launch read or write, by argument, as Python: sizes may be variables."""
    from torch._inductor.virtualized import V

    size = V.graph.wrapper_code.codegen_python_sizevar
    bytes_of: dict[str, Any] = {}
    for kernel in kernels:
        for name, buffers in tensors_of(kernel):
            if name in names:
                bytes_of[name] = bytes_of.get(name, 0) + touched(kernel, name, buffers, written)
    return "{" + ", ".join(f"{name!r}: {size(count)}" for name, count in bytes_of.items() if count != 0) + "}"


def factors_of(template: Any) -> str:
    """Format, shape and strides of what a template of attention multiplies, as Python. Views are of one argument."""
    from torch._inductor.virtualized import V

    def listed(sizes: Any) -> str:
        return f"[{', '.join(map(V.graph.wrapper_code.codegen_python_sizevar, sizes))}]"

    inputs = {FACTORS[name]: node for name, node in template.named_input_nodes.items() if name in FACTORS}
    layouts = (
        f"{name!r}: ({dtype_name(node.get_dtype())!r}, {listed(node.get_size())}, {listed(node.get_stride())})"
        for name, node in inputs.items()
    )
    return "{" + ", ".join(layouts) + "}"


def kind_of(kernels: list[Any]) -> str:
    """Kind of a kernel of loops, which may be several in one launch."""
    from torch._inductor.runtime.hints import ReductionHint

    if any(getattr(inner, "mix_order_reduction", False) for inner in kernels):
        return "rows_and_columns"
    reducing = [inner.features for inner in kernels if inner.features.is_reduction()]
    if not reducing:
        return "pointwise"
    kinds = {getattr(node.node.data, "reduction_type", "") for found in reducing for node in found.reduction_nodes()}
    if kinds & OF_SOFTMAX:
        return "softmax"
    hints = {found.get_reduction_hint() for found in reducing}
    return "columns" if hints <= {ReductionHint.OUTER, ReductionHint.OUTER_TINY} else "rows"


def has_loops(kernel: Any) -> bool:
    """A kernel made of loops, and not of a template, whose source stands in PyTorch."""
    return getattr(kernel, "features", None) is not None and bool(list(kernel.features.scheduler_nodes()))


def attention_of(kernel: Any) -> torch.fx.Node | None:
    """The node of flexible attention whose kernel a template is."""
    origins = kernel.output_node.get_origins()
    return next((node for node in origins if getattr(node.target, "__name__", "") in higher_order.ATTENTION), None)


def computed_of(attention: torch.fx.Node, note: Callable[[str], None]) -> float:
    """Share of the blocks of scores of which the mask of flexible attention lets any through."""
    mask = attention.args[higher_order.MASK_PLACE[attention.target.__name__]][-1]
    graph = getattr(attention.graph.owning_module, mask.target)
    queries, keys = (int(attention.args[place].meta["val"].shape[-2]) for place in (0, 1))
    return masks.share_of_blocks(graph, queries, keys, note)


def tensors_of(kernel: Any) -> list[tuple[str, list[str]]]:
    """Arguments of a kernel that are tensors, and the buffers that each is, the last of which is the call's."""
    arguments = kernel.args
    found, seen = [], set()
    for inplaced in arguments.inplace_buffers.values():
        name = getattr(inplaced, "inner_name", None)
        if name is not None and name not in seen:
            seen.add(name)
            found.append((name, list(inplaced.other_names)))
    for buffers in (arguments.input_buffers, arguments.output_buffers):
        for outer, name in buffers.items():
            if isinstance(name, str) and outer not in arguments.inplace_buffers:
                found.append((name, [outer]))
    return found


def touched(kernel: Any, name: str, buffers: list[str], written: bool) -> Any:
    """Bytes of an argument of a kernel that are read or written, as an expression of sizes."""
    import sympy
    from torch._inductor.dependencies import MemoryDep
    from torch._inductor.utils import get_dtype_size
    from torch._inductor.virtualized import V

    width, whole = get_dtype_size(V.graph.get_dtype(buffers[-1])), V.graph.get_numel(buffers[-1])
    if not has_loops(kernel):
        result = name.startswith("out_") or buffers[-1] in kernel.output_node.get_mutation_names()
        return width * whole if written == result else sympy.S.Zero
    nodes = list(kernel.features.scheduler_nodes())
    made = {access.name for node in nodes for access in node.read_writes.writes}
    names = V.graph.scheduler.mutation_real_name  # a buffer that is written again has a new name
    found: dict[Any, Any] = {}
    for node in nodes:
        for access in node.read_writes.writes if written else node.read_writes.reads:
            ours = access.name in buffers or names.get(access.name) in buffers
            if isinstance(access, MemoryDep) and ours and (written or access.name not in made):
                found[access.index] = access
    if not found:
        return sympy.S.Zero
    twice = 2 if written and any(access.mode == "atomic_add" for access in found.values()) else 1
    count = sum(elements(access) * spread(access, width) for access in found.values())
    return sympy.Min(count, whole) * width * twice


def elements(access: Any) -> Any:
    """Elements that an access looks at: as many as the loops that its index depends on go round."""
    count = 1
    for variable, size in zip(access.var_names, access.size, strict=True):
        if access.is_indirect() or variable in access.index.free_symbols:
            count = count * size
    return count


def spread(access: Any, width: int) -> int:
    """Elements that are moved for one that is wanted, because sectors are moved whole."""
    variables = [variable for variable in access.var_names if variable in access.index.free_symbols]
    strides = [access.index.coeff(variable) for variable in variables]
    if access.is_indirect() or not strides or not all(stride.is_Integer and stride for stride in strides):
        return 1
    return max(1, min(min(abs(int(stride)) for stride in strides), SECTOR_BYTES // width))


def place_of(node: Any) -> tuple[str, bool]:
    """Module of a part of a graph, within that of the graph, to which all of its operators belong; true: forward again."""
    origins = [origin for inner in node.get_nodes() if inner.node is not None for origin in origins_of(inner)]
    stacks = [origin.meta.get("nn_module_stack") or origin.meta.get("fwd_nn_module_stack") for origin in origins]
    paths = [path_of(list(stack.values())[-1][0]) for stack in stacks if stack]
    tags = {origin.meta.get("partitioner_tag") for origin in origins}
    return ".".join(os.path.commonprefix(paths) if paths else []), tags == {"is_forward"}


def origins_of(node: Any) -> list[torch.fx.Node]:
    """Operators that a node of Inductor's scheduler runs; of a call of a library only that which is called."""
    origins = list(node.node.get_origins())
    if not node.is_extern():
        return origins
    called = getattr(node.node, "op_overload", None)
    main = [origin for origin in origins if origin.target is called] or [getattr(node.node, "origin_node", None)]
    return main if main[0] is not None else origins


def path_of(source: str) -> list[str]:
    """Names on a module's path as Dynamo writes it: L['self'].layers.0, L['self']._modules['layers']._modules['0'].

    A method that a decorator has wrapped is found in its closure, which is no part of the path.
    """
    inner = re.sub(r"^[LG]\['[^']*'\]|\.?\w+\.__closure__(\[\d+\]|\.\d+)\.cell_contents(\.__self__)?", "", source)
    return [name for name in re.findall(r"\w+", inner) if name not in ("_modules", "_orig_mod", "__dict__")]


def runs_on_host(graph: torch.fx.GraphModule) -> bool:
    """A graph that computes something on the host."""
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        if node.op == "call_function" and isinstance(value, torch.Tensor) and value.device.type == "cpu":
            return True
    return False
