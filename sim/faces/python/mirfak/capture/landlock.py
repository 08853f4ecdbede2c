"""Landlock: a Linux kernel's own refusal of writes and connections, whichever code of a process asks for them.

A process gives up rights for itself and its children, without privileges and for good. Numbers are those of the kernel's
interface (include/uapi/linux/landlock.h), which are the same on x86-64 and aarch64.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION = 1  # a flag of CREATE_RULESET, which then answers the version of the interface
BENEATH_PATH, TCP_PORT = 1, 2
NO_NEW_PRIVILEGES = 38  # of prctl

WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
# Removing, making of devices, folders, files, sockets, pipes, links: bits 4 to 12. Moving between folders: bit 13.
CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
REFER = 1 << 13
CONNECT_TCP = 1 << 1
TRUNCATE_SINCE, REFER_SINCE, TCP_SINCE = 3, 2, 4  # versions of the interface


class _Rules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64))


class _Path(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


class _Port(ctypes.Structure):
    _fields_ = (("rights", ctypes.c_uint64), ("port", ctypes.c_uint64))


def _call(number: int, *arguments: object) -> int:
    """The result of a system call, of which texts and structures stay where they are. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def version() -> int:
    """The version of the kernel's interface; 0: it has none, or refuses to use it."""
    try:
        return _call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        return 0


def restrict(writable: Iterable[pathlib.Path], ports: Iterable[int]) -> bool:
    """Lets this process write only to `writable` (folders with all in them, files), and connect by TCP only to
    `ports`, of any host. Returns whether the kernel sees to both; what is open stays open. Raises OSError.
    """
    known = version()
    if known == 0:
        return False
    files = WRITE_FILE | CHANGE_FOLDER
    files |= REFER if known >= REFER_SINCE else 0
    files |= TRUNCATE if known >= TRUNCATE_SINCE else 0
    rules = _Rules(files, CONNECT_TCP if known >= TCP_SINCE else 0)
    size = ctypes.sizeof(_Rules) if known >= TCP_SINCE else 8
    ruleset = _call(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in writable:
            _allow(ruleset, path, files if path.is_dir() else files & (WRITE_FILE | TRUNCATE))
        for port in ports if known >= TCP_SINCE else ():
            _add(ruleset, TCP_PORT, _Port(CONNECT_TCP, port))
        ctypes.CDLL(None, use_errno=True).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return known >= TCP_SINCE


def _allow(ruleset: int, path: pathlib.Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # of a machine that has no such device
    try:
        _add(ruleset, BENEATH_PATH, _Path(rights, descriptor))
    finally:
        os.close(descriptor)


def _add(ruleset: int, kind: int, rule: ctypes.Structure) -> None:
    _call(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(kind), ctypes.byref(rule), ctypes.c_uint32(0))
