#!/bin/bash
# Everything stands at the command.
export CUDA_DEVICE_MAX_CONNECTIONS=1

torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py \
    --num-layers 16 \
    --hidden-size 2048 \
    --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 \
    --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 2 \
    --micro-batch-size 1 \
    --global-batch-size 128 \
    --train-iters 1000 --lr 1.5e-4 --lr-decay-style cosine \
    --tokenizer-type NullTokenizer --vocab-size 50304 \
    --data-path /data/my\ corpus \
    --bf16 \
    --use-distributed-optimizer
