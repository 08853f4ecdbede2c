"""Context parallelism by hand: keys and values go round a ring of ranks, each of which has a part of the sequence."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

DEVICE = os.environ.get("DEVICE", "cuda")


def passed_on(tensor, step):
    """Sends `tensor` `step` ranks ahead and returns what comes from behind."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor, received = tensor.contiguous(), torch.empty_like(tensor, memory_format=torch.contiguous_format)
    sends = [
        dist.P2POp(dist.isend, tensor, (rank + step) % size),
        dist.P2POp(dist.irecv, received, (rank - step) % size),
    ]
    for work in dist.batch_isend_irecv(sends):
        work.wait()
    return received


class PassOn(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor):
        return passed_on(tensor, 1)

    @staticmethod
    def backward(context, gradient):
        return passed_on(gradient, -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        scores, values = [], []
        for step in range(dist.get_world_size()):
            if step:
                key, value = PassOn.apply(torch.cat((key, value), dim=-1)).chunk(2, dim=-1)
            scores.append(query @ key.transpose(-1, -2))
            values.append(value)
        shares = torch.cat(scores, dim=-1).softmax(dim=-1).chunk(dist.get_world_size(), dim=-1)
        return self.out(sum(share @ value for share, value in zip(shares, values)))


def main():
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    if DEVICE == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(Attention(), Attention()).to(DEVICE))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        model(torch.randn(2, 24, 32, device=DEVICE)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
