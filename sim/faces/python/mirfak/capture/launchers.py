"""Commands of scripts: what launchers would start is what is captured, and is run as Python would run it."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import runpy
import sys

from ..errors import InputError

PYTHON = ("python", "python3")
TORCHRUN = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
# Launchers that tell the script more than its rank, and what to give instead.
OTHERS = {
    "accelerate": "give the script itself; what the configuration of accelerate says belongs into the environment "
    "(ACCELERATE_MIXED_PRECISION=bf16, ACCELERATE_USE_FSDP=true)",
    "deepspeed": "give the script itself, which finds LOCAL_RANK in its environment",
    "mpirun": "give the script itself, which finds RANK and WORLD_SIZE in its environment",
    "srun": "give the script itself, which finds RANK and WORLD_SIZE in its environment",
}


def started_by(command: list[str], world_size: int) -> list[str]:
    """The script, or -m and the module, that `command` would start on each rank, with its arguments."""
    name = pathlib.Path(command[0]).name
    if name in PYTHON or (name.startswith("python3.") and name[8:].isdecimal()):
        return started_by(_of_python(command), world_size)
    if command[0] == "-m" and len(command) > 1:
        name = command[1].removesuffix(".commands.launch")
        name = "deepspeed" if name.startswith("deepspeed.launcher") else name
        return _of_launcher(name, command[2:], world_size) or command
    return _of_launcher(name, command[1:], world_size) or command


def run_command(command: list[str]) -> None:
    """Runs a script, or -m and a module, in this process, as Python would start it."""
    if command[0] == "-m":
        sys.argv = command[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(command)
        sys.path.insert(0, str(pathlib.Path(command[0]).resolve().parent))
        runpy.run_path(command[0], run_name="__main__")


def _of_python(command: list[str]) -> list[str]:
    rest = command[1:]
    while rest and rest[0] in ("-u", "-B", "-O", "-I", "-s"):
        rest = rest[1:]
    if not rest or (rest[0].startswith("-") and rest[0] != "-m"):
        said = rest[0] if rest else "nothing"
        raise InputError(f"{command[0]}: expected a script or -m and a module, and not {said}")
    return rest


def _of_launcher(name: str, rest: list[str], world_size: int) -> list[str] | None:
    """None: `name` is no launcher."""
    if name in OTHERS:
        raise InputError(f"{name} starts ranks itself, which a capture does", hint=OTHERS[name])
    return _of_torchrun(rest, world_size) if name in TORCHRUN else None


def _of_torchrun(arguments: list[str], world_size: int) -> list[str]:
    if importlib.util.find_spec("torch") is None:
        raise InputError("torchrun needs PyTorch, which is not installed", hint="pip install mirfak[capture]")
    from torch.distributed.run import parse_args

    try:
        asked = parse_args(arguments)
    except SystemExit:
        raise InputError(f"torchrun {' '.join(arguments)}: torchrun does not understand its options") from None
    if asked.no_python:
        raise InputError("--no-python: a capture runs Python", hint="give a script of Python")
    nodes, _, most = str(asked.nnodes).partition(":")
    per_node = str(asked.nproc_per_node)
    if per_node.isdecimal() and int(most or nodes) * int(per_node) != world_size:
        raise InputError(
            f"torchrun starts {most or nodes} x {per_node} ranks, and --world-size asks for {world_size}",
            hint=f"capture with --world-size {int(most or nodes) * int(per_node)}",
        )
    return [*(["-m"] if asked.module else []), asked.training_script, *asked.training_script_args]
