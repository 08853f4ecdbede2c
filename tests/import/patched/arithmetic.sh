#!/bin/bash
GPUS=32
TP=2
PP=2
MBS=$((PP / 2))
DP=$((GPUS / TP / PP))
GBS=$((DP * MBS * 16))
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --tokenizer-type NullTokenizer --vocab-size 50304 \
  --tensor-model-parallel-size $((TP)) --pipeline-model-parallel-size $(( PP )) --micro-batch-size $MBS \
  --global-batch-size $GBS --bf16 --lr 1e-4 --train-iters 5
