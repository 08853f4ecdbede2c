"""A Llama of Transformers under DeepSpeed: deepspeed_zero.py STAGE."""

import sys

import deepspeed
import torch
from trainer import MODELS
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    fields = dict(MODELS["llama-1b"])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    settings = {
        "train_micro_batch_size_per_gpu": 2,
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
        "zero_optimization": {"stage": int(sys.argv[1]), "overlap_comm": True},
    }
    deepspeed.init_distributed()
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
    for _ in range(5):
        tokens = torch.randint(0, config.vocab_size, (2, 2048), device=engine.device)
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()


if __name__ == "__main__":
    main()
