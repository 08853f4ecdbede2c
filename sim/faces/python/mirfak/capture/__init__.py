"""Any PyTorch training script, captured on a machine without a GPU.

    python -m mirfak.capture --world-size 64 --out job.capture -- train.py --config 8b.toml
    python -m mirfak.capture show job.capture

The script runs unmodified, as each of the ranks that are asked for: tensors on GPUs are fakes that have shapes and no
values, process groups have no other processes. What it would launch in one training step is recorded: operators with
their tensors, communication, streams and waits, memory, and the module and phase of each.

Importing this package needs neither PyTorch nor mirfak's extension; capturing needs PyTorch 2.15.
"""

from __future__ import annotations

from .capture_file import Capture, read_capture, write_capture

__all__ = ["Capture", "read_capture", "write_capture"]
