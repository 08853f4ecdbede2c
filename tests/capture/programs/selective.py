"""Checkpoints that save some operators: of each block every second product is computed again, under FSDP2."""

import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

DEVICE = os.environ.get("DEVICE", "cuda")
SAVED = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)


def policy():
    seen = {False: 0, True: 0}

    def decide(context, function, *arguments, **keywords):
        if function not in SAVED:
            return CheckpointPolicy.PREFER_RECOMPUTE
        seen[context.is_recompute] += 1
        return CheckpointPolicy.PREFER_RECOMPUTE if seen[context.is_recompute] % 2 == 0 else CheckpointPolicy.MUST_SAVE

    return decide


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.gate, self.up = nn.Linear(32, 64, bias=False), nn.Linear(32, 64, bias=False)
        self.down = nn.Linear(64, 32)

    def part(self, x):
        y = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))

    def forward(self, x):
        contexts = functools.partial(create_selective_checkpoint_contexts, policy())
        return checkpoint(self.part, x, use_reentrant=False, context_fn=contexts)


def main():
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    if DEVICE == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), Block(), Block(), nn.Linear(32, 8)).to(DEVICE)
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        model(torch.randn(12, 16, device=DEVICE)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
