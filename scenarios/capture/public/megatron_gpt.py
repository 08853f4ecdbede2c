"""Megatron Core's GPT with its local layers, tensor and data parallel: megatron_gpt.py TENSOR."""

import os
import sys

import torch
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer import TransformerConfig

LENGTH, VOCABULARY = 2048, 50304


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=int(sys.argv[1]))
    model_parallel_cuda_manual_seed(1234)
    config = TransformerConfig(
        num_layers=8,
        hidden_size=2048,
        num_attention_heads=16,
        bf16=True,
        params_dtype=torch.bfloat16,
        pipeline_dtype=torch.bfloat16,
        tensor_model_parallel_size=int(sys.argv[1]),
    )
    model = GPTModel(config, get_gpt_layer_local_spec(), VOCABULARY, LENGTH).cuda().bfloat16()
    wrapped = DistributedDataParallel(
        config, DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=True), model
    )
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, use_distributed_optimizer=True), [wrapped]
    )
    positions = torch.arange(LENGTH, device="cuda").expand(2, -1)
    mask = torch.ones(2, 1, LENGTH, LENGTH, device="cuda").tril() < 0.5
    for _ in range(5):
        tokens = torch.randint(0, VOCABULARY, (2, LENGTH), device="cuda")
        wrapped.zero_grad_buffer()
        optimizer.zero_grad()
        wrapped(tokens, positions, mask, labels=tokens).float().mean().backward()
        finalize_model_grads([wrapped])
        optimizer.step()


if __name__ == "__main__":
    main()
