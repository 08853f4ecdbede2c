"""Confines a script: it writes to a temporary folder, and connects to no other host.

Python's functions are led there, so that a script finds what it has written. What reaches the kernel by another way
(libraries in C++, processes that the script starts) is refused by the kernel (landlock.py), where it can.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from . import landlock

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "pts", "shm")
ANYWHERE = ("/dev/", "/proc/")  # paths that are no files of the user
LOCAL = (None, "localhost", "127.0.0.1", "::1", b"localhost")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
REFUSED = "a capture changes nothing outside of its temporary folder"


def missing() -> str:
    """Names what this machine's kernel does not confine; "" if it confines everything."""
    known = landlock.version()
    if known >= landlock.TCP_SINCE:
        return ""
    asked = "connections of code outside of Python" if known else "what code outside of Python writes, and connects to,"
    since = "6.7" if known else "5.13"
    return f"{asked} is not confined: this kernel's Landlock does not do that (Linux {since} does)"


class Confinement:
    """Files of a script that lie in `folder`, at their paths. own: the folder of all ranks, where nothing is led."""

    def __init__(self, folder: pathlib.Path, own: pathlib.Path) -> None:
        self.folder, self.own = folder, str(own)
        folder.mkdir(parents=True, exist_ok=True)

    def install(self, port: int) -> None:
        """Leads Python's functions, and has the kernel refuse the rest but for connections to `port`."""
        _use_scratch(pathlib.Path(self.own, f"t{self.folder.name}"))
        sys.dont_write_bytecode = True
        _lead_files(self)
        _lead_folders(self)
        _lead_saving()
        sys.addaudithook(_refuse_connections)
        devices = [pathlib.Path("/dev", name) for name in DEVICES]
        landlock.restrict([pathlib.Path(self.own), pathlib.Path("/proc/self"), *devices], [port])

    def inside(self, path: Any) -> pathlib.Path:
        return self.folder / os.path.abspath(os.fsdecode(path)).lstrip("/")

    def is_free(self, path: Any) -> bool:
        """True if `path` is one that no function leads elsewhere."""
        return isinstance(path, int) or os.path.abspath(os.fsdecode(path)).startswith((*ANYWHERE, self.own))

    def written(self, path: Any, keep: bool) -> Any:
        """The place of a file that is written. keep: with what it holds until now."""
        if self.is_free(path):
            return path
        place = self.inside(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if keep and os.path.isfile(path) and not place.exists():
            place.write_bytes(pathlib.Path(path).read_bytes())
        return place

    def read(self, path: Any) -> Any:
        """The place of a file that is read: what the script has written, or else the machine's."""
        return path if self.is_free(path) or not (place := self.inside(path)).exists() else place

    def changed(self, path: Any) -> Any:
        """The place of a file that is moved, removed or marked: one that the script has written. Raises PermissionError."""
        place = self.read(path)
        if place is path and not self.is_free(path) and os.path.lexists(path):
            raise PermissionError(errno.EACCES, REFUSED, os.fsdecode(path))
        return place


def _use_scratch(scratch: pathlib.Path) -> None:
    """Temporary files and caches of libraries lie in `scratch`, whose name is short: sockets lie in it, too."""
    scratch.mkdir()
    os.environ["TMPDIR"], tempfile.tempdir = str(scratch), str(scratch)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "inductor")
    os.environ["TRITON_CACHE_DIR"] = str(scratch / "triton")
    os.environ["TORCH_EXTENSIONS_DIR"] = str(scratch / "extensions")
    home = pathlib.Path(os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface"))
    known = pathlib.Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets")
    _shadow(known, scratch / "datasets")  # its files are written by C++
    os.environ["HF_DATASETS_CACHE"] = str(scratch / "datasets")


def _shadow(folder: pathlib.Path, into: pathlib.Path) -> None:
    """Makes `into` a folder like `folder`, whose files are links to those that are there."""
    for place, _, names in os.walk(folder):
        here = into / pathlib.Path(place).relative_to(folder)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            if not name.endswith(".lock"):
                (here / name).symlink_to(pathlib.Path(place, name))


def _lead_files(to: Confinement) -> None:
    original, original_open = io.open, os.open

    def opened(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        if set(mode) & set("wax+"):
            return original(to.written(file, keep="w" not in mode), mode, *arguments, **keywords)
        return original(to.read(file), mode, *arguments, **keywords)

    def os_opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is None:
            path = to.written(path, keep=not flags & os.O_TRUNC) if flags & WRITING else to.read(path)
        return original_open(path, flags, mode, dir_fd=dir_fd)

    builtins.open = io.open = opened
    os.open = os_opened  # type: ignore[assignment]


def _lead_folders(to: Confinement) -> None:
    mkdir = os.mkdir

    def made(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None or to.is_free(path) or os.path.isdir(path):
            mkdir(path, mode, dir_fd=dir_fd)
        else:
            to.inside(path).mkdir(parents=True, exist_ok=True)

    os.mkdir = made
    for name in ("remove", "unlink", "rmdir", "chmod", "utime", "truncate"):
        setattr(os, name, _changing(getattr(os, name), to))
    for name in ("rename", "replace"):
        setattr(os, name, _moving(getattr(os, name), to))


def _changing(function: Callable[..., None], to: Confinement) -> Callable[..., None]:
    def changed(path: Any, *arguments: Any, **keywords: Any) -> None:
        free = keywords.get("dir_fd") is not None
        function(path if free else to.changed(path), *arguments, **keywords)

    return changed


def _moving(function: Callable[..., None], to: Confinement) -> Callable[..., None]:
    def moved(source: Any, into: Any, **keywords: Any) -> None:
        if any(keywords.values()):
            function(source, into, **keywords)
        else:
            function(to.changed(source), to.written(into, keep=False))

    return moved


def _lead_saving() -> None:
    """torch.save to a path writes nothing: its values are fakes, and its file is written by C++."""
    import torch

    save = torch.save

    def saved(value: Any, file: Any, *arguments: Any, **keywords: Any) -> None:
        if not isinstance(file, (str, os.PathLike)):
            save(value, file, *arguments, **keywords)

    torch.save = saved


def _refuse_connections(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        host = arguments[1][0] if isinstance(arguments[1], tuple) else None
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in LOCAL:
        raise ConnectionRefusedError(f"a capture connects to no other host ({host})")
