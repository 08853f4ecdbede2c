"""DDP with accumulation and a compressed reduction, and PyTorch's ZeroRedundancyOptimizer: states on one rank each."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

DEVICE = os.environ.get("DEVICE", "cuda")


def main():
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    if DEVICE == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24), nn.Linear(24, 8)).to(DEVICE))
    model.register_comm_hook(None, bf16_compress_hook)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-3)
    for _ in range(3):
        with model.no_sync():
            model(torch.randn(10, 24, device=DEVICE)).square().mean().backward()
        model(torch.randn(10, 24, device=DEVICE)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
