"""Blocks with attention under FSDP2, as torchtitan runs them: each block compiled, and the loss. Argument: eager."""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


class Block(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width, bias=False)
        self.gate, self.up = (torch.nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def loss_of(y):
    return functional.cross_entropy(y.float().flatten(0, 1), labels.flatten())


model = torch.nn.Sequential(*(Block() for _ in range(2))).to("cuda")
labels = torch.zeros(2, 128, dtype=torch.int64, device="cuda")
compiled = sys.argv[1:] != ["eager"]
for block in model:
    if compiled:
        block.compile(fullgraph=True)
    fully_shard(block, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
fully_shard(model)
if compiled:
    loss_of = torch.compile(loss_of)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for step in range(3):
    optimizer.zero_grad()
    loss_of(model(torch.randn(2, 128, 64, device="cuda", dtype=torch.bfloat16))).backward()
    optimizer.step()
dist.destroy_process_group()
