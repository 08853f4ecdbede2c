"""One block with causal attention on one GPU: products, fused attention, norms, a loss, a fused optimizer."""

import torch

torch.cuda.set_device(0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(512)
        self.qkv = torch.nn.Linear(512, 1536, bias=False)
        self.out = torch.nn.Linear(512, 512, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 8, 64)).permute(2, 0, 3, 1, 4)
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(a.transpose(1, 2).flatten(2))


model = torch.nn.Sequential(torch.nn.Embedding(1000, 512), Block(), Block(), torch.nn.Linear(512, 1000)).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for step in range(3):
    tokens = torch.randint(0, 1000, (4, 257), device="cuda")
    loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
