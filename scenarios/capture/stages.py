"""Four stages of a decoder, which run eight microbatches one forward, one backward (1F1B)."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.functional import scaled_dot_product_attention

CHANNELS, HEADS, LAYERS, TOKENS, MICROBATCHES, VOCABULARY = 4096, 32, 2, 4096, 8, 32000


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(CHANNELS) for _ in range(2))
        self.qkv = nn.Linear(CHANNELS, 3 * CHANNELS, bias=False)
        self.projection = nn.Linear(CHANNELS, CHANNELS, bias=False)
        self.up = nn.Linear(CHANNELS, 4 * CHANNELS, bias=False)
        self.down = nn.Linear(4 * CHANNELS, CHANNELS, bias=False)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.projection(scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


rank, stages = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
first, last = rank == 0, rank == stages - 1
with device:
    parts = [nn.Embedding(VOCABULARY, CHANNELS)] if first else []
    parts += [Layer() for _ in range(LAYERS)]
    parts += [nn.Linear(CHANNELS, VOCABULARY, bias=False)] if last else []
    model = nn.Sequential(*parts).to(torch.bfloat16)
    batch = torch.randint(VOCABULARY, (MICROBATCHES, TOKENS))


def loss(logits, targets):
    return nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


stage = PipelineStage(model, rank, stages, device)
schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=loss)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for step in range(3):
    optimizer.zero_grad()
    schedule.step(*([batch] if first else []), **({"target": batch} if last else {}))
    optimizer.step()
dist.destroy_process_group()
