"""scaled_dot_product_attention as the GPU that is asked for would run it.

PyTorch chooses among cuDNN, flash, memory-efficient and plain attention by the GPU, and asks CUDA for it; of fakes it
takes the plain form, whose products no GPU would run. The choice is made here by the rules of PyTorch 2.15
(aten/src/ATen/native/transformers/cuda/sdp_utils.cpp), in its order: cuDNN first on compute capability 9 and 10,
then flash, memory-efficient, plain.
"""

from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch.nn import functional

from .devices import Device
from .patches import replace

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)


def install(device: Device) -> None:
    original = functional.scaled_dot_product_attention

    def scaled_dot_product_attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if query.device.type != "cuda":
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        if torch.is_autocast_enabled("cuda"):
            query, key, value, attn_mask = (autocast(tensor) for tensor in (query, key, value, attn_mask))
        chosen = choose(device, query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
        return RUN[chosen](query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    replace(functional, "scaled_dot_product_attention", scaled_dot_product_attention)
    replace(torch._C._nn, "scaled_dot_product_attention", scaled_dot_product_attention)


def autocast(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """A tensor in the format that autocast runs attention in (aten/src/ATen/autocast_mode.h)."""
    if tensor is None or not tensor.is_floating_point() or tensor.dtype is torch.float64:
        return tensor
    return tensor.to(torch.get_autocast_dtype("cuda"))


def choose(
    device: Device,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    causal: bool,
    grouped: bool,
) -> str:
    """The backend: "cudnn", "flash", "efficient" or "math"."""
    allowed = {
        "cudnn": torch.backends.cuda.cudnn_sdp_enabled(),
        "flash": torch.backends.cuda.flash_sdp_enabled(),
        "efficient": torch.backends.cuda.mem_efficient_sdp_enabled(),
    }
    prefer = device.capability[0] in (9, 10) and os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") != "1"
    for name in ("cudnn", "flash", "efficient") if prefer else ("flash", "efficient", "cudnn"):
        if allowed[name] and CAN[name](device, query, key, value, mask, dropout, causal, grouped):
            return name
        if name == "efficient" and not prefer and torch.backends.cuda.math_sdp_enabled():
            return "math"
    return "math"


def _dense(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, grouped: bool) -> bool:
    """Checks the shapes for all fused kernels: four dimensions, lengths, one head or a divisor of heads for keys."""
    tensors = (query, key, value)
    if any(tensor.dim() != 4 or tensor.stride(-1) != 1 and tensor.shape[-1] != 1 for tensor in tensors):
        return False
    if not (query.shape[0] == key.shape[0] == value.shape[0]) or 0 in (query.shape[2], key.shape[2]):
        return False
    heads = query.shape[1], key.shape[1], value.shape[1]
    if grouped:
        return heads[1] == heads[2] and heads[0] % heads[1] == 0
    return heads[0] == heads[1] == heads[2]


def _cudnn(
    device: Device, query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, grouped: bool
) -> bool:
    if torch.are_deterministic_algorithms_enabled() or query.dtype not in HALF or device.capability[0] < 8:
        return False
    if not _dense(query, key, value, grouped) or dropout * 16 != math.floor(dropout * 16):
        return False
    if key.shape[2] == 1 or (dropout and query.shape[2] == 1):
        return False
    width, value_width = query.shape[3], value.shape[3]
    if width % 8 or value_width % 8:
        return False
    if device.capability == (9, 0) or device.capability[0] == 10:
        training = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value))
        if training:
            return max(width, value_width) <= 128 or (width, value_width) in ((192, 128), (256, 256))
        return max(width, value_width) <= 256
    return max(width, value_width) <= 128


def _flash(
    device: Device, query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, grouped: bool
) -> bool:
    if mask is not None or query.dtype not in HALF or device.capability[0] < 8:
        return False
    if not _dense(query, key, value, grouped):
        return False
    if not query.shape[3] == key.shape[3] == value.shape[3] <= 256:
        return False
    return not causal or query.shape[2] == key.shape[2]


def _efficient(
    device: Device, query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, grouped: bool
) -> bool:
    formats = (*HALF, torch.float32) if device.capability[0] >= 8 else (torch.float16, torch.float32)
    if query.dtype not in formats or not _dense(query, key, value, grouped):
        return False
    alignment = 8 if query.dtype in HALF else 4
    return query.shape[3] == key.shape[3] and not query.shape[3] % alignment and not value.shape[3] % alignment


def _additive(mask: torch.Tensor | None, query: torch.Tensor) -> torch.Tensor | None:
    """A mask of booleans as what is added to scores."""
    if mask is None or mask.dtype is not torch.bool:
        return mask
    zero = torch.zeros((), dtype=query.dtype, device=query.device)
    return torch.where(mask, zero, torch.full((), -math.inf, dtype=query.dtype, device=query.device))


def _training(*tensors: torch.Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _run_cudnn(
    query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, scale: Any, grouped: bool
) -> Any:
    return aten._scaled_dot_product_cudnn_attention(
        query, key, value, _additive(mask, query), _training(query, key, value), dropout, causal, False, scale=scale
    )[0]


def _run_flash(
    query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, scale: Any, grouped: bool
) -> Any:
    width = query.shape[3]
    scale = 1 / math.sqrt(width) if scale is None else scale
    padding = -width % 8
    if padding:
        query, key, value = (functional.pad(tensor, (0, padding)) for tensor in (query, key, value))
    result = aten._scaled_dot_product_flash_attention(query, key, value, dropout, causal, False, scale=scale)[0]
    return result[..., :width] if padding else result


def _run_efficient(
    query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, scale: Any, grouped: bool
) -> Any:
    mask = _additive(mask, query)
    if mask is not None:
        mask = mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        if mask.shape[-1] % 16:
            mask = functional.pad(mask, (0, -mask.shape[-1] % 16))[..., : key.shape[2]]
    return aten._scaled_dot_product_efficient_attention(
        query, key, value, mask, _training(query, key, value), dropout, causal, scale=scale
    )[0]


def _run_math(
    query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, scale: Any, grouped: bool
) -> Any:
    return aten._scaled_dot_product_attention_math(
        query, key, value, mask, dropout, causal, scale=scale, enable_gqa=grouped
    )[0]


CAN = {"cudnn": _cudnn, "flash": _flash, "efficient": _efficient}
RUN = {"cudnn": _run_cudnn, "flash": _run_flash, "efficient": _run_efficient, "math": _run_math}
