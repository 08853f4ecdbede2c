"""Qwen of the first generation, as PyTorch modules: one projection for queries, keys and values, with bias."""

import torch
from torch import nn
from torch.nn import functional
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

SIZES = {
    "qwen-1.8b": {"hidden_size": 2048, "intermediate_size": 5504, "layers": 24, "heads": 16, "vocab_size": 151936},
    "qwen-7b": {"hidden_size": 4096, "intermediate_size": 11008, "layers": 32, "heads": 32, "vocab_size": 151936},
    "qwen-14b": {"hidden_size": 5120, "intermediate_size": 13696, "layers": 40, "heads": 40, "vocab_size": 152064},
    "qwen-72b": {"hidden_size": 8192, "intermediate_size": 24576, "layers": 80, "heads": 64, "vocab_size": 152064},
}


class QwenConfig(PretrainedConfig):
    model_type = "qwen-of-2023"
    hidden_size: int = 0
    intermediate_size: int = 0
    layers: int = 0
    heads: int = 0
    vocab_size: int = 0


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, states):
        wide = states.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return scaled.type_as(states) * self.weight


def rotated(states, cosine, sine):
    """Turns pairs of features, in fp32."""
    wide = states.float()
    first, second = wide.chunk(2, dim=-1)
    return (wide * cosine + torch.cat((-second, first), dim=-1) * sine).type_as(states)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.c_attn = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.c_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, states, cosine, sine):
        batch, tokens, width = states.shape
        query, key, value = self.c_attn(states).split(width, dim=2)
        query, key, value = (part.view(batch, tokens, self.heads, -1) for part in (query, key, value))
        query, key = rotated(query, cosine, sine), rotated(key, cosine, sine)
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.c_proj(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.w1 = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.w2 = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.c_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, states):
        return self.c_proj(self.w1(states) * functional.silu(self.w2(states)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.attn = Norm(config.hidden_size), Attention(config)
        self.ln_2, self.mlp = Norm(config.hidden_size), Mlp(config)

    def forward(self, states, cosine, sine):
        states = states + self.attn(self.ln_1(states), cosine, sine)
        return states + self.mlp(self.ln_2(states))


class Qwen(PreTrainedModel):
    config_class = QwenConfig
    supports_gradient_checkpointing = True
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        self.gradient_checkpointing = False
        self.wte = nn.Embedding(config.vocab_size, config.hidden_size)
        self.h = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln_f = Norm(config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.wte

    def angles(self, tokens, width, device):
        places = torch.arange(tokens, device=device, dtype=torch.float32)
        speeds = 1e4 ** (-torch.arange(0, width, 2, device=device, dtype=torch.float32) / width)
        angles = torch.outer(places, speeds).repeat(1, 2)[None, :, None]
        return angles.cos(), angles.sin()

    def forward(self, input_ids=None, labels=None, **unused):
        states = self.wte(input_ids)
        angles = self.angles(input_ids.shape[1], states.shape[-1] // self.config.heads, states.device)
        for block in self.h:
            if self.gradient_checkpointing and self.training:
                states = self._gradient_checkpointing_func(block.__call__, states, *angles)
            else:
                states = block(states, *angles)
        logits = self.lm_head(self.ln_f(states))
        shifted = logits[..., :-1, :].contiguous().view(-1, self.config.vocab_size)
        loss = functional.cross_entropy(shifted, labels[..., 1:].contiguous().view(-1))
        return CausalLMOutput(loss=loss, logits=logits)
