"""Two stages that send each other activations and gradients. With "crossed" both send first, and would wait for ever."""

import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
crossed = "crossed" in sys.argv
layer = torch.nn.Linear(64, 64).to("cuda")
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    x = torch.randn(32, 64, device="cuda", requires_grad=True)
    if rank == 0 or crossed:
        y = layer(x)
        dist.send(y.detach(), 1 - rank)
        gradient = torch.empty_like(y)
        dist.recv(gradient, 1 - rank)
        y.backward(gradient)
    else:
        dist.recv(x.detach(), 0)
        layer(x).square().mean().backward()
        dist.send(x.grad, 0)
    optimizer.step()
dist.destroy_process_group()
