"""Answers of three functions of libtorch, replaced in memory.

PyTorch's CUDA build asks CUDA's runtime in places that no Python function reaches: autograd's engine asks for the
accelerator and its contexts, DDP's reducer makes CUDA events for a timer. Without a driver these questions end in
errors. Each function below is exported by libtorch_cpu.so and answers with a register, so its first instructions are
overwritten by the answer in this process's private copy of the page: no compiler, no file is changed.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import pathlib
import platform
from collections.abc import Callable

from ..errors import InternalError

CUDA = 1  # c10::DeviceType::CUDA

# An optional without a value, or false.
NOTHING = {
    "x86_64": bytes.fromhex("31c0c3"),  # xor eax, eax; ret
    "aarch64": bytes.fromhex("000080d2c0035fd6"),  # mov x0, #0; ret
}

# An optional of one byte that has the value 1 where the argument is true, and none where it is false.
CUDA_IF_ASKED = {
    "x86_64": bytes.fromhex("400fb6c769c001010000c3"),  # movzx eax, dil; imul eax, eax, 0x101; ret
    # and w0, w0, #1; mov w1, #0x101; mul w0, w0, w1; ret
    "aarch64": bytes.fromhex("0000001221208052007c011bc0035fd6"),
}

# Function: its mangled name and the code of the answer.
ANSWERS = {
    # The engine asks without `checked`, and gets none; a device that is given by its number is asked for with it.
    "at::accelerator::getAccelerator(bool checked)": ("_ZN2at11accelerator14getAcceleratorEb", CUDA_IF_ASKED),
    "at::accelerator::isAccelerator(DeviceType)": (
        "_ZN2at11accelerator13isAcceleratorEN3c1010DeviceTypeE",
        NOTHING,
    ),
    "c10d::Reducer::should_collect_runtime_stats()": ("_ZN4c10d7Reducer28should_collect_runtime_statsEv", NOTHING),
}


def answer_without_driver(torch_folder: pathlib.Path) -> None:
    """Replaces the answers in this process and its later children. Raises InternalError where that cannot be done."""
    machine = platform.machine()
    if machine not in NOTHING or platform.system() != "Linux":
        raise InternalError(
            f"programs cannot be captured on {platform.system()} {machine}",
            hint="capture on Linux, x86-64 or aarch64",
        )
    library = ctypes.CDLL(str(torch_folder / "lib" / "libtorch_cpu.so"))
    for function, (name, code) in ANSWERS.items():
        try:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            raise InternalError(f"this PyTorch has no function {function}", hint="capture with PyTorch 2.15") from None
        _overwrite(address, code[machine])


def _overwrite(address: int, code: bytes) -> None:
    system = ctypes.CDLL(None, use_errno=True)
    system.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    first = address - address % mmap.PAGESIZE
    size = address + len(code) - first
    readable, writable, executable = mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC
    if system.mprotect(first, size, readable | writable | executable):
        raise InternalError(
            "this system does not let a process change its own code, which a capture needs to run without a driver",
            hint="capture outside of the restriction (SELinux: execmod)",
        )
    ctypes.memmove(address, code, len(code))
    if platform.machine() == "aarch64":  # its instruction cache does not see what was written
        builtins = ctypes.CDLL("libgcc_s.so.1")
        builtins.__clear_cache(ctypes.c_void_p(address), ctypes.c_void_p(address + len(code)))
    system.mprotect(first, size, readable | executable)


def set_current_device(torch_folder: pathlib.Path, number: int) -> None:
    """Tells C++ which GPU of this thread is the current one, as cudaSetDevice would.

    Calls setDevice of the guard that PyTorch has for fakes on GPUs: the fourth function of c10's
    DeviceGuardImplInterface, whose argument is two bytes, the type of the device and its number.
    """
    set_device, guard = _guard(torch_folder)
    set_device(guard, CUDA | number << 8)


@functools.cache
def _guard(torch_folder: pathlib.Path) -> tuple[Callable[[int, int], None], int]:
    """setDevice of the guard, and the guard."""
    library = ctypes.CDLL(str(torch_folder / "lib" / "libc10.so"))
    guards = (ctypes.c_void_p * 2).in_dll(library, "_ZN3c104impl26device_guard_impl_registryE")
    functions = ctypes.cast(guards[CUDA], ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint16)(functions[3]), guards[CUDA]
