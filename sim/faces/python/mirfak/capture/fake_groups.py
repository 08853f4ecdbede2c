"""Process groups without other processes: what is communicated is recorded, and nothing is sent.

Every backend of torch.distributed makes a group of the `fake` one, and operators of collectives are taken from the
dispatcher, whoever calls them (the dist API, FSDP, DDP's reducer, DTensor). Results of fakes have their shapes. Tensors
of the host keep values: other ranks are taken to have what this rank has. Objects between two captured ranks are
handed over for real (exchange.py), because pipelines tell their neighbours shapes that way.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor
from torch.distributed import device_mesh
from torch.distributed import distributed_c10d as c10d

from ..errors import InputError
from . import values
from .exchange import Exchange
from .operators import arguments_of, dtype_name, tensors_in
from .patches import replace
from .recorder import Recorder
from .steps import Steps, bytes_of

# Operators of c10d: kind, argument with the inputs, argument with the outputs.
C10D = {
    "allreduce_": ("all_reduce", "tensors", "tensors"),
    "allreduce_coalesced_": ("all_reduce_coalesced", "tensors", "tensors"),
    "broadcast_": ("broadcast", "tensors", "tensors"),
    "reduce_": ("reduce", "tensors", "tensors"),
    "allgather_": ("all_gather", "input_tensors", "output_tensors"),
    "_allgather_base_": ("all_gather_into_tensor", "input_tensor", "output_tensor"),
    "allgather_coalesced_": ("all_gather_coalesced", "input_list", "output_lists"),
    "allgather_into_tensor_coalesced_": ("all_gather_into_tensor_coalesced", "inputs", "outputs"),
    "reduce_scatter_": ("reduce_scatter", "input_tensors", "output_tensors"),
    "_reduce_scatter_base_": ("reduce_scatter_tensor", "input_tensor", "output_tensor"),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter_tensor_coalesced", "inputs", "outputs"),
    "gather_": ("gather", "input_tensors", "output_tensors"),
    "scatter_": ("scatter", "input_tensors", "output_tensors"),
    "alltoall_": ("all_to_all", "input_tensors", "output_tensors"),
    "alltoall_base_": ("all_to_all_single", "input", "output"),
    "barrier": ("barrier", None, None),
    "monitored_barrier_": ("barrier", None, None),
    "send": ("send", "tensors", None),
    "recv_": ("recv", None, "tensors"),
    "recv_any_source_": ("recv_any_source", None, "tensors"),
}

# Operators of c10d that return work alone; the others return tensors with it.
WORK_ALONE = frozenset(("reduce_", "gather_", "alltoall_base_", "barrier", "send", "recv_", "recv_any_source_"))
WORK_ALONE |= {"allreduce_coalesced_", "allgather_coalesced_", "allgather_into_tensor_coalesced_"}
WORK_ALONE |= {"reduce_scatter_tensor_coalesced_"}

# Collectives whose results have values where their inputs have them.
IN_PLACE = frozenset(("all_reduce", "broadcast"))
KEEPING_VALUES = IN_PLACE | {"all_gather", "all_gather_into_tensor", "all_to_all_single", "all_to_all"}

REDUCTIONS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")


class FinishedWork(dist._Work):
    """Work that is done, whose future has the tensors that DDP's reducer looks for, as long as they are there."""

    def __init__(self, tensors: list[torch.Tensor], wait: Callable[[], None]) -> None:
        super().__init__()
        self._wait = wait
        self._tensors = [weakref.ref(tensor) for tensor in tensors]

    def wait(self, timeout: Any = None) -> bool:
        self._wait()
        return True

    def synchronize(self) -> None:
        self._wait()

    def block_current_stream(self) -> None:
        self._wait()

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def get_future(self) -> torch.futures.Future[Any]:
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result([tensor for found in self._tensors if (tensor := found()) is not None])
        return future


def group_of(value: Any) -> dist.ProcessGroup:
    if isinstance(value, str):
        return c10d._resolve_process_group(value)
    return value if isinstance(value, dist.ProcessGroup) else dist.ProcessGroup.unbox(value)


def reduction_of(value: Any) -> str:
    if isinstance(value, str):
        return value.upper()
    value = dist.ReduceOp.unbox(value) if hasattr(dist.ReduceOp, "unbox") else value
    return next((name for name in REDUCTIONS if value == getattr(dist.ReduceOp, name)), "SUM")


