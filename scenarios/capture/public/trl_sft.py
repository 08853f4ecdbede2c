"""TRL's trainer for supervised fine-tuning on tokens that are there already."""

import datasets
import torch
from trainer import MODELS
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from tokenizers import Tokenizer, models
from trl import SFTConfig, SFTTrainer


def main():
    fields = dict(MODELS["qwen3-1.7b"])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    words = {"<pad>": 0, "<eos>": 1, "word": 2}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="word")), pad_token="<pad>", eos_token="<eos>"
    )
    draw = torch.Generator().manual_seed(0)
    rows = [torch.randint(2, config.vocab_size, (1024,), generator=draw).tolist() for _ in range(512)]
    data = datasets.Dataset.from_dict({"input_ids": rows})
    options = SFTConfig(output_dir="out", bf16=True, report_to="none", max_steps=10, per_device_train_batch_size=4)
    SFTTrainer(model=model, args=options, train_dataset=data, processing_class=tokenizer).train()


if __name__ == "__main__":
    main()
