"""GPUs for which a program can be captured: those of hw_profiles/gpus that run CUDA.

Only a few plain keys of a profile are read, so no YAML library is needed where PyTorch is.
"""

from __future__ import annotations

import os
import pathlib
import re
from dataclasses import dataclass

from ..errors import InputError

# Memory that the threads of a block can share, by compute capability (CUDA C++ Programming Guide, table of technical
# specifications: 99, 163 or 227 KiB; 64 and 96 KiB before Ampere).
SHARED_MEMORY_BYTES = {70: 98304, 75: 65536, 80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448, 103: 232448}
SHARED_MEMORY_OTHERWISE = 101376

# Workspace that PyTorch allocates for cuBLAS for each thread and stream (aten/src/ATen/cuda/CublasHandlePool.cpp,
# parseChosenWorkspaceSize): 4096 KiB times 8 from Hopper on, :4096:2:16:8 before.
WORKSPACE_BYTES_HOPPER = 4096 * 1024 * 8
WORKSPACE_BYTES_BEFORE = 4096 * 1024 * 2 + 16 * 1024 * 8


@dataclass(frozen=True)
class Device:
    """A GPU as a program sees it."""

    key: str
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int

    @property
    def shared_memory_bytes(self) -> int:
        return SHARED_MEMORY_BYTES.get(self.capability[0] * 10 + self.capability[1], SHARED_MEMORY_OTHERWISE)

    @property
    def workspace_bytes(self) -> int:
        return WORKSPACE_BYTES_HOPPER if self.capability[0] >= 9 else WORKSPACE_BYTES_BEFORE


def _folder() -> pathlib.Path:
    """Folder of GPUs: of MIRFAK_DATA, of the installed package, or of the sources."""
    package = pathlib.Path(__file__).resolve().parents[1]
    candidates = [package / "data", package.parents[3]]
    if os.environ.get("MIRFAK_DATA"):
        candidates = [pathlib.Path(os.environ["MIRFAK_DATA"])]
    for candidate in candidates:
        if (candidate / "hw_profiles" / "gpus").is_dir():
            return candidate / "hw_profiles" / "gpus"
    raise InputError(f"{candidates[0]} has no hw_profiles/gpus", hint="MIRFAK_DATA names the folder that has")


def device_of(name: str) -> Device:
    """The GPU of the profile `name`. Raises InputError for one that is not there or does not run CUDA."""
    folder = _folder()
    path = folder / f"{name}.yaml"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) or not path.is_file():
        known = ", ".join(sorted(found.stem for found in folder.glob("*.yaml") if _values(found)))
        raise InputError(f"--device {name}: there is no such GPU", hint=f"known: {known}")
    values = _values(path)
    if not values:
        raise InputError(f"--device {name}: programs are captured for GPUs that run CUDA", file=str(path))
    return Device(
        key=name,
        name=values["title"],
        capability=divmod(int(values["compile_target"].removeprefix("sm_")), 10),
        multiprocessors=int(values["multiprocessors"]),
        memory_bytes=int(float(values["memory_bytes"])),
        l2_bytes=int(float(values["l2_bytes"])),
    )


def _values(path: pathlib.Path) -> dict[str, str]:
    """Plain values at the top of a profile; none for a GPU that does not run CUDA."""
    keys = ("title", "compile_target", "multiprocessors", "memory_bytes", "l2_bytes")
    values = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"([a-z0-9_]+): *\[?([^,\]]+).*", line)
        if found and found[1] in keys:
            values[found[1]] = found[2].strip()
    return values if len(values) == len(keys) and values["compile_target"].startswith("sm_") else {}