class FakeGroups:
    def __init__(
        self,
        recorder: Recorder,
        steps: Steps,
        stream: Callable[[], int],
        exchange: Exchange,
        world_size: int,
        rank: int,
    ) -> None:
        self.recorder, self.steps, self.stream, self.exchange = recorder, steps, stream, exchange
        self.world_size, self.rank = world_size, rank
        self.made = False  # whether the script has made a group
        self._alive: list[FinishedWork] = []  # C++ holds work without the Python object that answers for it
        self._pending: dict[int, int] = {}  # by storage of a functional collective's result: its work

    def communicate(self, function: Any, arguments: Any, keywords: Any, run: Callable[..., Any]) -> Any:
        """Records an operator of c10d or a functional collective, and returns what it would."""
        name = function._schema.name.split("::")[1]
        if name in ("wait_tensor", "wait_tensors", "_wrap_tensor_autograd"):
            return self._wait(name, function, arguments, keywords, run)
        bound = arguments_of(function, arguments, keywords)
        if function.namespace == "c10d":
            return self._c10d(name, bound)
        return self._functional(name, function, bound, arguments, keywords, run)

    def _c10d(self, name: str, bound: dict[str, Any]) -> Any:
        if name not in C10D:
            raise InputError(f"the collective c10d::{name} cannot be captured")
        kind, source, target = C10D[name]
        group = group_of(bound["process_group"])
        inputs, outputs = tensors_in(bound.get(source)), tensors_in(bound.get(target))
        entry = self._entry(kind, group, inputs or outputs, "c10d")
        if kind == "barrier":
            entry["dtype"] = ""
        if kind not in ("send", "recv"):
            entry["async"] = bool(bound.get("async_op", bound.get("asyncOp", True)))
        if len(inputs) > 1 and kind != "barrier":
            entry["tensors"] = len(inputs)
        if bound.get("reduce_op") is not None:
            entry["op"] = reduction_of(bound["reduce_op"])
        for key in ("dst", "src", "root_rank"):
            if bound.get(key) is not None:
                entry["root" if key == "root_rank" else "peer"] = dist.get_global_rank(group, int(bound[key]))
        if kind == "all_to_all_single":
            entry["out_splits"] = [int(split) for split in bound["output_split_sizes"]]
            entry["in_splits"] = [int(split) for split in bound["input_split_sizes"]]
        entry["in_bytes"], entry["out_bytes"] = sum(map(bytes_of, inputs)), sum(map(bytes_of, outputs))
        work = self._record(entry)
        if any(isinstance(tensor, FakeTensor) for tensor in (*inputs, *outputs)):
            self._of_fakes(kind, entry, group, inputs, outputs)
        else:
            self._for_real(kind, entry, group, inputs, outputs)
        finished = FinishedWork(list(outputs or inputs), lambda: self.recorder.wait(work, self.stream()))
        self._alive.append(finished)
        if name in WORK_ALONE:
            return finished.boxed()
        return bound.get(target), finished.boxed()

    def _functional(
        self, name: str, function: Any, bound: dict[str, Any], arguments: Any, keywords: Any, run: Callable[..., Any]
    ) -> Any:
        kind = name.removesuffix("_out").removesuffix("_")
        group = group_of(bound["group_name"])
        inputs = tensors_in(bound.get("input", bound.get("inputs")))
        entry = self._entry(kind, group, inputs, "functional") | {"async": True}
        if len(inputs) > 1:
            entry["tensors"] = len(inputs)
        if bound.get("reduce_op") is not None:
            entry["op"] = reduction_of(bound["reduce_op"])
        if kind == "shard_dim_alltoall":
            entry["kind"] = "all_to_all_single"
        elif kind == "all_to_all_single":
            entry["out_splits"] = [int(split) for split in bound["output_split_sizes"]]
            entry["in_splits"] = [int(split) for split in bound["input_split_sizes"]]
        if any(isinstance(tensor, FakeTensor) for tensor in inputs):
            result = run(function, arguments, keywords)
        else:
            result = self._functional_for_real(kind, entry, group, inputs)
        results = tensors_in(result)
        entry["in_bytes"], entry["out_bytes"] = sum(map(bytes_of, inputs)), sum(map(bytes_of, results))
        work = self._record(entry)
        for tensor in results:
            self._pending[tensor.untyped_storage()._cdata] = work
        return result

    def _wait(self, name: str, function: Any, arguments: Any, keywords: Any, run: Callable[..., Any]) -> Any:
        tensors = tensors_in(arguments)
        for tensor in tensors:
            work = self._pending.pop(tensor.untyped_storage()._cdata, None)
            if work is not None:
                self.recorder.wait(work, self.stream())
        if any(isinstance(tensor, FakeTensor) for tensor in tensors):
            return run(function, arguments, keywords)
        return arguments[0]

    def _entry(self, kind: str, group: dist.ProcessGroup, tensors: list[torch.Tensor], via: str) -> dict[str, Any]:
        formats = sorted({dtype_name(tensor.dtype) for tensor in tensors})
        ranks = sorted(dist.get_process_group_ranks(group))
        return {"kind": kind, "ranks": ranks, "dtype": "+".join(formats), "via": via}

    def _record(self, entry: dict[str, Any]) -> int:
        module, phase = self.steps.place()
        if self.recorder.listening:
            place = self.recorder.collectives.place_of(entry)
        else:
            place = 0
        return self.recorder.communicate(place, module, phase, self.stream())

    def _of_fakes(self, kind: str, entry: dict[str, Any], group: Any, inputs: list[Any], outputs: list[Any]) -> None:
        """Small tensors of integers on the GPU, split sizes among them, keep values as tensors of the host do."""
        known = [values.known(tensor) for tensor in inputs]
        for tensor in outputs:
            values.forget(tensor)
        if kind not in KEEPING_VALUES or not known or any(value is None for value in known):
            return
        if not all(map(values.followed, outputs)):
            return
        made = [torch.empty(tensor.shape, dtype=tensor.dtype) for tensor in outputs]
        if kind in IN_PLACE:
            known = made = [value.clone() for value in known]
        self._for_real(kind, entry, group, known, made)
        for tensor, value in zip(outputs, made, strict=True):
            values.remember(tensor, value)

    def _for_real(
        self, kind: str, entry: dict[str, Any], group: dist.ProcessGroup, inputs: list[Any], outputs: list[Any]
    ) -> None:
        """Gives tensors of the host the values that they have where every rank has what this one has."""
        size, rank = group.size(), group.rank()
        if kind in ("barrier", "broadcast"):
            return
        self.recorder.note(f"values of {kind}: other ranks are taken to have what this one has")
        if kind.startswith("all_reduce") or kind == "reduce":
            if entry.get("op", "SUM") == "SUM":
                for tensor in outputs:
                    tensor.mul_(size)
        elif kind.startswith("all_gather") or kind == "gather":
            self._gather(inputs, outputs, size)
        elif kind == "all_to_all_single":
            parts = torch.split(inputs[0], entry["in_splits"] or inputs[0].shape[0] // size)
            outputs[0].copy_(torch.cat([parts[rank]] * size)[: outputs[0].shape[0]])
        elif kind == "all_to_all":
            for output in outputs:
                output.copy_(inputs[rank])
        elif kind == "send":
            self.exchange.send(entry["peer"], [tensor.cpu() for tensor in inputs])
        elif kind == "recv":
            for tensor, received in zip(outputs, self.exchange.receive(entry["peer"]), strict=True):
                tensor.copy_(received)
        else:
            raise InputError(f"{kind} of tensors of the host cannot be captured", hint="communicate tensors of the GPU")

    @staticmethod
    def _gather(inputs: list[torch.Tensor], outputs: list[torch.Tensor], size: int) -> None:
        if len(outputs) == 1 and outputs[0].numel() == inputs[0].numel() * size:
            outputs[0].view(size, -1).copy_(inputs[0].reshape(1, -1).expand(size, -1))
        for output in outputs if len(outputs) > 1 else ():
            output.copy_(inputs[0])

    def _functional_for_real(self, kind: str, entry: dict[str, Any], group: Any, inputs: list[Any]) -> Any:
        size = group.size()
        results = [tensor.clone() for tensor in inputs]
        if kind.startswith("all_reduce") and entry.get("op") == "SUM":
            results = [tensor * size for tensor in inputs]
        elif kind.startswith("all_gather"):
            results = [torch.cat([tensor] * size) for tensor in inputs]
        elif not kind.startswith(("all_reduce", "broadcast")):
            raise InputError(f"{kind} of tensors of the host cannot be captured", hint="communicate tensors of the GPU")
        return results if kind.endswith("coalesced") else results[0]

    def install(self) -> None:
        original = dist.init_process_group

        def init_process_group(
            backend: Any = None, init_method: Any = None, timeout: Any = None, **keywords: Any
        ) -> Any:
            world_size, rank = keywords.pop("world_size", -1), keywords.pop("rank", -1)
            world_size = int(os.environ["WORLD_SIZE"]) if world_size < 0 else world_size
            rank = int(os.environ["RANK"]) if rank < 0 else rank
            if (world_size, rank) != (self.world_size, self.rank):
                raise InputError(
                    f"the script makes a group of {world_size} ranks as rank {rank}, and rank {self.rank} of "
                    f"{self.world_size} was asked for",
                    hint=f"capture with --world-size {world_size}",
                )
            keywords.pop("store", None)
            self.made = True
            return original(
                backend, timeout=timeout, world_size=world_size, rank=rank, store=dist.HashStore(), **keywords
            )

        for module in (dist, c10d, device_mesh):
            replace(module, "init_process_group", init_process_group)
        self._install_new_groups()
        self._install_backends()
        self._install_objects()
        replace(dist, "_verify_params_across_processes", self._verify_parameters)

    def _install_new_groups(self) -> None:
        """Every rank makes every group, so that the groups of all ranks are known from one."""
        made, split = c10d._new_group_with_tag, c10d.split_group

        def new_group_with_tag(ranks: Any = None, *arguments: Any, **keywords: Any) -> Any:
            if ranks is not None:
                self.recorder.groups[tuple(sorted(ranks))] = None
            return made(ranks, *arguments, **keywords)

        def split_group(parent_pg: Any = None, split_ranks: Any = None, *arguments: Any, **keywords: Any) -> Any:
            for ranks in split_ranks or ():
                self.recorder.groups[tuple(sorted(ranks))] = None
            return split(parent_pg, split_ranks, *arguments, **keywords)

        replace(c10d, "_new_group_with_tag", new_group_with_tag)
        for module in (dist, c10d, device_mesh):
            replace(module, "split_group", split_group)

    def _install_backends(self) -> None:
        from torch._C._distributed_c10d import FakeProcessGroup

        def make(common: Any, options: Any) -> Any:
            return FakeProcessGroup._create_internal(common.group_rank, common.group_size, None)

        backend = dist.Backend
        plugins = dict(backend._plugins)
        for name in ("nccl", "gloo", "mpi", "ucc", "xccl", "fake"):
            plugins[name.upper()] = backend._BackendPlugin(make, True)
            if name not in backend.backend_list:
                backend.backend_list.append(name)
            backend.backend_capability[name] = ["cuda"] if name == "nccl" else ["cpu", "cuda"]
        replace(backend, "_plugins", plugins)
        replace(backend, "default_device_backend_map", {"cpu": "gloo", "cuda": "nccl"})
        replace(c10d, "is_nccl_available", lambda: True)
        replace(dist, "is_nccl_available", lambda: True)

    def _verify_parameters(self, group: Any, parameters: list[torch.Tensor], logger: Any = None) -> None:
        """Communicates as DDP's constructor does to compare parameters; without values there is nothing to compare."""
        device = parameters[0].device
        count = torch.empty(1, dtype=torch.int64, device=device)
        group.allgather([[torch.empty_like(count) for _ in range(group.size())]], [count]).wait()
        sizes = torch.empty(sum(2 * tensor.dim() for tensor in parameters), dtype=torch.int64, device=device)
        group.broadcast([sizes]).wait()

    def _install_objects(self) -> None:
        """Python objects, which real groups send as bytes of the GPU."""

        def note() -> None:
            self.recorder.note("objects that ranks exchange: those of other ranks are taken to be this rank's")

        def peer(group: Any, rank: Any, group_rank: Any) -> int:
            return rank if rank is not None else dist.get_global_rank(group or c10d._get_default_group(), group_rank)

        def all_gather_object(object_list: list[Any], obj: Any, group: Any = None, **keywords: Any) -> None:
            note()
            object_list[:] = [obj] * len(object_list)

        def gather_object(
            obj: Any,
            object_gather_list: Any = None,
            dst: Any = None,
            group: Any = None,
            group_dst: Any = None,
            **rest: Any,
        ) -> None:
            note()
            if object_gather_list is not None:
                object_gather_list[:] = [obj] * len(object_gather_list)

        def broadcast_object_list(object_list: list[Any], *arguments: Any, **keywords: Any) -> None:
            note()

        def scatter_object_list(output: list[Any], inputs: Any = None, *arguments: Any, **keywords: Any) -> None:
            note()
            if inputs is not None:
                output[0] = inputs[0]

        def send_object_list(
            object_list: list[Any],
            dst: Any = None,
            group: Any = None,
            device: Any = None,
            group_dst: Any = None,
            **rest: Any,
        ) -> None:
            self.exchange.send(peer(group, dst, group_dst), list(object_list))

        def recv_object_list(
            object_list: list[Any],
            src: Any = None,
            group: Any = None,
            device: Any = None,
            group_src: Any = None,
            **rest: Any,
        ) -> int:
            source = peer(group, src, group_src)
            object_list[:] = self.exchange.receive(source)
            return source

        for function in (
            all_gather_object,
            gather_object,
            broadcast_object_list,
            scatter_object_list,
            send_object_list,
            recv_object_list,
        ):
            replace(dist, function.__name__, function)
            replace(c10d, function.__name__, function)
